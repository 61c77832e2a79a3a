//! What workers and enqueuers do: the calls, each in its own file, and the
//! calling off of what waits.

use super::{PostgresStore, claim, duties, enqueue, finish, workers};
use crate::store::conflict::cancel_conflict;
use crate::store::fault::{Fault, Tried};
use crate::store::rows::job_state;
use app::error::StoreError;
use app::model::ids::JobId;
use app::model::job::{AttemptEnd, ClaimRequest, ClaimedJob, Ended, EnqueuedJob, NewJob};
use app::model::name::Name;
use app::store::{QueueStore, Stored};
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::PgPool;

#[async_trait]
impl QueueStore for PostgresStore {
    async fn enqueue(&self, jobs: &[NewJob]) -> Stored<Vec<EnqueuedJob>> {
        self.workers_answer(enqueue::enqueue(&self.workers, jobs)).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Stored<Vec<ClaimedJob>> {
        self.workers_answer(claim::claim(&self.workers, request)).await
    }

    async fn heartbeat(&self, id: JobId, lease_token: i64, lease_seconds: Option<u32>) -> Stored<DateTime<Utc>> {
        self.workers_answer(finish::heartbeat(&self.workers, id, lease_token, lease_seconds)).await
    }

    async fn finish(&self, id: JobId, lease_token: i64, end: AttemptEnd) -> Stored<Ended> {
        self.workers_answer(finish::finish(&self.workers, id, lease_token, &end)).await
    }

    async fn cancel(&self, id: JobId) -> Stored<()> {
        self.workers_answer(cancel(&self.workers, id)).await
    }

    async fn reap(&self, limit: u32) -> Stored<u64> {
        self.workers_answer(duties::reap(&self.workers, limit)).await
    }

    async fn purge(&self, done_seconds: u32, resolved_seconds: u32, limit: u32) -> Stored<u64> {
        self.workers_answer(duties::purge(&self.workers, done_seconds, resolved_seconds, limit)).await
    }

    async fn record_tick(&self, trigger: &Name, every_seconds: u32) -> Stored<()> {
        self.workers_answer(workers::record_tick(&self.workers, trigger, every_seconds)).await
    }

    async fn record_refused_poll(&self) -> Stored<()> {
        self.workers_answer(workers::record_refused_poll(&self.workers)).await
    }
}

/// Calls off a job that waits.
async fn cancel(pool: &PgPool, id: JobId) -> Tried<()> {
    let mut tx = super::begin(pool).await?;
    let cancelled = sqlx::query(
        "UPDATE jobs SET state = 'cancelled', due_at = NULL, finished_at = clock_timestamp(), \
             holds_unique_key = false WHERE id = $1 AND state = 'waiting'",
    )
    .bind(id.0)
    .execute(&mut *tx)
    .await?;
    if cancelled.rows_affected() == 1 {
        tx.commit().await?;
        return Ok(());
    }
    let state: Option<String> =
        sqlx::query_scalar("SELECT state FROM jobs WHERE id = $1").bind(id.0).fetch_optional(&mut *tx).await?;
    Err(match state {
        None => StoreError::NotFound("job").into(),
        Some(word) => Fault::from(cancel_conflict(job_state(&word)?)),
    })
}
