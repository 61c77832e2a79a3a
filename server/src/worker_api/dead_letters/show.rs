//! `GET /dead-letters/{id}`: one letter whole.

use crate::state::AppState;
use crate::worker_api::caller::Caller;
use crate::worker_api::error::{Answer, ApiError};
use crate::worker_api::path::Segment;
use crate::worker_api::query::Query;
use app::model::letter::DeadLetterDetail;
use app::model::people::Scope;
use axum::Json;
use axum::extract::{RawQuery, State};

pub(in crate::worker_api) async fn show_dead_letter(
    State(state): State<AppState>,
    caller: Caller,
    segment: Segment,
    RawQuery(query): RawQuery,
) -> Answer<DeadLetterDetail> {
    caller.require(Scope::Read)?;
    let id = segment.dead_letter()?;
    Query::parse(query.as_deref(), &[])?;
    state.store.find_letter(id).await?.map(Json).ok_or(ApiError::NotFound("dead letter"))
}
