//! Refuses requests that another site makes a signed-in browser send.
//!
//! Judged by `Sec-Fetch-Site` and `Origin`, which a page cannot forge. A
//! request without either does not come from a browser's page (`curl` with a
//! cookie) and passes. Not for the worker API: it reads no cookie.

use super::problem::Problem;
use axum::response::{IntoResponse as _, Response};
use tower_http::csrf::{CsrfLayer, ProtectionError};

/// The layer; the refusal is a 403 with a sentence, and a line in the log.
pub fn layer() -> CsrfLayer<fn(ProtectionError) -> Response> {
    CsrfLayer::new().with_rejection_response(refuse as fn(ProtectionError) -> Response)
}

fn refuse(error: ProtectionError) -> Response {
    tracing::warn!(?error, "cross-site request refused");
    Problem::forbidden(
        "Another site sent this request, so nothing was changed. Open Drainboard itself, reload, and try again. \
         If you did send it from here, a proxy in between changes the Host header; it must pass it on.",
    )
    .into_response()
}
