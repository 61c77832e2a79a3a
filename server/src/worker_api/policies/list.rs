//! `GET /policies`: every kind's settings, each with its value and origin.

use crate::state::AppState;
use crate::worker_api::caller::Caller;
use crate::worker_api::error::Answer;
use crate::worker_api::query::Query;
use app::model::people::Scope;
use app::model::policy::KindPolicy;
use axum::Json;
use axum::extract::{RawQuery, State};
use serde::Serialize;

/// The policies, by kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoliciesAnswer {
    /// One per kind.
    pub policies: Vec<KindPolicy>,
}

pub(in crate::worker_api) async fn list_policies(
    State(state): State<AppState>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Answer<PoliciesAnswer> {
    caller.require(Scope::Admin)?;
    Query::parse(query.as_deref(), &[])?;
    Ok(Json(PoliciesAnswer { policies: state.store.list_policies().await? }))
}
