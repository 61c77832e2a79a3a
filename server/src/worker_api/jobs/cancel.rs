//! `POST /jobs/{id}/cancel`: calls off a job that waits.

use crate::state::AppState;
use crate::worker_api::body::Incoming;
use crate::worker_api::caller::Caller;
use crate::worker_api::error::Answer;
use crate::worker_api::path::Segment;
use app::model::job::JobState;
use app::model::people::Scope;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

/// The job as called off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelAnswer {
    /// `cancelled`.
    pub state: JobState,
}

pub(in crate::worker_api) async fn cancel_job(
    State(state): State<AppState>,
    caller: Caller,
    segment: Segment,
    incoming: Incoming,
) -> Answer<CancelAnswer> {
    caller.require(Scope::Enqueue)?;
    let id = segment.job()?;
    incoming.nothing().await?;
    state.store.cancel(id).await?;
    Ok(Json(CancelAnswer { state: JobState::Cancelled }))
}
