//! Which dead letters are the same trouble: kind, route, reason, field and the
//! error with its variable parts removed.

use super::letter::Route;

/// Grows whenever the rule below changes; stored with every fingerprint.
pub const FINGERPRINT_VERSION: u32 = 1;

/// The text that identifies a group; the store hashes it.
pub fn fingerprint_text(
    kind: &str,
    route: Route,
    reason: Option<&str>,
    field: Option<&str>,
    error: Option<&str>,
) -> String {
    let error = match route {
        Route::Exception => error.map(without_variable_parts).unwrap_or_default(),
        Route::RefusedByAgent | Route::FailedEvidenceCheck => String::new(),
    };
    [kind, route.as_str(), reason.unwrap_or_default(), field.unwrap_or_default(), &error].join("\u{1f}")
}

/// The first 500 characters with every number, hexadecimal id and quoted part
/// replaced, so that two reports of one trouble read alike.
pub fn without_variable_parts(error: &str) -> String {
    let mut normal = String::new();
    let mut word = String::new();
    for c in error.chars().take(500).chain(std::iter::once(' ')) {
        if c.is_alphanumeric() || c == '-' || c == '_' {
            word.push(c);
            continue;
        }
        normal.push_str(if is_variable(&word) { "#" } else { &word });
        word.clear();
        normal.push(c);
    }
    normal.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_variable(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ids_do_not_split_a_group() {
        let one = without_variable_parts("429 rate limit, request req-8f3a1 after 240 s");
        let two = without_variable_parts("429 rate limit,  request req-99b2c after 3 s");
        assert_eq!(one, two);
        assert_eq!(one, "# rate limit, request # after # s");
    }

    #[test]
    fn different_words_are_different_groups() {
        let text = |error| fingerprint_text("k", Route::Exception, Some("rate_limit"), None, Some(error));
        assert_ne!(text("connection refused"), text("certificate expired"));
    }

    #[test]
    fn refusals_group_by_code_and_field_alone() {
        let text =
            |error| fingerprint_text("k", Route::RefusedByAgent, Some("AMBIGUOUS_VALUE"), Some("date"), Some(error));
        assert_eq!(text("a"), text("b"));
    }
}
