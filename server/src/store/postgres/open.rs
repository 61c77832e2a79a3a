//! Connections to PostgreSQL, and the schema brought up to date.

use super::{PostgresStore, audit};
use crate::store::fault::Tried;
use crate::store::{IfMissing, NO_SCHEMA, missing};
use app::error::StoreError;
use app::model::FieldError;
use futures::FutureExt;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{Connection, Row};
use std::str::FromStr;
use std::time::Duration;

static MIGRATIONS: Migrator = sqlx::migrate!("../migrations/postgres");

/// Connections for workers: claims, heartbeats, ends.
const WORKER_CONNECTIONS: u32 = 12;
/// Connections for pages and people.
const PAGE_CONNECTIONS: u32 = 6;
/// A request that waits longer for a connection is told that the database is away.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);
/// Whoever makes the schema holds this lock, so that two servers may start at once.
const SCHEMA_LOCK: i64 = 0x6472_6169_6e62_0001;

impl PostgresStore {
    /// Connects, makes the schema `drainboard` if it is missing and may be made,
    /// and migrates.
    ///
    /// # Errors
    /// `Invalid` for a URL that cannot be read, `Unavailable` when the database
    /// cannot be reached, `Internal` for a schema newer than this binary.
    pub async fn open(url: &str, if_missing: IfMissing) -> Result<Self, StoreError> {
        Ok(open(url, if_missing).await?)
    }
}

async fn open(url: &str, if_missing: IfMissing) -> Tried<PostgresStore> {
    let options = PgConnectOptions::from_str(url)
        .map_err(|error| FieldError::new("database-url", format!("cannot be read: {error}")))?
        .application_name("drainboard")
        // Whoever forgets a transaction must not keep its locks and its snapshot.
        .options([("search_path", "drainboard"), ("idle_in_transaction_session_timeout", "15s")]);
    migrate(&options, if_missing).await?;
    let workers = options.clone().options([("statement_timeout", "30s"), ("lock_timeout", "10s")]);
    let pages = options.options([("statement_timeout", "5s"), ("lock_timeout", "3s")]);
    Ok(PostgresStore { workers: pool(WORKER_CONNECTIONS, workers), pages: pool(PAGE_CONNECTIONS, pages) })
}

/// A pool that opens its connections when they are needed, and hands out none
/// that is broken or still inside somebody's cancelled transaction.
fn pool(connections: u32, options: PgConnectOptions) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .before_acquire(|connection, _| is_idle(connection).boxed())
        .connect_lazy_with(options)
}

/// Whether the connection answers and is outside any transaction: only then a
/// statement sent by itself starts when its transaction starts.
async fn is_idle(connection: &mut PgConnection) -> sqlx::Result<bool> {
    let row = sqlx::raw_sql("SELECT now() = statement_timestamp()").fetch_one(connection).await?;
    row.try_get_unchecked(0)
}

async fn migrate(options: &PgConnectOptions, if_missing: IfMissing) -> Tried<()> {
    // Waiting for another server's migration may take a while; its statements may not.
    let options = options.clone().options([("lock_timeout", "60s"), ("idle_in_transaction_session_timeout", "0")]);
    let connecting = PgConnection::connect_with(&options);
    let mut connection = tokio::time::timeout(ACQUIRE_TIMEOUT, connecting)
        .await
        .map_err(|_| StoreError::Unavailable("the database does not answer".to_owned()))?
        .map_err(super::unreachable)?;
    make_schema(&mut connection, if_missing).await?;
    // Boxed, because the compiler cannot see that it may move between threads.
    MIGRATIONS.run_direct(None, &mut connection, false).boxed().await?;
    let mut tx = connection.begin().await?;
    audit::seal(&mut tx).await?;
    tx.commit().await?;
    connection.close().await?;
    Ok(())
}

/// Makes the schema only where it is missing: an account that may not create
/// schemas is enough once an administrator has made it.
async fn make_schema(connection: &mut PgConnection, if_missing: IfMissing) -> Tried<()> {
    let mut tx = connection.begin().await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(SCHEMA_LOCK).execute(&mut *tx).await?;
    let exists: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'drainboard')")
        .fetch_one(&mut *tx)
        .await?;
    if !exists {
        if if_missing == IfMissing::Refuse {
            return Err(missing(NO_SCHEMA).into());
        }
        sqlx::query("CREATE SCHEMA drainboard").execute(&mut *tx).await?;
    }
    tx.commit().await?;
    Ok(())
}
