//! PostgreSQL: any number of servers on one database.
//!
//! Every decision is guarded by a row lock and by the database's clock as it is
//! once the lock is held. Transactions are short and take their locks in one
//! order (jobs, then what hangs on them, then the worker's own rows, then the
//! audit), so that servers never wait for each other in a circle. Nothing here
//! writes a row that all workers share, and nothing notifies.

mod act;
mod audit;
mod claim;
mod duties;
mod ending;
mod enqueue;
mod finish;
mod jobs;
mod letters;
mod open;
mod panel;
mod park_rate;
mod people;
mod policies;
mod queue;
mod sessions;
mod snapshot;
mod workers;

use crate::store::fault::Tried;
use app::store::{Store, Stored};
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::PgPool;

/// A transaction of ours.
type Transaction = sqlx::Transaction<'static, sqlx::Postgres>;

/// The store on PostgreSQL. Workers and pages have connections of their own, so
/// that neither can keep the other out.
pub struct PostgresStore {
    workers: PgPool,
    pages: PgPool,
}

#[async_trait]
impl Store for PostgresStore {
    async fn ping(&self) -> Stored<()> {
        self.now().await.map(|_| ())
    }

    async fn now(&self) -> Stored<DateTime<Utc>> {
        Ok(now(&self.pages).await?)
    }

    async fn close(&self) {
        self.workers.close().await;
        self.pages.close().await;
    }
}

/// The database's clock as it is, not as it was when the transaction began.
async fn now<'c>(executor: impl sqlx::PgExecutor<'c>) -> Tried<DateTime<Utc>> {
    Ok(sqlx::query_scalar("SELECT clock_timestamp()").fetch_one(executor).await?)
}
