//! `POST /jobs/{id}/done`: the work is done and says something.

use crate::state::AppState;
use crate::worker_api::body::{Incoming, MAX_REPORT_BYTES};
use crate::worker_api::caller::Caller;
use crate::worker_api::checked::{self, Amount, AnyJson, Currency, CutText, Integer, JsonObject, Text, WholeText};
use crate::worker_api::error::Answer;
use crate::worker_api::path::Segment;
use app::model::FieldError;
use app::model::job::{AttemptEnd, DoneReport, Ended, RawJson};
use app::model::people::Scope;
use app::model::text::{MAX_ERROR_BYTES, MAX_PAYLOAD_BYTES};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

/// What came out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoneBody {
    /// As the claim gave it.
    #[serde(deserialize_with = "checked::required::<Integer, _>")]
    pub lease_token: i64,
    /// What the work says, in its own word of 1 to 200 characters.
    #[serde(
        default,
        deserialize_with = "checked::optional::<Text<1, 200>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub verdict: Option<String>,
    /// Why; cut at 64 KiB.
    #[serde(
        default,
        deserialize_with = "checked::optional::<CutText<MAX_ERROR_BYTES>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub reason: Option<String>,
    /// Any JSON, up to 1 MiB.
    #[serde(default, deserialize_with = "checked::optional::<AnyJson, _>", skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// Field → verbatim quote, up to 1 MiB.
    #[serde(default, deserialize_with = "checked::optional::<JsonObject, _>", skip_serializing_if = "Option::is_none")]
    pub evidence: Option<RawJson>,
    /// Field → value, up to 1 MiB.
    #[serde(default, deserialize_with = "checked::optional::<JsonObject, _>", skip_serializing_if = "Option::is_none")]
    pub values: Option<RawJson>,
    /// The text the quotes are from, whole, up to 1 MiB.
    #[serde(
        default,
        deserialize_with = "checked::optional::<WholeText<MAX_PAYLOAD_BYTES>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub source_text: Option<String>,
    /// The decision context, up to 1 MiB; keys of its own are kept.
    #[serde(default, deserialize_with = "checked::optional::<JsonObject, _>", skip_serializing_if = "Option::is_none")]
    pub envelope: Option<RawJson>,
    /// What the attempt cost, in millionths of a US dollar.
    #[serde(default, deserialize_with = "checked::optional::<Amount, _>", skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<i64>,
    /// What the job was worth, in minor units of `currency`; negative for a credit.
    #[serde(default, deserialize_with = "checked::optional::<Integer, _>", skip_serializing_if = "Option::is_none")]
    pub value_minor: Option<i64>,
    /// ISO 4217 code of `value_minor`; the two come together or not at all.
    #[serde(default, deserialize_with = "checked::optional::<Currency, _>", skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// What a rule under test would have decided.
    #[serde(default, deserialize_with = "checked::optional::<JsonObject, _>", skip_serializing_if = "Option::is_none")]
    pub shadow: Option<RawJson>,
}

impl DoneBody {
    fn into_report(self) -> Result<DoneReport, FieldError> {
        match (self.value_minor, &self.currency) {
            (Some(_), None) => return Err(FieldError::new("currency", "is required with value_minor")),
            (None, Some(_)) => return Err(FieldError::new("value_minor", "is required with currency")),
            _ => {}
        }
        Ok(DoneReport {
            verdict: self.verdict,
            reason: self.reason,
            result: self.result,
            evidence: self.evidence,
            values: self.values,
            source_text: self.source_text,
            envelope: self.envelope,
            cost_micro_usd: self.cost_micro_usd,
            value_minor: self.value_minor,
            currency: self.currency,
            shadow: self.shadow,
        })
    }
}

pub(in crate::worker_api) async fn report_done(
    State(state): State<AppState>,
    caller: Caller,
    segment: Segment,
    incoming: Incoming,
) -> Answer<Ended> {
    caller.require(Scope::Work)?;
    let id = segment.job()?;
    let body: DoneBody = incoming.json(MAX_REPORT_BYTES).await?;
    let lease_token = body.lease_token;
    let end = AttemptEnd::Done(Box::new(body.into_report()?));
    Ok(Json(state.store.finish(id, lease_token, end).await?))
}
