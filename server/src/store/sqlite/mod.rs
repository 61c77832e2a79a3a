//! SQLite: one file, one writer.
//!
//! All writes go through a single connection, and every write transaction takes
//! the write lock when it starts: no transaction begins as a reader and is then
//! refused. Reads have connections of their own that cannot write.

mod act;
#[path = "../alert_deliveries.rs"]
mod alert_deliveries;
#[path = "../alerts.rs"]
mod alerts;
#[path = "../artifacts.rs"]
mod artifacts;
mod audit;
#[path = "../bulk.rs"]
mod bulk;
#[path = "../canaries.rs"]
mod canaries;
mod claim;
mod duties;
mod enqueue;
mod evidence;
mod finish;
#[path = "../follow_ups.rs"]
mod follow_ups;
mod history;
mod jobs;
#[path = "../last_refusals.rs"]
mod last_refusals;
mod letters;
#[path = "../masking.rs"]
mod masking;
#[path = "../names.rs"]
mod names;
#[path = "../outbox.rs"]
mod outbox;
mod panel;
#[path = "../park_days.rs"]
mod park_days;
mod park_rate;
mod people;
mod place;
mod policies;
mod queue;
mod sessions;
mod snapshot;
mod tokens;
mod users;

use crate::store::fault::Tried;
use crate::store::time::At;
use crate::store::{EVERY_TABLE, IfMissing, NO_FILE, missing};
use app::error::StoreError;
use app::model::FieldError;
use app::store::{Store, Stored};
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use place::Place;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Connection, Sqlite, Transaction};
use std::io::ErrorKind;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

static MIGRATOR: Migrator = sqlx::migrate!("../migrations/sqlite");

/// Below this, two connections that checkpoint at once may damage the file.
const OLDEST_SQLITE: [u32; 3] = [3, 51, 3];
/// How long a statement waits for another process's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a call waits for a connection before it says that the database is away.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// Readings, pages and look-ups that run side by side.
const READERS: u32 = 6;
/// Bytes the write-ahead log is cut back to once it is checkpointed.
const LOG_BYTES: &str = "67108864";
/// The database's clock, in microseconds (to the millisecond).
const NOW: &str = "SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000";
/// The same, as the first read of a table, so that the clock is read at or
/// after the instant that the transaction sees.
const NOW_OF_SNAPSHOT: &str =
    "SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 FROM (SELECT count(*) FROM kinds)";

/// The queue database in one file.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    writer: SqlitePool,
    readers: SqlitePool,
    place: Arc<Place>,
}

impl SqliteStore {
    /// Opens the file at `path`, or makes it, and applies migrations. A new
    /// file can be read by its owner alone.
    ///
    /// # Errors
    /// `Invalid` for a path that names no file, `Unavailable` when it cannot be
    /// opened, `Internal` for a newer schema or an older SQLite than is known.
    pub async fn open(path: &str, if_missing: IfMissing) -> Stored<Self> {
        let path = file_path(path)?;
        match if_missing {
            IfMissing::Make => create_private(&path)?,
            IfMissing::Refuse if std::path::Path::new(&path).exists() => {}
            IfMissing::Refuse => return Err(missing(NO_FILE)),
        }
        let place = Arc::new(Place::of(&path)?);
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(false)
            .busy_timeout(BUSY_TIMEOUT)
            .statement_cache_capacity(200)
            .foreign_keys(true);
        if if_missing == IfMissing::Refuse && !is_ours(&options).await? {
            return Err(missing("this file is no database of Drainboard"));
        }
        let writing = options
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            // An enqueue that was answered must survive a power cut.
            .synchronous(SqliteSynchronous::Full)
            .pragma("journal_size_limit", LOG_BYTES);
        let writer = pool(1).connect_with(writing).await.map_err(|error| cannot_open(&path, &error))?;
        prepare(&writer).await?;
        let reading = options.pragma("query_only", "ON");
        let readers = pool(READERS).connect_with(reading).await.map_err(|error| cannot_open(&path, &error))?;
        place.check()?;
        Ok(Self { writer, readers, place })
    }

    /// Connections for statements that need no transaction.
    fn readers(&self) -> Tried<&SqlitePool> {
        self.place.check()?;
        Ok(&self.readers)
    }

    /// A transaction that holds the write lock.
    async fn write(&self) -> Tried<Tx> {
        self.place.check()?;
        let mut inner = self.writer.begin_with("BEGIN IMMEDIATE").await?;
        let At(now) = sqlx::query_scalar(NOW).fetch_one(&mut *inner).await?;
        Ok(Tx { inner, now, place: Arc::clone(&self.place) })
    }

    /// A transaction that sees one instant.
    async fn read(&self) -> Tried<Tx> {
        let mut inner = self.readers()?.begin().await?;
        let At(now) = sqlx::query_scalar(NOW_OF_SNAPSHOT).fetch_one(&mut *inner).await?;
        Ok(Tx { inner, now, place: Arc::clone(&self.place) })
    }
}

/// A transaction with the database's clock at its start. Dropped without a
/// commit, it leaves no trace.
struct Tx {
    inner: Transaction<'static, Sqlite>,
    now: DateTime<Utc>,
    place: Arc<Place>,
}

impl Tx {
    /// Nothing is acknowledged into a file that nobody will see again: asked
    /// before, so that nothing is written there, and once more after, for the
    /// file that went away meanwhile.
    async fn commit(self) -> Tried<()> {
        self.place.check()?;
        self.inner.commit().await?;
        self.place.check()
    }
}

impl Deref for Tx {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.inner
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.inner
    }
}

/// Endings that count for a park rate, as the index has them; conditions follow.
const COUNTED_ENDINGS: &str = "endings INDEXED BY endings_park_rate WHERE is_canary = 0 AND is_replay = 0";

/// What the code that both databases share is run with.
type TheStore = SqliteStore;
type Db = Sqlite;

impl SqliteStore {
    async fn pages_answer<T>(&self, call: impl Future<Output = Tried<T>>) -> Stored<T> {
        Ok(call.await?)
    }

    async fn write_page(&self) -> Tried<(Tx, DateTime<Utc>)> {
        let tx = self.write().await?;
        let now = tx.now;
        Ok((tx, now))
    }

    async fn read_page(&self) -> Tried<(Tx, DateTime<Utc>)> {
        let tx = self.read().await?;
        let now = tx.now;
        Ok((tx, now))
    }
}

/// Whether the file was set up by us; writes nothing into somebody else's.
async fn is_ours(options: &SqliteConnectOptions) -> Tried<bool> {
    let mut connection = SqliteConnection::connect_with(options).await?;
    let found = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations')")
        .fetch_one(&mut connection)
        .await?;
    connection.close().await?;
    Ok(found)
}

/// Checks the library and brings the schema up to date, one process at a time.
async fn prepare(writer: &SqlitePool) -> Tried<()> {
    let mut tx = writer.begin_with("BEGIN IMMEDIATE").await?;
    let version: String = sqlx::query_scalar("SELECT sqlite_version()").fetch_one(&mut *tx).await?;
    if is_too_old(&version) {
        return Err(StoreError::Internal(format!(
            "SQLite {version} is too old: below 3.51.3 it can damage the file while checkpointing"
        ))
        .into());
    }
    // Boxed, because the compiler cannot see that it may move between threads.
    let migrating: BoxFuture<'_, _> = Box::pin(MIGRATOR.run_direct(None, &mut *tx, false));
    migrating.await?;
    audit::seal(&mut tx).await?;
    Ok(tx.commit().await?)
}

fn pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .min_connections(1)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        // After some faults, a full disk for one, SQLite rolls back by itself,
        // and the connection goes on believing in a transaction that is gone.
        .before_acquire(|connection, _| {
            let is_clean = !connection.is_in_transaction();
            Box::pin(async move { Ok(is_clean) })
        })
}

/// The file behind what follows `sqlite:`.
fn file_path(path: &str) -> Result<String, FieldError> {
    let path = path.strip_prefix("//").unwrap_or(path);
    match path {
        "" => Err(FieldError::new("database-url", "must name a file, such as sqlite:drainboard.db")),
        _ if path.starts_with(':') => {
            Err(FieldError::new("database-url", "must name a file: a database in memory would lose every job"))
        }
        // SQLite would read this as a URI with settings of its own.
        _ if path.starts_with("file:") => Ok(format!("./{path}")),
        _ => Ok(path.to_owned()),
    }
}

///
/// Never beside a log that an earlier file left: opening an empty database there
/// would wipe changes that were acknowledged and are only in the log.
fn create_private(path: &str) -> Stored<()> {
    let log = format!("{path}-wal");
    let is_missing = !std::path::Path::new(path).exists();
    if is_missing && std::fs::metadata(&log).is_ok_and(|found| found.len() > 0) {
        return Err(StoreError::Unavailable(format!(
            "{path} is missing, but its write-ahead log {log} is there and may hold jobs: put the file back beside it, \
             or move the log away"
        )));
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(StoreError::Unavailable(format!("cannot create {path}: {error}")))
        }
        _ => Ok(()),
    }
}

fn cannot_open(path: &str, error: &sqlx::Error) -> StoreError {
    StoreError::Unavailable(format!("cannot open {path}: {error}"))
}

fn is_too_old(version: &str) -> bool {
    let parts: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
    parts.as_slice() < OLDEST_SQLITE.as_slice()
}

/// A list for `json_each`.
fn json_list<T: serde::Serialize>(items: &[T]) -> Tried<String> {
    Ok(serde_json::to_string(items)?)
}

#[async_trait]
impl Store for SqliteStore {
    async fn ping(&self) -> Stored<()> {
        let answered = async {
            sqlx::query(EVERY_TABLE).execute(self.readers()?).await?;
            // Takes the write lock and changes nothing.
            self.writer.begin_with("BEGIN IMMEDIATE").await?.rollback().await?;
            Tried::Ok(())
        };
        Ok(answered.await?)
    }

    async fn now(&self) -> Stored<DateTime<Utc>> {
        let read = async { Tried::Ok(sqlx::query_scalar::<_, At>(NOW).fetch_one(self.readers()?).await?.0) };
        Ok(read.await?)
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

#[cfg(test)]
mod tests;
