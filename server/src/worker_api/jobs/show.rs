//! `GET /jobs/{id}`: a job with its attempts.

use crate::state::AppState;
use crate::worker_api::caller::Caller;
use crate::worker_api::error::{Answer, ApiError};
use crate::worker_api::path::Segment;
use crate::worker_api::query::Query;
use app::model::job::JobDetail;
use app::model::people::Scope;
use axum::Json;
use axum::extract::{RawQuery, State};

pub(in crate::worker_api) async fn show_job(
    State(state): State<AppState>,
    caller: Caller,
    segment: Segment,
    RawQuery(query): RawQuery,
) -> Answer<JobDetail> {
    caller.require(Scope::Read)?;
    let id = segment.job()?;
    Query::parse(query.as_deref(), &[])?;
    state.store.find_job(id).await?.map(Json).ok_or(ApiError::NotFound("job"))
}
