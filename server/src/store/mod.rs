//! The stores: one per database, chosen by the URL's scheme.
//!
//! What the databases have in common stands beside them: what ending an attempt
//! leads to ([`plan`]), when a new job runs ([`schedule`]), what rows mean
//! ([`rows`]), the words of conflicts and of the audit with its [`chain`], and
//! which faults pass.

pub mod acting;
pub mod alert_rows;
pub mod audit;
pub mod bulk_rows;
pub mod canary_rows;
pub mod chain;
pub mod conflict;
pub mod fault;
pub mod letter_lists;
pub mod letter_rows;
pub mod plan;
pub mod postgres;
pub mod promises;
pub mod readings;
pub mod rows;
pub mod schedule;
pub mod sqlite;
pub mod time;

use app::error::StoreError;
use app::model::FieldError;
use app::store::{Store, Stored};
use futures::future::BoxFuture;
use std::sync::Arc;

/// Fails unless everything of ours is there. Asks for a row at most, so that
/// anybody may ask as often as they like.
pub(crate) const EVERY_TABLE: &str = "SELECT EXISTS (SELECT 1 FROM kinds) OR EXISTS (SELECT 1 FROM jobs) \
     OR EXISTS (SELECT 1 FROM attempts) OR EXISTS (SELECT 1 FROM results) OR EXISTS (SELECT 1 FROM endings) \
     OR EXISTS (SELECT 1 FROM dead_letters) OR EXISTS (SELECT 1 FROM action_keys) OR EXISTS (SELECT 1 FROM workers) \
     OR EXISTS (SELECT 1 FROM worker_kinds) OR EXISTS (SELECT 1 FROM worker_claims) \
     OR EXISTS (SELECT 1 FROM late_answers) OR EXISTS (SELECT 1 FROM refused_polls) OR EXISTS (SELECT 1 FROM ticks) \
     OR EXISTS (SELECT 1 FROM users) OR EXISTS (SELECT 1 FROM sessions) OR EXISTS (SELECT 1 FROM tokens) \
     OR EXISTS (SELECT 1 FROM setup_secret) OR EXISTS (SELECT 1 FROM audit) OR EXISTS (SELECT 1 FROM decisions) \
     OR EXISTS (SELECT 1 FROM notices) OR EXISTS (SELECT 1 FROM follow_ups) OR EXISTS (SELECT 1 FROM artifacts) \
     OR EXISTS (SELECT 1 FROM bulks) OR EXISTS (SELECT 1 FROM bulk_items) \
     OR EXISTS (SELECT 1 FROM evidence_counts) \
     OR EXISTS (SELECT 1 FROM last_refusals) \
     OR EXISTS (SELECT 1 FROM park_days) OR EXISTS (SELECT 1 FROM folded_days) OR EXISTS (SELECT 1 FROM alerts) \
     OR EXISTS (SELECT 1 FROM alert_deliveries) OR EXISTS (SELECT 1 FROM pinned_baselines) \
     OR EXISTS (SELECT 1 FROM canaries) OR EXISTS (SELECT 1 FROM canary_runs) OR EXISTS (SELECT 1 FROM last_models) \
     OR EXISTS (SELECT 1 FROM audit_head) OR EXISTS (SELECT 1 FROM set_up_links)";

/// What to do when there is no database of ours at the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfMissing {
    /// Make an empty one.
    Make,
    /// Say so: a mistyped URL must not become an empty queue that answers.
    Refuse,
}

/// Nothing at all is where a SQLite URL points.
pub(crate) const NO_FILE: &str = "there is no such file";
/// Nothing of ours is where a PostgreSQL URL points.
pub(crate) const NO_SCHEMA: &str = "this database has no schema drainboard";

/// Whether an `Unavailable` says that nothing is at the URL yet, rather than
/// something else or somebody else's.
pub fn is_nowhere(cause: &str) -> bool {
    cause.starts_with(NO_FILE) || cause.starts_with(NO_SCHEMA)
}

/// What is missing, and how to go on.
pub(crate) fn missing(what: &str) -> StoreError {
    StoreError::Unavailable(format!(
        "{what}; name the right one with --database-url, or make a new one with: drainboard migrate"
    ))
}

/// Opens the database behind `url` (`sqlite:PATH`, `sqlite::memory:` is refused,
/// or `postgres://…`) or makes it, applies migrations, and refuses a schema that
/// is newer than this binary.
///
/// # Errors
/// `Invalid` for an unknown scheme, `Unavailable` when it cannot be reached.
pub async fn connect(url: &str) -> Stored<Arc<dyn Store>> {
    open(url, IfMissing::Make).await
}

/// The same for a database that must be there already.
///
/// # Errors
/// As [`connect`], and `Unavailable` when there is none of ours.
pub async fn connect_existing(url: &str) -> Stored<Arc<dyn Store>> {
    open(url, IfMissing::Refuse).await
}

async fn open(url: &str, if_missing: IfMissing) -> Stored<Arc<dyn Store>> {
    let opening: BoxFuture<'_, Stored<Arc<dyn Store>>> = match url.split_once(':') {
        Some(("sqlite", path)) => {
            Box::pin(async { Ok(Arc::new(sqlite::SqliteStore::open(path, if_missing).await?) as _) })
        }
        Some(("postgres" | "postgresql", _)) => {
            Box::pin(async { Ok(Arc::new(postgres::PostgresStore::open(url, if_missing).await?) as _) })
        }
        _ => return Err(FieldError::new("database-url", "must start with sqlite: or postgres://").into()),
    };
    opening.await
}
