//! Which database a command works on.

use crate::store;
use anyhow::{Context as _, bail};
use app::error::StoreError;
use app::store::Store;
use clap::Args;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const DEFAULT_URL: &str = "sqlite:drainboard.db";
/// A database that takes longer to answer counts as away.
const CONNECTING: Duration = Duration::from_secs(15);

/// The option that every command takes.
#[derive(Debug, Clone, Default, Args)]
pub struct Database {
    /// The queue database: sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME [default: sqlite:drainboard.db]
    // Read from the environment without being shown: it may hold a password.
    #[arg(long, global = true, value_name = "URL", env = "DRAINBOARD_DATABASE_URL", hide_env_values = true)]
    database_url: Option<String>,
}

impl Database {
    /// That database, whatever was given on the command line.
    pub fn at(url: String) -> Self {
        Self { database_url: Some(url) }
    }

    /// The URL that was given, if one was.
    pub fn given_url(&self) -> Option<&str> {
        self.database_url.as_deref()
    }

    /// The URL, or the default.
    pub fn url(&self) -> &str {
        self.given_url().unwrap_or(DEFAULT_URL)
    }

    /// Opens the database, a new SQLite file included.
    ///
    /// # Errors
    /// A sentence that names the database, never its password.
    pub async fn open(&self) -> anyhow::Result<Arc<dyn Store>> {
        let shown = shown(self.url());
        match tokio::time::timeout(CONNECTING, store::connect(self.url())).await {
            Ok(Ok(store)) => Ok(store),
            Ok(Err(StoreError::Unavailable(cause) | StoreError::Internal(cause))) => {
                bail!("cannot use the database {shown}: {cause}")
            }
            Ok(Err(error)) => Err(error).with_context(|| format!("cannot use the database {shown}")),
            Err(_) => bail!("cannot use the database {shown}: no answer for {} s", CONNECTING.as_secs()),
        }
    }

    /// Opens a database that must exist: a question about a mistyped path must
    /// not make an empty database and answer from it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_existing(&self) -> anyhow::Result<Arc<dyn Store>> {
        if let Some(path) = sqlite_path(self.url())
            && !Path::new(path).exists()
        {
            bail!("there is no database {path}; name it with --database-url");
        }
        self.open().await
    }
}

fn sqlite_path(url: &str) -> Option<&str> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    Some(path.split_once('?').map_or(path, |(path, _)| path))
}

/// The URL without its password, and without its query, which may hold one.
fn shown(url: &str) -> String {
    match url::Url::parse(url) {
        Ok(mut parsed) if parsed.scheme().starts_with("postgres") => {
            // Refused only for URLs that cannot have a password.
            let _ = parsed.set_password(None);
            parsed.set_query(None);
            parsed.to_string()
        }
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let text = shown("postgres://mila:s3cret@db.example:5432/queue");
        assert_eq!(text, "postgres://mila@db.example:5432/queue");
        assert_eq!(shown("postgres://db.example/queue?password=s3cret"), "postgres://db.example/queue");
        assert_eq!(shown("sqlite:/var/lib/queue.db"), "sqlite:/var/lib/queue.db");
    }

    #[test]
    fn the_path_of_a_file_is_found_in_every_spelling() {
        for url in ["sqlite:/a/b.db", "sqlite:///a/b.db", "sqlite:/a/b.db?mode=rwc"] {
            assert_eq!(sqlite_path(url), Some("/a/b.db"), "{url}");
        }
        assert_eq!(sqlite_path("postgres://x/y"), None);
    }
}
