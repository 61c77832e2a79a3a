//! What a call answers when it does nothing.
//!
//! One shape everywhere: `{error: {code, message, field?}}`. The message is a
//! sentence for a person and never holds an internal cause: that travels as a
//! response extension to the layer that logs it once, under the request's id.

use app::error::StoreError;
use app::model::FieldError;
use app::model::people::Scope;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

/// What a caller may wait before it asks again while the database is away.
pub const RETRY_AFTER_SECONDS: u32 = 2;

/// Answer of a handler.
pub type Answer<T> = Result<Json<T>, ApiError>;

/// Why a call did nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum ApiError {
    /// 400: the body is no JSON object, or cannot be read at all.
    Malformed(String),
    /// 401: no token, or none that is known.
    Unauthenticated,
    /// 403: the token lacks this scope.
    Forbidden(Scope),
    /// 403: what is asked for needs a higher role than the token stands for.
    NotAllowed(String),
    /// 404: there is no such thing.
    NotFound(&'static str),
    /// 405: the address exists, the method does not.
    MethodNotAllowed,
    /// 409 `lease_lost`: the lease is not, or no longer, the caller's.
    LeaseLost,
    /// 409 `conflict`: somebody else was first.
    Conflict(String),
    /// 413: the body is longer than this call takes.
    TooLarge {
        /// Most bytes this call takes.
        limit_bytes: usize,
    },
    /// 422: a field breaks a rule.
    Invalid(FieldError),
    /// 503: the database is away. The cause is for the log only.
    Unavailable(String),
    /// 503: the database answers with an error. The cause is for the log only.
    DatabaseError(String),
    /// 500: a fault of ours. The cause is for the log only.
    Internal(String),
}

/// The body of every answer that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorAnswer {
    /// What went wrong.
    pub error: ErrorBody,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// A word for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// The field that breaks a rule, as the sender wrote it: `jobs[3].kind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// The internal cause of an answer, for the log.
#[derive(Debug, Clone)]
pub struct Cause(pub String);

impl ApiError {
    /// A field that breaks a rule.
    pub fn invalid(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self::Invalid(FieldError::new(field, rule))
    }

    /// A question that takes no input of the caller failed: whatever its cause,
    /// the database cannot be read now, and asking again later may help.
    pub fn of_reading(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(cause) => Self::Unavailable(cause),
            StoreError::DatabaseError(cause) | StoreError::Internal(cause) => Self::DatabaseError(cause),
            error => Self::DatabaseError(error.to_string()),
        }
    }

    /// Its HTTP status.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) | Self::NotAllowed(_) => StatusCode::FORBIDDEN,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::LeaseLost | Self::Conflict(_) => StatusCode::CONFLICT,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Unavailable(_) | Self::DatabaseError(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden(_) | Self::NotAllowed(_) => "forbidden",
            Self::NotFound(_) => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::LeaseLost => "lease_lost",
            Self::Conflict(_) => "conflict",
            Self::TooLarge { .. } => "too_large",
            Self::Invalid(_) => "invalid",
            Self::Unavailable(_) | Self::DatabaseError(_) => "unavailable",
            Self::Internal(_) => "internal",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Malformed(why) | Self::Conflict(why) | Self::NotAllowed(why) => why.clone(),
            Self::Unauthenticated => "Send a known token as `Authorization: Bearer drb_…`.".to_owned(),
            Self::Forbidden(scope) => format!("This token lacks the scope `{}`.", scope.as_str()),
            Self::NotFound(what) => format!("There is no such {what}."),
            Self::MethodNotAllowed => {
                "This address does not take that method; the Allow header lists those it takes.".to_owned()
            }
            Self::LeaseLost => StoreError::LeaseLost.to_string(),
            Self::TooLarge { limit_bytes } => {
                format!("The body is longer than the {limit_bytes} bytes this call takes; nothing was stored.")
            }
            Self::Invalid(error) => error.to_string(),
            Self::Unavailable(_) => "The database cannot be reached; nothing was changed. Try again.".to_owned(),
            Self::DatabaseError(_) => "The database answers with an error; nothing was changed. Try again.".to_owned(),
            Self::Internal(_) => {
                "Something went wrong on the server; its log has the cause under this answer's x-request-id.".to_owned()
            }
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Invalid(field) => Self::Invalid(field),
            StoreError::NotFound(what) => Self::NotFound(what),
            StoreError::LeaseLost => Self::LeaseLost,
            StoreError::Conflict(why) => Self::Conflict(why),
            StoreError::Forbidden(why) => Self::NotAllowed(why),
            StoreError::Unavailable(cause) => Self::Unavailable(cause),
            StoreError::DatabaseError(cause) => Self::DatabaseError(cause),
            StoreError::Internal(cause) => Self::Internal(cause),
        }
    }
}

impl From<FieldError> for ApiError {
    fn from(error: FieldError) -> Self {
        Self::Invalid(error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let error = ErrorBody {
            code: self.code().to_owned(),
            message: self.message(),
            field: match &self {
                Self::Invalid(error) => Some(error.field.clone()),
                _ => None,
            },
        };
        let mut response = (self.status(), Json(ErrorAnswer { error })).into_response();
        let headers = response.headers_mut();
        match self {
            Self::Unauthenticated => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::Unavailable(cause) | Self::DatabaseError(cause) => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
                response.extensions_mut().insert(Cause(cause));
            }
            Self::Internal(cause) => {
                response.extensions_mut().insert(Cause(cause));
            }
            _ => {}
        }
        response
    }
}
