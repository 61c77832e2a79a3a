//! Runs requests that change something in a task of their own.
//!
//! A client that disconnects drops the future of its request. Dropped in the
//! middle of a transaction, that could hand a connection with an open
//! transaction back to the pool; so a mutation that has begun always ends.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{Method, StatusCode};
use tracing::Instrument as _;

/// Spawns everything but `GET`, `HEAD` and `OPTIONS`.
pub async fn detach(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
        return next.run(request).await;
    }
    match tokio::spawn(next.run(request).in_current_span()).await {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(%error, "a request's task ended before its answer");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
