//! What can go wrong, as a person or a program can act on it.
//!
//! A store answers with [`StoreError`]; the server logs the cause once, where
//! it turns the error into an answer.

use crate::model::FieldError;
use chrono::{DateTime, Utc};

/// What a store answers when it did nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// A value breaks a rule that only the database's contents can tell.
    #[error(transparent)]
    Invalid(#[from] FieldError),
    /// There is no such thing.
    #[error("{0} does not exist")]
    NotFound(&'static str),
    /// The lease token is not the job's, or the lease has expired, or the job
    /// is not in progress. The late answer has been counted.
    #[error("the lease on this job is lost: it expired, or the job was claimed again or has ended")]
    LeaseLost,
    /// Somebody else was first; says what happened meanwhile.
    #[error("{0}")]
    Conflict(String),
    /// The role is too low for what only the database's contents can tell.
    #[error("{0}")]
    Forbidden(String),
    /// The database cannot be reached or is too busy; try again.
    #[error("the database is unreachable")]
    Unavailable(String),
    /// The database answers, but with an error that no call can help: a table is
    /// missing, a right was taken away, a page is damaged. It may be mended.
    #[error("the database answers with an error")]
    DatabaseError(String),
    /// A fault of ours. The text is for the log only.
    #[error("internal error")]
    Internal(String),
}

/// What a page shows instead of its contents.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AppError {
    /// Nobody is signed in.
    #[error("Sign in to see this page.")]
    SignInNeeded,
    /// The role does not allow it.
    #[error("Your role does not allow this.")]
    Forbidden,
    /// There is no such thing.
    #[error("There is no such {0}.")]
    NotFound(&'static str),
    /// The address holds a value that breaks a rule.
    #[error("{0}")]
    Invalid(FieldError),
    /// Somebody else was first.
    #[error("{0}")]
    Conflict(String),
    /// The database is away since then, if that is known.
    #[error("The database cannot be reached; nothing was changed. This page comes back by itself.")]
    Unavailable(Option<DateTime<Utc>>),
    /// The database answers with an error.
    #[error(
        "The database answers with an error; nothing was changed, and the server's log has the cause. \
         This page comes back by itself."
    )]
    DatabaseError,
    /// A fault of ours, logged under the request's id.
    #[error("Something went wrong on the server; the log has the details.")]
    Internal,
}

impl From<StoreError> for AppError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Invalid(field) => Self::Invalid(field),
            StoreError::NotFound(what) => Self::NotFound(what),
            StoreError::LeaseLost => Self::Conflict(StoreError::LeaseLost.to_string()),
            StoreError::Conflict(text) => Self::Conflict(text),
            StoreError::Forbidden(_) => Self::Forbidden,
            StoreError::Unavailable(_) => Self::Unavailable(None),
            StoreError::DatabaseError(_) => Self::DatabaseError,
            StoreError::Internal(_) => Self::Internal,
        }
    }
}
