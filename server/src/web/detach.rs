//! Runs every request in a task of its own.
//!
//! A client that disconnects drops the future of its request. Dropped in the
//! middle of a transaction, that could hand a connection with an open
//! transaction back to the pool; so what has begun always ends. That holds for
//! pages, too: they read in transactions, and a session's activity is written.

use super::problem::Problem;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tracing::Instrument as _;

/// Spawns the request; a panic becomes a 500.
pub async fn detach(request: Request, next: Next) -> Response {
    match tokio::spawn(next.run(request).in_current_span()).await {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(%error, "a request's task ended before its answer");
            Problem::internal().into_response()
        }
    }
}
