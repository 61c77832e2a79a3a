//! `GET /dead-letters/{id}`: one letter whole, fields of its payload masked.

use crate::state::AppState;
use crate::worker_api::caller::Caller;
use crate::worker_api::error::{Answer, ApiError};
use crate::worker_api::masking::{REVEAL, mask, reveals};
use crate::worker_api::path::Segment;
use crate::worker_api::query::Query;
use app::model::cover::mask_letter;
use app::model::letter::DeadLetterDetail;
use app::model::people::Scope;
use axum::Json;
use axum::extract::{RawQuery, State};

pub(in crate::worker_api) async fn show_dead_letter(
    State(state): State<AppState>,
    caller: Caller,
    segment: Segment,
    RawQuery(query): RawQuery,
) -> Answer<DeadLetterDetail> {
    caller.require(Scope::Read)?;
    let id = segment.dead_letter()?;
    let query = Query::parse(query.as_deref(), &[REVEAL])?;
    let shows_all = reveals(&caller, &query)?;
    let mut detail = state.store.find_letter(id).await?.ok_or(ApiError::NotFound("dead letter"))?;
    let kind = detail.letter.kind.clone();
    let of = (format!("dead_letter {id}"), kind.as_str());
    mask(&state, caller, shows_all, of, &mut detail, mask_letter).await?;
    Ok(Json(detail))
}
