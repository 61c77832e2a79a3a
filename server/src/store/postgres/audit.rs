//! The audit: its next entry, numbered without gaps and chained whoever writes
//! at the same time; its list, and the walk along its chain.

use super::jobs::read;
use super::{PostgresStore, Transaction};
use crate::store::audit::Entry;
use crate::store::chain::{Head, StoredLink, WALKED_AT_A_TIME, Walk};
use crate::store::fault::Tried;
use crate::store::rows::StoredAudit;
use crate::store::time::At;
use app::error::StoreError;
use app::model::audit::{AuditCheck, AuditEntry, AuditFilter, Noted};
use app::model::people::Actor;
use app::store::{AuditStore, Stored};
use async_trait::async_trait;
use sqlx::{PgConnection, PgPool, Postgres, QueryBuilder};

/// Held from an entry's number to its commit, so that numbers have no gaps.
const AUDIT_LOCK: i64 = 0x6472_6169_6e62_0004;

/// The columns of a [`StoredAudit`].
macro_rules! audit_columns {
    () => {
        "seq, at, actor, role, action, subject, details, outcome, address, user_agent"
    };
}

#[async_trait]
impl AuditStore for PostgresStore {
    async fn note(&self, noted: &Noted, actor: &Actor) -> Stored<()> {
        self.pages_answer(note(&self.pages, noted, actor)).await
    }

    async fn list_audit(&self, filter: &AuditFilter) -> Stored<Vec<AuditEntry>> {
        self.pages_answer(list_audit(&self.pages, filter)).await
    }

    /// Without a deadline of its own: years of audit take a while.
    async fn check_audit(&self, contains: Option<&str>) -> Stored<AuditCheck> {
        Ok(check_audit(&self.pages, contains).await?)
    }
}

async fn note(pool: &PgPool, noted: &Noted, actor: &Actor) -> Tried<()> {
    let mut tx = super::begin(pool).await?;
    audit(&mut tx, actor, Entry::noted(noted)).await?;
    Ok(tx.commit().await?)
}

async fn list_audit(pool: &PgPool, filter: &AuditFilter) -> Tried<Vec<AuditEntry>> {
    let mut connection = super::acquire(pool).await?;
    let rows: Vec<StoredAudit> = page_query(filter).build_query_as().fetch_all(&mut *connection).await?;
    Ok(rows.into_iter().map(StoredAudit::entry).collect())
}

fn page_query(filter: &AuditFilter) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new(concat!("SELECT ", audit_columns!(), " FROM audit WHERE true"));
    for (condition, value) in [
        (" AND actor = ", filter.actor.as_deref()),
        (" AND action = ", filter.action.as_deref()),
        (" AND subject = ", filter.subject.as_deref()),
        (" AND outcome = ", filter.outcome.map(|outcome| outcome.as_str())),
    ] {
        if let Some(value) = value {
            query.push(condition).push_bind(value.to_owned());
        }
    }
    for (condition, at) in [(" AND at >= ", filter.from), (" AND at < ", filter.to)] {
        if let Some(at) = at {
            query.push(condition).push_bind(at);
        }
    }
    if let Some(before) = filter.before {
        query.push(" AND seq < ").push_bind(before);
    }
    query.push(" ORDER BY seq DESC LIMIT ").push_bind(i64::from(filter.limit));
    query
}

async fn check_audit(pool: &PgPool, contains: Option<&str>) -> Tried<AuditCheck> {
    // One instant: rows that come meanwhile belong to a later end.
    let (mut tx, _) = read(pool).await?;
    let head = find_head(&mut tx).await?;
    let mut walk = Walk::looking_for(contains);
    loop {
        let links: Vec<StoredLink> = sqlx::query_as(concat!(
            "SELECT ",
            audit_columns!(),
            ", hash FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2"
        ))
        // From before the first number on: a row put in front of it is found, too.
        .bind(if walk.seq() == 0 { i64::MIN } else { walk.seq() })
        .bind(WALKED_AT_A_TIME)
        .fetch_all(&mut *tx)
        .await?;
        if let Some(broken) = links.iter().find_map(|link| walk.step(link).err()) {
            return Ok(walk.ended(head.as_ref(), Some(broken)));
        }
        if links.is_empty() {
            return Ok(walk.ended(head.as_ref(), None));
        }
    }
}

/// Writes an audit entry. Comes last in its transaction: whoever holds the
/// audit's lock must not wait for any other.
pub(super) async fn audit(tx: &mut Transaction, actor: &Actor, entry: Entry) -> Tried<()> {
    lock(tx).await?;
    // Statements of their own: only these see what the last holder committed,
    // and read the clock after it.
    let head = find_head(tx).await?.ok_or_else(no_head)?;
    let now = At(super::now(&mut **tx).await?);
    let (row, hash) = entry.row(actor, now, &head);
    sqlx::query(
        "WITH entry AS ( \
             INSERT INTO audit (seq, at, actor, role, action, subject, details, outcome, address, user_agent, hash) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
         ) UPDATE audit_head SET seq = $1, hash = $11, entries = entries + 1",
    )
    .bind(row.seq)
    .bind(row.at)
    .bind(row.actor)
    .bind(row.role)
    .bind(row.action)
    .bind(row.subject)
    .bind(row.details)
    .bind(row.outcome)
    .bind(row.address)
    .bind(row.user_agent)
    .bind(hash)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Gives rows from before the chain their hashes, once, whoever opens first.
pub(super) async fn seal(tx: &mut PgConnection) -> Tried<()> {
    lock(tx).await?;
    let head = find_head(tx).await?.ok_or_else(no_head)?;
    if head.seq != 0 {
        return Ok(());
    }
    let (mut walk, mut entries) = (Walk::default(), 0_i64);
    loop {
        let rows: Vec<StoredAudit> = sqlx::query_as(concat!(
            "SELECT ",
            audit_columns!(),
            " FROM audit WHERE seq > $1 AND hash IS NULL ORDER BY seq LIMIT $2"
        ))
        .bind(walk.seq())
        .bind(WALKED_AT_A_TIME)
        .fetch_all(&mut *tx)
        .await?;
        let (seqs, hashes): (Vec<i64>, Vec<String>) = rows.iter().map(|row| (row.seq, walk.seal(row))).unzip();
        let (Some(last), Some(last_hash)) = (seqs.last(), hashes.last()) else {
            return Ok(());
        };
        sqlx::query(
            "UPDATE audit SET hash = sealed.hash FROM unnest($1::bigint[], $2::text[]) AS sealed (seq, hash) \
             WHERE audit.seq = sealed.seq",
        )
        .bind(&seqs)
        .bind(&hashes)
        .execute(&mut *tx)
        .await?;
        entries += i64::try_from(seqs.len()).expect("a batch is small");
        sqlx::query("UPDATE audit_head SET seq = $1, hash = $2, entries = $3")
            .bind(last)
            .bind(last_hash)
            .bind(entries)
            .execute(&mut *tx)
            .await?;
    }
}

async fn lock(tx: &mut PgConnection) -> Tried<()> {
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(AUDIT_LOCK).execute(tx).await?;
    Ok(())
}

async fn find_head(tx: &mut PgConnection) -> Tried<Option<Head>> {
    Ok(sqlx::query_as("SELECT seq, hash, entries FROM audit_head").fetch_optional(tx).await?)
}

fn no_head() -> StoreError {
    StoreError::Internal("the audit's stored end is missing; nothing can be audited, so nothing is done".to_owned())
}
