//! Masks on payloads that programs read, and how they come off: `?reveal=true`,
//! with the scope `review` beside `read`, which the audit keeps.

use super::caller::Caller;
use super::error::ApiError;
use super::query::Query;
use crate::state::AppState;
use app::api::masked_fields;
use app::model::audit::Noted;
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
pub(super) async fn mask<T: Clone>(
    state: &AppState,
    caller: Caller,
    reveals: bool,
    (subject, kind): (String, &str),
    shown: &mut T,
    put_on: fn(&mut T, &[String]) -> Vec<String>,
) -> Result<(), ApiError> {
    let fields = masked_fields(&*state.store, kind).await?;
    if !reveals {
        put_on(shown, &fields);
        return Ok(());
    }
    let fields = put_on(&mut shown.clone(), &fields);
    if !fields.is_empty() {
        state.store.note(&Noted::Revealed { subject, fields }, &caller.into_actor()).await?;
    }
    Ok(())
}
