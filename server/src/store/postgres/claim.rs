//! Due jobs go out: oldest first, each to one claim only.

use super::Transaction;
use super::ending::{LostJob, end_lost_attempts, park_exhausted};
use super::workers::record_claim;
use crate::store::fault::Tried;
use crate::store::rows::{json, narrow, replay_mode};
use app::model::ids::{DeadLetterId, JobId};
use app::model::job::{ClaimRequest, ClaimedJob, ReplayOf};
use chrono::{DateTime, Utc};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, PgPool, Row};

/// Jobs a claim parks first, at most, because their lease expired with all
/// attempts used.
const PARKED_FIRST: u32 = 20;
/// How often a claim looks further when others hold what it found first.
const LOOKS: u32 = 3;

/// Hands out due jobs to a worker and records that it was seen.
pub(super) async fn claim(pool: &PgPool, request: &ClaimRequest) -> Tried<Vec<ClaimedJob>> {
    let mut tx = super::begin(pool).await?;
    park_exhausted(&mut tx, PARKED_FIRST).await?;
    let mut taken: Vec<TakenJob> = Vec::new();
    let mut reach = i64::from(request.limit) * 2 + 32;
    let mut now = DateTime::UNIX_EPOCH;
    for _ in 0..LOOKS {
        let wanted = i64::from(request.limit) - taken.len() as i64;
        let look = take(&mut tx, request, wanted, reach).await?;
        now = look.now;
        taken.extend(look.taken);
        if taken.len() as i64 >= i64::from(request.limit) || look.candidates < reach {
            break;
        }
        reach *= 16;
    }
    taken.sort_by_key(|job| (job.was_due_at, job.id));
    let lost: Vec<i64> = taken.iter().filter(|job| job.was_lost).map(|job| job.id).collect();
    if !lost.is_empty() {
        let lost = find_lost(&mut tx, &lost).await?;
        end_lost_attempts(&mut tx, lost, now).await?;
    }
    let newest_due_at = taken.last().map(|job| job.was_due_at);
    let jobs = taken.into_iter().map(TakenJob::job).collect::<Tried<Vec<ClaimedJob>>>()?;
    record_claim(&mut tx, request, &jobs, newest_due_at, now).await?;
    tx.commit().await?;
    Ok(jobs)
}

/// What one look brought.
struct Look {
    now: DateTime<Utc>,
    /// Due jobs it saw, taken by others meanwhile or not.
    candidates: i64,
    taken: Vec<TakenJob>,
}

/// A job just taken.
#[derive(FromRow)]
struct TakenJob {
    id: i64,
    kind: String,
    source: String,
    tenant: Option<String>,
    payload: Option<String>,
    payload_ref: Option<String>,
    attempt: i64,
    max_attempts: i64,
    lease_token: i64,
    lease_expires_at: DateTime<Utc>,
    is_canary: bool,
    replay_of: Option<i64>,
    replay_mode: Option<String>,
    envelope: Option<String>,
    was_due_at: DateTime<Utc>,
    /// Whether another worker's lease on it ran out.
    was_lost: bool,
}

impl TakenJob {
    fn job(self) -> Tried<ClaimedJob> {
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
            attempt: narrow(self.attempt),
            max_attempts: narrow(self.max_attempts),
            lease_token: self.lease_token,
            lease_expires_at: self.lease_expires_at,
            canary: self.is_canary,
            replay,
        })
    }
}

/// Takes up to `wanted` of the `reach` oldest due jobs.
///
/// Candidates are read kind by kind from the index and locked in order; what
/// another claim holds is skipped, never waited for, so the statement's own time
/// is still the clock once the locks are held. A candidate that changed in
/// between is not due at that time any more and is left alone.
async fn take(tx: &mut Transaction, request: &ClaimRequest, wanted: i64, reach: i64) -> Tried<Look> {
    let kinds = request.kinds.as_ref().map(|kinds| kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>());
    let rows: Vec<PgRow> = sqlx::query(
        "WITH candidates AS MATERIALIZED ( \
             SELECT c.id, c.due_at FROM kinds k CROSS JOIN LATERAL ( \
                 SELECT j.id, j.due_at FROM jobs j \
                 WHERE j.kind = k.kind AND j.state IN ('waiting', 'in_progress') \
                     AND j.due_at <= statement_timestamp() \
                     AND (j.state = 'waiting' OR j.attempts < k.max_attempts) \
                     AND (j.needs_accept IS NULL OR (j.needs_accept = 'canary' AND $3) \
                          OR (j.needs_accept = 'pinned' AND $4)) \
                 ORDER BY j.due_at, j.id LIMIT $5 \
             ) c WHERE k.paused_at IS NULL AND ($2::text[] IS NULL OR k.kind = ANY($2)) \
             ORDER BY c.due_at, c.id LIMIT $5 \
         ), picked AS ( \
             SELECT j.id, j.state, j.due_at, k.lease_seconds, k.max_attempt_seconds, k.max_attempts \
             FROM candidates c JOIN jobs j ON j.id = c.id JOIN kinds k ON k.kind = j.kind \
             WHERE j.state IN ('waiting', 'in_progress') AND j.due_at = c.due_at \
             ORDER BY c.due_at, c.id LIMIT $6 FOR UPDATE OF j SKIP LOCKED \
         ), taken AS ( \
             UPDATE jobs j SET state = 'in_progress', attempts = j.attempts + 1, lease_token = j.lease_token + 1, \
                 worker = $1, claimed_at = statement_timestamp(), due_at = statement_timestamp() \
                     + make_interval(secs => least(p.lease_seconds, p.max_attempt_seconds, $7::bigint)) \
             FROM picked p WHERE j.id = p.id \
             RETURNING j.id, j.kind, j.source, j.tenant, j.payload, j.payload_ref, j.attempts AS attempt, \
                 p.max_attempts, j.lease_token, j.claimed_at, j.due_at AS lease_expires_at, \
                 j.canary_reason_code IS NOT NULL AS is_canary, j.replay_of, j.replay_mode, \
                 p.due_at AS was_due_at, p.state = 'in_progress' AS was_lost \
         ), started AS ( \
             INSERT INTO attempts (job_id, attempt, kind, worker, lease_token, claimed_at, is_canary) \
             SELECT id, attempt, kind, $1, lease_token, claimed_at, is_canary FROM taken \
         ) SELECT statement_timestamp() AS now, (SELECT count(*) FROM candidates) AS candidates, taken.*, d.envelope \
         FROM (VALUES (1)) AS always (one) LEFT JOIN taken ON true LEFT JOIN dead_letters d ON d.id = taken.replay_of",
    )
    .bind(request.worker.as_str())
    .bind(kinds)
    .bind(request.accepts.canary)
    .bind(request.accepts.pinned)
    .bind(reach)
    .bind(wanted)
    .bind(request.lease_seconds.map(i64::from))
    .fetch_all(&mut **tx)
    .await?;
    let first = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    let (now, candidates) = (first.try_get("now")?, first.try_get("candidates")?);
    let mut taken = Vec::new();
    for row in &rows {
        if row.try_get::<Option<i64>, _>("id")?.is_some() {
            taken.push(TakenJob::from_row(row)?);
        }
    }
    Ok(Look { now, candidates, taken })
}

/// The attempts that were under way when the lease of these jobs ran out.
async fn find_lost(tx: &mut Transaction, ids: &[i64]) -> Tried<Vec<LostJob>> {
    let lost = sqlx::query_as(
        "SELECT j.id, j.kind, j.attempts - 1 AS attempt, j.anchor_at, j.canary_reason_code IS NOT NULL AS is_canary, \
             k.overrides, (SELECT count(*) FROM attempts a WHERE a.job_id = j.id AND a.outcome = 'lost') AS lost_before \
         FROM jobs j JOIN kinds k ON k.kind = j.kind WHERE j.id = ANY($1)",
    )
    .bind(ids)
    .fetch_all(&mut **tx)
    .await?;
    Ok(lost)
}
