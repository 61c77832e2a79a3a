//! `GET /pipeline`: the numbers and the verdict of one reading, taken now.

use super::caller::Caller;
use super::error::{Answer, ApiError};
use super::query::Query;
use crate::state::AppState;
use app::model::people::Scope;
use app::model::reading::Reading;
use axum::Json;
use axum::extract::{RawQuery, State};

pub(super) async fn show_pipeline(
    State(state): State<AppState>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Answer<Reading> {
    caller.require(Scope::Read)?;
    Query::parse(query.as_deref(), &[])?;
    let outcome = state.read_now(caller.patience()).await;
    let error = outcome.as_ref().err().cloned();
    // The memory is told either way: since when the database is away is shown elsewhere.
    let view = state.panel.view_of(outcome);
    match (error, view.reading) {
        (None, Some(reading)) => Ok(Json(reading)),
        (Some(error), _) => Err(ApiError::of_reading(error)),
        (None, None) => Err(ApiError::Internal("a snapshot without a reading".to_owned())),
    }
}
