//! An attempt ends: what the plan says is written, whoever ended it.

use super::{Transaction, canaries, evidence, last_refusals};
use crate::store::fault::Tried;
use crate::store::plan::{EndPlan, NewLetter, Running, plan_lost};
use crate::store::rows::{kept_misses, narrow};
use app::model::evidence::Miss;
use app::model::ids::DeadLetterId;
use app::model::job::{DoneReport, JobState};
use app::model::policy::{Overrides, Policy};
use chrono::{DateTime, Utc};
use sqlx::FromRow;

/// A job under our lock, with its kind's policy and the clock since the lock is held.
#[derive(Debug, FromRow)]
pub(super) struct LockedJob {
    pub(super) id: i64,
    pub(super) kind: String,
    pub(super) source: String,
    pub(super) tenant: Option<String>,
    pub(super) attempts: i64,
    pub(super) due_at: Option<DateTime<Utc>>,
    pub(super) claimed_at: Option<DateTime<Utc>>,
    pub(super) anchor_at: DateTime<Utc>,
    pub(super) received_at: DateTime<Utc>,
    pub(super) worker: String,
    pub(super) is_canary: bool,
    pub(super) overrides: String,
    pub(super) now: DateTime<Utc>,
    /// Earlier attempts that were lost; counted only where it matters.
    #[sqlx(default)]
    pub(super) lost_before: i64,
}

impl LockedJob {
    /// The policy in force for its kind.
    pub(super) fn policy(&self) -> Tried<Policy> {
        let overrides: Overrides = serde_json::from_str(&self.overrides)?;
        Ok(Policy::effective(&overrides))
    }

    /// The attempt under way, as the plan wants to see it.
    pub(super) fn running<'a>(&'a self, policy: &'a Policy) -> Running<'a> {
        Running {
            kind: &self.kind,
            tenant: self.tenant.as_deref(),
            received_at: self.received_at,
            attempt: narrow(self.attempts),
            anchor_at: self.anchor_at,
            is_canary: self.is_canary,
            policy,
            now: self.now,
            chance: rand::random(),
        }
    }
}

/// Writes the end of the attempt under way: its row, the job, the letter, the
/// ending. Answers the letter's id if there is one.
pub(super) async fn write_end(
    tx: &mut Transaction,
    job: &LockedJob,
    plan: &EndPlan,
    done: Option<&DoneReport>,
) -> Tried<Option<DeadLetterId>> {
    let row = &plan.attempt;
    let ended = plan.state != JobState::Waiting;
    // A key keeps others out until the job is done, dropped, or its letter resolved.
    let keeps_key = matches!(plan.state, JobState::Waiting | JobState::Dead);
    let reason_code = plan.letter.as_ref().and_then(|l| l.reason_code.as_ref()).or(row.reason_code.as_ref());
    sqlx::query(
        "WITH attempt AS ( \
             UPDATE attempts SET ended_at = $3, outcome = $4, category = $5, failure_reason = $6, http_status = $7, \
                 error_code = $8, error = $9, reason_code = $10, next_run_at = $11, cost_micro_usd = $12 \
             WHERE job_id = $1 AND attempt = $2 \
         ), job AS ( \
             UPDATE jobs SET state = $13, run_at = coalesce($14, run_at), due_at = $14, worker = NULL, \
                 claimed_at = NULL, finished_at = CASE WHEN $15 THEN $3 END, \
                 holds_unique_key = holds_unique_key AND $16, verdict = $17, reason = $18 \
             WHERE id = $1 RETURNING id, kind, source, tenant, verdict, reason, canary_reason_code, replay_mode \
         ) INSERT INTO endings (job_id, kind, source, tenant, at, outcome, reason_code, verdict, reason, is_canary, \
             is_replay) \
         SELECT id, kind, source, tenant, $3, $19, $20, CASE WHEN $19 = 'done' THEN verdict END, \
             CASE WHEN $19 = 'done' THEN reason END, canary_reason_code IS NOT NULL, replay_mode IS NOT NULL \
         FROM job WHERE $19::text IS NOT NULL",
    )
    .bind(job.id)
    .bind(job.attempts)
    .bind(job.now)
    .bind(row.outcome.as_str())
    .bind(row.category.map(|category| category.as_str()))
    .bind(&row.failure_reason)
    .bind(row.http_status.map(i64::from))
    .bind(&row.error_code)
    .bind(&row.error)
    .bind(&row.reason_code)
    .bind(row.next_run_at)
    .bind(row.cost_micro_usd)
    .bind(plan.state.as_str())
    .bind(plan.run_at)
    .bind(ended)
    .bind(keeps_key)
    .bind(done.and_then(|report| report.verdict.as_ref()))
    .bind(done.and_then(|report| report.reason.as_ref()))
    .bind(plan.ending)
    .bind(reason_code)
    .execute(&mut **tx)
    .await?;
    if let Some(outcome) = plan.ending {
        last_refusals::note(tx, job.now, job.id, outcome, reason_code.map(String::as_str)).await?;
    }
    let checked = &plan.checked;
    if let Some(report) = done.filter(|report| report.says_more() || !checked.shadow_misses.is_empty()) {
        write_result(tx, job.id, report, &checked.shadow_misses).await?;
    }
    let letter = match &plan.letter {
        Some(letter) => Some(write_letter(tx, job, letter, &checked.misses).await?),
        None => None,
    };
    if !checked.outcomes.is_empty() {
        evidence::count(tx, job, &checked.outcomes).await?;
    }
    Ok(letter)
}

async fn write_result(tx: &mut Transaction, job_id: i64, report: &DoneReport, shadow_misses: &[Miss]) -> Tried<()> {
    sqlx::query(
        "INSERT INTO results (job_id, result, evidence, \"values\", source_text, envelope, value_minor, currency, \
             shadow, shadow_misses) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(job_id)
    .bind(report.result.as_ref().map(|json| json.as_str()))
    .bind(report.evidence.as_ref().map(|json| json.as_str()))
    .bind(report.values.as_ref().map(|json| json.as_str()))
    .bind(&report.source_text)
    .bind(report.envelope.as_ref().map(|json| json.as_str()))
    .bind(report.value_minor)
    .bind(&report.currency)
    .bind(report.shadow.as_ref().map(|json| json.as_str()))
    .bind(kept_misses(shadow_misses)?)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

async fn write_letter(
    tx: &mut Transaction,
    job: &LockedJob,
    letter: &NewLetter,
    misses: &[Miss],
) -> Tried<DeadLetterId> {
    let id = sqlx::query_scalar(
        "INSERT INTO dead_letters (job_id, kind, source, tenant, route, reason_code, failure_reason, field, evidence, \
             error, category, http_status, error_code, envelope, group_key, fingerprint_version, dead_lettered_at, \
             is_canary, misses) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) RETURNING id",
    )
    .bind(job.id)
    .bind(&job.kind)
    .bind(&job.source)
    .bind(&job.tenant)
    .bind(letter.route.as_str())
    .bind(&letter.reason_code)
    .bind(&letter.failure_reason)
    .bind(&letter.field)
    .bind(&letter.evidence)
    .bind(&letter.error)
    .bind(letter.category.map(|category| category.as_str()))
    .bind(letter.http_status.map(i64::from))
    .bind(&letter.error_code)
    .bind(letter.envelope.as_ref().map(|json| json.as_str()))
    .bind(&letter.group_key)
    .bind(i64::from(letter.fingerprint_version))
    .bind(job.now)
    .bind(job.is_canary)
    .bind(kept_misses(misses)?)
    .fetch_one(&mut **tx)
    .await?;
    Ok(DeadLetterId(id))
}

/// Parks up to `limit` jobs whose lease expired with all attempts used; leaves
/// alone what somebody else is just parking or ending.
pub(super) async fn park_exhausted(tx: &mut Transaction, limit: u32) -> Tried<u64> {
    let jobs: Vec<LockedJob> = sqlx::query_as(
        "WITH locked AS ( \
             SELECT j.id, j.kind, j.source, j.tenant, j.attempts, j.due_at, j.claimed_at, j.anchor_at, \
                 coalesce(j.received_at, j.enqueued_at) AS received_at, \
                 coalesce(j.worker, '') AS worker, j.canary_reason_code IS NOT NULL AS is_canary, k.overrides \
             FROM jobs j JOIN kinds k ON k.kind = j.kind \
             WHERE j.state = 'in_progress' AND j.due_at <= statement_timestamp() AND j.attempts >= k.max_attempts \
             ORDER BY j.due_at, j.id LIMIT $1 FOR UPDATE OF j SKIP LOCKED \
         ) SELECT locked.*, clock_timestamp() AS now, (SELECT count(*) FROM attempts a \
             WHERE a.job_id = locked.id AND a.outcome = 'lost') AS lost_before FROM locked",
    )
    .bind(i64::from(limit))
    .fetch_all(&mut **tx)
    .await?;
    for job in &jobs {
        let policy = job.policy()?;
        let plan = plan_lost(&job.running(&policy), narrow(job.lost_before));
        write_end(tx, job, &plan, None).await?;
        canaries::after_end(tx, job.now, &job.kind, job.id, job.is_canary, &plan, None).await?;
    }
    Ok(jobs.len() as u64)
}

/// A job that was claimed again after its lease ran out, with the attempt that was lost.
#[derive(Debug, FromRow)]
pub(super) struct LostJob {
    id: i64,
    kind: String,
    attempt: i64,
    anchor_at: DateTime<Utc>,
    is_canary: bool,
    overrides: String,
    lost_before: i64,
}

/// Ends the lost attempts of jobs that were claimed again at `now`.
pub(super) async fn end_lost_attempts(tx: &mut Transaction, jobs: Vec<LostJob>, now: DateTime<Utc>) -> Tried<()> {
    let (mut ids, mut attempts, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for job in jobs {
        let overrides: Overrides = serde_json::from_str(&job.overrides)?;
        let policy = Policy::effective(&overrides);
        let running = Running {
            kind: &job.kind,
            tenant: None,
            received_at: now,
            attempt: narrow(job.attempt),
            anchor_at: job.anchor_at,
            is_canary: job.is_canary,
            policy: &policy,
            now,
            chance: 0.0,
        };
        rows.push(plan_lost(&running, narrow(job.lost_before)).attempt);
        ids.push(job.id);
        attempts.push(job.attempt);
    }
    sqlx::query(
        "UPDATE attempts a SET ended_at = $3, outcome = l.outcome, category = l.category, \
             failure_reason = l.failure_reason, error = l.error, next_run_at = $3 \
         FROM unnest($1::bigint[], $2::bigint[], $4::text[], $5::text[], $6::text[], $7::text[]) \
             AS l (job_id, attempt, outcome, category, failure_reason, error) \
         WHERE a.job_id = l.job_id AND a.attempt = l.attempt",
    )
    .bind(ids)
    .bind(attempts)
    .bind(now)
    .bind(rows.iter().map(|row| row.outcome.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|row| row.category.map(|category| category.as_str())).collect::<Vec<_>>())
    .bind(rows.iter().map(|row| row.failure_reason.as_deref()).collect::<Vec<_>>())
    .bind(rows.iter().map(|row| row.error.as_deref()).collect::<Vec<_>>())
    .execute(&mut **tx)
    .await?;
    Ok(())
}
