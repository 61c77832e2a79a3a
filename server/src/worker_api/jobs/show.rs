//! `GET /jobs/{id}`: a job with its attempts, masked fields hidden.

use crate::state::AppState;
use crate::worker_api::caller::Caller;
use crate::worker_api::error::{Answer, ApiError};
use crate::worker_api::masking::{REVEAL, mask, reveals};
use crate::worker_api::path::Segment;
use crate::worker_api::query::Query;
use app::model::job::JobDetail;
use app::model::mask::mask_job;
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
    let query = Query::parse(query.as_deref(), &[REVEAL])?;
    let shows_all = reveals(&caller, &query)?;
    let mut job = state.store.find_job(id).await?.ok_or(ApiError::NotFound("job"))?;
    let kind = job.summary.kind.clone();
    mask(&state, caller, shows_all, (format!("job {id}"), &kind), &mut job, mask_job).await?;
    Ok(Json(job))
}
