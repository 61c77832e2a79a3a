//! `POST /jobs/{id}/fail`: the work could not be done.
//!
//! A report of a failure is not lost over its size or over what goes with it.
//! Long texts are cut while they come in, an envelope over its limit is left out
//! and says so, and a field that only advises how to go on (`category`,
//! `http_status`, `error_code`, `retry_after`, `envelope`, `cost_micro_usd`)
//! counts as absent if it breaks its rule: an unknown category is one that was
//! not reported. Only what the report cannot do without is strict: `lease_token`,
//! `error`, and the names of the fields.

use crate::state::AppState;
use crate::worker_api::body::Incoming;
use crate::worker_api::caller::Caller;
use crate::worker_api::checked::{
    self, Amount, CodeText, CutText, Integer, JsonObjectOrNote, Plain, RetryAfter, Whole,
};
use crate::worker_api::error::Answer;
use crate::worker_api::path::Segment;
use app::model::classify::Category;
use app::model::job::{AttemptEnd, Ended, FailReport, RawJson};
use app::model::people::Scope;
use app::model::text::MAX_ERROR_BYTES;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

/// Most bytes of an error code; longer is cut.
pub const MAX_ERROR_CODE_BYTES: usize = 200;
/// What is stored when a worker has nothing to say: every stop has a readable reason.
const NO_ERROR_TEXT: &str = "the worker gave no error text";

/// What happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailBody {
    /// As the claim gave it.
    #[serde(deserialize_with = "checked::required::<Integer, _>")]
    pub lease_token: i64,
    /// In words; cut at 64 KiB, however long it is sent.
    #[serde(deserialize_with = "checked::required::<CutText<MAX_ERROR_BYTES>, _>")]
    pub error: String,
    /// The worker's own opinion: `transient`, `permanent` or `unknown`.
    #[serde(
        default,
        deserialize_with = "checked::advisory::<Plain<Category>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub category: Option<Category>,
    /// Status of the call that failed, 100 to 599.
    #[serde(
        default,
        deserialize_with = "checked::advisory::<Whole<100, 599>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub http_status: Option<u32>,
    /// Code of the call that failed, a word or a number; cut at 200 bytes.
    #[serde(
        default,
        deserialize_with = "checked::advisory::<CodeText<MAX_ERROR_CODE_BYTES>, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub error_code: Option<String>,
    /// `Retry-After` as it came, or a number of seconds; junk is ignored.
    #[serde(default, deserialize_with = "checked::advisory::<RetryAfter, _>", skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<String>,
    /// The decision context; left out if over 1 MiB or no object.
    #[serde(
        default,
        deserialize_with = "checked::advisory::<JsonObjectOrNote, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub envelope: Option<RawJson>,
    /// What the attempt cost, in millionths of a US dollar.
    #[serde(default, deserialize_with = "checked::advisory::<Amount, _>", skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<i64>,
}

impl FailBody {
    fn into_report(self) -> FailReport {
        let has_text = !self.error.trim().is_empty();
        FailReport {
            error: if has_text { self.error } else { NO_ERROR_TEXT.to_owned() },
            category: self.category,
            http_status: self.http_status.and_then(|status| u16::try_from(status).ok()),
            error_code: self.error_code.filter(|code| !code.is_empty()),
            retry_after: self.retry_after,
            envelope: self.envelope,
            cost_micro_usd: self.cost_micro_usd,
        }
    }
}

pub(in crate::worker_api) async fn report_failure(
    State(state): State<AppState>,
    caller: Caller,
    segment: Segment,
    incoming: Incoming,
) -> Answer<Ended> {
    caller.require(Scope::Work)?;
    let id = segment.job()?;
    let body: FailBody = incoming.shortened_json().await?;
    let lease_token = body.lease_token;
    Ok(Json(state.store.finish(id, lease_token, AttemptEnd::Fail(body.into_report())).await?))
}
