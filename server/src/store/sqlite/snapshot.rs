//! Everything the panel shows, in one read transaction: all numbers are of one
//! instant. Canaries are in none of them.

use super::{SqliteStore, Tx};
use crate::store::fault::Tried;
use crate::store::readings::{
    AdmittingClaim, StoredFailure, StoredKind, StoredLastRefusal, StoredRecent, StoredTick, StoredWorker,
};
use crate::store::rows::masking_payloads;
use crate::store::time::At;
use app::model::reading::{NOTICE_PATIENCE_SECONDS, Snapshot};
use chrono::TimeDelta;

/// Sets of admitted kinds that are looked at for the last full claim.
const CLAIM_SETS: u32 = 1_000;

/// A figure over the jobs of kind `k` that are waiting or in progress.
macro_rules! live {
    ($figure:literal, $state:literal) => {
        concat!(
            "(SELECT ",
            $figure,
            " FROM jobs j INDEXED BY jobs_live WHERE j.kind = k.kind AND j.state IN ('waiting', 'in_progress') ",
            "AND j.needs_accept IS NOT 'canary' AND j.state = ",
            $state,
            ")"
        )
    };
}

/// How many jobs of kind `k` ended so.
macro_rules! ended {
    ($outcome:literal) => {
        concat!(
            "(SELECT count(*) FROM endings e INDEXED BY endings_by_kind WHERE e.kind = k.kind AND e.is_canary = 0 ",
            "AND e.outcome = ",
            $outcome,
            ")"
        )
    };
}

impl SqliteStore {
    pub(super) async fn read_snapshot(&self) -> Tried<Snapshot> {
        let mut tx = self.read().await?;
        let claims = list_full_claims(&mut tx).await?;
        let kinds = list_kinds(&mut tx).await?.into_iter().map(|kind| kind.snapshot(&claims)).collect();
        let recent = StoredRecent::summary(list_recent(&mut tx).await?, find_last_success(&mut tx).await?);
        let failures = list_failures(&mut tx).await?.into_iter().map(StoredFailure::failure).collect();
        let workers = list_workers(&mut tx).await?.into_iter().map(StoredWorker::seen).collect();
        let last_refusals = list_last_refusals(&mut tx).await?;
        let ticks = list_ticks(&mut tx).await?.into_iter().map(StoredTick::tick).collect();
        let (late_answers_last_day, refused_polls_last_minutes, unresolved_dead_letters) = count_rest(&mut tx).await?;
        let (due_follow_ups, stuck_notices, done_canaries, calling_alerts, critical_alerts) =
            count_promises(&mut tx).await?;
        let as_of = tx.now;
        tx.commit().await?;
        Ok(Snapshot {
            as_of,
            kinds,
            recent,
            failures,
            workers,
            last_refusals: last_refusals.into_iter().map(StoredLastRefusal::last_refusal).collect(),
            late_answers_last_day,
            refused_polls_last_minutes,
            ticks,
            unresolved_dead_letters,
            due_follow_ups,
            stuck_notices,
            done_canaries,
            calling_alerts,
            critical_alerts,
        })
    }
}

async fn list_kinds(tx: &mut Tx) -> Tried<Vec<StoredKind>> {
    let now = tx.now;
    Ok(sqlx::query_as(
        // Each figure is one range of one index. The index is named, and its
        // condition repeated word for word, because the planner takes no other hint.
        concat!(
            "SELECT k.kind, k.not_running_after_seconds, k.paused_at, k.paused_by, k.hold_ended_at, ",
            live!("count(*)", "'waiting' AND j.due_at <= ?1"),
            " + ",
            live!("count(*)", "'in_progress' AND j.due_at <= ?1 AND j.attempts < k.max_attempts"),
            " AS claimable, ",
            live!("count(*)", "'waiting' AND j.due_at > ?1 AND j.attempts = 0"),
            " AS scheduled, ",
            live!("count(*)", "'waiting' AND j.due_at > ?1 AND j.attempts > 0"),
            " AS retrying, ",
            live!("count(*)", "'in_progress' AND j.due_at > ?1"),
            " AS in_progress, ",
            live!("count(*)", "'in_progress' AND j.due_at <= ?1"),
            " AS lease_expired, ",
            live!("count(*)", "'in_progress' AND j.due_at <= ?1 AND j.attempts >= k.max_attempts"),
            " AS lost, ",
            "(SELECT min(at) FROM (SELECT ",
            live!("min(j.due_at)", "'waiting' AND j.due_at <= ?1"),
            " AS at UNION ALL SELECT ",
            live!("min(j.due_at)", "'in_progress' AND j.due_at <= ?1 AND j.attempts < k.max_attempts"),
            ")) AS oldest_due_at, ",
            live!("min(j.due_at)", "'waiting' AND j.due_at > ?1"),
            " AS next_later_at, ",
            ended!("'done' AND e.at > ?2"),
            " AS done_last_hour, ",
            ended!("'exception' AND e.at > ?3"),
            " AS failed_last_day, ",
            ended!("'refused' AND e.at > ?3"),
            " AS refused_last_day, ",
            ended!("'evidence_failed' AND e.at > ?3"),
            " AS evidence_failed_last_day, ",
            ended!("'dropped' AND e.at > ?3"),
            " AS dropped_last_day, ",
            "(SELECT max(at) FROM (SELECT k.last_worked_at AS at UNION ALL ",
            "SELECT max(w.last_worked_at) FROM worker_kinds w WHERE w.kind = k.kind)) AS last_worked_at, ",
            "(SELECT max(at) FROM (SELECT k.last_claimed_at AS at UNION ALL ",
            "SELECT max(w.last_claimed_at) FROM worker_kinds w WHERE w.kind = k.kind)) AS last_claimed_at ",
            "FROM kinds k ORDER BY k.kind"
        ),
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
         FROM (SELECT job_id, kind, ended_at, outcome, http_status, failure_reason FROM attempts
               WHERE ended_at IS NOT NULL AND is_canary = 0 ORDER BY ended_at DESC, job_id DESC LIMIT 20) a
         JOIN kinds k ON k.kind = a.kind
         ORDER BY a.ended_at DESC, a.job_id DESC",
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
    Ok(sqlx::query_as(concat!(
        "SELECT a.job_id, a.kind, a.ended_at, a.attempt, k.max_attempts, a.category, a.failure_reason, a.http_status,
           substr(a.error, 1, 2000) AS error, a.next_run_at, l.id AS dead_letter_id,
           CASE WHEN k.overrides LIKE '%\"masked_fields\"%' THEN k.overrides END AS overrides,
           CASE WHEN k.overrides LIKE '%\"masked_fields\"%' THEN
             (SELECT ",
        masking_payloads!("p"),
        " FROM jobs p WHERE p.id = a.job_id) END AS masking
         FROM (SELECT * FROM attempts WHERE outcome IN ('failed', 'lost') AND is_canary = 0
               ORDER BY ended_at DESC, job_id DESC LIMIT 10) a
         JOIN kinds k ON k.kind = a.kind
         LEFT JOIN dead_letters l ON l.job_id = a.job_id
         ORDER BY a.ended_at DESC, a.job_id DESC",
    ))
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
           FROM jobs INDEXED BY jobs_leased
           WHERE state = 'in_progress' AND needs_accept IS NOT 'canary' GROUP BY worker)
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

async fn list_last_refusals(tx: &mut Tx) -> Tried<Vec<StoredLastRefusal>> {
    Ok(sqlx::query_as(
        "SELECT s.source, s.kind, s.last_no_at, s.reason_code, s.processed_since,
           EXISTS (SELECT 1 FROM alerts a WHERE a.closed_at IS NULL AND a.rule = 'zero_refusals'
                     AND a.source = s.source) AS is_zero
         FROM last_refusals s JOIN kinds k ON k.kind = s.kind
         WHERE k.overrides NOT LIKE '%\"may_refuse\":{\"value\":false%'
         ORDER BY s.last_processed_at DESC LIMIT 50",
    )
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
           (SELECT count(*) FROM dead_letters WHERE status <> 'resolved' AND is_canary = false)",
    )
    .bind(At(now - TimeDelta::hours(24)))
    .bind(At(now))
    .fetch_one(&mut **tx)
    .await?)
}

/// Follow-ups whose day has come; notices that failed or that nobody tries to
/// send; canaries that were not refused; alerts that nobody knows of, and those
/// that are critical.
async fn count_promises(tx: &mut Tx) -> Tried<(i64, i64, i64, i64, i64)> {
    let now = tx.now;
    Ok(sqlx::query_as(
        "SELECT (SELECT count(*) FROM follow_ups WHERE done_at IS NULL AND due <= ?1),
           (SELECT count(*) FROM notices WHERE sent_at IS NULL AND failed_at IS NOT NULL)
           + (SELECT count(*) FROM notices WHERE sent_at IS NULL AND failed_at IS NULL AND next_try_at <= ?2),
           (SELECT count(*) FROM canary_runs WHERE result = 'done' AND cleared_at IS NULL),
           (SELECT count(*) FROM alerts WHERE closed_at IS NULL
              AND (acknowledged_until IS NULL OR acknowledged_until <= ?3)),
           (SELECT count(*) FROM alerts WHERE closed_at IS NULL AND level = 'critical'
              AND (acknowledged_until IS NULL OR acknowledged_until <= ?3))",
    )
    .bind(now.date_naive())
    .bind(At(now - TimeDelta::seconds(NOTICE_PATIENCE_SECONDS)))
    .bind(At(now))
    .fetch_one(&mut **tx)
    .await?)
}
