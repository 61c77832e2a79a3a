//! Telling a receiver outside what happened: one signed POST, never a redirect,
//! never a proxy, never an address that it must not reach.
//!
//! Knows nothing of what it carries: whoever sends keeps what became of it and
//! decides when to try again.

mod address;
mod exchange;
mod signature;
mod target;

pub use address::is_public;
pub use signature::signature;
pub use target::Target;

use app::model::delivery::TryOutcome;
use app::model::retry::retry_after_seconds;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use exchange::{Answer, Tls};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HOST, USER_AGENT};
use http_body_util::Full;
use std::time::Duration;

/// A receiver has so long for all of it: name, connection, answer.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// In which header the signature travels.
pub const SIGNATURE_HEADER: &str = "drainboard-signature";
/// In which header the message's name travels.
pub const EVENT_HEADER: &str = "drainboard-event";
/// In which header the key travels that is the same at every try.
pub const KEY_HEADER: &str = "idempotency-key";

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// What it is about, in a word: `notice`.
    pub name: &'a str,
    /// JSON, sent byte for byte.
    pub body: &'a str,
    /// The same at every try, so that the receiver can tell a repetition.
    pub idempotency_key: &'a str,
    /// The database's clock, for the signature.
    pub at: DateTime<Utc>,
}

/// Sends messages to one target.
#[derive(Debug, Clone)]
pub struct Sender {
    target: Target,
    tls: Tls,
    patience: Duration,
}

impl Sender {
    /// A sender that waits for [`PATIENCE`].
    pub fn new(target: Target) -> Self {
        Self { target, tls: Tls::new(), patience: PATIENCE }
    }

    /// The same with another patience.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Where it sends, for people.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// One try. Whatever goes wrong is in the outcome, in words without the
    /// target's path and secret.
    pub async fn send(&self, message: &Message<'_>) -> TryOutcome {
        match self.exchange(message).await {
            Ok(answer) => judged(&answer, message.at),
            Err(why) => TryOutcome::again(why),
        }
    }

    async fn exchange(&self, message: &Message<'_>) -> Result<Answer, String> {
        let request = self.request(message)?;
        exchange::exchange(&self.target, &self.tls, request, self.patience).await
    }

    fn request(&self, message: &Message<'_>) -> Result<http::Request<Full<Bytes>>, String> {
        let signature = signature(self.target.secret(), message.at.timestamp(), message.body);
        http::Request::post(self.target.path())
            .header(HOST, self.target.authority())
            .header(USER_AGENT, concat!("drainboard/", env!("CARGO_PKG_VERSION")))
            .header(CONTENT_TYPE, "application/json")
            .header(EVENT_HEADER, message.name)
            .header(KEY_HEADER, message.idempotency_key)
            .header(SIGNATURE_HEADER, signature)
            .body(Full::new(Bytes::copy_from_slice(message.body.as_bytes())))
            .map_err(|error| format!("the request cannot be made: {error}"))
    }
}

/// What an answer means. Anything but 2xx that a repetition cannot change ends it.
fn judged(answer: &Answer, at: DateTime<Utc>) -> TryOutcome {
    let status = answer.status;
    let retry_after_seconds = answer.retry_after.as_deref().and_then(|text| retry_after_seconds(text, at));
    match status {
        _ if status.is_success() => TryOutcome::Delivered,
        _ if status.is_redirection() => {
            TryOutcome::GivenUp { why: format!("the receiver answered {status}: redirects are not followed") }
        }
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
            TryOutcome::Again { why: format!("the receiver answered {status}"), retry_after_seconds }
        }
        _ if status.is_client_error() => TryOutcome::GivenUp { why: format!("the receiver answered {status}") },
        _ => TryOutcome::Again { why: format!("the receiver answered {status}"), retry_after_seconds },
    }
}
