//! `drainboard token`: bearer tokens for workers and scripts.

use super::{Database, command_line};
use crate::auth::secret::Secret;
use anyhow::{Context as _, bail};
use app::error::StoreError;
use app::model::name::Name;
use app::model::people::Scope;
use std::collections::BTreeSet;

/// What can be done with tokens.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make a token and print it, once, on standard output: only its hash is stored.
    Create {
        /// What it is for; names the token in the audit.
        #[arg(long)]
        name: String,
        /// What it may do, comma-separated: enqueue, work, read, review, admin.
        #[arg(long, value_delimiter = ',', required = true, value_parser = scope, value_name = "SCOPE,…")]
        scope: Vec<Scope>,
    },
}

impl Command {
    /// Runs it.
    pub async fn run(self, database: &Database) -> anyhow::Result<()> {
        let Self::Create { name, scope } = self;
        let name = Name::new("the name", name.trim())?;
        let scopes: Vec<Scope> = scope.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        let store = database.open_to_fill().await?;
        let token = Secret::random_with_prefix("drb_");
        match store.add_token(&name, &scopes, &token.sha256(), &command_line()).await {
            Ok(_) => println!("{}", token.expose()),
            Err(StoreError::Conflict(_)) => bail!("there is a token {name} already; choose another name"),
            Err(error) => return Err(error).context("no token was made"),
        }
        store.close().await;
        Ok(())
    }
}

fn scope(word: &str) -> Result<Scope, String> {
    Scope::from_word(word).ok_or_else(|| format!("must be one of {}", Scope::ALL.map(Scope::as_str).join(", ")))
}
