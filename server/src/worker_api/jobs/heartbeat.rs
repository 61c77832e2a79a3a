//! `POST /jobs/{id}/heartbeat`: the worker is still at it.

use crate::state::AppState;
use crate::worker_api::body::{Incoming, MAX_SMALL_BYTES};
use crate::worker_api::caller::Caller;
use crate::worker_api::checked::{self, Integer, Whole};
use crate::worker_api::error::Answer;
use crate::worker_api::path::Segment;
use app::model::people::Scope;
use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Which lease to extend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeartbeatBody {
    /// As the claim gave it.
    #[serde(deserialize_with = "checked::required::<Integer, _>")]
    pub lease_token: i64,
    /// A shorter lease than the policy's, from now.
    #[serde(
        default,
        deserialize_with = "checked::optional::<Whole<1, { u32::MAX }>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub lease_seconds: Option<u32>,
}

/// The lease as extended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeartbeatAnswer {
    /// When it ends unless another heartbeat comes.
    pub lease_expires_at: DateTime<Utc>,
}

pub(in crate::worker_api) async fn extend_lease(
    State(state): State<AppState>,
    caller: Caller,
    segment: Segment,
    incoming: Incoming,
) -> Answer<HeartbeatAnswer> {
    caller.require(Scope::Work)?;
    let id = segment.job()?;
    let body: HeartbeatBody = incoming.json(MAX_SMALL_BYTES).await?;
    let lease_expires_at = state.store.heartbeat(id, body.lease_token, body.lease_seconds).await?;
    Ok(Json(HeartbeatAnswer { lease_expires_at }))
}
