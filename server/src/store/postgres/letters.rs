//! Lists of dead letters, and one letter whole.

use super::history::find_history;
use super::jobs::read;
use super::{PostgresStore, Transaction, act};
use crate::store::fault::Tried;
use crate::store::rows::{StoredLetter, StoredLetterDetail};
use app::model::ids::{DeadLetterId, JobId};
use app::model::letter::{DeadLetter, DeadLetterDetail, LetterFilter, LetterPage, LetterStatus, LetterTotals, Route};
use app::model::letter_policy::LetterPolicy;
use app::model::people::Actor;
use app::model::recovery::{Acted, LetterAct};
use app::store::{LetterStore, Stored};
use async_trait::async_trait;
use chrono::{DateTime, Days, NaiveTime, Utc};
use sqlx::{PgPool, Postgres, QueryBuilder};

/// The columns of a [`StoredLetter`], with the error as given.
macro_rules! letter_columns {
    ($error:literal) => {
        concat!(
            "d.id, d.job_id, d.kind, d.source, d.tenant, d.route, d.reason_code, d.failure_reason, d.field, ",
            "d.evidence, ",
            $error,
            " AS error, d.category, d.http_status, d.error_code, d.group_key, d.status, d.version, ",
            "d.dead_lettered_at, d.resolution, d.resolved_by, d.resolved_at, d.note, ",
            "d.taken_by, d.taken_until, (SELECT overrides FROM kinds k WHERE k.kind = d.kind) AS overrides"
        )
    };
}

#[async_trait]
impl LetterStore for PostgresStore {
    async fn list_letters(&self, filter: &LetterFilter) -> Stored<LetterPage> {
        self.pages_answer(list_letters(&self.pages, filter)).await
    }

    async fn find_letter(&self, id: DeadLetterId) -> Stored<Option<DeadLetterDetail>> {
        self.pages_answer(find_letter(&self.pages, id)).await
    }

    async fn act(&self, act: &LetterAct, actor: &Actor) -> Stored<Acted> {
        self.pages_answer(act::act(&self.pages, act, actor)).await
    }
}

async fn list_letters(pool: &PgPool, filter: &LetterFilter) -> Tried<LetterPage> {
    let (mut tx, as_of) = read(pool).await?;
    let rows: Vec<StoredLetter> = page_query(filter).build_query_as().fetch_all(&mut *tx).await?;
    let totals = count_by_status(&mut tx).await?;
    tx.commit().await?;
    let mut letters = rows.into_iter().map(|row| row.letter(as_of)).collect::<Tried<Vec<_>>>()?;
    let has_more = letters.len() > filter.limit as usize;
    letters.truncate(filter.limit as usize);
    Ok(LetterPage { next: letters.last().map(|letter| letter.id).filter(|_| has_more), letters, totals, as_of })
}

async fn find_letter(pool: &PgPool, id: DeadLetterId) -> Tried<Option<DeadLetterDetail>> {
    let (mut tx, as_of) = read(pool).await?;
    let row: Option<StoredLetterDetail> = sqlx::query_as(concat!(
        "SELECT ",
        letter_columns!("d.error"),
        ", d.envelope, j.payload, j.payload_ref, j.upstream_handoffs \
         FROM dead_letters d JOIN jobs j ON j.id = d.job_id WHERE d.id = $1"
    ))
    .bind(id.0)
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let history = find_history(&mut tx, id, JobId(row.letter.job_id)).await?;
    tx.commit().await?;
    Ok(Some(row.detail(history, as_of)?))
}

/// The letter as it is within this transaction at `now`, with its kind's
/// settings for letters.
pub(super) async fn find(
    tx: &mut Transaction,
    id: DeadLetterId,
    now: DateTime<Utc>,
) -> Tried<Option<(DeadLetter, LetterPolicy)>> {
    let row: Option<StoredLetter> =
        sqlx::query_as(concat!("SELECT ", letter_columns!("d.error"), " FROM dead_letters d WHERE d.id = $1"))
            .bind(id.0)
            .fetch_optional(&mut **tx)
            .await?;
    let Some(row) = row else { return Ok(None) };
    let policy = row.policy()?;
    Ok(Some((row.letter(now)?, policy)))
}

fn page_query(filter: &LetterFilter) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new(concat!(
        "SELECT ",
        letter_columns!("left(d.error, 2000)"),
        " FROM dead_letters d WHERE true"
    ));
    for (condition, value) in [
        (" AND d.kind = ", filter.kind.as_deref()),
        (" AND d.source = ", filter.source.as_deref()),
        (" AND d.tenant = ", filter.tenant.as_deref()),
        (" AND d.reason_code = ", filter.reason_code.as_deref()),
        (" AND d.route = ", filter.route.map(Route::as_str)),
        (" AND d.group_key = ", filter.group.as_deref()),
    ] {
        if let Some(value) = value {
            query.push(condition).push_bind(value);
        }
    }
    // Taken is open, for a while: it comes back by the clock alone.
    query.push(match filter.status {
        None => "",
        Some(LetterStatus::Open) => " AND d.status = 'open' AND (d.taken_until > statement_timestamp()) IS NOT TRUE",
        Some(LetterStatus::Taken) => " AND d.status = 'open' AND d.taken_until > statement_timestamp()",
        Some(LetterStatus::Resolved) => " AND d.status = 'resolved'",
    });
    if let Some(day) = filter.day {
        let start = day.and_time(NaiveTime::MIN).and_utc();
        query.push(" AND d.dead_lettered_at >= ").push_bind(start);
        if let Some(end) = start.checked_add_days(Days::new(1)) {
            query.push(" AND d.dead_lettered_at < ").push_bind(end);
        }
    }
    if let Some(before) = filter.before {
        query.push(" AND d.id < ").push_bind(before.0);
    }
    // One more than asked for tells whether there is a next page.
    query.push(" ORDER BY d.id DESC LIMIT ").push_bind(i64::from(filter.limit) + 1);
    query
}

async fn count_by_status(tx: &mut Transaction) -> Tried<LetterTotals> {
    let (open, taken, resolved) = sqlx::query_as(
        "SELECT unresolved - taken, taken, resolved FROM ( \
             SELECT (SELECT count(*) FROM dead_letters WHERE status = 'open') AS unresolved, \
                 (SELECT count(*) FROM dead_letters WHERE status = 'open' AND taken_until > statement_timestamp()) \
                     AS taken, \
                 (SELECT count(*) FROM dead_letters WHERE status = 'resolved') AS resolved) AS counted",
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(LetterTotals { open, taken, resolved })
}
