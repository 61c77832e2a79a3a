//! What the server does without being asked: parks jobs whose worker is lost,
//! deletes what is older than its keep, acts on the letters of bulks, sends
//! customer notices, runs canaries, and raises alerts.
//!
//! One duty at a time, and beside them the bulks and the notices. Small batches with pauses between, so that
//! nobody waits for them. A fault is logged once, not at every try; the duties
//! go on by themselves when the database is back.

pub mod alerts;
pub mod bulk;
pub mod outbox;

use crate::webhook::{Sender, Target};
use app::error::StoreError;
use app::store::Store;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

const REAP_EVERY: Duration = Duration::from_secs(3);
const REAP_BATCH: u32 = 200;
const PURGE_EVERY: Duration = Duration::from_secs(60);
const PURGE_BATCH: u32 = 500;
const BETWEEN_BATCHES: Duration = Duration::from_millis(50);
/// Until somebody's confirmed bulk is found.
const LOOK_FOR_BULKS: Duration = Duration::from_millis(500);
/// Until a notice that is due is found.
const LOOK_FOR_NOTICES: Duration = Duration::from_secs(1);
/// Between two looks at what somebody has to be told of.
const LOOK_FOR_ALERTS: Duration = Duration::from_secs(20);
/// Until a canary that is due is found.
const LOOK_FOR_CANARIES: Duration = Duration::from_secs(5);
/// A round ends after so long, so that reaping is never late by more.
const ROUND: Duration = Duration::from_secs(2);

/// Finished jobs are kept for 7 days.
const KEEP_DONE_SECONDS: u32 = 7 * 86_400;
/// Resolved dead letters are kept for 90 days.
const KEEP_RESOLVED_SECONDS: u32 = 90 * 86_400;

/// Starts the duties; they end with the returned handle's `abort`. Notices are
/// sent to `notices` and changes of alerts to `alerts`, if they are there.
pub fn spawn(store: Arc<dyn Store>, notices: Option<Target>, alerts: Option<Target>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let (sender, alert_sender) = (notices.map(Sender::new), alerts.map(Sender::new));
        tokio::join!(
            work_on_bulks(&*store),
            send_notices(&*store, sender.as_ref()),
            run_canaries(&*store),
            watch(&*store),
            tell_changes(&*store, alert_sender.as_ref()),
            park_and_purge(&*store)
        );
    })
}

/// Notices, as long as there are any and somewhere to send them.
async fn send_notices(store: &dyn Store, sender: Option<&Sender>) {
    let Some(sender) = sender else { return };
    let mut trouble = Trouble::default();
    loop {
        let tried = outbox::deliver(store, sender).await;
        let pause = if tried.as_ref().is_ok_and(|tried| *tried > 0) { BETWEEN_BATCHES } else { LOOK_FOR_NOTICES };
        trouble.note(tried.map(|_| ()));
        sleep(pause).await;
    }
}

/// Alerts, as long as the server runs.
async fn watch(store: &dyn Store) {
    let mut trouble = Trouble::default();
    loop {
        trouble.note(alerts::watch(store).await.map(|changed| {
            if changed > 0 {
                tracing::info!(changed, "alerts opened or closed");
            }
        }));
        sleep(LOOK_FOR_ALERTS).await;
    }
}

/// Changes of alerts, as long as there are any and somewhere to send them.
async fn tell_changes(store: &dyn Store, sender: Option<&Sender>) {
    let Some(sender) = sender else { return };
    let mut trouble = Trouble::default();
    loop {
        let tried = alerts::deliver(store, sender).await;
        let pause = if tried.as_ref().is_ok_and(|tried| *tried > 0) { BETWEEN_BATCHES } else { LOOK_FOR_NOTICES };
        trouble.note(tried.map(|_| ()));
        sleep(pause).await;
    }
}

/// Canaries, when they are due.
async fn run_canaries(store: &dyn Store) {
    let mut trouble = Trouble::default();
    loop {
        trouble.note(store.run_due_canaries().await.map(|started| {
            if started > 0 {
                tracing::info!(started, "canaries were started");
            }
        }));
        sleep(LOOK_FOR_CANARIES).await;
    }
}

/// Bulks, as long as there are any.
async fn work_on_bulks(store: &dyn Store) {
    let mut trouble = Trouble::default();
    loop {
        let worked = bulk::work(store).await;
        let pause = if matches!(worked, Ok(true)) { BETWEEN_BATCHES } else { LOOK_FOR_BULKS };
        trouble.note(worked.map(|_| ()));
        sleep(pause).await;
    }
}

/// Parks what is lost and deletes what is old.
async fn park_and_purge(store: &dyn Store) {
    let mut trouble = Trouble::default();
    let mut ticks = interval(REAP_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut purge_at = Instant::now();
    loop {
        ticks.tick().await;
        trouble.note(in_batches(REAP_BATCH, || store.reap(REAP_BATCH)).await.map(|reaped| {
            if reaped > 0 {
                tracing::info!(reaped, "parked jobs whose lease expired with all attempts used");
            }
        }));
        if Instant::now() >= purge_at {
            let purge = || store.purge(KEEP_DONE_SECONDS, KEEP_RESOLVED_SECONDS, PURGE_BATCH);
            trouble.note(in_batches(PURGE_BATCH, purge).await.map(|purged| {
                purge_at = Instant::now() + if purged < u64::from(PURGE_BATCH) { PURGE_EVERY } else { REAP_EVERY };
            }));
        }
    }
}

/// Repeats `duty` until a batch is not full or the round is over; answers the sum.
async fn in_batches<F>(batch: u32, duty: impl Fn() -> F) -> Result<u64, StoreError>
where
    F: Future<Output = Result<u64, StoreError>>,
{
    let started = Instant::now();
    let mut sum = 0;
    loop {
        let done = duty().await?;
        sum += done;
        if done < u64::from(batch) || started.elapsed() > ROUND {
            return Ok(sum);
        }
        sleep(BETWEEN_BATCHES).await;
    }
}

/// Logs the first fault and the recovery, not what lies between.
#[derive(Default)]
struct Trouble {
    is_on: bool,
}

impl Trouble {
    fn note(&mut self, outcome: Result<(), StoreError>) {
        match outcome {
            Ok(()) if self.is_on => {
                self.is_on = false;
                tracing::info!("background duties go on");
            }
            Err(error) if !self.is_on => {
                self.is_on = true;
                tracing::error!(?error, "background duties wait for the database");
            }
            _ => {}
        }
    }
}
