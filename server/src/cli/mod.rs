//! The command line: one file per command.
//!
//! What a script needs goes to standard output alone (a token, the verdict);
//! everything else, the log included, goes to standard error.

mod canary;
mod database;
mod migrate;
mod policy;
pub mod serve;
mod token;
mod user;
mod verdict;
mod verify;

pub use database::Database;

use app::model::people::Actor;
use clap::{Parser, Subcommand};
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// The control room for background jobs that call AI models.
#[derive(Debug, Parser)]
#[command(name = "drainboard", version, about, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    database: Database,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the pages and the worker API.
    ///
    /// Applies migrations first. With no users yet, it prints a link that makes the first admin.
    /// SIGTERM or Ctrl-C ends it within 10 seconds.
    Serve(serve::Args),
    /// Serve on loopback with sample accounts, and play a burst of jobs.
    Demo(crate::demo::Args),
    /// Be the model that the demo's workers ask.
    #[command(hide = true)]
    StandIn(crate::demo::stand_in::Args),
    /// Be a worker of the demo.
    #[command(hide = true)]
    Worker(crate::demo::worker::Args),
    /// Make the database, or bring its schema up to date, and end.
    Migrate,
    /// Print the verdict line.
    ///
    /// Exit code 0 for Running, Idle and a person's Paused; 1 for anything else that was read; 2 when
    /// it could not be read.
    Verdict,
    /// Check that no audit entry was changed, removed or put in afterwards.
    ///
    /// Prints how many entries were checked and the hash of the last one; note it elsewhere, and a
    /// chain that was made anew as a whole shows, too. Exit code 0 when all fit; 1 with the number of
    /// the first that does not; 2 when the database could not be read.
    Verify {
        /// The hash of an earlier check: it must still be in the chain.
        #[arg(long, value_name = "HASH")]
        contains: Option<String>,
    },
    /// Add and change the people who sign in.
    #[command(subcommand)]
    User(user::Command),
    /// Make the bearer tokens that workers and scripts use.
    #[command(subcommand)]
    Token(token::Command),
    /// Run and import canaries: inputs that must be refused.
    #[command(subcommand)]
    Canary(canary::Command),
    /// Show and change the policy of a kind.
    #[command(subcommand)]
    Policy(policy::Command),
}

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// A sentence for the person at the terminal.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        log_to_standard_error();
        match self.command {
            Command::Serve(args) => serve::run(args, &self.database).await?,
            Command::Demo(args) => return crate::demo::run(args, &self.database).await,
            Command::StandIn(args) => return crate::demo::stand_in::run(args).await,
            Command::Worker(args) => return crate::demo::worker::run(args).await,
            Command::Migrate => migrate::run(&self.database).await?,
            Command::Verdict => return Ok(verdict::run(&self.database).await),
            Command::Verify { contains } => return Ok(verify::run(&self.database, contains.as_deref()).await),
            Command::User(command) => command.run(&self.database).await?,
            Command::Token(command) => command.run(&self.database).await?,
            Command::Canary(command) => return command.run(&self.database).await,
            Command::Policy(command) => command.run(&self.database).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// `RUST_LOG` chooses what is logged; `info` without it.
fn log_to_standard_error() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,sqlx=warn"));
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    // Refused only when somebody set one up before, which is as good.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(is_terminal)
        .try_init();
}

/// Who acts at the terminal, for the audit.
fn command_line() -> Actor {
    Actor { name: "command line".to_owned(), address: None, user_agent: None, role: None }
}
