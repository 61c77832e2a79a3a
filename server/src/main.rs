//! The drainboard command: reads the arguments, runs, and turns what went
//! wrong into one sentence on standard error.

use clap::Parser as _;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = drainboard::cli::Cli::parse();
    match cli.run().await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("drainboard: {error:#}");
            ExitCode::FAILURE
        }
    }
}
