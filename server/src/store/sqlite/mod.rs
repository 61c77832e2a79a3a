//! SQLite: one file, one writer.

use app::store::Stored;

/// The embedded store.
pub struct SqliteStore;

impl SqliteStore {
    /// Opens (or creates) the file.
    pub async fn open(_url: &str) -> Stored<Self> {
        Ok(Self)
    }
}
