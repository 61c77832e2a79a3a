//! Raises alerts, closes them, and tells a webhook of each change, at least once:
//! what was sent and not yet kept when a server dies is sent again under the
//! same key.

use crate::webhook::{Message, Sender};
use app::model::alert::HeldChange;
use app::model::alerting::watch::findings;
use app::model::delivery::TryOutcome;
use app::model::reading::Reading;
use app::model::verdict::VerdictState;
use app::store::{Store, Stored};
use futures::future::join_all;

/// Changes that are sent side by side.
const SIDE_BY_SIDE: u32 = 4;

/// Rolls up what is over, judges what is, and keeps what was found; answers how
/// many alerts opened or closed. Any number of servers may do it at once.
///
/// # Errors
/// As the store.
pub async fn watch(store: &dyn Store) -> Stored<u64> {
    store.fold_park_days().await?;
    let verdict = Reading::of(store.snapshot().await?).verdict;
    let not_running = (verdict.state == VerdictState::NotRunning).then_some(verdict.text.as_str());
    let input = store.read_alert_input().await?;
    store.keep_findings(&findings(&input, not_running)).await
}

/// Tells the changes that are due, a few at once; answers how many.
///
/// # Errors
/// When the database is away; what was tried is tried again when it is back.
pub async fn deliver(store: &dyn Store, sender: &Sender) -> Stored<usize> {
    let held = store.hold_changes(SIDE_BY_SIDE).await?;
    let tries = held.iter().map(|held| async move {
        let outcome = send(sender, held).await;
        tell(held, &outcome);
        store.keep_change_try(held, &outcome).await
    });
    // One that cannot be kept must not cut the others short.
    join_all(tries).await.into_iter().collect::<Stored<()>>()?;
    Ok(held.len())
}

async fn send(sender: &Sender, held: &HeldChange) -> TryOutcome {
    let message = Message { name: "alert", body: &held.body, idempotency_key: &held.idempotency_key, at: held.held_at };
    sender.send(&message).await
}

fn tell(held: &HeldChange, outcome: &TryOutcome) {
    let (change, tries) = (held.id, held.tries);
    match outcome {
        TryOutcome::Delivered => tracing::info!(change, tries, "a change of an alert was sent"),
        TryOutcome::Again { why, .. } => tracing::warn!(change, tries, why, "a change of an alert was not sent"),
        TryOutcome::GivenUp { why } => tracing::error!(change, tries, why, "a change of an alert was refused"),
    }
}
