//! `drainboard canary`: runs canaries and waits for how they end; imports them.

use super::{Database, command_line};
use anyhow::Context as _;
use app::error::StoreError;
use app::model::canary::{RunCause, RunResult, SavedCanary, read_fixture};
use app::model::ids::{CanaryId, JobId};
use app::model::text::visible;
use app::store::Store;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Until the next look at how the runs go.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// What can be done with canaries.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Run all enabled canaries now and wait for how they end.
    ///
    /// Prints one line for each. Exit code 0 when all were refused as expected; 1 when one was not, or had
    /// not ended in time, or there was none.
    Run {
        /// Only those of this kind.
        #[arg(long)]
        kind: Option<String>,
        /// How long to wait.
        #[arg(long, value_name = "SECONDS", default_value_t = 300)]
        wait: u64,
    },
    /// Add the canaries of a JSON fixture; one whose name is there is replaced.
    Import {
        /// The fixture.
        file: PathBuf,
    },
}

impl Command {
    /// Runs it.
    pub async fn run(self, database: &Database) -> anyhow::Result<ExitCode> {
        match self {
            Self::Run { kind, wait } => {
                let store = database.open().await?;
                let passed = run(&*store, kind.as_deref(), Duration::from_secs(wait)).await?;
                store.close().await;
                Ok(if passed { ExitCode::SUCCESS } else { ExitCode::from(1) })
            }
            Self::Import { file } => {
                let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
                let inputs = read_fixture(&text)?;
                let store = database.open_to_fill().await?;
                store.import_canaries(&inputs, &command_line()).await.context("nothing was imported")?;
                store.close().await;
                println!("imported {}", inputs.len());
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// Whether all passed.
async fn run(store: &dyn Store, kind: Option<&str>, wait: Duration) -> anyhow::Result<bool> {
    let mut canaries = store.list_canaries().await.context("the canaries cannot be read")?.canaries;
    canaries.retain(|one| one.input.enabled && kind.is_none_or(|kind| one.input.kind.as_str() == kind));
    if canaries.is_empty() {
        eprintln!("there is no enabled canary to run");
        return Ok(false);
    }
    let mut jobs: BTreeMap<CanaryId, JobId> = BTreeMap::new();
    for one in &canaries {
        match store.run_canary(one.id, RunCause::Cli, &command_line()).await {
            Ok(job) => drop(jobs.insert(one.id, job)),
            // One that runs already says the same.
            Err(StoreError::Conflict(_)) => {
                let found = store.find_canary(one.id, None, 1).await?;
                let last = found.and_then(|found| found.runs.first().map(|run| run.job_id));
                jobs.extend(last.map(|job| (one.id, job)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let deadline = Instant::now() + wait;
    loop {
        let now = store.list_canaries().await?.canaries;
        let ended: Vec<&SavedCanary> = now.iter().filter(|one| ended(one, &jobs).is_some()).collect();
        if ended.len() == jobs.len() || Instant::now() >= deadline {
            return Ok(report(&now, &jobs));
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

/// How our run of it ended; a later one says as much.
fn ended(one: &SavedCanary, jobs: &BTreeMap<CanaryId, JobId>) -> Option<RunResult> {
    let job = jobs.get(&one.id)?;
    one.last_run.as_ref().filter(|run| run.job_id >= *job)?.result()
}

/// Prints a line each; answers whether all passed.
fn report(canaries: &[SavedCanary], jobs: &BTreeMap<CanaryId, JobId>) -> bool {
    let mut all_passed = true;
    for one in canaries.iter().filter(|one| jobs.contains_key(&one.id)) {
        let result = ended(one, jobs);
        all_passed &= result == Some(RunResult::Passed);
        let said = one.last_run.as_ref().and_then(|run| run.said.as_deref()).unwrap_or_default();
        println!(
            "{} · {} · {} · {} {}",
            visible(one.input.kind.as_str()),
            visible(&one.input.reason_code),
            visible(one.input.name.as_str()),
            result.map_or("has not ended", RunResult::in_words),
            visible(said),
        );
    }
    all_passed
}
