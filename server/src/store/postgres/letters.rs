//! Lists of dead letters, and one letter whole.

use super::history::find_history;
use super::jobs::read;
use super::{PostgresStore, Transaction, act};
use crate::store::fault::Tried;
use crate::store::letter_lists::{self, Dialect, StoredExport, StoredGroup, StoredGroupPart, masking_payload};
use crate::store::letter_rows::{StoredLetter, StoredLetterDetail};
use app::model::ids::{DeadLetterId, JobId};
use app::model::letter::{DeadLetter, DeadLetterDetail, LetterPage};
use app::model::letter_export::ExportBatch;
use app::model::letter_filter::LetterFilter;
use app::model::letter_group::{CountedLetterPage, GroupCursor, GroupPage, LetterCounts};
use app::model::letter_policy::LetterPolicy;
use app::model::people::Actor;
use app::model::recovery::{Acted, LetterAct};
use app::store::{LetterStore, Stored};
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::{PgPool, Postgres, QueryBuilder};

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
impl LetterStore for PostgresStore {
    async fn list_letters(&self, filter: &LetterFilter) -> Stored<LetterPage> {
        self.pages_answer(list_letters(&self.pages, filter)).await
    }

    async fn list_counted_letters(&self, filter: &LetterFilter) -> Stored<CountedLetterPage> {
        self.pages_answer(list_counted_letters(&self.pages, filter)).await
    }

    async fn list_counted_groups(&self, filter: &LetterFilter, after: Option<&GroupCursor>) -> Stored<GroupPage> {
        self.pages_answer(list_counted_groups(&self.pages, filter, after)).await
    }

    async fn export_letters(&self, filter: &LetterFilter) -> Stored<ExportBatch> {
        self.pages_answer(export_letters(&self.pages, filter)).await
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
    let rows = list(&mut tx, filter, as_of).await?;
    tx.commit().await?;
    let (letters, next) = letter_lists::letters_and_next(rows, filter, as_of)?;
    Ok(LetterPage { letters, next, as_of })
}

async fn list_counted_letters(pool: &PgPool, filter: &LetterFilter) -> Tried<CountedLetterPage> {
    let (mut tx, as_of) = read(pool).await?;
    let rows = list(&mut tx, filter, as_of).await?;
    let counts = count(&mut tx, filter, as_of).await?;
    tx.commit().await?;
    let (letters, next) = letter_lists::letters_and_next(rows, filter, as_of)?;
    Ok(CountedLetterPage { letters, next, counts, as_of })
}

async fn list_counted_groups(pool: &PgPool, filter: &LetterFilter, after: Option<&GroupCursor>) -> Tried<GroupPage> {
    let (mut tx, as_of) = read(pool).await?;
    let mut query = letter_lists::groups::<Postgres>(filter, after, as_of);
    let rows: Vec<StoredGroup> = query.build_query_as().fetch_all(&mut *tx).await?;
    let rows = letter_lists::group_rows(rows, filter);
    let parts: Vec<StoredGroupPart> = if rows.is_empty() {
        Vec::new()
    } else {
        letter_lists::group_parts::<Postgres>(&rows, filter, as_of).build_query_as().fetch_all(&mut *tx).await?
    };
    let counts = count(&mut tx, filter, as_of).await?;
    tx.commit().await?;
    let (groups, next) = rows.page(parts, as_of)?;
    Ok(GroupPage { groups, next, counts, as_of })
}

async fn export_letters(pool: &PgPool, filter: &LetterFilter) -> Tried<ExportBatch> {
    let (mut tx, as_of) = read(pool).await?;
    let mut query = letter_lists::export_batch::<Postgres>(filter, as_of);
    let rows: Vec<StoredExport> = query.build_query_as().fetch_all(&mut *tx).await?;
    tx.commit().await?;
    Ok(ExportBatch { letters: rows.into_iter().map(|row| row.exported(as_of)).collect::<Tried<_>>()?, as_of })
}

async fn find_letter(pool: &PgPool, id: DeadLetterId) -> Tried<Option<DeadLetterDetail>> {
    let (mut tx, as_of) = read(pool).await?;
    let row: Option<StoredLetterDetail> = sqlx::query_as(concat!(
        "SELECT ",
        letter_columns!("l.error"),
        ", l.envelope, l.misses, j.payload, j.payload_ref, j.upstream_handoffs, j.trace_id \
         FROM dead_letters l JOIN jobs j ON j.id = l.job_id WHERE l.id = $1"
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
    let row: Option<StoredLetter> = sqlx::query_as(concat!(
        "SELECT ",
        letter_columns!("l.error"),
        ", ",
        masking_payload!(),
        " AS masking FROM dead_letters l WHERE l.id = $1"
    ))
    .bind(id.0)
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let policy = row.policy()?;
    Ok(Some((row.letter(now)?, policy)))
}

async fn list(tx: &mut Transaction, filter: &LetterFilter, now: DateTime<Utc>) -> Tried<Vec<StoredLetter>> {
    Ok(letter_lists::page::<Postgres>(filter, now).build_query_as().fetch_all(&mut **tx).await?)
}

async fn count(tx: &mut Transaction, filter: &LetterFilter, now: DateTime<Utc>) -> Tried<Option<LetterCounts>> {
    if !letter_lists::can_count(filter) {
        return Ok(None);
    }
    let counts = letter_lists::counts::<Postgres>(filter, now).build_query_as().fetch_one(&mut **tx).await?;
    let reasons = letter_lists::by_reason::<Postgres>(filter, now).build_query_as().fetch_all(&mut **tx).await?;
    let failures = match letter_lists::failures::<Postgres>(filter, now) {
        Some(mut query) => query.build_query_scalar().fetch_one(&mut **tx).await?,
        None => 0,
    };
    Ok(Some(letter_lists::letter_counts(&counts, reasons, failures)))
}

impl Dialect for Postgres {
    // By "C", lower() knows ASCII alone, whatever the database's locale.
    const HOLDS: [&'static str; 3] = ["strpos(lower(", " COLLATE \"C\"), ", ") > 0"];
    const DAY: [&'static str; 2] = ["CAST((", " AT TIME ZONE 'UTC')::date - date '1970-01-01' AS bigint)"];

    fn push_text(query: &mut QueryBuilder<Self>, text: &str) {
        query.push_bind(text.to_owned());
    }

    fn push_time(query: &mut QueryBuilder<Self>, at: DateTime<Utc>) {
        query.push_bind(at);
    }

    fn push_number(query: &mut QueryBuilder<Self>, number: i64) {
        query.push_bind(number);
    }
}
