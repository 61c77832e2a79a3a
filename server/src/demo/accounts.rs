//! The sample people and the tokens of the demo.
//!
//! Their passwords are known to everybody, so they may exist only in a database
//! that is the demo's own, behind a server that listens on loopback.

use crate::auth::password;
use crate::auth::secret::Secret;
use anyhow::{Context as _, bail};
use app::model::job::JobFilter;
use app::model::name::Name;
use app::model::people::{Actor, Role, Scope};
use app::store::Store;

/// One sample account.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    /// Name to sign in with.
    pub name: &'static str,
    /// What it may do.
    pub role: Role,
    /// Known to everybody.
    pub password: &'static str,
}

/// All of them.
pub const ACCOUNTS: [Account; 3] = [
    Account { name: "mila", role: Role::Reviewer, password: "mila-reviews" },
    Account { name: "ada", role: Role::Admin, password: "ada-administers" },
    Account { name: "oncall", role: Role::OnCall, password: "oncall-reads" },
];

/// The bearer tokens of the demo: what each part needs and no more.
#[derive(Debug)]
pub struct Tokens {
    /// Enqueues, sets policies, looks at the pipeline.
    pub director: Secret,
    /// Works.
    pub worker: Secret,
}

/// Adds what is missing.
///
/// # Errors
/// Refuses a database that people use, or that holds jobs of anybody else.
pub async fn prepare(store: &dyn Store) -> anyhow::Result<Tokens> {
    refuse_unless_own(store).await?;
    let actor = Actor { name: "demo".to_owned(), address: None, user_agent: None, role: None };
    for account in ACCOUNTS {
        if store.find_user(account.name).await?.is_none() {
            let hash = password::hash(account.password.to_owned()).await?;
            store.add_user(&Name::new("name", account.name)?, account.role, &hash, &actor).await?;
        }
    }
    let director = token(store, "director", &[Scope::Enqueue, Scope::Read, Scope::Admin, Scope::Work], &actor).await?;
    let worker = token(store, "workers", &[Scope::Work], &actor).await?;
    Ok(Tokens { director, worker })
}

async fn refuse_unless_own(store: &dyn Store) -> anyhow::Result<()> {
    let mut known = 0;
    for account in ACCOUNTS {
        known += i64::from(store.find_user(account.name).await?.is_some());
    }
    let users = store.count_users().await?;
    if users > known {
        bail!("this database has people of its own; the demo adds accounts with known passwords, so name another one");
    }
    let has_jobs = !store.list_jobs(&JobFilter { limit: 1, ..JobFilter::default() }).await?.jobs.is_empty();
    if users == 0 && has_jobs {
        bail!("this database holds jobs that are not the demo's; name another one with --database-url");
    }
    Ok(())
}

async fn token(store: &dyn Store, what: &str, scopes: &[Scope], actor: &Actor) -> anyhow::Result<Secret> {
    let secret = Secret::random_with_prefix("drb_");
    // A kept database has the tokens of earlier starts, so each start has names of its own.
    let name = format!("demo {what} {}", &secret.sha256()[..8]);
    store
        .add_token(&Name::new("name", &name)?, scopes, &secret.sha256(), actor)
        .await
        .context("a token of the demo cannot be made")?;
    Ok(secret)
}
