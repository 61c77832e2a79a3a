//! The audit: its next entry, its list, and the walk along its chain.

use super::{SqliteStore, Tx};
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
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

/// The columns of a [`StoredAudit`].
macro_rules! audit_columns {
    () => {
        "seq, at, actor, role, action, subject, details, outcome, address, user_agent"
    };
}

#[async_trait]
impl AuditStore for SqliteStore {
    async fn note(&self, noted: &Noted, actor: &Actor) -> Stored<()> {
        Ok(self.note_alone(noted, actor).await?)
    }

    async fn list_audit(&self, filter: &AuditFilter) -> Stored<Vec<AuditEntry>> {
        Ok(self.read_audit(filter).await?)
    }

    async fn check_audit(&self, contains: Option<&str>) -> Stored<AuditCheck> {
        Ok(self.walk_audit(contains).await?)
    }
}

impl SqliteStore {
    async fn note_alone(&self, noted: &Noted, actor: &Actor) -> Tried<()> {
        let mut tx = self.write().await?;
        audit(&mut tx, actor, Entry::noted(noted)).await?;
        tx.commit().await
    }

    async fn read_audit(&self, filter: &AuditFilter) -> Tried<Vec<AuditEntry>> {
        let rows: Vec<StoredAudit> = page_query(filter).build_query_as().fetch_all(self.readers()?).await?;
        Ok(rows.into_iter().map(StoredAudit::entry).collect())
    }

    async fn walk_audit(&self, contains: Option<&str>) -> Tried<AuditCheck> {
        let mut tx = self.read().await?;
        let head = find_head(&mut tx).await?;
        let mut walk = Walk::looking_for(contains);
        loop {
            let links: Vec<StoredLink> = sqlx::query_as(concat!(
                "SELECT ",
                audit_columns!(),
                ", hash FROM audit WHERE seq > ?1 ORDER BY seq LIMIT ?2"
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
}

fn page_query(filter: &AuditFilter) -> QueryBuilder<Sqlite> {
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
            query.push(condition).push_bind(At(at));
        }
    }
    if let Some(before) = filter.before {
        query.push(" AND seq < ").push_bind(before);
    }
    query.push(" ORDER BY seq DESC LIMIT ").push_bind(i64::from(filter.limit));
    query
}

/// Writes an audit entry; the write lock keeps its numbers without gaps.
pub(super) async fn audit(tx: &mut Tx, actor: &Actor, entry: Entry) -> Tried<()> {
    let head = find_head(tx).await?.ok_or_else(no_head)?;
    let (row, hash) = entry.row(actor, At(tx.now), &head);
    sqlx::query(
        "INSERT INTO audit (seq, at, actor, role, action, subject, details, outcome, address, user_agent, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
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
    .bind(&hash)
    .execute(&mut **tx)
    .await?;
    sqlx::query("UPDATE audit_head SET seq = ?1, hash = ?2, entries = entries + 1")
        .bind(row.seq)
        .bind(hash)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Gives rows from before the chain their hashes, once.
pub(super) async fn seal(tx: &mut SqliteConnection) -> Tried<()> {
    let head = find_head(tx).await?.ok_or_else(no_head)?;
    if head.seq != 0 {
        return Ok(());
    }
    let (mut walk, mut entries) = (Walk::default(), 0_i64);
    loop {
        let rows: Vec<StoredAudit> = sqlx::query_as(concat!(
            "SELECT ",
            audit_columns!(),
            " FROM audit WHERE seq > ?1 AND hash IS NULL ORDER BY seq LIMIT ?2"
        ))
        .bind(walk.seq())
        .bind(WALKED_AT_A_TIME)
        .fetch_all(&mut *tx)
        .await?;
        for row in &rows {
            let hash = walk.seal(row);
            let sealing = sqlx::query("UPDATE audit SET hash = ?2 WHERE seq = ?1").bind(row.seq).bind(&hash);
            sealing.execute(&mut *tx).await?;
            entries += 1;
            sqlx::query("UPDATE audit_head SET seq = ?1, hash = ?2, entries = ?3")
                .bind(row.seq)
                .bind(hash)
                .bind(entries)
                .execute(&mut *tx)
                .await?;
        }
        if rows.is_empty() {
            return Ok(());
        }
    }
}

async fn find_head(tx: &mut SqliteConnection) -> Tried<Option<Head>> {
    Ok(sqlx::query_as("SELECT seq, hash, entries FROM audit_head").fetch_optional(tx).await?)
}

fn no_head() -> StoreError {
    StoreError::Internal("the audit's stored end is missing; nothing can be audited, so nothing is done".to_owned())
}
