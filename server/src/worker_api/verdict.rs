//! `GET /verdict`: the one line as text, for monitors and for a person's eye.
//!
//! 200 only while a monitor may be content (running, idle, a person's pause),
//! else 503, so that a plain status check alarms. Needs the scope `read`, or a
//! signed-in browser, unless the configuration makes it public.

use super::PATIENCE;
use super::caller::Caller;
use super::error::ApiError;
use crate::auth::session::find_viewer;
use crate::state::AppState;
use app::error::StoreError;
use app::model::people::Scope;
use app::model::verdict::{Verdict, VerdictState};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

pub(super) async fn show_verdict(
    State(state): State<AppState>,
    caller: Result<Caller, ApiError>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let came_at = Instant::now();
    let patience = caller.as_ref().map_or(PATIENCE, Caller::patience);
    // Who calls is in the database; while it is away, that it is away is all
    // that can be said, and the monitor must hear it in time.
    let caller = match caller {
        Err(error @ (ApiError::Unavailable(_) | ApiError::DatabaseError(_))) => return Ok(unknown(&state, error)),
        caller => caller,
    };
    if !state.config.public_verdict {
        match admitted(&state, caller, &headers).await {
            Ok(()) => {}
            Err(error @ (ApiError::Unavailable(_) | ApiError::DatabaseError(_))) => return Ok(unknown(&state, error)),
            Err(error) => return Err(error),
        }
    }
    let view = state.panel_now(patience.saturating_sub(came_at.elapsed())).await;
    Ok(verdict_response(&view.verdict))
}

/// The line for a caller whom nobody can look up now.
fn unknown(state: &AppState, error: ApiError) -> Response {
    let error = match error {
        ApiError::DatabaseError(cause) => StoreError::DatabaseError(cause),
        ApiError::Unavailable(cause) => StoreError::Unavailable(cause),
        error => StoreError::Internal(format!("{error:?}")),
    };
    tracing::warn!(cause = ?error, "a caller cannot be looked up");
    verdict_response(&state.panel.view_of(Err(error)).verdict)
}

/// A token with the scope, or, where there is none, a session of any role.
async fn admitted(state: &AppState, caller: Result<Caller, ApiError>, headers: &HeaderMap) -> Result<(), ApiError> {
    match caller {
        Err(ApiError::Unauthenticated) if !headers.contains_key(header::AUTHORIZATION) => {
            find_viewer(state, headers).await?.map(|_| ()).ok_or(ApiError::Unauthenticated)
        }
        caller => caller?.require(Scope::Read),
    }
}

fn verdict_response(verdict: &Verdict) -> Response {
    let status = if verdict.state.is_well() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    let mut response = (status, headers, format!("{}\n", verdict.text)).into_response();
    if verdict.state == VerdictState::Unknown {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
    }
    response
}
