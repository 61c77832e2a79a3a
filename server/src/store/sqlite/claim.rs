//! Claiming: the oldest due jobs, each to one claim only.

use super::finish::LeasedJob;
use super::{SqliteStore, Tx, duties, json_list};
use crate::store::fault::Tried;
use crate::store::rows::{json, narrow, replay_mode};
use crate::store::time::At;
use app::model::ids::{DeadLetterId, JobId};
use app::model::job::{ClaimRequest, ClaimedJob, ReplayOf};
use app::model::policy::MAX_SECONDS;
use sqlx::FromRow;
use std::collections::{BTreeSet, HashMap};

/// Jobs with a used-up lease that one claim parks before it looks for work.
const PARKED_PER_CLAIM: u32 = 20;

/// A job about to be handed out, as it stood before.
#[derive(FromRow)]
struct Picked {
    id: i64,
    due_at: At,
    is_retaken: bool,
}

/// The same job, handed out.
#[derive(FromRow)]
struct HandedOut {
    id: i64,
    kind: String,
    source: String,
    tenant: Option<String>,
    payload: Option<String>,
    payload_ref: Option<String>,
    attempts: i64,
    max_attempts: i64,
    lease_token: i64,
    due_at: At,
    is_canary: bool,
    replay_of: Option<i64>,
    replay_mode: Option<String>,
    envelope: Option<String>,
}

impl HandedOut {
    fn claimed(self) -> Tried<ClaimedJob> {
        let replay = match (self.replay_of, self.replay_mode) {
            (Some(letter), Some(mode)) => Some(ReplayOf {
                mode: replay_mode(&mode)?,
                dead_letter_id: DeadLetterId(letter),
                envelope: json(self.envelope),
            }),
            _ => None,
        };
        Ok(ClaimedJob {
            id: JobId(self.id),
            kind: self.kind,
            source: self.source,
            tenant: self.tenant,
            payload: json(self.payload),
            payload_ref: self.payload_ref,
            attempt: narrow(self.attempts),
            max_attempts: narrow(self.max_attempts),
            lease_token: self.lease_token,
            lease_expires_at: self.due_at.0,
            canary: self.is_canary,
            replay,
        })
    }
}

impl SqliteStore {
    pub(super) async fn claim_due(&self, request: &ClaimRequest) -> Tried<Vec<ClaimedJob>> {
        let admitted = request.kinds.as_deref().map(json_list).transpose()?;
        let mut tx = self.write().await?;
        duties::park_lost(&mut tx, PARKED_PER_CLAIM).await?;
        let picked = pick(&mut tx, request, admitted.as_deref()).await?;
        let ids = json_list(&picked.iter().map(|job| job.id).collect::<Vec<_>>())?;
        let mut jobs = Vec::with_capacity(picked.len());
        if !picked.is_empty() {
            end_retaken(&mut tx, &picked).await?;
            let mut handed_out = hand_out(&mut tx, request, &ids).await?;
            for job in &picked {
                if let Some(row) = handed_out.remove(&job.id) {
                    jobs.push(row.claimed()?);
                }
            }
        }
        record(&mut tx, request, admitted.as_deref(), &picked, &jobs).await?;
        tx.commit().await?;
        Ok(jobs)
    }
}

/// The oldest due jobs, `due_at` then id. Looks at no more than `limit` waiting
/// and `limit` expired jobs of each kind, however long the queues are.
async fn pick(tx: &mut Tx, request: &ClaimRequest, admitted: Option<&str>) -> Tried<Vec<Picked>> {
    let now = At(tx.now);
    // The index is named, and its condition repeated word for word, because
    // without both the planner sorts all waiting jobs.
    Ok(sqlx::query_as(
        "SELECT j.id, j.due_at, j.state = 'in_progress' AS is_retaken
         FROM kinds k CROSS JOIN jobs j
         WHERE k.paused_at IS NULL
           AND (?2 IS NULL OR k.kind IN (SELECT value FROM json_each(?2)))
           AND j.id IN (
             SELECT id FROM (
               SELECT w.id FROM jobs w INDEXED BY jobs_live
               WHERE w.kind = k.kind AND w.state = 'waiting' AND w.state IN ('waiting', 'in_progress')
                 AND w.due_at <= ?1
                 AND (w.needs_accept IS NULL OR (?3 AND w.needs_accept = 'canary') OR (?4 AND w.needs_accept = 'pinned'))
               ORDER BY w.due_at, w.id LIMIT ?5)
             UNION ALL
             SELECT id FROM (
               SELECT e.id FROM jobs e INDEXED BY jobs_live
               WHERE e.kind = k.kind AND e.state = 'in_progress' AND e.state IN ('waiting', 'in_progress')
                 AND e.due_at <= ?1 AND e.attempts < k.max_attempts
                 AND (e.needs_accept IS NULL OR (?3 AND e.needs_accept = 'canary') OR (?4 AND e.needs_accept = 'pinned'))
               ORDER BY e.due_at, e.id LIMIT ?5))
         ORDER BY j.due_at, j.id LIMIT ?5",
    )
    .bind(now)
    .bind(admitted)
    .bind(request.accepts.canary)
    .bind(request.accepts.pinned)
    .bind(request.limit)
    .fetch_all(&mut **tx)
    .await?)
}

/// Ends the attempts whose leases ran out and whose jobs are taken again now.
async fn end_retaken(tx: &mut Tx, picked: &[Picked]) -> Tried<()> {
    let ids: Vec<i64> = picked.iter().filter(|job| job.is_retaken).map(|job| job.id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    for job in LeasedJob::list(tx, &json_list(&ids)?).await? {
        let plan = job.plan_lost(tx.now)?;
        job.end_attempt(tx, &plan.attempt).await?;
    }
    Ok(())
}

async fn hand_out(tx: &mut Tx, request: &ClaimRequest, ids: &str) -> Tried<HashMap<i64, HandedOut>> {
    let now = At(tx.now);
    let longest_lease = request.lease_seconds.map_or(MAX_SECONDS as i64, i64::from);
    let rows: Vec<HandedOut> = sqlx::query_as(
        "UPDATE jobs SET state = 'in_progress', attempts = attempts + 1, lease_token = lease_token + 1,
           worker = ?2, claimed_at = ?3,
           due_at = ?3 + 1000000 * (
             SELECT min(k.lease_seconds, k.max_attempt_seconds, ?4) FROM kinds k WHERE k.kind = jobs.kind)
         WHERE id IN (SELECT value FROM json_each(?1))
         RETURNING id, kind, source, tenant, payload, payload_ref, attempts, lease_token, due_at,
           canary_reason_code IS NOT NULL AS is_canary, replay_of, replay_mode,
           (SELECT k.max_attempts FROM kinds k WHERE k.kind = jobs.kind) AS max_attempts,
           (SELECT l.envelope FROM dead_letters l WHERE l.id = jobs.replay_of) AS envelope",
    )
    .bind(ids)
    .bind(request.worker.as_str())
    .bind(now)
    .bind(longest_lease)
    .fetch_all(&mut **tx)
    .await?;
    sqlx::query(
        "INSERT INTO attempts (job_id, attempt, kind, worker, lease_token, claimed_at, is_canary)
         SELECT id, attempts, kind, worker, lease_token, claimed_at, canary_reason_code IS NOT NULL
         FROM jobs WHERE id IN (SELECT value FROM json_each(?1))",
    )
    .bind(ids)
    .execute(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row)).collect())
}

/// Notes that the worker was seen, what it worked on, and whether it got all it
/// asked for.
async fn record(
    tx: &mut Tx,
    request: &ClaimRequest,
    admitted: Option<&str>,
    picked: &[Picked],
    jobs: &[ClaimedJob],
) -> Tried<()> {
    let worker = request.worker.as_str();
    let now = At(tx.now);
    sqlx::query(
        "INSERT INTO workers (worker, last_seen_at, last_claim_at, last_claim_was_empty)
         VALUES (?1, ?2, CASE WHEN ?3 THEN NULL ELSE ?2 END, ?3)
         ON CONFLICT (worker) DO UPDATE SET last_seen_at = excluded.last_seen_at,
           last_claim_at = coalesce(excluded.last_claim_at, last_claim_at),
           last_claim_was_empty = excluded.last_claim_was_empty",
    )
    .bind(worker)
    .bind(now)
    .bind(jobs.is_empty())
    .execute(&mut **tx)
    .await?;
    if jobs.is_empty() {
        return Ok(());
    }
    let kinds: BTreeSet<&str> = jobs.iter().map(|job| job.kind.as_str()).collect();
    claimed(tx, worker, &kinds.into_iter().collect::<Vec<_>>()).await?;
    if let Some(newest) = picked.last().filter(|_| jobs.len() as u64 == u64::from(request.limit)) {
        sqlx::query(
            "INSERT INTO worker_claims (worker, admits, full_at, newest_due_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (worker, admits) DO UPDATE SET full_at = excluded.full_at,
               newest_due_at = excluded.newest_due_at",
        )
        .bind(worker)
        .bind(admitted.unwrap_or_default())
        .bind(now)
        .bind(newest.due_at)
        .execute(&mut **tx)
        .await?;
    }
    Ok(())
}

/// Notes that the worker was handed out jobs of these kinds now.
async fn claimed(tx: &mut Tx, worker: &str, kinds: &[&str]) -> Tried<()> {
    let now = At(tx.now);
    sqlx::query(
        "INSERT INTO worker_kinds (worker, kind, last_worked_at, last_claimed_at)
         SELECT ?1, value, ?3, ?3 FROM json_each(?2) WHERE true
         ON CONFLICT (worker, kind) DO UPDATE SET last_worked_at = excluded.last_worked_at,
           last_claimed_at = excluded.last_claimed_at",
    )
    .bind(worker)
    .bind(json_list(kinds)?)
    .bind(now)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Notes that the worker worked on these kinds now.
pub(super) async fn worked(tx: &mut Tx, worker: &str, kinds: &[&str]) -> Tried<()> {
    let now = At(tx.now);
    sqlx::query(
        "INSERT INTO worker_kinds (worker, kind, last_worked_at)
         SELECT ?1, value, ?3 FROM json_each(?2) WHERE true
         ON CONFLICT (worker, kind) DO UPDATE SET last_worked_at = excluded.last_worked_at",
    )
    .bind(worker)
    .bind(json_list(kinds)?)
    .bind(now)
    .execute(&mut **tx)
    .await?;
    Ok(())
}
