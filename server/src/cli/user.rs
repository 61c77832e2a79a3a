//! `drainboard user`: the people who sign in.

use super::{Database, command_line};
use crate::auth::password;
use anyhow::{Context as _, bail};
use app::error::StoreError;
use app::model::name::Name;
use app::model::people::{MAX_PASSWORD_CHARACTERS, Role};
use std::io::Read as _;

/// What can be done with people.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Add somebody. The password is read from standard input: 8 to 200 characters, one line.
    Add {
        /// The name they sign in with.
        name: String,
        /// What they may do: on-call reads, reviewer also acts on dead letters, admin also changes settings.
        #[arg(long, value_parser = role)]
        role: Role,
        /// Read the password from standard input (the only way, so that it is in no shell history).
        #[arg(long)]
        password_stdin: bool,
    },
    /// Change somebody's role, or stop them from signing in. Ends their sessions.
    Set {
        /// The name they sign in with.
        name: String,
        /// The new role: on-call, reviewer or admin.
        #[arg(long, value_parser = role, required_unless_present = "disabled")]
        role: Option<Role>,
        /// They may not sign in any more (or, with =false, they may again).
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false")]
        disabled: Option<bool>,
    },
}

impl Command {
    /// Runs it.
    pub async fn run(self, database: &Database) -> anyhow::Result<()> {
        match self {
            Self::Add { name, role, password_stdin } => add(database, &name, role, password_stdin).await,
            Self::Set { name, role, disabled } => set(database, &name, role, disabled).await,
        }
    }
}

async fn add(database: &Database, name: &str, role: Role, password_stdin: bool) -> anyhow::Result<()> {
    if !password_stdin {
        bail!("give the password on standard input, and say so with --password-stdin");
    }
    let name = Name::of_user("the name", name.trim())?;
    let password = password_from_standard_input()?;
    password::check_rule(&password)?;
    let store = database.open_to_fill().await?;
    let hash = password::hash(password).await?;
    match store.add_user(&name, role, &hash, &command_line()).await {
        Ok(_) => eprintln!("Added {name}, {}.", role.as_str()),
        Err(StoreError::Conflict(_)) => bail!("there is a user {name} already; change them with: drainboard user set"),
        Err(error) => return Err(error).context("nobody was added"),
    }
    store.close().await;
    Ok(())
}

async fn set(database: &Database, name: &str, role: Option<Role>, disabled: Option<bool>) -> anyhow::Result<()> {
    let store = database.open().await?;
    match store.change_user(name, role, disabled, &command_line()).await {
        Ok(()) => eprintln!("Changed {name}. Their sessions have ended."),
        Err(StoreError::NotFound(_)) => bail!("there is no user {name}"),
        Err(error) => return Err(error).context("nothing was changed"),
    }
    store.close().await;
    Ok(())
}

/// One line, without its end.
fn password_from_standard_input() -> anyhow::Result<String> {
    let mut text = String::new();
    let most = 4 * MAX_PASSWORD_CHARACTERS as u64 + 2;
    std::io::stdin().take(most).read_to_string(&mut text).context("cannot read the password from standard input")?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.contains('\n') {
        bail!("the password must be one line");
    }
    Ok(line.to_owned())
}

fn role(word: &str) -> Result<Role, String> {
    Role::from_word(word).ok_or_else(|| format!("must be one of {}", Role::ALL.map(Role::as_str).join(", ")))
}
