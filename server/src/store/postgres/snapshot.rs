//! Everything the panel shows, in one statement: all numbers are of one
//! instant, and no transaction stays open while anybody waits. Canaries are in
//! none of them.

use crate::store::fault::Tried;
use crate::store::readings::{
    AdmittingClaim, StoredFailure, StoredKind, StoredLastRefusal, StoredRecent, StoredTick, StoredWorker,
};
use crate::store::time::At;
use app::model::reading::{NOTICE_PATIENCE_SECONDS, Snapshot};
use serde::Deserialize;
use sqlx::PgPool;

/// The rows of every part, as the statement puts them together.
#[derive(Deserialize)]
struct StoredSnapshot {
    as_of: At,
    kinds: Vec<StoredKind>,
    claims: Vec<AdmittingClaim>,
    recent: Vec<StoredRecent>,
    last_success_at: Option<At>,
    failures: Vec<StoredFailure>,
    workers: Vec<StoredWorker>,
    ticks: Vec<StoredTick>,
    last_refusals: Vec<StoredLastRefusal>,
    late_answers_last_day: i64,
    refused_polls_last_minutes: i64,
    unresolved_dead_letters: i64,
    due_follow_ups: i64,
    stuck_notices: i64,
    done_canaries: i64,
    calling_alerts: i64,
    critical_alerts: i64,
}

/// Reads the snapshot.
pub(super) async fn snapshot(pool: &PgPool) -> Tried<Snapshot> {
    let json: String = sqlx::query_scalar(include_str!("snapshot.sql"))
        .bind(NOTICE_PATIENCE_SECONDS as f64)
        .fetch_one(&mut *super::acquire(pool).await?)
        .await?;
    let stored: StoredSnapshot = serde_json::from_str(&json)?;
    Ok(Snapshot {
        as_of: stored.as_of.0,
        kinds: stored.kinds.into_iter().map(|kind| kind.snapshot(&stored.claims)).collect(),
        recent: StoredRecent::summary(stored.recent, stored.last_success_at),
        failures: stored.failures.into_iter().map(StoredFailure::failure).collect(),
        workers: stored.workers.into_iter().map(StoredWorker::seen).collect(),
        last_refusals: stored.last_refusals.into_iter().map(StoredLastRefusal::last_refusal).collect(),
        late_answers_last_day: stored.late_answers_last_day,
        refused_polls_last_minutes: stored.refused_polls_last_minutes,
        ticks: stored.ticks.into_iter().map(StoredTick::tick).collect(),
        unresolved_dead_letters: stored.unresolved_dead_letters,
        due_follow_ups: stored.due_follow_ups,
        stuck_notices: stored.stuck_notices,
        done_canaries: stored.done_canaries,
        calling_alerts: stored.calling_alerts,
        critical_alerts: stored.critical_alerts,
    })
}
