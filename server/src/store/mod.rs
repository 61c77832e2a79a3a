//! The stores: one per database, chosen by the URL's scheme.
//!
//! What the databases have in common stands beside them: what ending an attempt
//! leads to ([`plan`]), when a new job runs ([`schedule`]), what rows mean
//! ([`rows`]), the words of conflicts and of the audit with its [`chain`], and
//! which faults pass.

pub mod acting;
pub mod audit;
pub mod chain;
pub mod conflict;
pub mod fault;
pub mod plan;
pub mod postgres;
pub mod readings;
pub mod rows;
pub mod schedule;
pub mod sqlite;
pub mod time;

use app::model::FieldError;
use app::store::{Store, Stored};
use futures::future::BoxFuture;
use std::sync::Arc;

/// Opens the database behind `url` (`sqlite:PATH`, `sqlite::memory:` is refused,
/// or `postgres://…`), applies migrations, and refuses a schema that is newer
/// than this binary.
///
/// # Errors
/// `Invalid` for an unknown scheme, `Unavailable` when it cannot be reached.
pub async fn connect(url: &str) -> Stored<Arc<dyn Store>> {
    let opening: BoxFuture<'_, Stored<Arc<dyn Store>>> = match url.split_once(':') {
        Some(("sqlite", path)) => Box::pin(async { Ok(Arc::new(sqlite::SqliteStore::open(path).await?) as _) }),
        Some(("postgres" | "postgresql", _)) => {
            Box::pin(async { Ok(Arc::new(postgres::PostgresStore::open(url).await?) as _) })
        }
        _ => return Err(FieldError::new("database-url", "must start with sqlite: or postgres://").into()),
    };
    opening.await
}
