//! A fresh database for one test, on SQLite or on PostgreSQL, gone afterwards.

use super::side_door::SideDoor;
use app::store::Store;
use futures::FutureExt;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection};
use std::panic::AssertUnwindSafe;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Names the PostgreSQL that tests may make databases in.
const POSTGRES_URL: &str = "DRAINBOARD_TEST_POSTGRES_URL";
/// No test takes longer; a hang is a failure.
const DEADLINE: Duration = Duration::from_secs(180);

/// Which database a test runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// One file.
    Sqlite,
    /// A database of its own on the server that `DRAINBOARD_TEST_POSTGRES_URL` names.
    Postgres,
}

impl Backend {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// The last part of a test's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    /// Whether tests on it cannot run here and need not: then they are reported
    /// as ignored. Where they are required they run, and fail.
    pub fn is_absent(self) -> bool {
        let is_set = |name| std::env::var(name).is_ok_and(|value| value == "1" || value == "true");
        let required = is_set("CI") || is_set("DRAINBOARD_REQUIRE_POSTGRES");
        self == Self::Postgres && std::env::var_os(POSTGRES_URL).is_none() && !required
    }
}

/// A database with an open store.
pub struct TestDatabase {
    /// On which database.
    pub backend: Backend,
    /// The store under test.
    pub store: Arc<dyn Store>,
    /// What `--database-url` would be.
    pub url: String,
    /// Plain SQL beside the store.
    pub door: SideDoor,
    place: Place,
}

#[expect(clippy::large_enum_variant, reason = "one a test")]
enum Place {
    Directory(tempfile::TempDir),
    Database { server: PgConnectOptions, name: String },
}

impl TestDatabase {
    /// Makes an empty database and opens a store on it, migrations applied.
    pub async fn create(backend: Backend) -> Self {
        let (url, place) = match backend {
            Backend::Sqlite => {
                let directory = tempfile::tempdir().expect("a temporary directory");
                (format!("sqlite:{}", directory.path().join("queue.db").display()), Place::Directory(directory))
            }
            Backend::Postgres => create_postgres_database().await,
        };
        let store = drainboard::store::connect(&url).await.expect("the store opens an empty database");
        let door = SideDoor::open(backend, &url).await;
        Self { backend, store, url, door, place }
    }

    /// Another store on the same database, as a second server would open it.
    pub async fn another_store(&self) -> Arc<dyn Store> {
        drainboard::store::connect(&self.url).await.expect("a second store opens the same database")
    }

    /// Closes everything and removes the database.
    pub async fn remove(&self) {
        self.door.close().await;
        self.store.close().await;
        if let Place::Database { server, name } = &self.place {
            on_server(server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
        }
    }

    /// Whether PostgreSQL lets anybody connect to this database. Connections
    /// there are stay.
    pub async fn allow_connections(&self, allowed: bool) {
        let Place::Database { server, name } = &self.place else { panic!("a file is not connected to") };
        on_server(server, &format!("ALTER DATABASE {name} WITH ALLOW_CONNECTIONS {allowed}")).await;
    }
}

/// A database that orders text as people do (where the server can) and tells
/// the time in São Paulo: whoever forgets to compare bytes, or to think in UTC,
/// is found.
async fn create_awkward(server: &PgConnectOptions, name: &str) {
    let mut admin = PgConnection::connect_with(server).await.expect("PostgreSQL answers");
    let plain = format!("CREATE DATABASE {name} TEMPLATE template0");
    let linguistic = format!("{plain} LOCALE_PROVIDER icu ICU_LOCALE 'en-US'");
    if sqlx::query(AssertSqlSafe(linguistic)).execute(&mut admin).await.is_err() {
        sqlx::query(AssertSqlSafe(plain)).execute(&mut admin).await.expect("a new database");
    }
    let zone = format!("ALTER DATABASE {name} SET timezone TO 'America/Sao_Paulo'");
    sqlx::query(AssertSqlSafe(zone)).execute(&mut admin).await.expect("a time zone");
    admin.close().await.expect("the connection closes");
}

/// Runs a statement beside all databases.
async fn on_server(server: &PgConnectOptions, sql: &str) {
    let mut admin = PgConnection::connect_with(server).await.expect("PostgreSQL answers");
    sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut admin).await.unwrap_or_else(|e| panic!("{e}: {sql}"));
    admin.close().await.expect("the connection closes");
}

async fn create_postgres_database() -> (String, Place) {
    let server_url = std::env::var(POSTGRES_URL).unwrap_or_else(|_| {
        panic!("PostgreSQL is required here and {POSTGRES_URL} is not set; run under scripts/with-postgres")
    });
    let server = PgConnectOptions::from_str(&server_url).expect("a PostgreSQL URL");
    let name = format!("drainboard_test_{:016x}", rand::random::<u64>());
    create_awkward(&server, &name).await;
    let mut url = url::Url::parse(&server_url).expect("a URL");
    url.set_path(&name);
    (url.into(), Place::Database { server, name })
}

/// Runs a test on a database of its own, which goes even if the test panics.
pub fn run<F: Future<Output = ()>>(backend: Backend, test: impl FnOnce(Arc<TestDatabase>) -> F) {
    run_on(backend, 4, test);
}

/// The same on so many threads.
pub fn run_on<F: Future<Output = ()>>(backend: Backend, threads: usize, test: impl FnOnce(Arc<TestDatabase>) -> F) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let db = Arc::new(TestDatabase::create(backend).await);
        let body = tokio::time::timeout(DEADLINE, test(Arc::clone(&db)));
        let outcome = AssertUnwindSafe(body).catch_unwind().await;
        db.remove().await;
        match outcome {
            Ok(in_time) => in_time.expect("the test ends before its deadline"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
}
