//! What every answer carries: a request id, and headers that tell the browser
//! what this site never does, so that markup which slips through an escaping
//! fault still cannot run.

use crate::worker_api::layers::{REQUEST_ID, RequestId};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use rand::Rng as _;
use std::sync::Arc;
use tracing::Instrument as _;

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The number used once that lets a page's own inline scripts run. In the
/// request's extensions for the pages, in the answer's policy for the browser.
#[derive(Debug, Clone)]
pub struct CspNonce(pub Arc<str>);

/// Adds id, nonce and headers; logs each request when it is answered. The log
/// has the path without its query: a set-up link is a secret.
pub async fn add(mut request: Request, next: Next) -> Response {
    let (id, nonce) = (RequestId(random_text::<12>()), CspNonce(random_text::<16>().into()));
    let span = tracing::info_span!("request", id = %id.0, method = %request.method(), path = request.uri().path());
    // The worker API takes this id for its own.
    request.extensions_mut().insert(id.clone());
    request.extensions_mut().insert(nonce.clone());
    let started = std::time::Instant::now();
    let mut response = async {
        let response = next.run(request).await;
        let (status, milliseconds) = (response.status().as_u16(), started.elapsed().as_millis());
        if response.status().is_server_error() {
            tracing::warn!(status, milliseconds, "answered");
        } else {
            tracing::debug!(status, milliseconds, "answered");
        }
        response
    }
    .instrument(span)
    .await;

    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, header(&content_security_policy(&nonce)));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(REQUEST_ID, header(&id.0));
    // Only what says otherwise (site files, streams) may be kept.
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn content_security_policy(nonce: &CspNonce) -> String {
    format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' 'nonce-{}'; style-src 'self'; \
         img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        nonce.0
    )
}

fn random_text<const BYTES: usize>() -> String {
    let mut bytes = [0_u8; BYTES];
    rand::rng().fill_bytes(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

fn header(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("base64url and fixed words are header text")
}
