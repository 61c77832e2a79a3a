//! `GET /evidence-checks`: what each check looked at and missed per day, so that
//! a shadow can be judged before it is turned on.

use super::caller::Caller;
use super::error::{Answer, ApiError};
use super::query::Query;
use crate::state::AppState;
use app::model::evidence::counts::{EvidenceCount, EvidenceCountQuery};
use app::model::people::Scope;
use axum::Json;
use axum::extract::{RawQuery, State};
use serde::Serialize;

/// The rows, by day, kind, field, rule and tenant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvidenceChecksAnswer {
    /// One per day and rule.
    pub rows: Vec<EvidenceCount>,
}

pub(super) async fn count_evidence(
    State(state): State<AppState>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Answer<EvidenceChecksAnswer> {
    caller.require(Scope::Read)?;
    let query = Query::parse(query.as_deref(), &["kind", "from", "to"])?;
    let (from, to) = (query.day("from")?, query.day("to")?);
    if let (Some(first), Some(last)) = (from, to)
        && first > last
    {
        return Err(ApiError::invalid("from", "must not be after `to`"));
    }
    let query = EvidenceCountQuery { kind: query.name("kind")?, from, to };
    Ok(Json(EvidenceChecksAnswer { rows: state.store.count_evidence(&query).await? }))
}
