//! `drainboard verdict`: the line on standard output, and an exit code for scripts.

use super::Database;
use anyhow::Context as _;
use app::error::StoreError;
use app::model::reading::Snapshot;
use app::panel::PanelMemory;
use std::process::ExitCode;
use std::time::Duration;

const READING: Duration = Duration::from_secs(10);

/// 0 when all is well, 1 when it is not, 2 when nobody can say.
pub async fn run(database: &Database) -> ExitCode {
    let read = snapshot(database).await;
    let could_read = read.is_ok();
    let outcome = read.map_err(|error| {
        eprintln!("drainboard: {error:#}");
        StoreError::Unavailable(error.to_string())
    });
    let verdict = PanelMemory::default().view_of(outcome).verdict;
    println!("{}", verdict.text);
    for reason in verdict.why.iter().filter(|_| could_read) {
        eprintln!("{reason}");
    }
    match (could_read, verdict.state.is_well()) {
        (true, true) => ExitCode::SUCCESS,
        (true, false) => ExitCode::from(1),
        (false, _) => ExitCode::from(2),
    }
}

async fn snapshot(database: &Database) -> anyhow::Result<Snapshot> {
    let store = database.open().await?;
    let snapshot = tokio::time::timeout(READING, store.snapshot()).await.context("the reading took too long")??;
    store.close().await;
    Ok(snapshot)
}
