//! What stands between a page and the store: permission, one call, a typed
//! answer, and one place where an error of the store becomes what a person sees.
//!
//! Must not render anything and must not decide anything about data.

pub mod glance;
pub mod once;
pub mod request;

use crate::error::{AppError, StoreError};
use crate::model::job::RawJson;
use crate::model::mask::masked;
use crate::model::people::{Role, Viewer};
use crate::panel::PanelMemory;
use crate::store::{Store, Stored};
use http::StatusCode;
use leptos::prelude::use_context;
use std::sync::Arc;

pub use glance::Glance;
pub use once::{CurrentSession, Once};
pub use request::Request;

/// Makes one-time idempotency keys for forms: a form pressed twice acts once.
#[derive(Clone)]
pub struct FormKeys(pub Arc<dyn Fn() -> String + Send + Sync>);

impl FormKeys {
    /// A new key out of the request's context.
    pub fn next() -> Option<String> {
        use_context::<Self>().map(|keys| (keys.0)())
    }
}

/// What is done about an error of a page: its status, and its cause in the log.
pub type Report = dyn Fn(&AppError, Option<&StoreError>) + Send + Sync;

/// Told when a page cannot show what was asked for, so that the server sets the
/// answer's status and logs the cause once.
#[derive(Clone)]
pub struct FailureReport(pub Arc<Report>);

/// Why a page cannot be shown: what a person reads, and the cause for the log.
#[derive(Debug, Clone, PartialEq)]
pub struct PageError {
    /// What a person reads.
    pub shown: AppError,
    /// What the log gets, if a store said so.
    pub cause: Option<StoreError>,
}

impl From<StoreError> for PageError {
    fn from(cause: StoreError) -> Self {
        Self { shown: cause.clone().into(), cause: Some(cause) }
    }
}

impl From<AppError> for PageError {
    fn from(shown: AppError) -> Self {
        Self { shown, cause: None }
    }
}

impl From<crate::model::FieldError> for PageError {
    fn from(field: crate::model::FieldError) -> Self {
        AppError::Invalid(field).into()
    }
}

/// The status that goes with an error page.
pub fn status_of(error: &AppError) -> StatusCode {
    match error {
        AppError::SignInNeeded => StatusCode::UNAUTHORIZED,
        AppError::Forbidden => StatusCode::FORBIDDEN,
        AppError::NotFound(_) => StatusCode::NOT_FOUND,
        AppError::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
        AppError::Conflict(_) => StatusCode::CONFLICT,
        AppError::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        AppError::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A viewer who was checked, with the door to data.
#[derive(Clone)]
pub struct Access {
    /// The only door to data.
    pub store: Arc<dyn Store>,
    /// Who looks.
    pub viewer: Viewer,
    /// What the server remembers between readings.
    pub memory: PanelMemory,
}

/// Access for a viewer who may do what `role` may.
///
/// # Errors
/// `SignInNeeded`, `Forbidden`; `Internal` when the server gave no store.
pub fn permit(role: Role) -> Result<Access, AppError> {
    let viewer = use_context::<Option<Viewer>>().flatten().ok_or(AppError::SignInNeeded)?;
    if !viewer.may(role) {
        return Err(AppError::Forbidden);
    }
    let store = use_context::<Arc<dyn Store>>().ok_or(AppError::Internal)?;
    Ok(Access { store, viewer, memory: use_context().unwrap_or_default() })
}

/// The payload fields of `kind` that are masked. A kind that is gone masks none.
///
/// # Errors
/// As the store.
pub async fn masked_fields(store: &dyn Store, kind: &str) -> Stored<Vec<String>> {
    Ok(store.find_policy(kind).await?.map(|policy| policy.masked_fields()).unwrap_or_default())
}

impl Access {
    /// Puts the kind's masks on a payload of `subject`, but for the fields that
    /// this very answer reveals; answers which fields are hidden.
    ///
    /// # Errors
    /// As the store.
    pub async fn mask(&self, kind: &str, subject: &str, payload: &mut Option<RawJson>) -> Stored<Vec<String>> {
        let revealed = if self.viewer.may(Role::Reviewer) { Once::revealed(subject) } else { Vec::new() };
        let Some(json) = payload else {
            return Ok(Vec::new());
        };
        let mut fields = masked_fields(&*self.store, kind).await?;
        fields.retain(|field| !revealed.contains(field));
        let masked = masked(json, &fields);
        *json = masked.payload;
        Ok(masked.hidden)
    }
}
