//! `PUT` and `GET /artifacts/{sha256}`: the texts that envelopes name by hash,
//! sent and answered as they are, not as JSON.

use super::body::Incoming;
use super::caller::Caller;
use super::error::{Answer, ApiError};
use super::path::Segment;
use super::query::Query;
use crate::auth::secret::sha256_hex;
use crate::state::AppState;
use app::model::artifact::MAX_ARTIFACT_BYTES;
use app::model::people::Scope;
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};

/// What is kept now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactAnswer {
    /// The hash, as envelopes name it.
    pub sha256: String,
    /// Length of the text.
    pub bytes: usize,
}

/// The same text again is a success that changes nothing.
pub(super) async fn put_artifact(
    State(state): State<AppState>,
    caller: Caller,
    segment: Segment,
    incoming: Incoming,
) -> Answer<ArtifactAnswer> {
    caller.require_any(&[Scope::Work, Scope::Admin])?;
    let sha256 = segment.artifact()?;
    let text = incoming.text(MAX_ARTIFACT_BYTES).await?;
    if sha256_hex(&text) != sha256.as_str() {
        return Err(ApiError::invalid("sha256", "must be the SHA-256 of the body"));
    }
    // Replacing it, as elsewhere, would make it another text than its hash says.
    if text.contains('\0') {
        return Err(ApiError::invalid("body", "must be a text without NUL"));
    }
    state.store.put_artifact(&sha256, &text).await?;
    Ok(Json(ArtifactAnswer { sha256: sha256.to_string(), bytes: text.len() }))
}

pub(super) async fn show_artifact(
    State(state): State<AppState>,
    caller: Caller,
    segment: Segment,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    caller.require_any(&[Scope::Read, Scope::Review])?;
    Query::parse(query.as_deref(), &[])?;
    let found = state.store.find_artifact(&segment.artifact()?).await?.ok_or(ApiError::NotFound("artifact"))?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], found.content).into_response())
}
