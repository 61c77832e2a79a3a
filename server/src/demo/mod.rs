//! To be filled.

/// Options of `demo`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Plays a burst.
pub async fn run(_: Args, _: &crate::cli::Database) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("not in this build")
}
