//! Lists of dead letters, and one letter whole.

use super::history::find_history;
use super::{SqliteStore, Tx};
use crate::store::fault::Tried;
use crate::store::rows::{StoredLetter, StoredLetterDetail};
use crate::store::time::At;
use app::model::ids::{DeadLetterId, JobId};
use app::model::letter::{DeadLetter, DeadLetterDetail, LetterFilter, LetterPage, LetterStatus, LetterTotals, Route};
use app::model::letter_policy::LetterPolicy;
use app::model::people::Actor;
use app::model::recovery::{Acted, LetterAct};
use app::store::{LetterStore, Stored};
use async_trait::async_trait;
use chrono::{DateTime, Days, NaiveTime, Utc};
use sqlx::{QueryBuilder, Sqlite};

/// The columns of a [`StoredLetter`], with the error as given.
macro_rules! letter_columns {
    ($error:literal) => {
        concat!(
            "l.id, l.job_id, l.kind, l.source, l.tenant, l.route, l.reason_code, l.failure_reason, l.field, ",
            "l.evidence, ",
            $error,
            " AS error, l.category, l.http_status, l.error_code, l.group_key, l.status, l.version, ",
            "l.dead_lettered_at, l.resolution, l.resolved_by, l.resolved_at, l.note, ",
            "l.taken_by, l.taken_until, (SELECT overrides FROM kinds k WHERE k.kind = l.kind) AS overrides"
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
        let rows: Vec<StoredLetter> = page_query(filter, tx.now).build_query_as().fetch_all(&mut *tx).await?;
        let totals = count_by_status(&mut tx).await?;
        let as_of = tx.now;
        tx.commit().await?;
        let mut letters = rows.into_iter().map(|row| row.letter(as_of)).collect::<Tried<Vec<_>>>()?;
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
        let history = find_history(&mut tx, id, JobId(row.letter.job_id)).await?;
        let as_of = tx.now;
        tx.commit().await?;
        Ok(Some(row.detail(history, as_of)?))
    }
}

/// The letter as it is within this transaction, with its kind's settings for letters.
pub(super) async fn find(tx: &mut Tx, id: DeadLetterId) -> Tried<Option<(DeadLetter, LetterPolicy)>> {
    let now = tx.now;
    let row: Option<StoredLetter> =
        sqlx::query_as(concat!("SELECT ", letter_columns!("l.error"), " FROM dead_letters l WHERE l.id = ?1"))
            .bind(id.0)
            .fetch_optional(&mut **tx)
            .await?;
    let Some(row) = row else { return Ok(None) };
    let policy = row.policy()?;
    Ok(Some((row.letter(now)?, policy)))
}

fn page_query(filter: &LetterFilter, now: DateTime<Utc>) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(concat!(
        "SELECT ",
        letter_columns!("substr(l.error, 1, 2000)"),
        " FROM dead_letters l WHERE true"
    ));
    for (condition, value) in [
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
    // Taken is open, for a while: it comes back by the clock alone.
    match filter.status {
        None => {}
        Some(LetterStatus::Open) => {
            query.push(" AND l.status = 'open' AND (l.taken_until > ").push_bind(At(now)).push(") IS NOT TRUE");
        }
        Some(LetterStatus::Taken) => {
            query.push(" AND l.status = 'open' AND l.taken_until > ").push_bind(At(now));
        }
        Some(LetterStatus::Resolved) => {
            query.push(" AND l.status = 'resolved'");
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
    let now = At(tx.now);
    let (open, taken, resolved) = sqlx::query_as(
        "SELECT unresolved - taken, taken, resolved FROM (
           SELECT (SELECT count(*) FROM dead_letters WHERE status = 'open') AS unresolved,
             (SELECT count(*) FROM dead_letters WHERE status = 'open' AND taken_until > ?1) AS taken,
             (SELECT count(*) FROM dead_letters WHERE status = 'resolved') AS resolved)",
    )
    .bind(now)
    .fetch_one(&mut **tx)
    .await?;
    Ok(LetterTotals { open, taken, resolved })
}
