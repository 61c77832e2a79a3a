//! A stand-in for the models: `drainboard stand-in`, a process of its own.
//!
//! It enforces a rate limit for each deployment (429 with `Retry-After`), is
//! busy now and then (503), slow now and then, and otherwise says what the seed
//! has it say. What it says about an item depends on the seed alone, never on
//! when or how often it is asked; that it is busy depends on how often.

mod judgement;
mod limiter;
mod reading;

pub use judgement::{
    Judge, Judgement, PHOTOS_NEED_REVIEW, PHOTOS_REJECTED, REPORTS_DELETED, REPORTS_NEED_REVIEW, REPORTS_REJECTED,
};
pub use limiter::TokenBucket;

use super::chance::Chance;
use super::pace::Pace;
use super::parent;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// Options of `stand-in`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What chance is drawn from.
    #[arg(long, default_value_t = super::DEFAULT_SEED)]
    seed: u64,
    #[command(flatten)]
    pace: Pace,
    /// End when standard input closes: when the process that started it is gone.
    #[arg(long)]
    until_stdin_closes: bool,
}

/// Listens on a free loopback port and prints its address as the only line on
/// standard output.
///
/// # Errors
/// When it cannot listen.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("http://{}", listener.local_addr()?);
    let router = router(Chance::new(args.seed), args.pace);
    tokio::select! {
        served = axum::serve(listener, router) => served?,
        () = parent::gone(args.until_stdin_closes) => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// A quota shared by some kinds of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Deployment {
    Moderation,
    Invoices,
    Ocr,
}

impl Deployment {
    const ALL: [Self; 3] = [Self::Moderation, Self::Invoices, Self::Ocr];

    fn of_kind(kind: &str) -> Option<Self> {
        match kind {
            "moderate-content" | "moderate-image" | "extract-places" => Some(Self::Moderation),
            "extract-invoice" => Some(Self::Invoices),
            "read-check" => Some(Self::Ocr),
            _ => None,
        }
    }

    /// Calls a second, and at once, at speed 1.
    fn quota(self) -> (f64, f64) {
        match self {
            Self::Moderation => (1.6, 10.0),
            Self::Invoices => (1.0, 5.0),
            Self::Ocr => (0.4, 8.0),
        }
    }

    /// How long one call takes at speed 1.
    fn takes(self) -> Duration {
        match self {
            Self::Moderation => Duration::from_millis(2_400),
            Self::Invoices => Duration::from_millis(1_500),
            Self::Ocr => Duration::from_millis(800),
        }
    }
}

struct Model {
    chance: Chance,
    pace: Pace,
    judge: Judge,
    buckets: Mutex<HashMap<Deployment, TokenBucket>>,
    asked: Mutex<HashMap<(String, u64), u64>>,
}

/// The stand-in as a router: `POST /v1/{kind}` with the job's payload.
pub fn router(chance: Chance, pace: Pace) -> Router {
    Router::new().route("/v1/{kind}", post(answer)).with_state(Arc::new(Model::new(chance, pace)))
}

async fn answer(State(model): State<Arc<Model>>, Path(kind): Path<String>, Json(payload): Json<Value>) -> Response {
    let Some(deployment) = Deployment::of_kind(&kind) else {
        return refused(StatusCode::NOT_FOUND, "model_not_found", "there is no such model");
    };
    if let Err(wait) =
        locked(&model.buckets).get_mut(&deployment).expect("every deployment has one").take(Instant::now())
    {
        return rate_limited(deployment, wait);
    }
    let Some(item) = item_of(&payload) else {
        return refused(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "the payload names no report, photo, invoice or check",
        );
    };
    let times_asked = model.count(&kind, item);
    let takes = model.pace.shortened(deployment.takes());
    let is_slow = model.chance.unit(&format!("slow {kind}"), item) < 0.03;
    tokio::time::sleep(if is_slow { takes * 5 } else { takes }).await;
    if model.is_busy(&kind, item, times_asked) {
        return refused(StatusCode::SERVICE_UNAVAILABLE, "overloaded", "the model is overloaded");
    }
    match model.says(&kind, item, &payload) {
        Some(said) => Json(said).into_response(),
        None => refused(StatusCode::NOT_FOUND, "data_not_found", "what the job names was deleted"),
    }
}

impl Model {
    fn new(chance: Chance, pace: Pace) -> Self {
        let now = Instant::now();
        let buckets = Deployment::ALL.map(|deployment| {
            let (per_second, burst) = deployment.quota();
            (deployment, TokenBucket::new(per_second * pace.speed(), burst, now))
        });
        Self {
            chance,
            pace,
            judge: Judge::new(chance),
            buckets: Mutex::new(HashMap::from(buckets)),
            asked: Mutex::new(HashMap::new()),
        }
    }

    /// How often this was asked before.
    fn count(&self, kind: &str, item: u64) -> u64 {
        let mut asked = locked(&self.asked);
        let times = asked.entry((kind.to_owned(), item)).or_insert(0);
        *times += 1;
        *times - 1
    }

    /// Never more than twice for one item: it is busy, it does not refuse to work.
    fn is_busy(&self, kind: &str, item: u64, times_asked: u64) -> bool {
        times_asked < 2 && self.chance.unit(&format!("busy {kind} {times_asked}"), item) < 0.05
    }

    fn says(&self, kind: &str, item: u64, payload: &Value) -> Option<Value> {
        Some(match kind {
            "moderate-image" => {
                let Judgement { verdict, reason } = self.judge.of_photo(item);
                json!({"verdict": verdict, "reason": reason, "cost_micro_usd": 420})
            }
            "moderate-content" => {
                let Judgement { verdict, reason } = self.judge.of_report(item);
                json!({"verdict": verdict, "reason": reason, "cost_micro_usd": 240})
            }
            "extract-places" => {
                let places = self.judge.places_of(item)?;
                json!({"verdict": "extracted", "result": {"places": places}, "cost_micro_usd": 310})
            }
            "extract-invoice" => {
                let text = payload["text"].as_str().unwrap_or_default();
                json!({"tool_call": reading::tool_call(text), "cost_micro_usd": 900})
            }
            _ if self.chance.unit("deleted check", item) < 0.04 => return None,
            _ => {
                let confidence = 0.80 + 0.2 * self.chance.unit("confidence", item);
                let verdict = if confidence < 0.84 { "too_faint" } else { "read" };
                json!({
                    "verdict": verdict,
                    "reason": (verdict == "too_faint").then_some("The account number is too faint to read."),
                    "result": {"confidence": (confidence * 100.0).round() / 100.0},
                    "cost_micro_usd": 1_500,
                })
            }
        })
    }
}

fn item_of(payload: &Value) -> Option<u64> {
    ["photo", "report", "invoice", "check"].iter().find_map(|name| payload[name].as_u64())
}

fn rate_limited(deployment: Deployment, wait: Duration) -> Response {
    let seconds = wait.as_secs_f64().ceil().max(1.0);
    let quota = match deployment {
        Deployment::Moderation => "calls per minute of the moderation model",
        Deployment::Invoices => "calls per minute of the invoice model",
        Deployment::Ocr => "analyze calls per second of the OCR resource",
    };
    let message = format!("rate limit exceeded: {quota}; retry after {seconds} s");
    let mut response = refused(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", &message);
    let value = format!("{seconds}").parse().expect("digits are a header value");
    response.headers_mut().insert(axum::http::header::RETRY_AFTER, value);
    response
}

fn refused(status: StatusCode, code: &str, message: &str) -> Response {
    (status, Json(json!({"error": {"code": code, "message": message}}))).into_response()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in here can leave a map half changed.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
