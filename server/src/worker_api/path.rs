//! What stands in the path: an id, or a kind that may hold any character.

use super::error::ApiError;
use app::model::artifact::ArtifactHash;
use app::model::ids::{DeadLetterId, JobId};
use app::model::name::Name;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use std::convert::Infallible;

/// The one parameter of a path, percent-decoded once; not judged yet, so that a
/// caller's token is looked at first.
#[derive(Debug)]
pub(super) struct Segment(Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for Segment {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let parameters = RawPathParams::from_request_parts(parts, state).await.ok();
        Ok(Self(parameters.and_then(|parameters| parameters.iter().next().map(|(_, value)| value.to_owned()))))
    }
}

impl Segment {
    /// A job's id; what is no id is no job.
    pub(super) fn job(&self) -> Result<JobId, ApiError> {
        self.text().and_then(|text| text.parse().ok()).ok_or(ApiError::NotFound("job"))
    }

    /// A dead letter's id; what is no id is no dead letter.
    pub(super) fn dead_letter(&self) -> Result<DeadLetterId, ApiError> {
        self.text().and_then(|text| text.parse().ok()).ok_or(ApiError::NotFound("dead letter"))
    }

    /// The hash of an artifact.
    pub(super) fn artifact(&self) -> Result<ArtifactHash, ApiError> {
        Ok(self.text().unwrap_or_default().parse()?)
    }

    /// A kind.
    pub(super) fn kind(&self) -> Result<Name, ApiError> {
        let text = self.text().ok_or_else(|| ApiError::invalid("kind", "must be UTF-8 in percent encoding"))?;
        if text.contains('\0') {
            return Err(ApiError::invalid("kind", "must not hold NUL"));
        }
        Ok(Name::new("kind", text)?)
    }

    fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }
}
