//! The processes of the demo: the model stand-in and the workers, each a
//! process of its own made from this very binary.
//!
//! A worker that ends is started again. All of them end with the demo: they are
//! killed when it ends in order, and see their standard input close when not.

use super::pace::Pace;
use anyhow::{Context as _, bail};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};

/// How long the stand-in may take to say where it listens.
const STARTING: Duration = Duration::from_secs(20);
/// How long after its end a worker is started again.
const RESTARTING: Duration = Duration::from_secs(1);

/// One worker: how it is called and what it does.
#[derive(Debug, Clone, Copy)]
pub struct WorkerPlan {
    /// How the panel shows it.
    pub name: &'static str,
    kinds: &'static str,
    claim: u32,
    at_once: u32,
}

/// The workers of the demo.
pub const WORKERS: [WorkerPlan; 6] = [
    WorkerPlan { name: "w-eu-1", kinds: MODERATION, claim: 10, at_once: 1 },
    WorkerPlan { name: "w-eu-2", kinds: MODERATION, claim: 10, at_once: 1 },
    WorkerPlan { name: "w-eu-3", kinds: MODERATION, claim: 10, at_once: 1 },
    WorkerPlan { name: "w-us-1", kinds: MODERATION, claim: 10, at_once: 1 },
    WorkerPlan { name: "invoices-1", kinds: "extract-invoice", claim: 4, at_once: 1 },
    // Calls as fast as it can, as if there were no limit.
    WorkerPlan { name: "ocr-1", kinds: "read-check", claim: 20, at_once: 20 },
];
const MODERATION: &str = "moderate-content,extract-places,moderate-image";

/// Lease that the workers ask for at speed 1.
pub const LEASE_SECONDS: f64 = 60.0;

/// Where workers find what they need.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The server.
    pub url: String,
    /// A token with scope `work`.
    pub token: String,
    /// The model.
    pub model_url: String,
    /// How fast it goes.
    pub pace: Pace,
}

/// A running child with the pipe that tells it that the demo is there. Killed when dropped.
#[derive(Debug)]
pub struct Kept {
    child: Child,
    // Waiting for a child closes its standard input, so it is kept apart.
    _stdin: Option<ChildStdin>,
}

impl Kept {
    fn new(mut child: Child) -> Self {
        let stdin = child.stdin.take();
        Self { child, _stdin: stdin }
    }
}

/// Starts the stand-in; answers it and where it listens.
///
/// # Errors
/// When it does not start.
pub async fn start_stand_in(seed: u64, pace: Pace) -> anyhow::Result<(Kept, String)> {
    let mut command = this_binary("stand-in")?;
    command.args(["--seed", &seed.to_string(), "--speed", &pace.speed().to_string()]);
    let mut child = command.stdout(Stdio::piped()).spawn().context("the model stand-in cannot be started")?;
    let stdout = child.stdout.take().expect("its standard output is a pipe");
    let child = Kept::new(child);
    let mut lines = BufReader::new(stdout).lines();
    match tokio::time::timeout(STARTING, lines.next_line()).await {
        Ok(Ok(Some(url))) => Ok((child, url)),
        _ => bail!("the model stand-in did not say where it listens"),
    }
}

/// Keeps one worker running until it is aborted; `crashes_after` has it killed
/// once, as a machine would that loses power.
pub async fn keep_running(plan: WorkerPlan, surroundings: Surroundings, crashes_after: Option<Duration>) {
    let mut crash = crashes_after;
    loop {
        match start(plan, &surroundings) {
            Ok(mut kept) => match crash.take() {
                Some(after) => {
                    if tokio::time::timeout(after, kept.child.wait()).await.is_err() {
                        tracing::info!(worker = plan.name, "killed on purpose: its leases will run out");
                        // An error means that it is gone already.
                        let _ = kept.child.kill().await;
                    }
                }
                None => {
                    let ended = kept.child.wait().await;
                    tracing::warn!(worker = plan.name, ?ended, "a worker ended; starting it again");
                }
            },
            Err(error) => tracing::error!(worker = plan.name, %error, "a worker cannot be started"),
        }
        tokio::time::sleep(RESTARTING).await;
    }
}

fn start(plan: WorkerPlan, surroundings: &Surroundings) -> anyhow::Result<Kept> {
    let Surroundings { url, token, model_url, pace } = surroundings;
    let lease_seconds = pace.shortened_seconds(LEASE_SECONDS).max(10);
    let poll = pace.shortened(Duration::from_secs(2)).clamp(Duration::from_millis(250), Duration::from_secs(2));
    let mut command = this_binary("worker")?;
    command
        .args(["--url", url, "--model-url", model_url, "--name", plan.name, "--kinds", plan.kinds])
        .args(["--claim", &plan.claim.to_string(), "--at-once", &plan.at_once.to_string()])
        .args(["--lease-seconds", &lease_seconds.to_string(), "--poll-milliseconds", &poll.as_millis().to_string()])
        .env("DRAINBOARD_TOKEN", token)
        .stdout(Stdio::null());
    Ok(Kept::new(command.spawn()?))
}

/// This binary as one of its children, which does not outlive the demo.
fn this_binary(subcommand: &str) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("where is this binary?")?);
    command.args([subcommand, "--until-stdin-closes"]).stdin(Stdio::piped()).kill_on_drop(true);
    // Ctrl-C in a terminal is for the demo, which ends them in its own order.
    #[cfg(unix)]
    command.process_group(0);
    // What only the demo itself needs to know.
    command.env_remove("DRAINBOARD_DATABASE_URL").env_remove("DRAINBOARD_LISTEN");
    Ok(command)
}
