//! What a reported failure is: transient, permanent or unknown, and its reason.
//!
//! Total: every report has a category. In order: the category the worker
//! reported, the HTTP status, the error code; what none of them decides is
//! unknown, which is retried and then parked.

use serde::{Deserialize, Serialize};

/// Whether trying again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// It may go away by itself: retried.
    Transient,
    /// It cannot go away by itself: parked at once.
    Permanent,
    /// Nobody knows: retried within the attempts, then parked.
    Unknown,
}

impl Category {
    /// The word used in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::Unknown => "unknown",
        }
    }

    /// Reads the stored word.
    pub fn from_stored(text: &str) -> Self {
        match text {
            "transient" => Self::Transient,
            "permanent" => Self::Permanent,
            _ => Self::Unknown,
        }
    }
}

/// The failure reason of a job whose lease ran out.
pub const WORKER_LOST: &str = "worker_lost";

/// A category with the reason that goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classified {
    /// Whether trying again can help.
    pub category: Category,
    /// Failure reason, such as `rate_limit`.
    pub reason: String,
}

/// Classifies what a worker reported.
pub fn classify(category: Option<Category>, http_status: Option<u16>, error_code: Option<&str>) -> Classified {
    let by_status = http_status.and_then(status_rule);
    let by_code = error_code.and_then(code_rule);
    let ruled = by_status.or(by_code);
    let reason = error_code
        .filter(|_| by_status.is_none())
        .or(ruled.map(|(_, reason)| reason))
        .or(error_code)
        .unwrap_or("unexpected_error")
        .to_owned();
    Classified { category: category.or(ruled.map(|(c, _)| c)).unwrap_or(Category::Unknown), reason }
}

fn status_rule(status: u16) -> Option<(Category, &'static str)> {
    use Category::{Permanent, Transient};
    Some(match status {
        429 => (Transient, "rate_limit"),
        408 | 504 => (Transient, "network_timeout"),
        500 | 502 | 503 => (Transient, "service_unavailable"),
        400 | 409 | 413 | 422 => (Permanent, "validation_failed"),
        401 | 403 => (Permanent, "authorization_denied"),
        404 | 410 => (Permanent, "data_not_found"),
        _ => return None,
    })
}

fn code_rule(code: &str) -> Option<(Category, &'static str)> {
    use Category::{Permanent, Transient};
    let code = code.to_ascii_lowercase();
    let any = |words: &[&str]| words.iter().any(|word| code.contains(word));
    Some(match () {
        () if any(&["rate_limit", "ratelimit", "too_many_requests", "throttl"]) => (Transient, "rate_limit"),
        () if any(&["timeout", "timed_out"]) => (Transient, "network_timeout"),
        () if any(&["unavailable", "overload"]) => (Transient, "service_unavailable"),
        () if any(&["not_found", "notfound"]) => (Permanent, "data_not_found"),
        () if any(&["policy"]) => (Permanent, "policy_violation"),
        () if any(&["unauthorized", "authorization", "forbidden", "permission", "authentication"]) => {
            (Permanent, "authorization_denied")
        }
        () if any(&["validation", "invalid", "schema"]) => (Permanent, "validation_failed"),
        () => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(429, Category::Transient, "rate_limit")]
    #[case(408, Category::Transient, "network_timeout")]
    #[case(500, Category::Transient, "service_unavailable")]
    #[case(502, Category::Transient, "service_unavailable")]
    #[case(503, Category::Transient, "service_unavailable")]
    #[case(504, Category::Transient, "network_timeout")]
    #[case(400, Category::Permanent, "validation_failed")]
    #[case(401, Category::Permanent, "authorization_denied")]
    #[case(403, Category::Permanent, "authorization_denied")]
    #[case(404, Category::Permanent, "data_not_found")]
    #[case(409, Category::Permanent, "validation_failed")]
    #[case(410, Category::Permanent, "data_not_found")]
    #[case(413, Category::Permanent, "validation_failed")]
    #[case(422, Category::Permanent, "validation_failed")]
    #[case(418, Category::Unknown, "unexpected_error")]
    fn by_status(#[case] status: u16, #[case] category: Category, #[case] reason: &str) {
        assert_eq!(classify(None, Some(status), None), Classified { category, reason: reason.into() });
    }

    #[rstest]
    #[case("network_timeout", Category::Transient)]
    #[case("model_overloaded", Category::Transient)]
    #[case("rate_limit_exceeded", Category::Transient)]
    #[case("policy_violation", Category::Permanent)]
    #[case("validation_failed", Category::Permanent)]
    #[case("authorization_denied", Category::Permanent)]
    #[case("data_not_found", Category::Permanent)]
    #[case("E1234", Category::Unknown)]
    fn by_code(#[case] code: &str, #[case] category: Category) {
        assert_eq!(classify(None, None, Some(code)), Classified { category, reason: code.into() });
    }

    #[test]
    fn the_reported_category_comes_first() {
        let classified = classify(Some(Category::Permanent), Some(503), None);
        assert_eq!(classified, Classified { category: Category::Permanent, reason: "service_unavailable".into() });
    }
}
