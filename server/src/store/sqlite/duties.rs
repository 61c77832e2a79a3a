//! What has to be done from time to time: parking jobs whose workers are gone,
//! forgetting what is long finished.

use super::finish::LeasedJob;
use super::{SqliteStore, Tx, json_list};
use crate::store::fault::Tried;
use crate::store::time::At;
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::sqlite::SqlitePool;

/// How long a worker, trigger or late answer is remembered.
const REMEMBERED: TimeDelta = TimeDelta::days(30);

impl SqliteStore {
    pub(super) async fn reap_lost(&self, limit: u32) -> Tried<u64> {
        let mut tx = self.write().await?;
        let parked = park_lost(&mut tx, limit).await?;
        tx.commit().await?;
        Ok(parked)
    }

    pub(super) async fn purge_old(&self, done_seconds: u32, resolved_seconds: u32, limit: u32) -> Tried<u64> {
        let mut tx = self.write().await?;
        let ago = |seconds: u32| tx.now - TimeDelta::seconds(i64::from(seconds));
        let (done_before, resolved_before) = (ago(done_seconds), ago(resolved_seconds));
        let finished = delete_finished(&mut tx, done_before, limit).await?;
        let resolved = match limit.saturating_sub(finished) {
            0 => 0,
            rest => delete_resolved(&mut tx, resolved_before, rest).await?,
        };
        let is_last_batch = finished + resolved < limit;
        if is_last_batch {
            forget_old_traces(&mut tx).await?;
        }
        tx.commit().await?;
        if is_last_batch {
            checkpoint(&self.writer).await?;
        }
        Ok(u64::from(finished + resolved))
    }
}

/// Parks jobs whose lease expired with all attempts used; answers how many.
pub(super) async fn park_lost(tx: &mut Tx, limit: u32) -> Tried<u64> {
    let jobs = LeasedJob::list_used_up(tx, limit).await?;
    for job in &jobs {
        let plan = job.plan_lost(tx.now)?;
        job.write_end(tx, &plan, None).await?;
        job.tell_canaries(tx, &plan, None).await?;
    }
    Ok(jobs.len() as u64)
}

async fn delete_finished(tx: &mut Tx, before: DateTime<Utc>, limit: u32) -> Tried<u32> {
    let deleted = sqlx::query(
        "DELETE FROM jobs WHERE id IN (
           SELECT id FROM jobs INDEXED BY jobs_finished
           WHERE state IN ('done', 'dropped', 'cancelled') AND finished_at <= ?1
           ORDER BY finished_at LIMIT ?2)",
    )
    .bind(At(before))
    .bind(limit)
    .execute(&mut **tx)
    .await?;
    Ok(u32::try_from(deleted.rows_affected()).unwrap_or(u32::MAX))
}

/// Letters with their jobs. A letter whose replay is still on its way is kept:
/// the claim hands out its envelope.
async fn delete_resolved(tx: &mut Tx, before: DateTime<Utc>, limit: u32) -> Tried<u32> {
    let rows: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT l.id, l.job_id FROM dead_letters l INDEXED BY dead_letters_resolved
         WHERE l.status = 'resolved' AND l.resolved_at <= ?1
           AND NOT EXISTS (
             SELECT 1 FROM jobs r WHERE r.replay_of = l.id AND r.state IN ('waiting', 'in_progress'))
         ORDER BY l.resolved_at LIMIT ?2",
    )
    .bind(At(before))
    .bind(limit)
    .fetch_all(&mut **tx)
    .await?;
    let (letters, jobs): (Vec<i64>, Vec<i64>) = rows.into_iter().unzip();
    let count = u32::try_from(letters.len()).unwrap_or(u32::MAX);
    let (letters, jobs) = (json_list(&letters)?, json_list(&jobs)?);
    for (statement, ids) in [
        ("UPDATE jobs SET replay_of = NULL WHERE replay_of IN (SELECT value FROM json_each(?1))", &letters),
        ("DELETE FROM action_keys WHERE dead_letter_id IN (SELECT value FROM json_each(?1))", &letters),
        ("DELETE FROM dead_letters WHERE id IN (SELECT value FROM json_each(?1))", &letters),
        ("DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(?1))", &jobs),
    ] {
        sqlx::query(statement).bind(ids).execute(&mut **tx).await?;
    }
    Ok(count)
}

/// Workers, triggers, late answers, refused polls and sessions nobody asks for
/// any more. When a kind was last worked and claimed outlives its workers.
async fn forget_old_traces(tx: &mut Tx) -> Tried<()> {
    let before = At(tx.now - REMEMBERED);
    for statement in [
        "UPDATE kinds SET last_worked_at = max(coalesce(kinds.last_worked_at, 0), old.last_worked_at),
           last_claimed_at = max(coalesce(kinds.last_claimed_at, old.last_claimed_at),
                                 coalesce(old.last_claimed_at, kinds.last_claimed_at))
         FROM (SELECT kind, max(last_worked_at) AS last_worked_at, max(last_claimed_at) AS last_claimed_at
               FROM worker_kinds WHERE last_worked_at < ?1 GROUP BY kind) old
         WHERE kinds.kind = old.kind",
        "DELETE FROM worker_kinds WHERE last_worked_at < ?1",
        "DELETE FROM worker_claims WHERE full_at < ?1",
        "DELETE FROM workers WHERE last_seen_at < ?1",
        "DELETE FROM ticks WHERE last_at < ?1",
        "DELETE FROM late_answers WHERE at < ?1",
        "DELETE FROM sessions WHERE created_at < ?1",
        "DELETE FROM refused_polls WHERE minute < ?1 / 60000000",
    ] {
        sqlx::query(statement).bind(before).execute(&mut **tx).await?;
    }
    Ok(())
}

/// Moves the write-ahead log into the file and cuts it back. Left to itself it
/// only grows while readers come and go without a pause. Waits for them briefly:
/// the next round tries again.
async fn checkpoint(writer: &SqlitePool) -> Tried<()> {
    let mut connection = writer.acquire().await?;
    sqlx::query("PRAGMA busy_timeout = 500").execute(&mut *connection).await?;
    let outcome = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut *connection).await;
    sqlx::query("PRAGMA busy_timeout = 5000").execute(&mut *connection).await?;
    outcome?;
    Ok(())
}
