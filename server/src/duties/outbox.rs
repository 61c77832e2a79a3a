//! Sends customer notices to their webhook, at least once each: what was sent
//! and not yet kept when a server dies is sent again under the same key.

use crate::webhook::{Message, Sender};
use app::model::delivery::TryOutcome;
use app::model::outbox::HeldNotice;
use app::store::{Store, Stored};
use futures::future::join_all;
use serde_json::json;

/// Notices that are sent side by side, so that a slow receiver holds up few.
const SIDE_BY_SIDE: u32 = 4;

/// Tries the notices that are due, a few at once; answers how many.
///
/// # Errors
/// When the database is away; what was tried is tried again when it is back.
pub async fn deliver(store: &dyn Store, sender: &Sender) -> Stored<usize> {
    let held = store.hold_notices(SIDE_BY_SIDE).await?;
    let tries = held.iter().map(|held| async move {
        let outcome = send(sender, held).await;
        tell(held, &outcome);
        store.keep_try(held, &outcome).await
    });
    // One that cannot be kept must not cut the others short.
    join_all(tries).await.into_iter().collect::<Stored<()>>()?;
    Ok(held.len())
}

async fn send(sender: &Sender, held: &HeldNotice) -> TryOutcome {
    let body = body(held);
    let message = Message { name: "notice", body: &body, idempotency_key: &held.idempotency_key, at: held.held_at };
    sender.send(&message).await
}

/// What a receiver gets: the same bytes at every try.
fn body(held: &HeldNotice) -> String {
    let notice = &held.notice;
    let content = &notice.notice;
    json!({
        "event": "notice",
        "id": notice.id,
        "dead_letter_id": notice.dead_letter_id,
        "made_at": notice.at,
        "recipient": content.recipient,
        "subject": content.subject,
        "body": content.body,
        "next_action": content.next_action,
        "when": content.when,
    })
    .to_string()
}

/// The log names the notice, never whom it goes to.
fn tell(held: &HeldNotice, outcome: &TryOutcome) {
    let (notice, tries) = (held.notice.id, held.notice.tries);
    match outcome {
        TryOutcome::Delivered => tracing::info!(%notice, tries, "a notice was sent"),
        TryOutcome::Again { why, .. } => tracing::warn!(%notice, tries, why, "a notice was not sent"),
        TryOutcome::GivenUp { why } => tracing::error!(%notice, tries, why, "a notice was refused"),
    }
}
