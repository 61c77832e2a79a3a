//! What workers and triggers show of themselves by calling. A worker writes
//! only its own rows, last in its transaction, kinds in order.

use super::Transaction;
use super::ending::LockedJob;
use crate::store::fault::Tried;
use crate::store::plan::hex;
use app::model::job::{ClaimRequest, ClaimedJob};
use app::model::name::Name;
use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use sqlx::PgPool;
use std::collections::BTreeSet;

/// The job's worker worked on it: heartbeat or end.
pub(super) async fn record_work(tx: &mut Transaction, job: &LockedJob) -> Tried<()> {
    // Two statements in one round trip; the order of their locks is the order they stand in.
    sqlx::query(
        "WITH seen AS ( \
             INSERT INTO workers AS w (worker, last_seen_at, last_claim_was_empty) VALUES ($1, $3, false) \
             ON CONFLICT (worker) DO UPDATE SET last_seen_at = greatest(w.last_seen_at, excluded.last_seen_at) \
             RETURNING worker) \
         INSERT INTO worker_kinds AS k (worker, kind, last_worked_at) SELECT worker, $2, $3 FROM seen \
         ON CONFLICT (worker, kind) DO UPDATE SET last_worked_at = greatest(k.last_worked_at, excluded.last_worked_at)",
    )
    .bind(&job.worker)
    .bind(&job.kind)
    .bind(job.now)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A worker asked for jobs and got `jobs`, the newest of them due at `newest_due_at`.
pub(super) async fn record_claim(
    tx: &mut Transaction,
    request: &ClaimRequest,
    jobs: &[ClaimedJob],
    newest_due_at: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Tried<()> {
    let kinds: BTreeSet<&str> = jobs.iter().map(|job| job.kind.as_str()).collect();
    sqlx::query(
        "INSERT INTO workers AS w (worker, last_seen_at, last_claim_at, last_claim_was_empty) \
         VALUES ($1, $2, CASE WHEN $3 THEN NULL::timestamptz ELSE $2 END, $3) \
         ON CONFLICT (worker) DO UPDATE SET last_seen_at = greatest(w.last_seen_at, excluded.last_seen_at), \
             last_claim_at = greatest(w.last_claim_at, excluded.last_claim_at), \
             last_claim_was_empty = excluded.last_claim_was_empty",
    )
    .bind(request.worker.as_str())
    .bind(now)
    .bind(jobs.is_empty())
    .execute(&mut **tx)
    .await?;
    if kinds.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO worker_kinds AS k (worker, kind, last_worked_at, last_claimed_at) \
         SELECT $1, kind, $3, $3 FROM unnest($2::text[]) WITH ORDINALITY AS a (kind, position) ORDER BY position \
         ON CONFLICT (worker, kind) DO UPDATE SET \
             last_worked_at = greatest(k.last_worked_at, excluded.last_worked_at), \
             last_claimed_at = greatest(k.last_claimed_at, excluded.last_claimed_at)",
    )
    .bind(request.worker.as_str())
    .bind(kinds.into_iter().collect::<Vec<_>>())
    .bind(now)
    .execute(&mut **tx)
    .await?;
    match newest_due_at {
        Some(newest_due_at) if jobs.len() == request.limit as usize => {
            record_full_claim(tx, request, newest_due_at, now).await
        }
        _ => Ok(()),
    }
}

/// A claim came back with as many jobs as it asked for.
async fn record_full_claim(
    tx: &mut Transaction,
    request: &ClaimRequest,
    newest_due_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Tried<()> {
    let admits = request.kinds.as_ref().map(serde_json::to_string).transpose()?.unwrap_or_default();
    sqlx::query(
        "INSERT INTO worker_claims (worker, admits, admits_sha256, full_at, newest_due_at) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (worker, admits_sha256) DO UPDATE SET full_at = excluded.full_at, \
             newest_due_at = excluded.newest_due_at",
    )
    .bind(request.worker.as_str())
    .bind(&admits)
    .bind(hex(&Sha256::digest(admits.as_bytes())))
    .bind(now)
    .bind(newest_due_at)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The clock that starts the workers says it ran.
pub(super) async fn record_tick(pool: &PgPool, trigger: &Name, every_seconds: u32) -> Tried<()> {
    sqlx::query(
        "INSERT INTO ticks (trigger_name, every_seconds, last_at) VALUES ($1, $2, clock_timestamp()) \
         ON CONFLICT (trigger_name) DO UPDATE SET every_seconds = excluded.every_seconds, last_at = excluded.last_at",
    )
    .bind(trigger.as_str())
    .bind(i64::from(every_seconds))
    .execute(&mut *super::acquire(pool).await?)
    .await?;
    Ok(())
}

/// A claim was refused for its token.
pub(super) async fn record_refused_poll(pool: &PgPool) -> Tried<()> {
    sqlx::query(
        "INSERT INTO refused_polls AS p (minute, n) VALUES (floor(extract(epoch FROM clock_timestamp()) / 60), 1) \
         ON CONFLICT (minute) DO UPDATE SET n = p.n + 1",
    )
    .execute(&mut *super::acquire(pool).await?)
    .await?;
    Ok(())
}
