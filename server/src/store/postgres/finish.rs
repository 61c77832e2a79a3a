//! Calls that carry a lease token: heartbeats and ends.

use super::Transaction;
use super::ending::{LockedJob, write_end};
use super::workers::record_work;
use crate::store::fault::Tried;
use crate::store::plan::plan_end;
use app::error::StoreError;
use app::model::ids::JobId;
use app::model::job::{AttemptEnd, Ended, JobState};
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
    record_work(&mut tx, &leased.worker, &job.kind, job.now).await?;
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
    record_work(&mut tx, &leased.worker, &leased.job.kind, leased.job.now).await?;
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
    worker: String,
}

/// Locks the job; answers `None` after counting the late answer when the lease
/// is not the caller's any more.
async fn lock_leased(tx: &mut Transaction, id: JobId, lease_token: i64, call: &str) -> Tried<Option<Leased>> {
    // The clock is read outside the locking query: there it would be older than the lock.
    let job: Option<LockedJob> = sqlx::query_as(
        "WITH locked AS MATERIALIZED ( \
             SELECT j.id, j.kind, j.source, j.tenant, j.state, j.attempts, j.lease_token, j.due_at, j.claimed_at, \
                 j.anchor_at, j.worker, j.canary_reason_code IS NOT NULL AS is_canary, \
                 k.overrides \
             FROM jobs j JOIN kinds k ON k.kind = j.kind WHERE j.id = $1 FOR UPDATE OF j \
         ) SELECT locked.*, clock_timestamp() AS now FROM locked",
    )
    .bind(id.0)
    .fetch_optional(&mut **tx)
    .await?;
    let job = job.ok_or(StoreError::NotFound("job"))?;
    let is_live = job.state == JobState::InProgress.as_str()
        && job.lease_token == lease_token
        && job.due_at.is_some_and(|ends| ends > job.now);
    match (is_live, job.worker.clone()) {
        (true, Some(worker)) => Ok(Some(Leased { policy: job.policy()?, job, worker })),
        _ => {
            count_late_answer(tx, &job, lease_token, call).await?;
            Ok(None)
        }
    }
}

async fn count_late_answer(tx: &mut Transaction, job: &LockedJob, lease_token: i64, call: &str) -> Tried<()> {
    sqlx::query(
        "INSERT INTO late_answers (at, job_id, kind, worker, call) VALUES ($1, $2, $3, \
             (SELECT worker FROM attempts WHERE job_id = $2 AND lease_token = $4 LIMIT 1), $5)",
    )
    .bind(job.now)
    .bind(job.id)
    .bind(&job.kind)
    .bind(lease_token)
    .bind(call)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The call that brings an end, as late answers name it.
fn call_word(end: &AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::Done(_) => "done",
        AttemptEnd::Refuse(_) => "refuse",
        AttemptEnd::Fail(_) => "fail",
    }
}
