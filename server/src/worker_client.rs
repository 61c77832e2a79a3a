//! A client of the worker API: what the demo's workers speak, and tests that
//! need a worker.
//!
//! One method per call, with the very types that the server parses. It retries
//! nothing: whether a call may be repeated is for its caller to know.

use crate::auth::secret::sha256_hex;
use crate::worker_api::artifacts::ArtifactAnswer;
use crate::worker_api::jobs::claim::{ClaimAnswer, ClaimBody};
use crate::worker_api::jobs::done::DoneBody;
use crate::worker_api::jobs::enqueue::{EnqueueAnswer, EnqueueBody, JobBody};
use crate::worker_api::jobs::fail::FailBody;
use crate::worker_api::jobs::heartbeat::{HeartbeatAnswer, HeartbeatBody};
use crate::worker_api::jobs::refuse::RefuseBody;
use crate::worker_api::ticks::{TickAnswer, TickBody};
use app::model::ids::JobId;
use app::model::job::{ClaimedJob, Ended, EnqueuedJob};
use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// An answer that takes longer counts as none.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a call did not get its answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server said no.
    #[error("{status} {code}: {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Code of the error body, such as `lease_lost`; empty if there was none.
        code: String,
        /// In words.
        message: String,
        /// `Retry-After`, in seconds.
        retry_after_seconds: Option<u64>,
    },
    /// No answer, or half of one: the call may have had its effect or not.
    #[error("no answer: {0}")]
    NoAnswer(#[from] reqwest::Error),
    /// An answer that is not what the API promises.
    #[error("not an answer of the worker API: {0}")]
    Unreadable(#[from] serde_json::Error),
}

impl ClientError {
    /// Whether the lease is somebody else's by now.
    pub fn is_lease_lost(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "lease_lost")
    }

    /// Whether the same call may succeed later: 429, 5xx, no answer.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Refused { status, .. } => *status == 429 || *status >= 500,
            Self::NoAnswer(_) => true,
            Self::Unreadable(_) => false,
        }
    }
}

/// How a worker ends an attempt; the lease token is filled in by the client.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// The work says something.
    Done(Box<DoneBody>),
    /// The agent called `cannot_process`.
    Refuse(Box<RefuseBody>),
    /// The work could not be done.
    Fail(Box<FailBody>),
}

/// One server as one token sees it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WorkerClient {
    http: reqwest::Client,
    base: String,
    token: String,
}

impl WorkerClient {
    /// A client of the server at `url`, such as `http://127.0.0.1:3000`.
    ///
    /// # Errors
    /// When the HTTP client cannot be set up.
    pub fn new(url: &str, token: &str) -> Result<Self, ClientError> {
        // A worker speaks to the server it was given, whatever the environment says of proxies.
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
        Ok(Self { http, base: format!("{}/api/v1", url.trim_end_matches('/')), token: token.to_owned() })
    }

    /// Stores all jobs or none; answers in the order asked.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn enqueue(&self, jobs: Vec<JobBody>) -> Result<Vec<EnqueuedJob>, ClientError> {
        let answer: EnqueueAnswer = self.call(Method::POST, "/jobs", Some(&EnqueueBody { jobs })).await?;
        Ok(answer.jobs)
    }

    /// Takes due jobs.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn claim(&self, asked: &ClaimBody) -> Result<Vec<ClaimedJob>, ClientError> {
        let answer: ClaimAnswer = self.call(Method::POST, "/claim", Some(asked)).await?;
        Ok(answer.jobs)
    }

    /// Extends the lease of a claimed job.
    ///
    /// # Errors
    /// See [`ClientError`]; [`ClientError::is_lease_lost`] when it is too late.
    pub async fn heartbeat(
        &self,
        job: &ClaimedJob,
        lease_seconds: Option<u32>,
    ) -> Result<HeartbeatAnswer, ClientError> {
        let body = HeartbeatBody { lease_token: job.lease_token, lease_seconds };
        self.call(Method::POST, &format!("/jobs/{}/heartbeat", job.id), Some(&body)).await
    }

    /// Ends the attempt; answers what it led to.
    ///
    /// # Errors
    /// See [`ClientError`]; [`ClientError::is_lease_lost`] when it is too late.
    pub async fn end(&self, job: &ClaimedJob, report: &Report) -> Result<Ended, ClientError> {
        let lease_token = job.lease_token;
        let path = |how: &str| format!("/jobs/{}/{how}", job.id);
        match report {
            Report::Done(body) => {
                self.call(Method::POST, &path("done"), Some(&DoneBody { lease_token, ..(**body).clone() })).await
            }
            Report::Refuse(body) => {
                self.call(Method::POST, &path("refuse"), Some(&RefuseBody { lease_token, ..(**body).clone() })).await
            }
            Report::Fail(body) => {
                self.call(Method::POST, &path("fail"), Some(&FailBody { lease_token, ..(**body).clone() })).await
            }
        }
    }

    /// Says that the clock that starts workers ran.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn tick(&self, tick: &TickBody) -> Result<(), ClientError> {
        let TickAnswer {} = self.call(Method::POST, "/ticks", Some(tick)).await?;
        Ok(())
    }

    /// One job with its attempts.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn job(&self, id: JobId) -> Result<Value, ClientError> {
        self.get(&format!("/jobs/{id}")).await
    }

    /// One reading of the panel.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn pipeline(&self) -> Result<Value, ClientError> {
        self.get("/pipeline").await
    }

    /// Puts a text into the registry, under its hash; once is as good as twice.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn put_artifact(&self, text: &str) -> Result<ArtifactAnswer, ClientError> {
        let url = format!("{}/artifacts/{}", self.base, sha256_hex(text));
        Self::answer(self.http.put(url).bearer_auth(&self.token).body(text.to_owned())).await
    }

    /// Merges settings into the policy of a kind.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn change_policy(&self, kind: &str, change: &Value) -> Result<Value, ClientError> {
        self.call(Method::PUT, &format!("/policies/{kind}"), Some(change)).await
    }

    /// Any other read, below `/api/v1`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn get(&self, path: &str) -> Result<Value, ClientError> {
        self.call(Method::GET, path, None::<&()>).await
    }

    async fn call<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&(impl Serialize + Sync)>,
    ) -> Result<A, ClientError> {
        let mut request = self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(body);
        }
        Self::answer(request).await
    }

    async fn answer<A: DeserializeOwned>(request: reqwest::RequestBuilder) -> Result<A, ClientError> {
        let response = request.send().await?;
        let status = response.status();
        let retry_after_seconds = response
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok())
            .and_then(|text| text.parse().ok());
        let text = response.bytes().await?;
        if status.is_success() {
            return Ok(serde_json::from_slice(&text)?);
        }
        let told: Value = serde_json::from_slice(&text).unwrap_or_default();
        let part = |name: &str| told["error"][name].as_str().unwrap_or_default().to_owned();
        Err(ClientError::Refused {
            status: status.as_u16(),
            code: part("code"),
            message: part("message"),
            retry_after_seconds,
        })
    }
}
