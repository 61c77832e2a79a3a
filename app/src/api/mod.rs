//! What stands between a page and the store: permission, one call, a typed
//! answer, and one place where an error of the store becomes what a person sees.
//!
//! Must not render anything and must not decide anything about data.

pub mod once;
pub mod request;

use crate::error::{AppError, StoreError};
use crate::model::people::{Role, Viewer};
use crate::model::trace_url::TraceUrl;
use crate::panel::PanelView;
use crate::store::{Store, Stored};
use http::StatusCode;
use leptos::prelude::use_context;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use once::{CurrentSession, Once};
pub use request::{Posted, Request};

/// Makes one-time idempotency keys for forms: a form pressed twice acts once.
#[derive(Clone)]
pub struct FormKeys(pub Arc<dyn Fn() -> String + Send + Sync>);

impl FormKeys {
    /// A new key out of the request's context.
    pub fn next() -> Option<String> {
        use_context::<Self>().map(|keys| (keys.0)())
    }
}

/// In the context of a server that sends notices to a webhook by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendsNotices;

/// A panel that is on its way.
pub type Viewing = Pin<Box<dyn Future<Output = PanelView> + Send>>;

/// Reads the panel now, in a time that the server bounds: while the database is
/// away, a page has to say so before its reader gives up.
#[derive(Clone)]
pub struct PanelSource(pub Arc<dyn Fn() -> Viewing + Send + Sync>);

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
        AppError::Unavailable(_) | AppError::DatabaseError => StatusCode::SERVICE_UNAVAILABLE,
        AppError::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// In the context when the database did not even answer who somebody is: a page
/// then asks it nothing and shows the last reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseAway;

/// Where traces can be looked at, if that is configured.
#[derive(Debug, Clone)]
pub struct TraceLinks(pub Option<TraceUrl>);

impl TraceLinks {
    /// Out of the request's context.
    pub fn current() -> Option<TraceUrl> {
        use_context::<Self>().and_then(|links| links.0)
    }
}

/// Whether the set-up link in the address can still be used; in the context of
/// its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetUpLink {
    /// It makes the first admin.
    Live,
    /// It was used, or a newer one replaced it, or it was never given out.
    Used,
}

/// A viewer who was checked, with the door to data.
#[derive(Clone)]
pub struct Access {
    /// The only door to data.
    pub store: Arc<dyn Store>,
    /// Who looks.
    pub viewer: Viewer,
    /// Reads the panel.
    pub panel: PanelSource,
    /// Whether the database is known to be away, so that nobody waits for it again.
    pub is_away: bool,
}

impl Access {
    /// Reads the panel now: a remembered line could claim that a pipeline runs
    /// which has just stopped. While the database is away it is the last reading
    /// that was made, marked as not fresh.
    pub async fn panel(&self) -> PanelView {
        (self.panel.0)().await
    }
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
    let panel = use_context::<PanelSource>().ok_or(AppError::Internal)?;
    let is_away = use_context::<DatabaseAway>().is_some();
    Ok(Access { store, viewer, panel, is_away })
}

/// The payload fields of `kind` that are masked. A kind that is gone masks none.
///
/// # Errors
/// As the store.
pub async fn masked_fields(store: &dyn Store, kind: &str) -> Stored<Vec<String>> {
    Ok(store.find_policy(kind).await?.map(|policy| policy.masked_fields()).unwrap_or_default())
}

impl Access {
    /// Puts the kind's masks on what is shown of `subject`, but for the fields
    /// that this very answer reveals; answers which fields are hidden.
    ///
    /// # Errors
    /// As the store.
    pub async fn mask<T>(
        &self,
        kind: &str,
        subject: &str,
        shown: &mut T,
        put_on: fn(&mut T, &[String]) -> Vec<String>,
    ) -> Stored<Vec<String>> {
        let revealed = if self.viewer.may(Role::Reviewer) { Once::revealed(subject) } else { Vec::new() };
        let mut fields = masked_fields(&*self.store, kind).await?;
        fields.retain(|field| !revealed.contains(field));
        Ok(put_on(shown, &fields))
    }
}
