//! Plain SQL beside the store: time that passes without waiting, and what
//! really stands in the tables.
//!
//! Both databases have the same tables and columns; times are integer
//! microseconds in SQLite and `timestamptz` in PostgreSQL's schema `drainboard`.

use super::database::Backend;
use app::model::ids::JobId;
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, Executor, Row};
use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

/// A row, every column as text.
pub type TextRow = Vec<Option<String>>;

/// A connection of its own.
pub enum SideDoor {
    /// To the file.
    Sqlite(SqlitePool),
    /// To the database, with `drainboard` first in the search path.
    Postgres(PgPool),
}

impl SideDoor {
    /// Opens the door to a database that a store has already set up.
    pub async fn open(backend: Backend, url: &str) -> Self {
        match backend {
            Backend::Sqlite => {
                let options = SqliteConnectOptions::from_str(url)
                    .expect("a SQLite URL")
                    .busy_timeout(Duration::from_secs(20))
                    .foreign_keys(true);
                let pool = SqlitePoolOptions::new().max_connections(2).connect_with(options).await;
                Self::Sqlite(pool.expect("the file opens"))
            }
            Backend::Postgres => {
                let options = PgConnectOptions::from_str(url)
                    .expect("a PostgreSQL URL")
                    .options([("search_path", "drainboard,public")]);
                let pool = PgPoolOptions::new().max_connections(2).connect_with(options).await;
                Self::Postgres(pool.expect("the database opens"))
            }
        }
    }

    /// Closes it.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }

    /// Runs a statement; answers how many rows it touched.
    pub async fn execute(&self, sql: &str) -> u64 {
        let statement = AssertSqlSafe(sql.to_owned());
        match self {
            Self::Sqlite(pool) => query_result(pool.execute(statement).await, sql).rows_affected(),
            Self::Postgres(pool) => query_result(pool.execute(statement).await, sql).rows_affected(),
        }
    }

    /// `SELECT columns FROM rest`, every column as text.
    pub async fn rows(&self, columns: &[&str], rest: &str) -> Vec<TextRow> {
        let list: Vec<String> = columns.iter().map(|column| format!("CAST({column} AS TEXT)")).collect();
        let sql = format!("SELECT {} FROM {rest}", list.join(", "));
        let count = columns.len();
        match self {
            Self::Sqlite(pool) => query_result(sqlx::query(AssertSqlSafe(sql.clone())).fetch_all(pool).await, &sql)
                .iter()
                .map(|row| (0..count).map(|i| row.get(i)).collect())
                .collect(),
            Self::Postgres(pool) => query_result(sqlx::query(AssertSqlSafe(sql.clone())).fetch_all(pool).await, &sql)
                .iter()
                .map(|row| (0..count).map(|i| row.get(i)).collect())
                .collect(),
        }
    }

    /// `SELECT count(*) FROM rest`.
    pub async fn count(&self, rest: &str) -> i64 {
        self.rows(&["count(*)"], rest).await[0][0].as_deref().expect("a count").parse().expect("a number")
    }

    /// How the database would run a statement.
    pub async fn plan(&self, sql: &str) -> String {
        let lines: Vec<String> = match self {
            Self::Sqlite(pool) => {
                let explain = format!("EXPLAIN QUERY PLAN {sql}");
                let rows = sqlx::query(AssertSqlSafe(explain)).fetch_all(pool).await;
                query_result(rows, sql).iter().map(|row| row.get(3)).collect()
            }
            Self::Postgres(pool) => {
                let rows = sqlx::query(AssertSqlSafe(format!("EXPLAIN {sql}"))).fetch_all(pool).await;
                query_result(rows, sql).iter().map(|row| row.get(0)).collect()
            }
        };
        lines.join("\n")
    }

    /// A time column as integer microseconds.
    pub fn micros(&self, column: &str) -> String {
        match self {
            Self::Sqlite(_) => column.to_owned(),
            Self::Postgres(_) => format!("CAST(round(extract(epoch FROM {column}) * 1000000) AS bigint)"),
        }
    }

    /// A time as a literal of this database.
    pub fn literal(&self, at: DateTime<Utc>) -> String {
        match self {
            Self::Sqlite(_) => at.timestamp_micros().to_string(),
            Self::Postgres(_) => format!("timestamptz '{}'", at.to_rfc3339()),
        }
    }

    /// A time column `seconds` earlier.
    fn earlier(&self, column: &str, seconds: i64) -> String {
        match self {
            Self::Sqlite(_) => format!("{column} = {column} - {}", seconds * 1_000_000),
            Self::Postgres(_) => format!("{column} = {column} - interval '{seconds} seconds'"),
        }
    }

    /// Everything that ever happened, or is planned, becomes `seconds` older:
    /// to the database's clock it is as if that time had passed.
    pub async fn let_time_pass(&self, seconds: i64) {
        for (table, columns) in self.time_columns().await {
            let sets: Vec<String> = columns.iter().map(|column| self.earlier(column, seconds)).collect();
            self.execute(&format!("UPDATE {table} SET {}", sets.join(", "))).await;
        }
        self.age_minutes(seconds).await;
    }

    /// One job and its attempts become `seconds` older.
    pub async fn backdate(&self, job: JobId, seconds: i64) {
        for (table, key) in [("jobs", "id"), ("attempts", "job_id")] {
            let columns = self.time_columns().await.remove(table).expect("a table with times");
            let sets: Vec<String> = columns.iter().map(|column| self.earlier(column, seconds)).collect();
            self.execute(&format!("UPDATE {table} SET {} WHERE {key} = {job}", sets.join(", "))).await;
        }
    }

    /// The job's lease ended just before `now`.
    pub async fn expire_lease(&self, job: JobId, now: DateTime<Utc>) {
        let ended = self.literal(now - TimeDelta::milliseconds(5));
        let touched =
            self.execute(&format!("UPDATE jobs SET due_at = {ended} WHERE id = {job} AND state = 'in_progress'")).await;
        assert_eq!(touched, 1, "job {job} is in progress");
    }

    /// From now on the database refuses new rows of `table` whose `column` is
    /// `value`: a fault in the middle of a transaction.
    pub async fn forbid(&self, table: &str, column: &str, value: &str) {
        let sql = match self {
            Self::Sqlite(_) => format!(
                "CREATE TRIGGER forbidden BEFORE INSERT ON {table} WHEN NEW.{column} = '{value}' \
                 BEGIN SELECT RAISE(ABORT, 'forbidden by the test'); END"
            ),
            Self::Postgres(_) => {
                format!("ALTER TABLE {table} ADD CONSTRAINT forbidden CHECK ({column} <> '{value}') NOT VALID")
            }
        };
        self.execute(&sql).await;
    }

    /// Takes back `forbid`.
    pub async fn allow(&self, table: &str) {
        let sql = match self {
            Self::Sqlite(_) => "DROP TRIGGER forbidden".to_owned(),
            Self::Postgres(_) => format!("ALTER TABLE {table} DROP CONSTRAINT forbidden"),
        };
        self.execute(&sql).await;
    }

    /// Every column that holds a time, by table.
    async fn time_columns(&self) -> BTreeMap<String, Vec<String>> {
        let rows = match self {
            Self::Sqlite(_) => {
                self.rows(
                    &["m.name", "p.name"],
                    "sqlite_master AS m JOIN pragma_table_info(m.name) AS p \
                     WHERE m.type = 'table' AND m.name NOT LIKE '\\_%' ESCAPE '\\' AND p.type = 'INTEGER' \
                     AND (p.name = 'at' OR p.name LIKE '%\\_at' ESCAPE '\\' OR p.name LIKE '%\\_until' ESCAPE '\\')",
                )
                .await
            }
            Self::Postgres(_) => {
                self.rows(
                    &["c.table_name", "c.column_name"],
                    "information_schema.columns AS c JOIN information_schema.tables AS t \
                     USING (table_schema, table_name) \
                     WHERE table_schema = 'drainboard' AND t.table_type = 'BASE TABLE' \
                     AND table_name NOT LIKE '\\_%' AND c.is_generated = 'NEVER' \
                     AND c.data_type = 'timestamp with time zone'",
                )
                .await
            }
        };
        let mut columns = BTreeMap::<String, Vec<String>>::new();
        for row in rows {
            if let [Some(table), Some(column)] = row.as_slice() {
                columns.entry(table.clone()).or_default().push(format!("\"{column}\""));
            }
        }
        columns
    }

    /// `refused_polls.minute` is a number of minutes where it is no time.
    async fn age_minutes(&self, seconds: i64) {
        let integer_minute = match self {
            Self::Sqlite(_) => true,
            Self::Postgres(_) => {
                self.count(
                    "information_schema.columns WHERE table_schema = 'drainboard' AND table_name = 'refused_polls' \
                     AND column_name = 'minute' AND data_type IN ('bigint', 'integer')",
                )
                .await
                    == 1
            }
        };
        if integer_minute {
            // In two steps, so that no two minutes meet on the way.
            let minutes = (seconds + 59) / 60;
            self.execute("UPDATE refused_polls SET minute = -minute").await;
            self.execute(&format!("UPDATE refused_polls SET minute = -minute - {minutes}")).await;
        }
    }
}

fn query_result<T>(result: Result<T, sqlx::Error>, sql: &str) -> T {
    result.unwrap_or_else(|error| panic!("{error}: {sql}"))
}
