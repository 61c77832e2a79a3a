//! Masks on payloads that programs read, and how they come off: `?reveal=true`,
//! with the scope `review` beside `read`, which the audit keeps.

use super::caller::Caller;
use super::error::ApiError;
use super::query::Query;
use crate::state::AppState;
use app::api::masked_fields;
use app::model::audit::Noted;
use app::model::job::RawJson;
use app::model::mask::masked;
use app::model::people::Scope;

/// The parameter that asks for masked fields.
pub(super) const REVEAL: &str = "reveal";

/// Whether the caller asks for masked fields, and may.
pub(super) fn reveals(caller: &Caller, query: &Query) -> Result<bool, ApiError> {
    let reveals = match query.text(REVEAL) {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(ApiError::invalid(REVEAL, "must be true or false")),
    };
    if reveals {
        caller.require(Scope::Review)?;
    }
    Ok(reveals)
}

/// Puts the kind's masks on, or, to reveal, writes the audit first.
pub(super) async fn mask(
    state: &AppState,
    caller: Caller,
    reveals: bool,
    subject: String,
    kind: &str,
    payload: &mut Option<RawJson>,
) -> Result<(), ApiError> {
    let Some(json) = payload else { return Ok(()) };
    let masked = masked(json, &masked_fields(&*state.store, kind).await?);
    if !reveals {
        *json = masked.payload;
    } else if !masked.hidden.is_empty() {
        let noted = Noted::Revealed { subject, fields: masked.hidden };
        state.store.note(&noted, &caller.into_actor()).await?;
    }
    Ok(())
}
