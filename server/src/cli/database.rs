//! Which database a command works on.

use crate::store;
use anyhow::{Context as _, bail};
use app::error::StoreError;
use app::store::{Store, Stored};
use clap::Args;
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

    /// Opens the database, or makes it: for the commands that serve or migrate.
    ///
    /// # Errors
    /// A sentence that names the database, never its password.
    pub async fn open_or_make(&self) -> anyhow::Result<Arc<dyn Store>> {
        self.opened(store::connect(self.url())).await
    }

    /// Opens a database that must be there: a mistyped name must neither become
    /// an empty database nor be answered from one.
    ///
    /// # Errors
    /// As [`Self::open_or_make`].
    pub async fn open(&self) -> anyhow::Result<Arc<dyn Store>> {
        self.opened(store::connect_existing(self.url())).await
    }

    /// Opens the database to put the first things into it. One that is not there
    /// yet is made, and that is said: a mistyped name must be noticed.
    ///
    /// # Errors
    /// As [`Self::open`], for what is no database of ours.
    pub async fn open_to_fill(&self) -> anyhow::Result<Arc<dyn Store>> {
        match store::connect_existing(self.url()).await {
            Err(StoreError::Unavailable(cause)) if store::is_nowhere(&cause) => {
                let store = self.open_or_make().await?;
                eprintln!("{} was not there: made a new, empty database", shown(self.url()));
                Ok(store)
            }
            answer => self.opened(std::future::ready(answer)).await,
        }
    }

    async fn opened(&self, connecting: impl Future<Output = Stored<Arc<dyn Store>>>) -> anyhow::Result<Arc<dyn Store>> {
        let shown = shown(self.url());
        match tokio::time::timeout(CONNECTING, connecting).await {
            Ok(Ok(store)) => Ok(store),
            Ok(Err(
                StoreError::Unavailable(cause) | StoreError::DatabaseError(cause) | StoreError::Internal(cause),
            )) => bail!("cannot use the database {shown}: {cause}"),
            Ok(Err(error)) => Err(error).with_context(|| format!("cannot use the database {shown}")),
            Err(_) => bail!("cannot use the database {shown}: no answer for {} s", CONNECTING.as_secs()),
        }
    }
}

/// The URL without its password, and without its query, which may hold one.
fn shown(url: &str) -> String {
    match url::Url::parse(url) {
        Ok(mut parsed) if parsed.scheme() != "sqlite" => {
            // Refused only for URLs that cannot have a password.
            let _ = parsed.set_password(None);
            parsed.set_query(None);
            parsed.to_string()
        }
        _ if url.starts_with("sqlite:") => url.to_owned(),
        // Nobody can tell where a password stands in what cannot be read.
        _ => url.split_once(':').map_or_else(|| "given".to_owned(), |(scheme, _)| format!("{scheme}:…")),
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
        assert_eq!(shown("postgres://mila:s3cret@db.example:nine/queue"), "postgres:…");
        assert_eq!(shown("mysql://mila:s3cret@db.example/queue"), "mysql://mila@db.example/queue");
        assert_eq!(shown("sqlite:/var/lib/queue.db"), "sqlite:/var/lib/queue.db");
    }
}
