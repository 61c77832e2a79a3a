//! A database of its own on the PostgreSQL that tests may use.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection as _};
use std::str::FromStr as _;

/// Names the PostgreSQL that tests may make databases in.
const SERVER: &str = "DRAINBOARD_TEST_POSTGRES_URL";

/// A database; gone at the end.
pub struct Postgres {
    server: PgConnectOptions,
    name: String,
    /// As `--database-url` takes it.
    pub url: String,
}

impl Postgres {
    /// A new one; `None` where no PostgreSQL is given and none is required.
    pub fn create() -> Option<Self> {
        let is_set = |name| std::env::var(name).is_ok_and(|value| value == "1" || value == "true");
        let required = is_set("CI") || is_set("DRAINBOARD_REQUIRE_POSTGRES");
        let Ok(server_url) = std::env::var(SERVER) else {
            assert!(!required, "PostgreSQL is required here and {SERVER} is not set");
            return None;
        };
        let server = PgConnectOptions::from_str(&server_url).unwrap();
        let name = format!("drainboard_process_{:016x}", rand::random::<u64>());
        on(&server, format!("CREATE DATABASE {name}"));
        let mut url = url::Url::parse(&server_url).unwrap();
        url.set_path(&name);
        Some(Self { server, name, url: url.into() })
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        on(&self.server, format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

/// Runs a statement beside all databases. On a thread of its own, because a
/// test's runtime must not be blocked by another one.
fn on(server: &PgConnectOptions, sql: String) {
    let server = server.clone();
    let ran = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut connection = PgConnection::connect_with(&server).await.unwrap();
            sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        });
    });
    // Whoever is panicking already must not panic again.
    let ran = ran.join();
    assert!(ran.is_ok() || std::thread::panicking(), "PostgreSQL did not do it");
}
