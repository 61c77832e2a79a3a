//! Acts on the letters of confirmed bulks, one by one, as the person who
//! confirmed them. What was acted on and not yet kept when a server dies is
//! found again by its idempotency key: nothing is done twice.

use crate::auth::secret::sha256_hex;
use app::error::StoreError;
use app::model::bulk::{Bulk, BulkAct, BulkItem, ItemOutcome, Leave, Trial};
use app::model::letter::LetterStatus;
use app::model::people::{Actor, Role};
use app::model::recovery::{IdempotencyKey, LetterAct};
use app::store::{Store, Stored};

/// Letters between two looks at the other bulks.
const BATCH: u32 = 100;

/// Works on one bulk for a while; answers whether there may be more to do at once.
///
/// # Errors
/// When the database is away; the bulk goes on when it is back.
pub async fn work(store: &dyn Store) -> Stored<bool> {
    let Some(taken) = store.take_bulk().await? else { return Ok(false) };
    let bulk = taken.bulk;
    let (Some(act), Some(actor)) = (&bulk.act, &bulk.started_by) else {
        return Err(StoreError::Internal(format!("bulk {} runs without an action", bulk.id)));
    };
    let trial = if bulk.is_trial { Trial::of(act.action, &taken.counts) } else { Trial::Over };
    let leave = match trial {
        Trial::Wait => Leave::Waiting,
        Trial::NoneSucceeded => Leave::Halted(
            "none of the first replays succeeded, so the others were left alone; see why below".to_owned(),
        ),
        Trial::Over if bulk.is_trial => Leave::TrialOver,
        Trial::Over => act_on(store, &bulk, act, actor, BATCH).await?,
        Trial::TryMore(letters) => act_on(store, &bulk, act, actor, u32::try_from(letters).unwrap_or(1)).await?,
    };
    store.leave_bulk(bulk.id, &leave).await?;
    Ok(leave != Leave::Waiting)
}

/// Acts on the next letters; how the bulk is to be left.
async fn act_on(store: &dyn Store, bulk: &Bulk, act: &BulkAct, actor: &Actor, limit: u32) -> Stored<Leave> {
    let items = store.list_outstanding(bulk.id, limit).await?;
    if items.is_empty() {
        return Ok(Leave::Done);
    }
    for item in items {
        let role = match store.find_bulk_role(bulk.id).await? {
            // Stopped meanwhile: leaving it changes nothing.
            None => return Ok(Leave::Again),
            Some(Some(role)) if role >= Role::Reviewer => role,
            Some(_) => return Ok(Leave::Stopped(format!("{} may not act on dead letters any more", actor.name))),
        };
        let item = act_once(store, bulk, act, &Actor { role: Some(role), ..actor.clone() }, item).await?;
        store.keep_outcome(bulk.id, &item).await?;
        tokio::task::yield_now().await;
    }
    Ok(Leave::Again)
}

/// Acts on one letter; what became of it.
async fn act_once(store: &dyn Store, bulk: &Bulk, act: &BulkAct, actor: &Actor, item: BulkItem) -> Stored<BulkItem> {
    let (id, role) = (item.dead_letter_id, actor.role.unwrap_or(Role::OnCall));
    let body = serde_json::json!(["bulk", bulk.id, id, act.action.as_str(), act.mode.as_str(), act.note]);
    let press = LetterAct {
        note: act.note.clone(),
        mode: act.mode,
        idempotency: Some(IdempotencyKey {
            key: format!("bulk:{}:{id}", bulk.id),
            body_sha256: sha256_hex(&body.to_string()),
        }),
        ..LetterAct::new(id, act.action, item.version, role)
    };
    let (outcome, said, replay_job_id) = match store.act(&press, actor).await {
        Ok(acted) => (ItemOutcome::Acted, None, acted.replay_job_ids.first().copied()),
        Err(StoreError::Conflict(said)) => (why_conflict(store, &item, &actor.name).await?, Some(said), None),
        Err(StoreError::Forbidden(said)) => (ItemOutcome::Forbidden, Some(said), None),
        Err(StoreError::Invalid(field)) => (ItemOutcome::Failed, Some(format!("{} {}", field.field, field.rule)), None),
        Err(StoreError::NotFound(what)) => (ItemOutcome::Failed, Some(format!("there is no such {what}")), None),
        Err(StoreError::DatabaseError(cause)) => {
            // What this one letter meets must not hold up the others; a sick
            // database must not make all of them fail.
            store.ping().await?;
            tracing::error!(cause, letter = %id, "a letter of a bulk was refused by the database");
            (ItemOutcome::Failed, Some("the database refused it; the server's log has the cause".to_owned()), None)
        }
        Err(StoreError::Internal(cause)) => {
            tracing::error!(cause, letter = %id, "a letter of a bulk failed");
            (ItemOutcome::Failed, Some("it failed on the server; its log has the cause".to_owned()), None)
        }
        Err(error @ (StoreError::Unavailable(_) | StoreError::LeaseLost)) => return Err(error),
    };
    Ok(BulkItem { outcome: Some(outcome), said, replay_job_id, ..item })
}

/// What stood in the way.
async fn why_conflict(store: &dyn Store, item: &BulkItem, by: &str) -> Stored<ItemOutcome> {
    let Some(found) = store.find_letter(item.dead_letter_id).await? else { return Ok(ItemOutcome::Failed) };
    let letter = found.letter;
    Ok(match letter.status {
        LetterStatus::Resolved => ItemOutcome::AlreadyResolved,
        LetterStatus::Taken if letter.taken.as_ref().is_some_and(|taken| taken.by != by) => ItemOutcome::Taken,
        _ if letter.version != item.version => ItemOutcome::Changed,
        _ => ItemOutcome::NotOffered,
    })
}
