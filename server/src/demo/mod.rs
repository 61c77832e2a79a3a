//! `drainboard demo`: a live burst to look at, on loopback only.
//!
//! Serves in this process; beside it run a model stand-in and the workers, each
//! a process of its own. The workers know the public worker API and nothing
//! else. What is played depends on the seed alone, how fast on `--speed`.

mod accounts;
mod burst;
mod canaries;
mod chance;
mod children;
mod invoices;
mod model_client;
mod pace;
mod parent;
mod play;
mod report;
pub mod stand_in;
pub mod worker;

pub use accounts::{ACCOUNTS, Account};
pub use pace::Pace;

use crate::cli::{Database, serve};
use crate::config::Config;
use crate::state::AppState;
use crate::worker_client::WorkerClient;
use anyhow::{Context as _, bail};
use chance::Chance;
use children::{Surroundings, WORKERS};
use play::Director;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;
use tokio::task::JoinSet;

const DEFAULT_SEED: u64 = 178;
/// The demo's own database, made anew at each start.
const OWN_FILE: &str = "drainboard-demo.db";
/// When one worker is killed, at speed 1.
const CRASH: Duration = Duration::from_secs(120);

/// Options of `demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to listen; loopback only, because the sample accounts are known to everybody.
    #[arg(long, value_name = "ADDRESS:PORT", env = "DRAINBOARD_LISTEN", default_value = "127.0.0.1:3000")]
    listen: SocketAddr,
    #[command(flatten)]
    pace: Pace,
    /// What chance is drawn from: the same seed plays the same.
    #[arg(long, default_value_t = DEFAULT_SEED)]
    seed: u64,
    /// Go on with the database of the last demo. A database named by --database-url is always kept.
    #[arg(long)]
    keep: bool,
}

/// Plays until it is told to stop.
///
/// # Errors
/// A sentence for the person at the terminal.
pub async fn run(args: Args, database: &Database) -> anyhow::Result<ExitCode> {
    if !args.listen.ip().is_loopback() {
        bail!("the demo listens on loopback only, not on {}: its accounts are known to everybody", args.listen);
    }
    // Bound first: a demo that is running already keeps its file.
    let listener = serve::listen(args.listen).await?;
    let own = Database::at(format!("sqlite:{OWN_FILE}"));
    let database = match database.given_url() {
        Some(_) => database,
        None if args.keep => &own,
        None => {
            remove_own_file()?;
            &own
        }
    };
    let store = database.open_or_make().await?;
    let tokens = accounts::prepare(&*store).await?;
    canaries::add(&*store).await?;
    let config = Config { listen: args.listen, ..Config::loopback(database.url()) };
    let state = AppState::new(store, config);

    let url = serve::web_address(listener.local_addr()?);
    let chance = Chance::new(args.seed);
    let director = Director { client: WorkerClient::new(&url, tokens.director.expose())?, chance, pace: args.pace };
    let (_stand_in, model_url) = children::start_stand_in(args.seed, args.pace).await?;
    eprintln!("Drainboard listens on {url}");
    greet(&url);
    let surroundings = Surroundings { url, token: tokens.worker.expose().to_owned(), model_url, pace: args.pace };
    // Dropped at the end, and with it the workers.
    let mut play = JoinSet::new();
    play.spawn(perform(director, surroundings));
    serve::serve(listener, state).await?;
    play.shutdown().await;
    Ok(ExitCode::SUCCESS)
}

async fn perform(director: Director, surroundings: Surroundings) {
    match director.open().await {
        Ok(jobs) => tracing::info!(jobs, "the burst is enqueued"),
        Err(error) => return tracing::error!(%error, "the burst could not be enqueued"),
    }
    let mut workers = JoinSet::new();
    for (number, plan) in WORKERS.into_iter().enumerate() {
        let crashes_after = (number == 1).then(|| surroundings.pace.shortened(CRASH));
        workers.spawn(children::keep_running(plan, surroundings.clone(), crashes_after));
    }
    director.go_on().await;
}

/// Standard output: what a person needs to get in.
fn greet(url: &str) {
    println!("Drainboard demo: {url}");
    for Account { name, role, password } in ACCOUNTS {
        println!("  sign in as {name:<7} password {password:<16} ({})", role.as_str());
    }
}

fn remove_own_file() -> anyhow::Result<()> {
    for ending in ["", "-wal", "-shm"] {
        let path = format!("{OWN_FILE}{ending}");
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {path}"));
            }
            _ => {}
        }
    }
    Ok(())
}
