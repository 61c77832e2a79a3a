//! `POST /ticks`: the clock that starts the workers says that it ran.

use super::body::{Incoming, MAX_SMALL_BYTES};
use super::caller::Caller;
use super::checked::{self, NameText, Whole};
use super::error::Answer;
use crate::state::AppState;
use app::model::name::Name;
use app::model::people::Scope;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

/// What a trigger says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TickBody {
    /// Its name.
    #[serde(deserialize_with = "checked::required::<NameText, _>")]
    pub trigger: Name,
    /// How often it means to come, in seconds: 1 s to ten years.
    #[serde(deserialize_with = "checked::required::<Whole<1, 315_360_000>, _>")]
    pub every_seconds: u32,
}

/// Nothing to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickAnswer {}

pub(super) async fn record_tick(
    State(state): State<AppState>,
    caller: Caller,
    incoming: Incoming,
) -> Answer<TickAnswer> {
    caller.require(Scope::Work)?;
    let body: TickBody = incoming.json(MAX_SMALL_BYTES).await?;
    state.store.record_tick(&body.trigger, body.every_seconds).await?;
    Ok(Json(TickAnswer {}))
}
