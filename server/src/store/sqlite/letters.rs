//! Lists of dead letters, and one letter whole.

use super::{SqliteStore, Tx, jobs};
use crate::store::fault::Tried;
use crate::store::rows::{StoredLetter, StoredLetterDetail, StoredReplay};
use crate::store::time::At;
use app::model::ids::{DeadLetterId, JobId};
use app::model::letter::{
    Acted, DeadLetter, DeadLetterDetail, LetterAct, LetterFilter, LetterPage, LetterStatus, LetterTotals, Route,
};
use app::model::people::Actor;
use app::store::{LetterStore, Stored};
use async_trait::async_trait;
use chrono::{Days, NaiveTime};
use sqlx::{QueryBuilder, Sqlite};

/// Most replays that a letter shows.
const REPLAYS_SHOWN: u32 = 100;

/// The columns of a [`StoredLetter`], with the error as given.
macro_rules! letter_columns {
    ($error:literal) => {
        concat!(
            "l.id, l.job_id, l.kind, l.source, l.tenant, l.route, l.reason_code, l.failure_reason, l.field, ",
            "l.evidence, ",
            $error,
            " AS error, l.category, l.http_status, l.error_code, l.group_key, l.status, l.version, ",
            "l.dead_lettered_at, l.resolution, l.resolved_by, l.resolved_at, l.note"
        )
    };
}

#[async_trait]
impl LetterStore for SqliteStore {
    async fn list_letters(&self, filter: &LetterFilter) -> Stored<LetterPage> {
        Ok(self.read_letter_page(filter).await?)
    }

    async fn find_letter(&self, id: DeadLetterId) -> Stored<Option<DeadLetterDetail>> {
        Ok(self.read_letter(id).await?)
    }

    async fn act(&self, act: &LetterAct, actor: &Actor) -> Stored<Acted> {
        Ok(self.act_once(act, actor).await?)
    }
}

impl SqliteStore {
    async fn read_letter_page(&self, filter: &LetterFilter) -> Tried<LetterPage> {
        let mut tx = self.read().await?;
        let rows: Vec<StoredLetter> = page_query(filter).build_query_as().fetch_all(&mut *tx).await?;
        let totals = count_by_status(&mut tx).await?;
        let as_of = tx.now;
        tx.commit().await?;
        let mut letters = rows.into_iter().map(StoredLetter::letter).collect::<Tried<Vec<_>>>()?;
        let has_more = letters.len() > filter.limit as usize;
        letters.truncate(filter.limit as usize);
        Ok(LetterPage { next: letters.last().map(|letter| letter.id).filter(|_| has_more), letters, totals, as_of })
    }

    async fn read_letter(&self, id: DeadLetterId) -> Tried<Option<DeadLetterDetail>> {
        let mut tx = self.read().await?;
        let row: Option<StoredLetterDetail> = sqlx::query_as(concat!(
            "SELECT ",
            letter_columns!("l.error"),
            ", l.envelope, j.payload, j.payload_ref, j.upstream_handoffs \
             FROM dead_letters l JOIN jobs j ON j.id = l.job_id WHERE l.id = ?1"
        ))
        .bind(id.0)
        .fetch_optional(&mut *tx)
        .await?;
        let Some(row) = row else {
            return Ok(None);
        };
        let attempts = jobs::list_attempts(&mut tx, JobId(row.letter.job_id)).await?;
        let replays: Vec<StoredReplay> = sqlx::query_as(
            "SELECT id, replay_mode, state FROM jobs WHERE replay_of = ?1 AND replay_mode IS NOT NULL
             ORDER BY id LIMIT ?2",
        )
        .bind(id.0)
        .bind(REPLAYS_SHOWN)
        .fetch_all(&mut *tx)
        .await?;
        let as_of = tx.now;
        tx.commit().await?;
        Ok(Some(row.detail(attempts, replays, as_of)?))
    }
}

/// The letter as it is within this transaction.
pub(super) async fn find(tx: &mut Tx, id: DeadLetterId) -> Tried<Option<DeadLetter>> {
    let row: Option<StoredLetter> =
        sqlx::query_as(concat!("SELECT ", letter_columns!("l.error"), " FROM dead_letters l WHERE l.id = ?1"))
            .bind(id.0)
            .fetch_optional(&mut **tx)
            .await?;
    row.map(StoredLetter::letter).transpose()
}

fn page_query(filter: &LetterFilter) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(concat!(
        "SELECT ",
        letter_columns!("substr(l.error, 1, 2000)"),
        " FROM dead_letters l WHERE true"
    ));
    for (condition, value) in [
        (" AND l.status = ", filter.status.map(LetterStatus::as_str)),
        (" AND l.kind = ", filter.kind.as_deref()),
        (" AND l.source = ", filter.source.as_deref()),
        (" AND l.tenant = ", filter.tenant.as_deref()),
        (" AND l.reason_code = ", filter.reason_code.as_deref()),
        (" AND l.route = ", filter.route.map(Route::as_str)),
        (" AND l.group_key = ", filter.group.as_deref()),
    ] {
        if let Some(value) = value {
            query.push(condition).push_bind(value);
        }
    }
    if let Some(day) = filter.day {
        let start = day.and_time(NaiveTime::MIN).and_utc();
        query.push(" AND l.dead_lettered_at >= ").push_bind(At(start));
        if let Some(end) = start.checked_add_days(Days::new(1)) {
            query.push(" AND l.dead_lettered_at < ").push_bind(At(end));
        }
    }
    if let Some(before) = filter.before {
        query.push(" AND l.id < ").push_bind(before.0);
    }
    // One more than asked for tells whether there is a next page.
    query.push(" ORDER BY l.id DESC LIMIT ").push_bind(i64::from(filter.limit) + 1);
    query
}

async fn count_by_status(tx: &mut Tx) -> Tried<LetterTotals> {
    let (open, taken, resolved) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM dead_letters WHERE status = 'open'),
           (SELECT count(*) FROM dead_letters WHERE status = 'taken'),
           (SELECT count(*) FROM dead_letters WHERE status = 'resolved')",
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(LetterTotals { open, taken, resolved })
}
