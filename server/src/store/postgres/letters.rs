//! Lists of dead letters, and one letter whole.

use super::jobs::{list_attempts, read};
use super::{PostgresStore, Transaction, act};
use crate::store::fault::Tried;
use crate::store::rows::{StoredLetter, StoredLetterDetail, StoredReplay};
use app::model::ids::{DeadLetterId, JobId};
use app::model::letter::{
    Acted, DeadLetter, DeadLetterDetail, LetterAct, LetterFilter, LetterPage, LetterStatus, LetterTotals, Route,
};
use app::model::people::Actor;
use app::store::{LetterStore, Stored};
use async_trait::async_trait;
use chrono::{Days, NaiveTime};
use sqlx::{PgPool, Postgres, QueryBuilder};

/// Most replays that a letter shows.
const REPLAYS_SHOWN: i64 = 100;

/// The columns of a [`StoredLetter`], with the error as given.
macro_rules! letter_columns {
    ($error:literal) => {
        concat!(
            "d.id, d.job_id, d.kind, d.source, d.tenant, d.route, d.reason_code, d.failure_reason, d.field, ",
            "d.evidence, ",
            $error,
            " AS error, d.category, d.http_status, d.error_code, d.group_key, d.status, d.version, ",
            "d.dead_lettered_at, d.resolution, d.resolved_by, d.resolved_at, d.note"
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
    let mut letters = rows.into_iter().map(StoredLetter::letter).collect::<Tried<Vec<_>>>()?;
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
    let attempts = list_attempts(&mut tx, JobId(row.letter.job_id)).await?;
    let replays: Vec<StoredReplay> = sqlx::query_as(
        "SELECT id, replay_mode, state FROM jobs WHERE replay_of = $1 AND replay_mode IS NOT NULL ORDER BY id LIMIT $2",
    )
    .bind(id.0)
    .bind(REPLAYS_SHOWN)
    .fetch_all(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(Some(row.detail(attempts, replays, as_of)?))
}

/// The letter as it is within this transaction.
pub(super) async fn find(tx: &mut Transaction, id: DeadLetterId) -> Tried<Option<DeadLetter>> {
    let row: Option<StoredLetter> =
        sqlx::query_as(concat!("SELECT ", letter_columns!("d.error"), " FROM dead_letters d WHERE d.id = $1"))
            .bind(id.0)
            .fetch_optional(&mut **tx)
            .await?;
    row.map(StoredLetter::letter).transpose()
}

fn page_query(filter: &LetterFilter) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new(concat!(
        "SELECT ",
        letter_columns!("left(d.error, 2000)"),
        " FROM dead_letters d WHERE true"
    ));
    for (condition, value) in [
        (" AND d.status = ", filter.status.map(LetterStatus::as_str)),
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
        "SELECT (SELECT count(*) FROM dead_letters WHERE status = 'open'), \
             (SELECT count(*) FROM dead_letters WHERE status = 'taken'), \
             (SELECT count(*) FROM dead_letters WHERE status = 'resolved')",
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(LetterTotals { open, taken, resolved })
}
