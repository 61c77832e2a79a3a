//! `PUT /policies/{kind}`: merges settings into a kind's policy; `null` takes
//! one back to its default. Answers with the whole policy.

use crate::state::AppState;
use crate::worker_api::body::{Incoming, MAX_SMALL_BYTES};
use crate::worker_api::caller::Caller;
use crate::worker_api::error::Answer;
use crate::worker_api::path::Segment;
use app::model::people::Scope;
use app::model::policy::{KindPolicy, checked_change};
use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value};

pub(in crate::worker_api) async fn change_policy(
    State(state): State<AppState>,
    caller: Caller,
    segment: Segment,
    incoming: Incoming,
) -> Answer<KindPolicy> {
    caller.require(Scope::Admin)?;
    let kind = segment.kind()?;
    let body: Map<String, Value> = incoming.json(MAX_SMALL_BYTES).await?;
    let change = checked_change(&body)?;
    Ok(Json(state.store.change_policy(&kind, &change, &caller.into_actor()).await?))
}
