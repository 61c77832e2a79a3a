//! The worker API: JSON over HTTP under `/api/v1`, with bearer tokens, and the
//! plain addresses that monitors ask.
//!
//! One file per call, all alike: extract, demand the scope, parse, one call of
//! the store, answer. Rules of single fields are in `checked`, the shape of
//! errors in [`error`], limits of sizes in [`body`]. Nothing here looks at a
//! session cookie, except `GET /verdict`, which people open in a browser.
//!
//! The request and answer types are public and go both ways, so that a client
//! in Rust speaks with the very types that the server parses.

mod alerts;
pub mod artifacts;
pub mod body;
mod caller;
mod checked;
pub mod dead_letters;
pub mod error;
pub mod evidence_checks;
pub mod export;
pub mod health;
pub mod jobs;
pub mod layers;
mod masking;
pub mod park_rate;
mod path;
pub mod pipeline;
pub mod policies;
mod query;
mod shortener;
pub mod ticks;
pub mod verdict;

use crate::state::AppState;
use crate::web::endpoint::{Endpoint, routed};
use axum::Router;
use axum::middleware::from_fn;
use axum::routing::any;
use error::ApiError;
use std::time::Duration;

/// A database that has not answered for so long counts as away, so that a
/// monitor gets its answer in time. Who calls and what they ask for share it.
const PATIENCE: Duration = Duration::from_secs(3);

/// Every call there is; the router is made from this list alone.
pub fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::post("/api/v1/jobs", jobs::enqueue::enqueue_jobs),
        Endpoint::post("/api/v1/claim", jobs::claim::claim_jobs),
        Endpoint::post("/api/v1/jobs/{id}/heartbeat", jobs::heartbeat::extend_lease),
        Endpoint::post("/api/v1/jobs/{id}/done", jobs::done::report_done),
        Endpoint::post("/api/v1/jobs/{id}/refuse", jobs::refuse::report_refusal),
        Endpoint::post("/api/v1/jobs/{id}/fail", jobs::fail::report_failure),
        Endpoint::post("/api/v1/jobs/{id}/cancel", jobs::cancel::cancel_job),
        Endpoint::get("/api/v1/jobs/{id}", jobs::show::show_job),
        Endpoint::post("/api/v1/ticks", ticks::record_tick),
        Endpoint::get("/api/v1/pipeline", pipeline::show_pipeline),
        Endpoint::get("/api/v1/dead-letters", dead_letters::list::list_dead_letters),
        Endpoint::get("/api/v1/dead-letters/{id}", dead_letters::show::show_dead_letter),
        Endpoint::post("/api/v1/dead-letters/{id}/actions", dead_letters::act::act_on_dead_letter),
        Endpoint::get("/api/v1/export/dead-letters.csv", export::export_csv),
        Endpoint::get("/api/v1/export/dead-letters.json", export::export_json),
        Endpoint::put("/api/v1/artifacts/{sha256}", artifacts::put_artifact),
        Endpoint::get("/api/v1/artifacts/{sha256}", artifacts::show_artifact),
        Endpoint::get("/api/v1/policies", policies::list::list_policies),
        Endpoint::put("/api/v1/policies/{*kind}", policies::change::change_policy),
        Endpoint::get("/api/v1/park-rate", park_rate::count_park_rate),
        Endpoint::get("/api/v1/alerts", alerts::list_alerts),
        Endpoint::get("/api/v1/evidence-checks", evidence_checks::count_evidence),
        Endpoint::get("/verdict", verdict::show_verdict),
        Endpoint::get("/healthz", health::show_health),
        Endpoint::get("/readyz", health::show_readiness),
    ]
}

/// All of it; takes every path under `/api`.
pub fn router() -> Router<AppState> {
    routed(endpoints())
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .route("/api", any(unknown_call))
        .route("/api/", any(unknown_call))
        .route("/api/{*rest}", any(unknown_call))
        .layer(from_fn(layers::detached))
        .layer(from_fn(layers::identified))
}

async fn unknown_call() -> ApiError {
    ApiError::NotFound("call; calls are under /api/v1")
}
