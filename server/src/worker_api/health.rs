//! `GET /healthz`: the process answers. `GET /readyz`: the database does too, and
//! everything of ours is in it.
//!
//! Open to everybody; they say nothing else.

use super::PATIENCE;
use super::error::ApiError;
use crate::state::AppState;
use axum::extract::State;

pub(super) async fn show_health() -> &'static str {
    "ok\n"
}

pub(super) async fn show_readiness(State(state): State<AppState>) -> Result<&'static str, ApiError> {
    match state.ask(PATIENCE, async |store| store.ping().await).await {
        Ok(()) => Ok("ready\n"),
        Err(error) => Err(ApiError::of_reading(error)),
    }
}
