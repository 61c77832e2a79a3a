//! PostgreSQL: any number of servers on one database.
//!
//! Every decision is guarded by a row lock and by the database's clock as it is
//! once the lock is held. Transactions are short and take their locks in one
//! order (jobs, then what hangs on them, then the worker's own rows, then the
//! audit), so that servers never wait for each other in a circle. Nothing here
//! writes a row that all workers share, and nothing notifies.

mod act;
#[expect(clippy::duplicate_mod, reason = "written once for both databases")]
#[path = "../alert_deliveries.rs"]
mod alert_deliveries;
#[expect(clippy::duplicate_mod, reason = "written once for both databases")]
#[path = "../alerts.rs"]
mod alerts;
#[expect(clippy::duplicate_mod, reason = "written once for both databases")]
#[path = "../artifacts.rs"]
mod artifacts;
mod audit;
#[expect(clippy::duplicate_mod, reason = "written once for both databases")]
#[path = "../bulk.rs"]
mod bulk;
#[expect(clippy::duplicate_mod, reason = "written once for both databases")]
#[path = "../canaries.rs"]
mod canaries;
mod claim;
mod duties;
mod ending;
mod enqueue;
mod evidence;
mod finish;
#[expect(clippy::duplicate_mod, reason = "written once for both databases")]
#[path = "../follow_ups.rs"]
mod follow_ups;
mod history;
mod jobs;
#[expect(clippy::duplicate_mod, reason = "written once for both databases")]
#[path = "../last_refusals.rs"]
mod last_refusals;
mod letters;
#[expect(clippy::duplicate_mod, reason = "written once for both databases")]
#[path = "../masking.rs"]
mod masking;
#[expect(clippy::duplicate_mod, reason = "written once for both databases")]
#[path = "../names.rs"]
mod names;
mod open;
#[expect(clippy::duplicate_mod, reason = "written once for both databases")]
#[path = "../outbox.rs"]
mod outbox;
mod panel;
#[expect(clippy::duplicate_mod, reason = "written once for both databases")]
#[path = "../park_days.rs"]
mod park_days;
mod park_rate;
mod people;
mod policies;
mod queue;
mod sessions;
mod snapshot;
mod tokens;
mod users;
mod workers;

use crate::store::EVERY_TABLE;
use crate::store::fault::{Fault, Tried};
use app::error::StoreError;
use app::store::{Store, Stored};
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};
use std::time::Duration;

/// No call of a worker takes longer: a connection, a statement or two at their
/// own limits, and some air.
const WORKERS_DEADLINE: Duration = Duration::from_secs(40);
/// No page does.
const PAGES_DEADLINE: Duration = Duration::from_secs(9);

/// A transaction of ours.
type Transaction = sqlx::Transaction<'static, sqlx::Postgres>;

/// The store on PostgreSQL. Workers and pages have connections of their own, so
/// that neither can keep the other out.
pub struct PostgresStore {
    workers: PgPool,
    pages: PgPool,
}

impl PostgresStore {
    /// The answer of a worker's call, or `Unavailable` when none comes: a lost
    /// network says nothing for a long time.
    async fn workers_answer<T>(&self, call: impl Future<Output = Tried<T>>) -> Stored<T> {
        answer_within(WORKERS_DEADLINE, call).await
    }

    /// The same for pages and people, who wait less patiently.
    async fn pages_answer<T>(&self, call: impl Future<Output = Tried<T>>) -> Stored<T> {
        answer_within(PAGES_DEADLINE, call).await
    }
}

/// Endings that count for a park rate, as the index has them; conditions follow.
const COUNTED_ENDINGS: &str = "endings WHERE NOT is_canary AND NOT is_replay";

/// What the code that both databases share is run with.
type TheStore = PostgresStore;
type Db = Postgres;
type Tx = Transaction;

impl PostgresStore {
    async fn write_page(&self) -> Tried<(Transaction, DateTime<Utc>)> {
        let mut tx = begin(&self.pages).await?;
        let now = now(&mut *tx).await?;
        Ok((tx, now))
    }

    async fn read_page(&self) -> Tried<(Transaction, DateTime<Utc>)> {
        jobs::read(&self.pages).await
    }
}

async fn answer_within<T>(deadline: Duration, call: impl Future<Output = Tried<T>>) -> Stored<T> {
    match tokio::time::timeout(deadline, call).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(StoreError::Unavailable(format!("the database did not answer within {} s", deadline.as_secs()))),
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn ping(&self) -> Stored<()> {
        self.pages_answer(async {
            sqlx::query(EVERY_TABLE).execute(&mut *acquire(&self.pages).await?).await?;
            Ok(())
        })
        .await
    }

    async fn now(&self) -> Stored<DateTime<Utc>> {
        self.pages_answer(async { now(&mut *acquire(&self.pages).await?).await }).await
    }

    async fn close(&self) {
        self.workers.close().await;
        self.pages.close().await;
    }
}

/// A connection. Whatever keeps us from having one, the database is away.
async fn acquire(pool: &PgPool) -> Tried<PoolConnection<Postgres>> {
    pool.acquire().await.map_err(unreachable)
}

/// A transaction that sees each statement's own instant.
async fn begin(pool: &PgPool) -> Tried<Transaction> {
    pool.begin().await.map_err(unreachable)
}

/// No connection, no database: a full, closed, or renamed one is as far away as
/// one behind a broken cable.
fn unreachable(error: sqlx::Error) -> Fault {
    StoreError::Unavailable(error.to_string()).into()
}

/// The database's clock as it is, not as it was when the transaction began.
async fn now<'c>(executor: impl sqlx::PgExecutor<'c>) -> Tried<DateTime<Utc>> {
    Ok(sqlx::query_scalar("SELECT clock_timestamp()").fetch_one(executor).await?)
}
