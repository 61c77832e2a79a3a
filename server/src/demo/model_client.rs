//! How a worker of the demo asks the model.

use app::model::job::ClaimedJob;
use serde_json::Value;
use std::time::Duration;

/// A model that takes longer has not answered.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum NotAnswered {
    /// The model refused the call.
    Refused {
        /// HTTP status.
        status: u16,
        /// The model's own code.
        code: String,
        /// The model's own words.
        message: String,
        /// `Retry-After` as it came.
        retry_after: Option<String>,
    },
    /// It took too long, or could not be reached.
    Unreachable {
        /// Code of the failure.
        code: &'static str,
        /// In words.
        message: String,
    },
}

/// The model as a worker sees it.
#[derive(Debug, Clone)]
pub struct ModelClient {
    http: reqwest::Client,
    url: String,
}

impl ModelClient {
    /// A client of the model at `url`.
    ///
    /// # Errors
    /// When the HTTP client cannot be set up.
    pub fn new(url: &str) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
        Ok(Self { http, url: url.trim_end_matches('/').to_owned() })
    }

    /// What the model says about a job's payload.
    ///
    /// # Errors
    /// Why it said nothing.
    pub async fn ask(&self, job: &ClaimedJob) -> Result<Value, NotAnswered> {
        let payload = job.payload.as_ref().map_or("null", |payload| payload.as_str()).to_owned();
        let request = self
            .http
            .post(format!("{}/v1/{}", self.url, job.kind))
            .header("content-type", "application/json")
            .body(payload);
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let retry_after =
            response.headers().get("retry-after").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body: Value = response.json().await.map_err(unreachable)?;
        if status.is_success() {
            return Ok(body);
        }
        let part = |name: &str| body["error"][name].as_str().unwrap_or_default().to_owned();
        Err(NotAnswered::Refused { status: status.as_u16(), code: part("code"), message: part("message"), retry_after })
    }
}

fn unreachable(error: reqwest::Error) -> NotAnswered {
    let code = if error.is_timeout() { "network_timeout" } else { "service_unavailable" };
    NotAnswered::Unreachable { code, message: format!("the model did not answer: {error}") }
}
