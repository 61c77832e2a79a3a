//! The worker API: JSON over HTTP under `/api/v1`, with bearer tokens, and the
//! plain addresses that monitors ask.
//!
//! One file per call, all alike: extract, demand the scope, parse, one call of
//! the store, answer. Rules of single fields are in [`checked`], the shape of
//! errors in [`error`], limits of sizes in [`body`]. Nothing here looks at a
//! session cookie, except `GET /verdict`, which people open in a browser.
//!
//! The request and answer types are public and go both ways, so that a client
//! in Rust speaks with the very types that the server parses.

pub mod body;
mod caller;
mod checked;
pub mod dead_letters;
pub mod error;
pub mod export;
pub mod health;
pub mod jobs;
pub mod layers;
pub mod park_rate;
mod path;
pub mod pipeline;
pub mod policies;
mod query;
mod shortener;
pub mod ticks;
pub mod verdict;

use crate::state::AppState;
use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::from_fn;
use axum::routing::{MethodFilter, MethodRouter, any, on};
use error::ApiError;
use std::time::Duration;

/// A database that has not answered for so long counts as away, so that a
/// monitor gets its answer in time. Who calls and what they ask for share it.
const PATIENCE: Duration = Duration::from_secs(3);

/// One call: how it is reached and what answers.
pub struct Endpoint {
    /// Method.
    pub method: Method,
    /// Path, as the router reads it.
    pub path: &'static str,
    route: MethodRouter<AppState>,
}

/// Every call there is; the router is made from this list alone.
pub fn endpoints() -> Vec<Endpoint> {
    vec![
        post("/api/v1/jobs", jobs::enqueue::enqueue_jobs),
        post("/api/v1/claim", jobs::claim::claim_jobs),
        post("/api/v1/jobs/{id}/heartbeat", jobs::heartbeat::extend_lease),
        post("/api/v1/jobs/{id}/done", jobs::done::report_done),
        post("/api/v1/jobs/{id}/refuse", jobs::refuse::report_refusal),
        post("/api/v1/jobs/{id}/fail", jobs::fail::report_failure),
        post("/api/v1/jobs/{id}/cancel", jobs::cancel::cancel_job),
        get("/api/v1/jobs/{id}", jobs::show::show_job),
        post("/api/v1/ticks", ticks::record_tick),
        get("/api/v1/pipeline", pipeline::show_pipeline),
        get("/api/v1/dead-letters", dead_letters::list::list_dead_letters),
        get("/api/v1/dead-letters/{id}", dead_letters::show::show_dead_letter),
        post("/api/v1/dead-letters/{id}/actions", dead_letters::act::act_on_dead_letter),
        get("/api/v1/export/dead-letters.csv", export::export_csv),
        get("/api/v1/export/dead-letters.json", export::export_json),
        get("/api/v1/policies", policies::list::list_policies),
        put("/api/v1/policies/{*kind}", policies::change::change_policy),
        get("/api/v1/park-rate", park_rate::count_park_rate),
        get("/verdict", verdict::show_verdict),
        get("/healthz", health::show_health),
        get("/readyz", health::show_readiness),
    ]
}

/// All of it; takes every path under `/api`.
pub fn router() -> Router<AppState> {
    endpoints()
        .into_iter()
        .fold(Router::new(), |router, endpoint| router.route(endpoint.path, endpoint.route))
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

fn get<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Endpoint {
    Endpoint { method: Method::GET, path, route: on(MethodFilter::GET, handler) }
}

fn post<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Endpoint {
    Endpoint { method: Method::POST, path, route: on(MethodFilter::POST, handler) }
}

fn put<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Endpoint {
    Endpoint { method: Method::PUT, path, route: on(MethodFilter::PUT, handler) }
}
