//! What happens around every call: an id, a life of its own, one log line for
//! an internal cause.

use super::error::{ApiError, Cause};
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Instrument;

/// The header that carries a request's id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of a request: given out here, never taken from the caller.
#[derive(Debug, Clone)]
pub struct RequestId(pub String);

/// Gives the request an id, unless an outer layer did, and the answer the same;
/// logs an internal cause under it. Answers are not for any cache.
pub async fn identified(mut request: Request, next: Next) -> Response {
    let id = match request.extensions().get::<RequestId>() {
        Some(id) => id.clone(),
        None => RequestId(format!("{:016x}", rand::random::<u64>())),
    };
    request.extensions_mut().insert(id.clone());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());

    let mut response = next.run(request).await;
    if let Some(Cause(cause)) = response.extensions_mut().remove() {
        let status = response.status().as_u16();
        tracing::error!(request_id = %id.0, %method, path, status, cause, "a request failed");
    }
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::from_str(&id.0) {
        headers.insert(REQUEST_ID, id);
    }
    response
}

/// Runs the call in a task of its own: a caller that hangs up must not cut a
/// transaction in two (a cancelled `BEGIN` can hand an open transaction to the
/// next user of the connection), and a panic becomes an answer.
pub async fn detached(request: Request, next: Next) -> Response {
    match tokio::spawn(next.run(request).in_current_span()).await {
        Ok(response) => response,
        Err(error) => ApiError::Internal(format!("the handler ended early: {error}")).into_response(),
    }
}
