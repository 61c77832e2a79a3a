//! Everything the panel shows, in one read transaction: all numbers are of one
//! instant. Canaries are in none of them.

use super::{SqliteStore, Tx};
use crate::store::fault::Tried;
use crate::store::readings::{AdmittingClaim, StoredFailure, StoredKind, StoredRecent, StoredTick, StoredWorker};
use crate::store::time::At;
use app::model::reading::Snapshot;
use chrono::TimeDelta;

/// Sets of admitted kinds that are looked at for the last full claim.
const CLAIM_SETS: u32 = 1_000;

impl SqliteStore {
    pub(super) async fn read_snapshot(&self) -> Tried<Snapshot> {
        let mut tx = self.read().await?;
        let claims = list_full_claims(&mut tx).await?;
        let kinds = list_kinds(&mut tx).await?.into_iter().map(|kind| kind.snapshot(&claims)).collect();
        let recent = StoredRecent::summary(list_recent(&mut tx).await?, find_last_success(&mut tx).await?);
        let failures = list_failures(&mut tx).await?.into_iter().map(StoredFailure::failure).collect();
        let workers = list_workers(&mut tx).await?.into_iter().map(StoredWorker::seen).collect();
        let ticks = list_ticks(&mut tx).await?.into_iter().map(StoredTick::tick).collect();
        let (late_answers_last_day, refused_polls_last_minutes, unresolved_dead_letters) = count_rest(&mut tx).await?;
        let as_of = tx.now;
        tx.commit().await?;
        Ok(Snapshot {
            as_of,
            kinds,
            recent,
            failures,
            workers,
            late_answers_last_day,
            refused_polls_last_minutes,
            ticks,
            unresolved_dead_letters,
        })
    }
}

async fn list_kinds(tx: &mut Tx) -> Tried<Vec<StoredKind>> {
    let now = tx.now;
    Ok(sqlx::query_as(
        "SELECT k.kind, k.not_running_after_seconds, k.paused_at, k.paused_by, k.hold_ended_at,
           coalesce(live.claimable, 0) AS claimable, coalesce(live.scheduled, 0) AS scheduled,
           coalesce(live.retrying, 0) AS retrying, coalesce(live.in_progress, 0) AS in_progress,
           coalesce(live.lease_expired, 0) AS lease_expired, coalesce(live.lost, 0) AS lost,
           live.oldest_due_at, live.next_later_at,
           coalesce(ended.done_last_hour, 0) AS done_last_hour, coalesce(ended.failed, 0) AS failed_last_day,
           coalesce(ended.refused, 0) AS refused_last_day,
           coalesce(ended.evidence_failed, 0) AS evidence_failed_last_day,
           coalesce(ended.dropped, 0) AS dropped_last_day,
           max(coalesce(k.last_worked_at, worked.at), coalesce(worked.at, k.last_worked_at)) AS last_worked_at
         FROM kinds k
         LEFT JOIN (
           SELECT j.kind,
             count(*) FILTER (WHERE j.due_at <= ?1 AND (j.state = 'waiting' OR j.attempts < p.max_attempts))
               AS claimable,
             count(*) FILTER (WHERE j.state = 'waiting' AND j.due_at > ?1 AND j.attempts = 0) AS scheduled,
             count(*) FILTER (WHERE j.state = 'waiting' AND j.due_at > ?1 AND j.attempts > 0) AS retrying,
             count(*) FILTER (WHERE j.state = 'in_progress' AND j.due_at > ?1) AS in_progress,
             count(*) FILTER (WHERE j.state = 'in_progress' AND j.due_at <= ?1) AS lease_expired,
             count(*) FILTER (WHERE j.state = 'in_progress' AND j.due_at <= ?1 AND j.attempts >= p.max_attempts)
               AS lost,
             min(j.due_at) FILTER (WHERE j.due_at <= ?1 AND (j.state = 'waiting' OR j.attempts < p.max_attempts))
               AS oldest_due_at,
             min(j.due_at) FILTER (WHERE j.state = 'waiting' AND j.due_at > ?1) AS next_later_at
           FROM kinds p CROSS JOIN jobs j ON j.kind = p.kind
           WHERE j.state IN ('waiting', 'in_progress') AND j.canary_reason_code IS NULL
           GROUP BY j.kind
         ) live ON live.kind = k.kind
         LEFT JOIN (
           SELECT e.kind,
             count(*) FILTER (WHERE e.outcome = 'done' AND e.at > ?2) AS done_last_hour,
             count(*) FILTER (WHERE e.outcome = 'exception') AS failed,
             count(*) FILTER (WHERE e.outcome = 'refused') AS refused,
             count(*) FILTER (WHERE e.outcome = 'evidence_failed') AS evidence_failed,
             count(*) FILTER (WHERE e.outcome = 'dropped') AS dropped
           FROM kinds p CROSS JOIN endings e ON e.kind = p.kind
           WHERE e.is_canary = 0 AND e.at > ?3
           GROUP BY e.kind
         ) ended ON ended.kind = k.kind
         LEFT JOIN (
           SELECT kind, max(last_worked_at) AS at FROM worker_kinds GROUP BY kind
         ) worked ON worked.kind = k.kind
         ORDER BY k.kind",
    )
    .bind(At(now))
    .bind(At(now - TimeDelta::hours(1)))
    .bind(At(now - TimeDelta::hours(24)))
    .fetch_all(&mut **tx)
    .await?)
}

/// The last full claim for each set of kinds that claims admit.
async fn list_full_claims(tx: &mut Tx) -> Tried<Vec<AdmittingClaim>> {
    // A bare column beside max() is of the row that holds the maximum.
    Ok(sqlx::query_as(
        "SELECT admits, max(full_at) AS full_at, newest_due_at FROM worker_claims
         GROUP BY admits ORDER BY max(full_at) DESC LIMIT ?1",
    )
    .bind(CLAIM_SETS)
    .fetch_all(&mut **tx)
    .await?)
}

async fn list_recent(tx: &mut Tx) -> Tried<Vec<StoredRecent>> {
    Ok(sqlx::query_as(
        "SELECT a.ended_at, a.outcome, a.http_status, a.failure_reason, k.not_running_after_seconds
         FROM (SELECT kind, ended_at, outcome, http_status, failure_reason FROM attempts
               WHERE ended_at IS NOT NULL AND is_canary = 0 ORDER BY ended_at DESC LIMIT 20) a
         JOIN kinds k ON k.kind = a.kind
         ORDER BY a.ended_at DESC",
    )
    .fetch_all(&mut **tx)
    .await?)
}

async fn find_last_success(tx: &mut Tx) -> Tried<Option<At>> {
    Ok(sqlx::query_scalar(
        "SELECT max(at) FROM endings WHERE is_canary = 0 AND outcome IN ('done', 'refused', 'evidence_failed')",
    )
    .fetch_one(&mut **tx)
    .await?)
}

async fn list_failures(tx: &mut Tx) -> Tried<Vec<StoredFailure>> {
    Ok(sqlx::query_as(
        "SELECT a.job_id, a.kind, a.ended_at, a.attempt, k.max_attempts, a.category, a.failure_reason, a.http_status,
           substr(a.error, 1, 2000) AS error, a.next_run_at, l.id AS dead_letter_id
         FROM (SELECT * FROM attempts WHERE outcome IN ('failed', 'lost') AND is_canary = 0
               ORDER BY ended_at DESC, job_id DESC LIMIT 10) a
         JOIN kinds k ON k.kind = a.kind
         LEFT JOIN dead_letters l ON l.job_id = a.job_id
         ORDER BY a.ended_at DESC, a.job_id DESC",
    )
    .fetch_all(&mut **tx)
    .await?)
}

async fn list_workers(tx: &mut Tx) -> Tried<Vec<StoredWorker>> {
    let now = tx.now;
    Ok(sqlx::query_as(
        "WITH leases AS (
           SELECT worker, count(*) FILTER (WHERE due_at > ?1) AS holds,
             count(*) FILTER (WHERE due_at <= ?1) AS lease_expired,
             min(due_at) FILTER (WHERE due_at > ?1) AS next_lease_expires_at
           FROM jobs WHERE state = 'in_progress' AND canary_reason_code IS NULL GROUP BY worker)
         SELECT w.worker, w.last_seen_at, w.last_claim_at, w.last_claim_was_empty,
           coalesce(leases.holds, 0) AS holds, coalesce(leases.lease_expired, 0) AS lease_expired,
           leases.next_lease_expires_at
         FROM workers w LEFT JOIN leases ON leases.worker = w.worker
         WHERE w.last_seen_at > ?2 OR leases.holds > 0
         ORDER BY w.last_seen_at DESC, w.worker LIMIT 50",
    )
    .bind(At(now))
    .bind(At(now - TimeDelta::hours(24)))
    .fetch_all(&mut **tx)
    .await?)
}

async fn list_ticks(tx: &mut Tx) -> Tried<Vec<StoredTick>> {
    let since = At(tx.now - TimeDelta::days(7));
    Ok(sqlx::query_as(
        "SELECT trigger_name, every_seconds, last_at FROM ticks WHERE last_at > ?1 ORDER BY trigger_name LIMIT 100",
    )
    .bind(since)
    .fetch_all(&mut **tx)
    .await?)
}

/// Late answers of a day, refused polls of five minutes, letters nobody resolved.
async fn count_rest(tx: &mut Tx) -> Tried<(i64, i64, i64)> {
    let now = tx.now;
    Ok(sqlx::query_as(
        "SELECT (SELECT count(*) FROM late_answers WHERE at > ?1),
           (SELECT coalesce(sum(n), 0) FROM refused_polls WHERE minute > ?2 / 60000000 - 5),
           (SELECT count(*) FROM dead_letters l JOIN jobs j ON j.id = l.job_id
            WHERE l.status IN ('open', 'taken') AND j.canary_reason_code IS NULL)",
    )
    .bind(At(now - TimeDelta::hours(24)))
    .bind(At(now))
    .fetch_one(&mut **tx)
    .await?)
}
