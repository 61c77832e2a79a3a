//! What workers and enqueuers do: the calls, each in its own file, and the
//! small ones here.

use super::SqliteStore;
use crate::store::conflict::cancel_conflict;
use crate::store::fault::Tried;
use crate::store::rows::job_state;
use crate::store::time::At;
use app::error::StoreError;
use app::model::ids::JobId;
use app::model::job::{AttemptEnd, ClaimRequest, ClaimedJob, Ended, EnqueuedJob, NewJob};
use app::model::name::Name;
use app::store::{QueueStore, Stored};
use async_trait::async_trait;
use chrono::{DateTime, Utc};

#[async_trait]
impl QueueStore for SqliteStore {
    async fn enqueue(&self, jobs: &[NewJob]) -> Stored<Vec<EnqueuedJob>> {
        Ok(self.enqueue_all(jobs).await?)
    }

    async fn claim(&self, request: &ClaimRequest) -> Stored<Vec<ClaimedJob>> {
        Ok(self.claim_due(request).await?)
    }

    async fn heartbeat(&self, id: JobId, lease_token: i64, lease_seconds: Option<u32>) -> Stored<DateTime<Utc>> {
        Ok(self.extend_lease(id, lease_token, lease_seconds).await?)
    }

    async fn finish(&self, id: JobId, lease_token: i64, end: AttemptEnd) -> Stored<Ended> {
        Ok(self.end_attempt(id, lease_token, &end).await?)
    }

    async fn cancel(&self, id: JobId) -> Stored<()> {
        Ok(self.cancel_waiting(id).await?)
    }

    async fn reap(&self, limit: u32) -> Stored<u64> {
        Ok(self.reap_lost(limit).await?)
    }

    async fn purge(&self, done_seconds: u32, resolved_seconds: u32, limit: u32) -> Stored<u64> {
        Ok(self.purge_old(done_seconds, resolved_seconds, limit).await?)
    }

    async fn record_tick(&self, trigger: &Name, every_seconds: u32) -> Stored<()> {
        Ok(self.note_tick(trigger.as_str(), every_seconds).await?)
    }

    async fn record_refused_poll(&self) -> Stored<()> {
        Ok(self.note_refused_poll().await?)
    }
}

impl SqliteStore {
    async fn cancel_waiting(&self, id: JobId) -> Tried<()> {
        let mut tx = self.write().await?;
        let now = At(tx.now);
        let cancelled = sqlx::query(
            "UPDATE jobs SET state = 'cancelled', due_at = NULL, finished_at = ?2, holds_unique_key = 0
             WHERE id = ?1 AND state = 'waiting'",
        )
        .bind(id.0)
        .bind(now)
        .execute(&mut *tx)
        .await?;
        if cancelled.rows_affected() == 1 {
            return tx.commit().await;
        }
        let state: Option<String> =
            sqlx::query_scalar("SELECT state FROM jobs WHERE id = ?1").bind(id.0).fetch_optional(&mut *tx).await?;
        let state = state.ok_or(StoreError::NotFound("job"))?;
        Err(cancel_conflict(job_state(&state)?).into())
    }

    async fn note_tick(&self, trigger: &str, every_seconds: u32) -> Tried<()> {
        let mut tx = self.write().await?;
        let now = At(tx.now);
        sqlx::query(
            "INSERT INTO ticks (trigger_name, every_seconds, last_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (trigger_name) DO UPDATE SET every_seconds = excluded.every_seconds,
               last_at = excluded.last_at",
        )
        .bind(trigger)
        .bind(every_seconds)
        .bind(now)
        .execute(&mut *tx)
        .await?;
        tx.commit().await
    }

    async fn note_refused_poll(&self) -> Tried<()> {
        let mut tx = self.write().await?;
        let now = At(tx.now);
        sqlx::query(
            "INSERT INTO refused_polls (minute, n) VALUES (?1 / 60000000, 1)
             ON CONFLICT (minute) DO UPDATE SET n = n + 1",
        )
        .bind(now)
        .execute(&mut *tx)
        .await?;
        tx.commit().await
    }
}
