//! `GET /alerts`: what somebody has to be told of, the worst first.

use super::caller::Caller;
use super::error::Answer;
use super::query::Query;
use crate::state::AppState;
use app::model::alert::Alert;
use app::model::people::Scope;
use axum::Json;
use axum::extract::{RawQuery, State};
use serde_json::{Value, json};

/// Open alerts, at most 500.
pub(super) async fn list_alerts(
    State(state): State<AppState>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Answer<Value> {
    caller.require(Scope::Read)?;
    Query::parse(query.as_deref(), &[])?;
    let page = state.store.list_alerts(None, 1).await?;
    let alerts: Vec<Value> = page.open.iter().map(Alert::to_json).collect();
    Ok(Json(json!({ "as_of": page.as_of, "alerts": alerts })))
}
