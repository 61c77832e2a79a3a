//! `GET /export/dead-letters.csv` and `.json`: every letter that a filter finds.

use super::caller::Caller;
use super::error::ApiError;
use super::query::Query;
use crate::export::{Format, export};
use crate::state::AppState;
use app::model::letter_filter::LetterFilter;
use app::model::people::{Role, Scope};
use axum::extract::{RawQuery, State};
use axum::response::Response;
use futures::FutureExt as _;

pub(super) async fn export_csv(
    State(state): State<AppState>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    export_letters(state, caller, query, Format::Csv).await
}

pub(super) async fn export_json(
    State(state): State<AppState>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    export_letters(state, caller, query, Format::Json).await
}

async fn export_letters(
    state: AppState,
    caller: Caller,
    query: Option<String>,
    format: Format,
) -> Result<Response, ApiError> {
    caller.require(Scope::Read)?;
    let filter = Query::parse(query.as_deref(), &LetterFilter::PARAMETERS)?.letter_filter()?;
    let store = state.store.clone();
    let still_allowed = move || {
        let (state, caller) = (state.clone(), caller.clone());
        async move { caller.still_has(&state, Scope::Read).await }.boxed()
    };
    // A token with this scope reads letters whole, as a reviewer does.
    Ok(export(store, filter, format, Role::Reviewer, Box::new(still_allowed)).await?)
}
