//! The stores: one per database, chosen by the URL's scheme.

pub mod lease;
pub mod plan;
pub mod postgres;
pub mod sqlite;

use app::error::StoreError;
use app::store::{Store, Stored};
use std::sync::Arc;

/// Opens the database behind `url` (`sqlite:PATH`, `sqlite::memory:` is refused,
/// or `postgres://…`), applies migrations, and refuses a schema that is newer
/// than this binary.
///
/// # Errors
/// `Invalid` for an unknown scheme, `Unavailable` when it cannot be reached.
pub async fn connect(url: &str) -> Stored<Arc<dyn Store>> {
    match url.split_once(':') {
        _ => Err(StoreError::Invalid(app::model::FieldError::new(
            "database-url",
            "must start with sqlite: or postgres://",
        ))),
    }
}
