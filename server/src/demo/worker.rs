//! A worker of the demo: `drainboard worker`, a process of its own that knows
//! the server by its worker API and the model by its address, and nothing else.
//!
//! It claims, asks the model about each job, keeps its leases alive meanwhile
//! and reports what came out: a verdict, a refusal, or a failure. It never
//! decides what a failure leads to; that is the queue's.

use super::model_client::{ModelClient, NotAnswered};
use super::parent;
use super::report::{ARTIFACTS, report_of};
use crate::worker_api::jobs::claim::{ClaimBody, Special};
use crate::worker_api::jobs::fail::FailBody;
use crate::worker_client::{ClientError, Report, WorkerClient};
use app::model::ids::JobId;
use app::model::job::ClaimedJob;
use app::model::name::Name;
use futures::StreamExt as _;
use std::collections::HashSet;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// A server that cannot be reached for so long is gone, and the worker with it.
const SERVER_GONE: Duration = Duration::from_secs(30);
/// After a 429 it asks no more for as long as the model says, at most this.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Options of `worker`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the server listens.
    #[arg(long)]
    url: String,
    /// A token with scope `work`.
    // By environment rather than by argument, which others on the machine can read.
    #[arg(long, env = "DRAINBOARD_TOKEN", hide_env_values = true)]
    token: String,
    /// Kinds to claim.
    #[arg(long, value_delimiter = ',', required = true)]
    kinds: Vec<String>,
    /// How the panel shows it.
    #[arg(long)]
    name: String,
    /// Where the model listens.
    #[arg(long)]
    model_url: String,
    /// Jobs to claim at once.
    #[arg(long, default_value_t = 10)]
    claim: u32,
    /// Calls of the model at the same time.
    #[arg(long, default_value_t = 1)]
    at_once: usize,
    /// Length of its leases, in seconds; not above the policies'.
    #[arg(long, default_value_t = 60)]
    lease_seconds: u32,
    /// How long to wait when nothing is due, in milliseconds.
    #[arg(long, default_value_t = 1_000)]
    poll_milliseconds: u64,
    /// End when standard input closes: when the process that started it is gone.
    #[arg(long)]
    until_stdin_closes: bool,
}

/// Works until the server is gone, the parent is gone, or the token is refused.
///
/// # Errors
/// A sentence that says which.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let watched = args.until_stdin_closes;
    let worker = Worker::new(args)?;
    tokio::select! {
        ended = worker.work() => ended.map(|()| ExitCode::SUCCESS),
        () = parent::gone(watched) => Ok(ExitCode::SUCCESS),
    }
}

struct Worker {
    server: WorkerClient,
    model: ModelClient,
    asked: ClaimBody,
    at_once: usize,
    lease_seconds: u32,
    poll: Duration,
    last_answer: Mutex<Instant>,
}

impl Worker {
    fn new(args: Args) -> anyhow::Result<Self> {
        let kinds = args.kinds.iter().map(|kind| Name::new("kinds", kind)).collect::<Result<_, _>>()?;
        Ok(Self {
            server: WorkerClient::new(&args.url, &args.token)?,
            model: ModelClient::new(&args.model_url)?,
            asked: ClaimBody {
                worker: Name::new("name", &args.name)?,
                kinds: Some(kinds),
                limit: Some(args.claim),
                lease_seconds: Some(args.lease_seconds),
                accepts: Some(vec![Special::Canary]),
            },
            at_once: args.at_once.max(1),
            lease_seconds: args.lease_seconds,
            poll: Duration::from_millis(args.poll_milliseconds),
            last_answer: Mutex::new(Instant::now()),
        })
    }

    async fn work(&self) -> anyhow::Result<()> {
        for text in ARTIFACTS {
            self.reaching(|| self.server.put_artifact(text)).await?;
        }
        loop {
            let jobs = self.reaching(|| self.server.claim(&self.asked)).await?;
            if jobs.is_empty() {
                tokio::time::sleep(self.poll).await;
            } else {
                self.work_on(&jobs).await?;
            }
        }
    }

    /// Ends every job of a claim while their leases are kept alive.
    async fn work_on(&self, jobs: &[ClaimedJob]) -> anyhow::Result<()> {
        let held = Mutex::new(jobs.iter().map(|job| job.id).collect::<HashSet<_>>());
        let ended = async {
            let mut ends = futures::stream::iter(jobs).map(|job| self.end(job, &held)).buffer_unordered(self.at_once);
            while let Some(ended) = ends.next().await {
                ended?;
            }
            anyhow::Ok(())
        };
        tokio::select! {
            ended = ended => ended,
            () = self.beat(jobs, &held) => unreachable!("the heart beats until the work is done"),
        }
    }

    /// Asks the model about one job and reports how it went.
    async fn end(&self, job: &ClaimedJob, held: &Mutex<HashSet<JobId>>) -> anyhow::Result<()> {
        let answer = self.model.ask(job).await;
        // From here on no heartbeat: one that came after the end would be a late answer.
        if !held.lock().await.remove(&job.id) {
            tracing::warn!(job = %job.id, "the lease was lost, the answer dropped");
            return Ok(());
        }
        let report = report_of(job, &answer);
        match self.reaching(|| self.server.end(job, &report)).await {
            Ok(ended) => tracing::debug!(job = %job.id, ?ended, "ended"),
            Err(error) if error.is_lease_lost() => {
                tracing::warn!(job = %job.id, "the lease was lost, the answer dropped")
            }
            Err(error @ ClientError::Refused { status: 400 | 413 | 422, .. }) => {
                let report = Report::Fail(Box::new(FailBody {
                    error: format!("the server did not take this worker's report: {error}"),
                    ..FailBody::default()
                }));
                self.reaching(|| self.server.end(job, &report)).await?;
            }
            Err(error) => return Err(error.into()),
        }
        if let Err(NotAnswered::Refused { status: 429, retry_after: Some(seconds), .. }) = &answer {
            let asked = Duration::from_secs(seconds.parse().unwrap_or(1));
            tokio::time::sleep(asked.min(LONGEST_PAUSE)).await;
        }
        Ok(())
    }

    /// Renews the leases of the held jobs at a third of their length.
    async fn beat(&self, jobs: &[ClaimedJob], held: &Mutex<HashSet<JobId>>) {
        loop {
            tokio::time::sleep(Duration::from_secs(u64::from(self.lease_seconds)) / 3).await;
            for job in jobs {
                let mut held = held.lock().await;
                if !held.contains(&job.id) {
                    continue;
                }
                match self.server.heartbeat(job, Some(self.lease_seconds)).await {
                    Err(error) if error.is_lease_lost() => {
                        held.remove(&job.id);
                    }
                    // The next beat may get through.
                    Err(error) => tracing::warn!(job = %job.id, %error, "no heartbeat"),
                    Ok(_) => {}
                }
            }
        }
    }

    /// Calls until the server answers something that stays; gives up on a server that is gone.
    async fn reaching<T, F: Future<Output = Result<T, ClientError>>>(
        &self,
        call: impl Fn() -> F,
    ) -> Result<T, ClientError> {
        loop {
            let answer = call().await;
            if !matches!(answer, Err(ClientError::NoAnswer(_))) {
                *self.last_answer.lock().await = Instant::now();
            }
            let is_gone = self.last_answer.lock().await.elapsed() > SERVER_GONE;
            match answer {
                Err(error) if error.is_passing() && !is_gone => {
                    tracing::debug!(%error, "trying again");
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
                answer => return answer,
            }
        }
    }
}
