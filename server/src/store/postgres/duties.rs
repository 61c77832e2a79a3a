//! Background work on the queue: one server at a time, in small batches, never
//! waiting for anybody.

use super::Transaction;
use super::ending::park_exhausted;
use crate::store::fault::Tried;
use sqlx::PgPool;

/// Held by the server that parks.
const REAP_LOCK: i64 = 0x6472_6169_6e62_0002;
/// Held by the server that purges.
const PURGE_LOCK: i64 = 0x6472_6169_6e62_0003;

/// Parks up to `limit` jobs whose lease expired with all attempts used; does
/// nothing while another server is at it.
pub(super) async fn reap(pool: &PgPool, limit: u32) -> Tried<u64> {
    let mut tx = super::begin(pool).await?;
    if !try_lock(&mut tx, REAP_LOCK).await? {
        return Ok(0);
    }
    let parked = park_exhausted(&mut tx, limit).await?;
    tx.commit().await?;
    Ok(parked)
}

/// Deletes up to `limit` jobs that ended long enough ago; does nothing while
/// another server is at it.
pub(super) async fn purge(pool: &PgPool, done_seconds: u32, resolved_seconds: u32, limit: u32) -> Tried<u64> {
    let mut tx = super::begin(pool).await?;
    if !try_lock(&mut tx, PURGE_LOCK).await? {
        return Ok(0);
    }
    let ended = delete_ended_jobs(&mut tx, done_seconds, limit.into()).await?;
    let resolved = delete_resolved_letters(&mut tx, resolved_seconds, u64::from(limit) - ended).await?;
    if ended + resolved < u64::from(limit) {
        forget_old_traces(&mut tx).await?;
    }
    tx.commit().await?;
    Ok(ended + resolved)
}

/// Takes a lock that goes with the transaction, if nobody has it.
async fn try_lock(tx: &mut Transaction, lock: i64) -> Tried<bool> {
    Ok(sqlx::query_scalar("SELECT pg_try_advisory_xact_lock($1)").bind(lock).fetch_one(&mut **tx).await?)
}

/// Jobs that ended by themselves; their attempts and results go with them,
/// their endings stay.
async fn delete_ended_jobs(tx: &mut Transaction, older_seconds: u32, limit: i64) -> Tried<u64> {
    let deleted = sqlx::query(
        "DELETE FROM jobs WHERE id IN ( \
             SELECT id FROM jobs WHERE state IN ('done', 'dropped', 'cancelled') \
                 AND finished_at <= statement_timestamp() - make_interval(secs => $1) \
             ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
    )
    .bind(f64::from(older_seconds))
    .bind(limit)
    .execute(&mut **tx)
    .await?;
    Ok(deleted.rows_affected())
}

/// Resolved letters with their jobs. A letter whose replay is still on its way is
/// kept: the claim hands out its envelope.
async fn delete_resolved_letters(tx: &mut Transaction, older_seconds: u32, limit: u64) -> Tried<u64> {
    let letters: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT d.id, d.job_id FROM dead_letters d WHERE d.status = 'resolved' \
             AND d.resolved_at <= statement_timestamp() - make_interval(secs => $1) \
             AND NOT EXISTS (SELECT FROM jobs j WHERE j.replay_of = d.id AND j.state IN ('waiting', 'in_progress')) \
         ORDER BY d.resolved_at LIMIT $2 FOR UPDATE SKIP LOCKED",
    )
    .bind(f64::from(older_seconds))
    .bind(i64::try_from(limit).expect("a limit of 32 bits"))
    .fetch_all(&mut **tx)
    .await?;
    let (ids, jobs): (Vec<i64>, Vec<i64>) = letters.into_iter().unzip();
    if ids.is_empty() {
        return Ok(0);
    }
    for sql in [
        "UPDATE jobs SET replay_of = NULL WHERE replay_of = ANY($1)",
        "DELETE FROM action_keys WHERE dead_letter_id = ANY($1)",
        "DELETE FROM dead_letters WHERE id = ANY($1)",
    ] {
        sqlx::query(sql).bind(&ids).execute(&mut **tx).await?;
    }
    let deleted = sqlx::query("DELETE FROM jobs WHERE id = ANY($1)").bind(&jobs).execute(&mut **tx).await?;
    Ok(deleted.rows_affected())
}

/// What nobody asks for any more: workers, triggers and late answers after 30
/// days (when a kind was last worked and claimed outlives its workers), refused
/// polls after a day, sessions that ran out.
async fn forget_old_traces(tx: &mut Transaction) -> Tried<()> {
    for sql in [
        "WITH gone AS ( \
             DELETE FROM workers WHERE worker IN ( \
                 SELECT w.worker FROM workers w WHERE w.last_seen_at < statement_timestamp() - interval '30 days' \
                     AND NOT EXISTS (SELECT FROM jobs j WHERE j.state = 'in_progress' AND j.worker = w.worker) \
                 ORDER BY w.worker LIMIT 500 FOR UPDATE SKIP LOCKED) \
             RETURNING worker \
         ), work AS ( \
             DELETE FROM worker_kinds k USING gone WHERE k.worker = gone.worker \
             RETURNING k.kind, k.last_worked_at, k.last_claimed_at \
         ), claims AS ( \
             DELETE FROM worker_claims c USING gone WHERE c.worker = gone.worker \
         ) UPDATE kinds SET last_worked_at = greatest(kinds.last_worked_at, latest.worked_at), \
             last_claimed_at = greatest(kinds.last_claimed_at, latest.claimed_at) \
         FROM (SELECT kind, max(last_worked_at) AS worked_at, max(last_claimed_at) AS claimed_at \
               FROM work GROUP BY kind) latest WHERE kinds.kind = latest.kind",
        "DELETE FROM worker_claims WHERE (worker, admits_sha256) IN (SELECT worker, admits_sha256 FROM worker_claims \
             WHERE full_at < statement_timestamp() - interval '30 days' LIMIT 500 FOR UPDATE SKIP LOCKED)",
        "DELETE FROM ticks WHERE last_at < statement_timestamp() - interval '30 days'",
        "DELETE FROM late_answers WHERE id IN (SELECT id FROM late_answers \
             WHERE at < statement_timestamp() - interval '30 days' ORDER BY at LIMIT 500 FOR UPDATE SKIP LOCKED)",
        "DELETE FROM refused_polls WHERE minute < floor(extract(epoch FROM statement_timestamp()) / 60) - 1440",
        "DELETE FROM sessions WHERE session_sha256 IN (SELECT session_sha256 FROM sessions \
             WHERE created_at < statement_timestamp() - interval '12 hours' LIMIT 500 FOR UPDATE SKIP LOCKED)",
    ] {
        sqlx::query(sql).execute(&mut **tx).await?;
    }
    Ok(())
}
