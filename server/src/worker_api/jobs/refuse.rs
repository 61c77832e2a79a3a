//! `POST /jobs/{id}/refuse`: the agent called `cannot_process`.

use crate::state::AppState;
use crate::worker_api::body::{Incoming, MAX_REPORT_BYTES};
use crate::worker_api::caller::Caller;
use crate::worker_api::checked::{self, Amount, Integer, JsonObject, SomeCutText, Text};
use crate::worker_api::error::Answer;
use crate::worker_api::path::Segment;
use app::model::job::{AttemptEnd, Ended, RawJson, RefuseReport};
use app::model::people::Scope;
use app::model::text::MAX_ERROR_BYTES;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

/// Why it cannot be processed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefuseBody {
    /// As the claim gave it.
    #[serde(deserialize_with = "checked::required::<Integer, _>")]
    pub lease_token: i64,
    /// One of the kind's closed set.
    #[serde(deserialize_with = "checked::required::<Text<1, 200>, _>")]
    pub reason_code: String,
    /// The field that could not be filled, if it is one.
    #[serde(
        default,
        deserialize_with = "checked::optional::<Text<1, 200>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub field: Option<String>,
    /// A quote, or `NOT FOUND`; cut at 64 KiB.
    #[serde(deserialize_with = "checked::required::<SomeCutText<MAX_ERROR_BYTES>, _>")]
    pub evidence: String,
    /// The decision context, up to 1 MiB; keys of its own are kept.
    #[serde(default, deserialize_with = "checked::optional::<JsonObject, _>", skip_serializing_if = "Option::is_none")]
    pub envelope: Option<RawJson>,
    /// What the attempt cost, in millionths of a US dollar.
    #[serde(default, deserialize_with = "checked::optional::<Amount, _>", skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<i64>,
}

impl RefuseBody {
    fn into_report(self) -> RefuseReport {
        RefuseReport {
            reason_code: self.reason_code,
            field: self.field,
            evidence: self.evidence,
            envelope: self.envelope,
            cost_micro_usd: self.cost_micro_usd,
        }
    }
}

pub(in crate::worker_api) async fn report_refusal(
    State(state): State<AppState>,
    caller: Caller,
    segment: Segment,
    incoming: Incoming,
) -> Answer<Ended> {
    caller.require(Scope::Work)?;
    let id = segment.job()?;
    let body: RefuseBody = incoming.json(MAX_REPORT_BYTES).await?;
    let lease_token = body.lease_token;
    Ok(Json(state.store.finish(id, lease_token, AttemptEnd::Refuse(body.into_report())).await?))
}
