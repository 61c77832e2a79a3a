//! Heartbeats and the end of attempts, under the lease.

use super::{SqliteStore, Tx, canaries, claim, evidence, last_refusals};
use crate::store::fault::Tried;
use crate::store::plan::{AttemptRow, EndPlan, NewLetter, Running, plan_end, plan_lost};
use crate::store::rows::{kept_misses, narrow};
use crate::store::time::At;
use app::error::StoreError;
use app::model::classify::Category;
use app::model::evidence::Miss;
use app::model::ids::{DeadLetterId, JobId};
use app::model::job::{AttemptEnd, DoneReport, Ended, JobState, RawJson};
use app::model::policy::{MAX_SECONDS, Policy};
use chrono::{DateTime, Utc};
use sqlx::FromRow;

/// The columns of a [`LeasedJob`].
macro_rules! leased_jobs {
    ($rest:literal) => {
        concat!(
            "SELECT j.id, j.kind, j.source, j.tenant, j.state, j.due_at, j.attempts, j.lease_token, j.anchor_at, ",
            "coalesce(j.received_at, j.enqueued_at) AS received_at, ",
            "j.worker, j.canary_reason_code IS NOT NULL AS is_canary, j.replay_mode IS NOT NULL AS is_replay, ",
            "k.overrides, (SELECT count(*) FROM attempts a WHERE a.job_id = j.id AND a.outcome = 'lost') AS lost_before ",
            "FROM jobs j JOIN kinds k ON k.kind = j.kind ",
            $rest
        )
    };
}

/// A job with what decides about its attempt.
#[derive(FromRow)]
pub(super) struct LeasedJob {
    id: i64,
    kind: String,
    source: String,
    tenant: Option<String>,
    state: String,
    due_at: Option<At>,
    attempts: i64,
    lease_token: i64,
    anchor_at: At,
    received_at: At,
    worker: Option<String>,
    is_canary: bool,
    is_replay: bool,
    overrides: String,
    lost_before: i64,
}

impl SqliteStore {
    pub(super) async fn extend_lease(
        &self,
        id: JobId,
        lease_token: i64,
        lease_seconds: Option<u32>,
    ) -> Tried<DateTime<Utc>> {
        let mut tx = self.write().await?;
        let now = At(tx.now);
        let extended: Option<(At, String, String)> = sqlx::query_as(
            "UPDATE jobs SET due_at = min(?3 + 1000000 * min(k.lease_seconds, ?4),
               jobs.claimed_at + 1000000 * k.max_attempt_seconds)
             FROM kinds k
             WHERE k.kind = jobs.kind AND jobs.id = ?1 AND jobs.lease_token = ?2
               AND jobs.state = 'in_progress' AND jobs.due_at > ?3
             RETURNING due_at, worker, kind",
        )
        .bind(id.0)
        .bind(lease_token)
        .bind(now)
        .bind(lease_seconds.map_or(MAX_SECONDS as i64, i64::from))
        .fetch_optional(&mut *tx)
        .await?;
        let Some((At(expires_at), worker, kind)) = extended else {
            return Err(count_late_answer(tx, id, lease_token, "heartbeat").await?.into());
        };
        seen_working(&mut tx, &worker, &kind).await?;
        tx.commit().await?;
        Ok(expires_at)
    }

    pub(super) async fn end_attempt(&self, id: JobId, lease_token: i64, end: &AttemptEnd) -> Tried<Ended> {
        let mut tx = self.write().await?;
        let job = LeasedJob::find(&mut tx, id).await?.filter(|job| job.is_under(lease_token, tx.now));
        let Some(job) = job else {
            return Err(count_late_answer(tx, id, lease_token, call_word(end)).await?.into());
        };
        let policy = job.policy()?;
        let plan = plan_end(&job.running(&policy, tx.now), end)?;
        let done = match end {
            AttemptEnd::Done(report) => Some(&**report),
            AttemptEnd::Refuse(_) | AttemptEnd::Fail(_) => None,
        };
        let letter = job.write_end(&mut tx, &plan, done).await?;
        job.tell_canaries(&mut tx, &plan, Some(end)).await?;
        if let Some(worker) = &job.worker {
            seen_working(&mut tx, worker, &job.kind).await?;
        }
        tx.commit().await?;
        Ok(plan.answer(letter))
    }
}

impl LeasedJob {
    async fn find(tx: &mut Tx, id: JobId) -> Tried<Option<Self>> {
        Ok(sqlx::query_as(leased_jobs!("WHERE j.id = ?1")).bind(id.0).fetch_optional(&mut **tx).await?)
    }

    /// The jobs of these ids, a JSON array.
    pub(super) async fn list(tx: &mut Tx, ids: &str) -> Tried<Vec<Self>> {
        let query = sqlx::query_as(leased_jobs!("WHERE j.id IN (SELECT value FROM json_each(?1))"));
        Ok(query.bind(ids).fetch_all(&mut **tx).await?)
    }

    /// Jobs whose lease expired with all attempts used, oldest first.
    pub(super) async fn list_used_up(tx: &mut Tx, limit: u32) -> Tried<Vec<Self>> {
        let now = At(tx.now);
        Ok(sqlx::query_as(leased_jobs!(
            "WHERE j.id IN (
               SELECT u.id FROM jobs u INDEXED BY jobs_leased CROSS JOIN kinds p
               WHERE u.state = 'in_progress' AND u.due_at <= ?1 AND p.kind = u.kind AND u.attempts >= p.max_attempts
               ORDER BY u.due_at, u.id LIMIT ?2)
             ORDER BY j.due_at, j.id"
        ))
        .bind(now)
        .bind(limit)
        .fetch_all(&mut **tx)
        .await?)
    }

    fn is_under(&self, lease_token: i64, now: DateTime<Utc>) -> bool {
        self.lease_token == lease_token && self.state == "in_progress" && self.due_at.is_some_and(|At(at)| at > now)
    }

    fn policy(&self) -> Tried<Policy> {
        Ok(Policy::effective(&serde_json::from_str(&self.overrides)?))
    }

    fn running<'a>(&'a self, policy: &'a Policy, now: DateTime<Utc>) -> Running<'a> {
        Running {
            kind: &self.kind,
            tenant: self.tenant.as_deref(),
            received_at: self.received_at.0,
            attempt: narrow(self.attempts),
            anchor_at: self.anchor_at.0,
            is_canary: self.is_canary,
            policy,
            now,
            chance: rand::random(),
        }
    }

    /// What it means that this job's lease ran out.
    pub(super) fn plan_lost(&self, now: DateTime<Utc>) -> Tried<EndPlan> {
        let policy = self.policy()?;
        Ok(plan_lost(&self.running(&policy, now), narrow(self.lost_before)))
    }

    /// Writes job, attempt, result, letter and ending; answers the letter's id.
    pub(super) async fn write_end(
        &self,
        tx: &mut Tx,
        plan: &EndPlan,
        done: Option<&DoneReport>,
    ) -> Tried<Option<DeadLetterId>> {
        self.end_attempt(tx, &plan.attempt).await?;
        self.move_on(tx, plan, done).await?;
        let checked = &plan.checked;
        if let Some(report) = done.filter(|report| report.says_more() || !checked.shadow_misses.is_empty()) {
            self.insert_result(tx, report, &checked.shadow_misses).await?;
        }
        let letter = match &plan.letter {
            Some(letter) => Some(self.insert_letter(tx, letter, &checked.misses).await?),
            None => None,
        };
        evidence::count(tx, &self.kind, self.tenant.as_deref(), &checked.outcomes).await?;
        if let Some(outcome) = plan.ending {
            let reason_code = plan.attempt.reason_code.as_deref();
            self.insert_ending(tx, outcome, reason_code, done).await?;
            let now = tx.now;
            last_refusals::note(tx, now, self.id, outcome, reason_code).await?;
        }
        Ok(letter)
    }

    /// Keeps what the end means for a canary, or what it says about the kind's model.
    pub(super) async fn tell_canaries(&self, tx: &mut Tx, plan: &EndPlan, end: Option<&AttemptEnd>) -> Tried<()> {
        let now = tx.now;
        canaries::after_end(tx, now, &self.kind, self.id, self.is_canary, plan, end).await
    }

    /// Ends the row of the attempt under way.
    pub(super) async fn end_attempt(&self, tx: &mut Tx, row: &AttemptRow) -> Tried<()> {
        let now = At(tx.now);
        sqlx::query(
            "UPDATE attempts SET ended_at = ?3, outcome = ?4, category = ?5, failure_reason = ?6, http_status = ?7,
               error_code = ?8, error = ?9, reason_code = ?10, next_run_at = ?11, cost_micro_usd = ?12
             WHERE job_id = ?1 AND attempt = ?2 AND ended_at IS NULL",
        )
        .bind(self.id)
        .bind(self.attempts)
        .bind(now)
        .bind(row.outcome.as_str())
        .bind(row.category.map(Category::as_str))
        .bind(row.failure_reason.as_deref())
        .bind(row.http_status)
        .bind(row.error_code.as_deref())
        .bind(row.error.as_deref())
        .bind(row.reason_code.as_deref())
        .bind(row.next_run_at.map(At))
        .bind(row.cost_micro_usd)
        .execute(&mut **tx)
        .await?;
        Ok(())
    }

    async fn move_on(&self, tx: &mut Tx, plan: &EndPlan, done: Option<&DoneReport>) -> Tried<()> {
        let now = tx.now;
        let waits = plan.state == JobState::Waiting;
        let run_at = plan.run_at.filter(|_| waits);
        let keeps_key = matches!(plan.state, JobState::Waiting | JobState::Dead);
        let moved = sqlx::query(
            "UPDATE jobs SET state = ?3, run_at = coalesce(?4, run_at), due_at = ?5, finished_at = ?6,
               worker = NULL, claimed_at = NULL, verdict = ?7, reason = ?8, holds_unique_key = holds_unique_key AND ?9
             WHERE id = ?1 AND lease_token = ?2 AND state = 'in_progress'",
        )
        .bind(self.id)
        .bind(self.lease_token)
        .bind(plan.state.as_str())
        .bind(run_at.map(At))
        .bind(run_at.map(|at| At(at.max(now))))
        .bind((!waits).then_some(At(now)))
        .bind(done.and_then(|report| report.verdict.as_deref()))
        .bind(done.and_then(|report| report.reason.as_deref()))
        .bind(keeps_key)
        .execute(&mut **tx)
        .await?;
        if moved.rows_affected() == 1 {
            return Ok(());
        }
        Err(StoreError::Internal(format!("job {} moved under the write lock", self.id)).into())
    }

    async fn insert_result(&self, tx: &mut Tx, report: &DoneReport, shadow_misses: &[Miss]) -> Tried<()> {
        sqlx::query(
            "INSERT INTO results (job_id, result, evidence, \"values\", source_text, envelope, value_minor, currency,
               shadow, shadow_misses)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )
        .bind(self.id)
        .bind(report.result.as_ref().map(RawJson::as_str))
        .bind(report.evidence.as_ref().map(RawJson::as_str))
        .bind(report.values.as_ref().map(RawJson::as_str))
        .bind(report.source_text.as_deref())
        .bind(report.envelope.as_ref().map(RawJson::as_str))
        .bind(report.value_minor)
        .bind(report.currency.as_deref())
        .bind(report.shadow.as_ref().map(RawJson::as_str))
        .bind(kept_misses(shadow_misses)?)
        .execute(&mut **tx)
        .await?;
        Ok(())
    }

    async fn insert_letter(&self, tx: &mut Tx, letter: &NewLetter, misses: &[Miss]) -> Tried<DeadLetterId> {
        let now = At(tx.now);
        let id = sqlx::query_scalar(
            "INSERT INTO dead_letters (job_id, kind, source, tenant, route, reason_code, failure_reason, field,
               evidence, error, category, http_status, error_code, envelope, group_key, fingerprint_version,
               dead_lettered_at, is_canary, misses)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
             RETURNING id",
        )
        .bind(self.id)
        .bind(&self.kind)
        .bind(&self.source)
        .bind(self.tenant.as_deref())
        .bind(letter.route.as_str())
        .bind(letter.reason_code.as_deref())
        .bind(letter.failure_reason.as_deref())
        .bind(letter.field.as_deref())
        .bind(letter.evidence.as_deref())
        .bind(letter.error.as_deref())
        .bind(letter.category.map(Category::as_str))
        .bind(letter.http_status)
        .bind(letter.error_code.as_deref())
        .bind(letter.envelope.as_ref().map(RawJson::as_str))
        .bind(&letter.group_key)
        .bind(letter.fingerprint_version)
        .bind(now)
        .bind(self.is_canary)
        .bind(kept_misses(misses)?)
        .fetch_one(&mut **tx)
        .await?;
        Ok(DeadLetterId(id))
    }

    async fn insert_ending(
        &self,
        tx: &mut Tx,
        outcome: &str,
        reason_code: Option<&str>,
        done: Option<&DoneReport>,
    ) -> Tried<()> {
        let now = At(tx.now);
        // What did not hold is no verdict: it must not be counted as one.
        let done = done.filter(|_| outcome == "done");
        sqlx::query(
            "INSERT INTO endings (job_id, kind, source, tenant, at, outcome, reason_code, verdict, reason, is_canary,
               is_replay)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )
        .bind(self.id)
        .bind(&self.kind)
        .bind(&self.source)
        .bind(self.tenant.as_deref())
        .bind(now)
        .bind(outcome)
        .bind(reason_code)
        .bind(done.and_then(|report| report.verdict.as_deref()))
        .bind(done.and_then(|report| report.reason.as_deref()))
        .bind(self.is_canary)
        .bind(self.is_replay)
        .execute(&mut **tx)
        .await?;
        Ok(())
    }
}

/// Counts an answer that came without a living lease, and says so.
async fn count_late_answer(mut tx: Tx, id: JobId, lease_token: i64, call: &str) -> Tried<StoreError> {
    let now = At(tx.now);
    let counted = sqlx::query(
        "INSERT INTO late_answers (at, job_id, kind, worker, call)
         SELECT ?1, j.id, j.kind,
           (SELECT a.worker FROM attempts a WHERE a.job_id = j.id AND a.lease_token = ?3), ?4
         FROM jobs j WHERE j.id = ?2",
    )
    .bind(now)
    .bind(id.0)
    .bind(lease_token)
    .bind(call)
    .execute(&mut *tx)
    .await?;
    if counted.rows_affected() == 0 {
        return Ok(StoreError::NotFound("job"));
    }
    tx.commit().await?;
    Ok(StoreError::LeaseLost)
}

/// Notes an accepted heartbeat or end.
async fn seen_working(tx: &mut Tx, worker: &str, kind: &str) -> Tried<()> {
    let now = At(tx.now);
    sqlx::query(
        "INSERT INTO workers (worker, last_seen_at, last_claim_was_empty) VALUES (?1, ?2, 0)
         ON CONFLICT (worker) DO UPDATE SET last_seen_at = excluded.last_seen_at",
    )
    .bind(worker)
    .bind(now)
    .execute(&mut **tx)
    .await?;
    claim::worked(tx, worker, &[kind]).await
}

fn call_word(end: &AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::Done(_) => "done",
        AttemptEnd::Refuse(_) => "refuse",
        AttemptEnd::Fail(_) => "fail",
    }
}
