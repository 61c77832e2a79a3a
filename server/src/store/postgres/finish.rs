//! Calls that carry a lease token: heartbeats and ends.

use super::ending::{LockedJob, write_end};
use super::workers::record_work;
use super::{Transaction, canaries};
use crate::store::fault::Tried;
use crate::store::plan::plan_end;
use app::error::StoreError;
use app::model::ids::JobId;
use app::model::job::{AttemptEnd, Ended};
use app::model::policy::Policy;
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgPool;

/// Extends a lease.
pub(super) async fn heartbeat(
    pool: &PgPool,
    id: JobId,
    lease_token: i64,
    lease_seconds: Option<u32>,
) -> Tried<DateTime<Utc>> {
    let mut tx = super::begin(pool).await?;
    let Some(leased) = lock_leased(&mut tx, id, lease_token, "heartbeat").await? else {
        tx.commit().await?;
        return Err(StoreError::LeaseLost.into());
    };
    let (job, policy) = (leased.job, leased.policy);
    let end = lease_end(&job, &policy, lease_seconds);
    sqlx::query("UPDATE jobs SET due_at = $2 WHERE id = $1").bind(job.id).bind(end).execute(&mut *tx).await?;
    record_work(&mut tx, &job).await?;
    tx.commit().await?;
    Ok(end)
}

/// Ends an attempt as its worker reports it.
pub(super) async fn finish(pool: &PgPool, id: JobId, lease_token: i64, end: &AttemptEnd) -> Tried<Ended> {
    let mut tx = super::begin(pool).await?;
    let Some(leased) = lock_leased(&mut tx, id, lease_token, call_word(end)).await? else {
        tx.commit().await?;
        return Err(StoreError::LeaseLost.into());
    };
    let plan = plan_end(&leased.job.running(&leased.policy), end)?;
    let done = match end {
        AttemptEnd::Done(report) => Some(report.as_ref()),
        AttemptEnd::Refuse(_) | AttemptEnd::Fail(_) => None,
    };
    let letter = write_end(&mut tx, &leased.job, &plan, done).await?;
    canaries::after_end(&mut tx, leased.job.now, &leased.job.kind, id.0, leased.job.is_canary, &plan, Some(end))
        .await?;
    record_work(&mut tx, &leased.job).await?;
    tx.commit().await?;
    Ok(plan.answer(letter))
}

/// When an extended lease ends: after what the worker asked for, never more than
/// the policy's lease, never later than `max_attempt_seconds` after the claim.
fn lease_end(job: &LockedJob, policy: &Policy, asked_seconds: Option<u32>) -> DateTime<Utc> {
    let seconds = asked_seconds.map_or(policy.lease_seconds, |asked| asked.min(policy.lease_seconds));
    let lease = job.now + TimeDelta::seconds(i64::from(seconds));
    let longest = job.claimed_at.map(|at| at + TimeDelta::seconds(i64::from(policy.max_attempt_seconds)));
    longest.map_or(lease, |longest| lease.min(longest))
}

/// A job under our lock and under the caller's live lease.
struct Leased {
    job: LockedJob,
    policy: Policy,
}

/// Locks the job if its lease is the caller's and lives; else counts the late
/// answer and answers `None`.
///
/// A lease that is lost stays lost, so a late answer needs no lock, and never
/// keeps a claim from the job. One that looks alive is judged again, by the
/// clock as it is once the lock is held.
async fn lock_leased(tx: &mut Transaction, id: JobId, lease_token: i64, call: &str) -> Tried<Option<Leased>> {
    let job: Option<LockedJob> = sqlx::query_as(
        "WITH locked AS MATERIALIZED ( \
             SELECT j.id, j.kind, j.source, j.tenant, j.attempts, j.due_at, j.claimed_at, j.anchor_at, \
                 coalesce(j.received_at, j.enqueued_at) AS received_at, \
                 coalesce(j.worker, '') AS worker, j.canary_reason_code IS NOT NULL AS is_canary, k.overrides \
             FROM jobs j JOIN kinds k ON k.kind = j.kind \
             WHERE j.id = $1 AND j.lease_token = $2 AND j.state = 'in_progress' AND j.due_at > statement_timestamp() \
             FOR UPDATE OF j \
         ) SELECT locked.*, clock_timestamp() AS now FROM locked",
    )
    .bind(id.0)
    .bind(lease_token)
    .fetch_optional(&mut **tx)
    .await?;
    match job.filter(|job| job.due_at.is_some_and(|ends| ends > job.now)) {
        Some(job) => Ok(Some(Leased { policy: job.policy()?, job })),
        None => {
            count_late_answer(tx, id, lease_token, call).await?;
            Ok(None)
        }
    }
}

/// Fails with `NotFound` when there is no such job.
async fn count_late_answer(tx: &mut Transaction, id: JobId, lease_token: i64, call: &str) -> Tried<()> {
    let counted = sqlx::query(
        "INSERT INTO late_answers (at, job_id, kind, worker, call) \
         SELECT clock_timestamp(), j.id, j.kind, \
             (SELECT a.worker FROM attempts a WHERE a.job_id = j.id AND a.lease_token = $2 LIMIT 1), $3 \
         FROM jobs j WHERE j.id = $1",
    )
    .bind(id.0)
    .bind(lease_token)
    .bind(call)
    .execute(&mut **tx)
    .await?;
    match counted.rows_affected() {
        0 => Err(StoreError::NotFound("job").into()),
        _ => Ok(()),
    }
}

/// The call that brings an end, as late answers name it.
fn call_word(end: &AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::Done(_) => "done",
        AttemptEnd::Refuse(_) => "refuse",
        AttemptEnd::Fail(_) => "fail",
    }
}
