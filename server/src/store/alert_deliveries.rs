//! Changes of alerts on their way to a webhook. Written once; each database
//! compiles it as a module of its own.

use super::{TheStore, Tx};
use crate::auth::secret::Secret;
use crate::store::fault::Tried;
use crate::store::rows::narrow;
use crate::store::time::At;
use app::model::alert::{Alert, AlertChange, HeldChange};
use app::model::delivery::{GIVEN_UP_AFTER_SECONDS, TryOutcome, next_try};
use app::model::text::{clean, preview};
use app::store::HOLD_SECONDS;
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::FromRow;

/// Longest error that is kept of a try, in characters.
const MAX_ERROR_CHARACTERS: usize = 500;

#[derive(Debug, FromRow)]
struct StoredHold {
    id: i64,
    body: String,
    delivery_key: String,
    tries: i64,
    first_try_at: At,
    held_token: i64,
}

/// Writes down that a change is to be told: in the transaction of the change, and
/// once, because there is one row of each.
pub(super) async fn insert_change(tx: &mut Tx, alert: &Alert, change: AlertChange, now: DateTime<Utc>) -> Tried<()> {
    let mut body = alert.to_json();
    body["event"] = "alert".into();
    body["change"] = change.as_str().into();
    sqlx::query(
        "INSERT INTO alert_deliveries (alert_id, change, body, delivery_key, at, next_try_at) \
         VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (alert_id, change) DO NOTHING",
    )
    .bind(alert.id.0)
    .bind(change.as_str())
    .bind(body.to_string())
    .bind(Secret::random_with_prefix("alert-").expose())
    .bind(At(now))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Looks before it takes the write lock. What nobody told in its time is old news
/// and stays untold.
pub(super) async fn hold(store: &TheStore, limit: u32) -> Tried<Vec<HeldChange>> {
    let (mut tx, now) = store.read_page().await?;
    let ids: Vec<i64> = sqlx::query_scalar(
        "SELECT id FROM alert_deliveries WHERE next_try_at <= $1 AND at > $2 ORDER BY next_try_at, id LIMIT $3",
    )
    .bind(At(now))
    .bind(At(now - TimeDelta::seconds(GIVEN_UP_AFTER_SECONDS)))
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
        let row: Option<StoredHold> = sqlx::query_as(
            "UPDATE alert_deliveries SET tries = tries + 1, held_token = held_token + 1, next_try_at = $3, \
                 first_try_at = coalesce(first_try_at, $2) \
             WHERE id = $1 AND next_try_at <= $2 RETURNING id, body, delivery_key, tries, first_try_at, held_token",
        )
        .bind(id)
        .bind(At(now))
        .bind(At(now + TimeDelta::seconds(HOLD_SECONDS)))
        .fetch_optional(&mut *tx)
        .await?;
        held.extend(row.map(|row| HeldChange {
            id: row.id,
            body: row.body,
            idempotency_key: row.delivery_key,
            tries: narrow(row.tries),
            first_try_at: row.first_try_at.0,
            token: row.held_token,
            held_at: now,
        }));
    }
    tx.commit().await?;
    Ok(held)
}

pub(super) async fn keep(store: &TheStore, held: &HeldChange, outcome: &TryOutcome) -> Tried<()> {
    let (mut tx, now) = store.write_page().await?;
    let (sent_at, next_try_at, why) = match outcome {
        TryOutcome::Delivered => (Some(now), None, None),
        TryOutcome::GivenUp { why } => (None, None, Some(why)),
        TryOutcome::Again { why, retry_after_seconds } => {
            (None, next_try(held.tries, held.first_try_at, now, *retry_after_seconds), Some(why))
        }
    };
    sqlx::query(
        "UPDATE alert_deliveries SET sent_at = $3, next_try_at = $4, last_error = $5 \
         WHERE id = $1 AND held_token = $2 AND sent_at IS NULL",
    )
    .bind(held.id)
    .bind(held.token)
    .bind(sent_at.map(At))
    .bind(next_try_at.map(At))
    .bind(why.map(|why| preview(&clean(why), MAX_ERROR_CHARACTERS)))
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(())
}
