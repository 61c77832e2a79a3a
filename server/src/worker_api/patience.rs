//! How long a monitor is kept waiting for the database before it is told that
//! the database is away.

use app::error::StoreError;
use app::store::{Store, Stored};
use std::sync::Arc;
use std::time::Duration;

/// A database that has not answered a reading for so long counts as away.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs a reading, but answers `Unavailable` when it takes too long. The reading
/// itself is left to end in its own time: to cut a transaction short would hand
/// its connection on in an unknown state.
pub(super) async fn patiently<T, F, Fut>(store: &Arc<dyn Store>, read: F) -> Stored<T>
where
    T: Send + 'static,
    F: FnOnce(Arc<dyn Store>) -> Fut,
    Fut: Future<Output = Stored<T>> + Send + 'static,
{
    match tokio::time::timeout(PATIENCE, tokio::spawn(read(Arc::clone(store)))).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => Err(StoreError::Internal(format!("a reading ended early: {error}"))),
        Err(_) => Err(StoreError::Unavailable(format!("no answer within {} s", PATIENCE.as_secs()))),
    }
}
