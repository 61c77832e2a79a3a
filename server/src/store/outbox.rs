//! Customer notices on their way: listed, held, tried, marked. Written once; each
//! database compiles it as a module of its own, with its transaction and clock.

use super::audit::audit;
use super::masking::covers;
use super::{Db, TheStore, Tx};
use crate::auth::secret::Secret;
use crate::store::audit::Entry;
use crate::store::conflict::notice_conflict;
use crate::store::fault::Tried;
use crate::store::promises::{StoredNotice, notice_columns};
use crate::store::time::At;
use app::error::StoreError;
use app::model::delivery::{TryOutcome, next_try};
use app::model::ids::NoticeId;
use app::model::outbox::{HeldNotice, NoticeCursor, NoticeFilter, NoticePage, NoticeShare, OutboxNotice};
use app::model::people::Actor;
use app::model::text::{clean, preview};
use app::store::{HOLD_SECONDS, OutboxStore, Stored};
use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::{FromRow, QueryBuilder};

/// Longest error that is kept of a try, in characters.
const MAX_ERROR_CHARACTERS: usize = 500;

const NOTICE: &str = concat!("SELECT ", notice_columns!(), " FROM notices WHERE ");

/// A notice with its hold.
#[derive(Debug, FromRow)]
struct StoredHold {
    #[sqlx(flatten)]
    notice: StoredNotice,
    delivery_key: String,
    held_token: i64,
    first_try_at: At,
}

#[async_trait]
impl OutboxStore for TheStore {
    async fn list_notices(&self, filter: &NoticeFilter) -> Stored<NoticePage> {
        self.pages_answer(list(self, filter)).await
    }

    async fn find_notice(&self, id: NoticeId) -> Stored<Option<(OutboxNotice, DateTime<Utc>)>> {
        self.pages_answer(find(self, id)).await
    }

    async fn mark_notice_sent(&self, id: NoticeId, note: Option<&str>, actor: &Actor) -> Stored<()> {
        self.pages_answer(mark_sent(self, id, note, actor)).await
    }

    async fn hurry_notice(&self, id: NoticeId, actor: &Actor) -> Stored<()> {
        self.pages_answer(hurry(self, id, actor)).await
    }

    async fn hold_notices(&self, limit: u32) -> Stored<Vec<HeldNotice>> {
        self.pages_answer(hold(self, limit)).await
    }

    async fn keep_try(&self, held: &HeldNotice, outcome: &TryOutcome) -> Stored<()> {
        self.pages_answer(keep(self, held, outcome)).await
    }
}

/// Two ranges of two indexes, the second only where the first leaves room.
async fn list(store: &TheStore, filter: &NoticeFilter) -> Tried<NoticePage> {
    let (mut tx, as_of) = store.read_page().await?;
    let (waiting, failed): (i64, i64) = sqlx::query_as(
        "SELECT count(*) FILTER (WHERE failed_at IS NULL), count(*) FILTER (WHERE failed_at IS NOT NULL) \
         FROM notices WHERE sent_at IS NULL",
    )
    .fetch_one(&mut *tx)
    .await?;
    let wanted = filter.limit as usize + 1;
    let mut notices = Vec::new();
    if filter.share != Some(NoticeShare::Sent) && filter.after.is_none_or(|after| !after.is_sent) {
        let share = match filter.share {
            Some(NoticeShare::Waiting) => "sent_at IS NULL AND failed_at IS NULL",
            Some(NoticeShare::Failed) => "sent_at IS NULL AND failed_at IS NOT NULL",
            _ => "sent_at IS NULL",
        };
        notices = list_part(&mut tx, share, filter.after, wanted).await?;
    }
    if matches!(filter.share, None | Some(NoticeShare::Sent)) && notices.len() < wanted {
        let after = filter.after.filter(|after| after.is_sent);
        notices.extend(list_part(&mut tx, "sent_at IS NOT NULL", after, wanted - notices.len()).await?);
    }
    cover(&mut tx, &mut notices).await?;
    tx.commit().await?;
    let has_more = notices.len() == wanted;
    notices.truncate(filter.limit as usize);
    let last = notices.last().filter(|_| has_more);
    let next = last.map(|last| NoticeCursor { is_sent: last.sent_at.is_some(), id: last.id });
    Ok(NoticePage { notices, next, waiting, failed, as_of })
}

async fn list_part(
    tx: &mut Tx,
    share: &'static str,
    after: Option<NoticeCursor>,
    limit: usize,
) -> Tried<Vec<OutboxNotice>> {
    let mut query = QueryBuilder::<Db>::new(NOTICE);
    query.push(share);
    if let Some(after) = after {
        query.push(" AND id < ").push_bind(after.id.0);
    }
    query.push(" ORDER BY id DESC LIMIT ").push(limit);
    let rows: Vec<StoredNotice> = query.build_query_as().fetch_all(&mut **tx).await?;
    Ok(rows.into_iter().map(StoredNotice::notice).collect())
}

async fn find(store: &TheStore, id: NoticeId) -> Tried<Option<(OutboxNotice, DateTime<Utc>)>> {
    let (mut tx, as_of) = store.read_page().await?;
    let mut notice = find_row(&mut tx, id).await?;
    cover(&mut tx, notice.as_mut_slice()).await?;
    tx.commit().await?;
    Ok(notice.map(|notice| (notice, as_of)))
}

/// A recipient comes out of the payload. Where the kind masks it, a page covers it
/// here as everywhere; the letter's own page is where it is revealed.
async fn cover(tx: &mut Tx, notices: &mut [OutboxNotice]) -> Tried<()> {
    let covers = covers(tx, notices.iter().map(|notice| notice.dead_letter_id)).await?;
    for notice in notices {
        if let Some(cover) = covers.get(&notice.dead_letter_id) {
            cover.put_on_notice(&mut notice.notice);
            cover.put_on(&mut notice.sent_note);
            cover.put_on(&mut notice.last_error);
        }
    }
    Ok(())
}

async fn find_row(tx: &mut Tx, id: NoticeId) -> Tried<Option<OutboxNotice>> {
    let row: Option<StoredNotice> =
        sqlx::query_as(concat!("SELECT ", notice_columns!(), " FROM notices WHERE id = $1"))
            .bind(id.0)
            .fetch_optional(&mut **tx)
            .await?;
    Ok(row.map(StoredNotice::notice))
}

async fn mark_sent(store: &TheStore, id: NoticeId, note: Option<&str>, actor: &Actor) -> Tried<()> {
    let (mut tx, now) = store.write_page().await?;
    let changed = sqlx::query(
        "UPDATE notices SET sent_at = $2, sent_by = $3, sent_note = $4, failed_at = NULL, next_try_at = NULL \
         WHERE id = $1 AND sent_at IS NULL AND (held_until IS NULL OR held_until <= $2)",
    )
    .bind(id.0)
    .bind(At(now))
    .bind(&actor.name)
    .bind(note)
    .execute(&mut *tx)
    .await?;
    if changed.rows_affected() == 0 {
        return Err(why_not(&mut tx, id, now).await?.into());
    }
    audit(&mut tx, actor, Entry::notice_sent(id, note)).await?;
    tx.commit().await?;
    Ok(())
}

async fn hurry(store: &TheStore, id: NoticeId, actor: &Actor) -> Tried<()> {
    let (mut tx, now) = store.write_page().await?;
    let changed = sqlx::query(
        "UPDATE notices SET failed_at = NULL, next_try_at = $2, first_try_at = NULL, tries = 0 \
         WHERE id = $1 AND sent_at IS NULL AND (held_until IS NULL OR held_until <= $2) \
             AND (failed_at IS NOT NULL OR next_try_at > $2)",
    )
    .bind(id.0)
    .bind(At(now))
    .execute(&mut *tx)
    .await?;
    if changed.rows_affected() == 0 {
        return Err(why_not(&mut tx, id, now).await?.into());
    }
    audit(&mut tx, actor, Entry::notice_hurry(id)).await?;
    tx.commit().await?;
    Ok(())
}

async fn why_not(tx: &mut Tx, id: NoticeId, now: DateTime<Utc>) -> Tried<StoreError> {
    Ok(find_row(tx, id).await?.map_or(StoreError::NotFound("notice"), |notice| notice_conflict(&notice, now)))
}

/// Looks before it takes the write lock: mostly there is nothing to do. The
/// guard is repeated, because two servers may have looked at once.
async fn hold(store: &TheStore, limit: u32) -> Tried<Vec<HeldNotice>> {
    let (mut tx, now) = store.read_page().await?;
    let ids: Vec<i64> = sqlx::query_scalar(
        "SELECT id FROM notices WHERE sent_at IS NULL AND failed_at IS NULL AND next_try_at <= $1 \
         ORDER BY next_try_at, id LIMIT $2",
    )
    .bind(At(now))
    .bind(i64::from(limit))
    .fetch_all(&mut *tx)
    .await?;
    tx.commit().await?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let (mut tx, now) = store.write_page().await?;
    let mut held = Vec::with_capacity(ids.len());
    for id in ids {
        let row: Option<StoredHold> = sqlx::query_as(concat!(
            "UPDATE notices SET tries = tries + 1, held_token = held_token + 1, held_until = $2, next_try_at = $2, \
                 first_try_at = coalesce(first_try_at, $1), delivery_key = coalesce(delivery_key, $3) \
             WHERE id = $4 AND sent_at IS NULL AND failed_at IS NULL AND next_try_at <= $1 RETURNING ",
            notice_columns!(),
            ", delivery_key, held_token, first_try_at"
        ))
        .bind(At(now))
        .bind(At(now + TimeDelta::seconds(HOLD_SECONDS)))
        .bind(Secret::random_with_prefix("notice-").expose())
        .bind(id)
        .fetch_optional(&mut *tx)
        .await?;
        held.extend(row.map(|row| HeldNotice {
            notice: row.notice.notice(),
            idempotency_key: row.delivery_key,
            token: row.held_token,
            first_try_at: row.first_try_at.0,
            held_at: now,
        }));
    }
    tx.commit().await?;
    Ok(held)
}

async fn keep(store: &TheStore, held: &HeldNotice, outcome: &TryOutcome) -> Tried<()> {
    let (mut tx, now) = store.write_page().await?;
    let (sent_at, next_try_at, why) = match outcome {
        TryOutcome::Delivered => (Some(now), None, None),
        TryOutcome::GivenUp { why } => (None, None, Some(why)),
        TryOutcome::Again { why, retry_after_seconds } => {
            (None, next_try(held.notice.tries, held.first_try_at, now, *retry_after_seconds), Some(why))
        }
    };
    let failed_at = (sent_at.is_none() && next_try_at.is_none()).then_some(now);
    sqlx::query(
        "UPDATE notices SET sent_at = $3, failed_at = $4, next_try_at = $5, last_error = $6, held_until = NULL \
         WHERE id = $1 AND held_token = $2 AND sent_at IS NULL",
    )
    .bind(held.notice.id.0)
    .bind(held.token)
    .bind(sent_at.map(At))
    .bind(failed_at.map(At))
    .bind(next_try_at.map(At))
    .bind(why.map(|why| preview(&clean(why), MAX_ERROR_CHARACTERS)))
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(())
}
