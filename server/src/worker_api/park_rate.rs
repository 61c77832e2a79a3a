//! `GET /park-rate`: processed and parked per day, with the interval of the rate.

use super::caller::Caller;
use super::error::{Answer, ApiError};
use super::query::Query;
use crate::state::AppState;
use app::model::park_rate::{ParkRateQuery, ParkRateRow};
use app::model::people::Scope;
use axum::Json;
use axum::extract::{RawQuery, State};
use serde::Serialize;

/// The rows, by day, then source, then reason code.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParkRateAnswer {
    /// One per day (and source, and reason code).
    pub rows: Vec<ParkRateRow>,
}

pub(super) async fn count_park_rate(
    State(state): State<AppState>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Answer<ParkRateAnswer> {
    caller.require(Scope::Read)?;
    let query = park_rate_query(&Query::parse(query.as_deref(), &["by", "from", "to", "source", "kind"])?)?;
    let counts = state.store.count_park_rate(&query).await?;
    Ok(Json(ParkRateAnswer { rows: counts.into_iter().map(ParkRateRow::from).collect() }))
}

fn park_rate_query(query: &Query) -> Result<ParkRateQuery, ApiError> {
    let (mut by_source, mut by_reason) = (false, false);
    for word in query.text("by").into_iter().flat_map(|by| by.split(',')) {
        match word {
            "source" => by_source = true,
            "reason" => by_reason = true,
            _ => return Err(ApiError::invalid("by", "must be source, reason, or source,reason")),
        }
    }
    let (from, to) = (query.day("from")?, query.day("to")?);
    if let (Some(first), Some(last)) = (from, to)
        && first > last
    {
        return Err(ApiError::invalid("from", "must not be after `to`"));
    }
    Ok(ParkRateQuery { by_source, by_reason, from, to, source: query.name("source")?, kind: query.name("kind")? })
}
