//! Groups of dead letters: one trouble, however often it came; and what the
//! filters beside a list would find.

use super::FieldError;
use super::fingerprint::without_variable_parts;
use super::letter::{DeadLetter, LetterTotals, Route};
use super::text::preview;
use chrono::{DateTime, Utc};

/// Days that a trend shows, today included.
pub const TREND_DAYS: usize = 14;
/// Sources that a group names; the others are counted.
pub const SOURCES_SHOWN: u32 = 3;
/// Reasons that a page counts one by one; the others are counted together.
pub const REASONS_SHOWN: u32 = 20;
/// Characters of a heading made of an error.
const HEADING_CHARACTERS: usize = 120;

/// What the letters of one fingerprint have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct LetterGroup {
    /// The fingerprint.
    pub key: String,
    /// What was to be done.
    pub kind: String,
    /// How they got parked.
    pub route: Route,
    /// Reason code of a refusal or a failed check.
    pub reason_code: Option<String>,
    /// Failure reason of an exception.
    pub failure_reason: Option<String>,
    /// The field, if one is named.
    pub field: Option<String>,
    /// Error of the newest letter, at most 500 characters.
    pub error: Option<String>,
    /// Letters that the filter finds.
    pub letters: i64,
    /// The first of them.
    pub first_seen: DateTime<Utc>,
    /// The last of them.
    pub last_seen: DateTime<Utc>,
    /// Letters parked per UTC day, oldest first, today last; whatever their status.
    pub per_day: [i64; TREND_DAYS],
    /// The sources most of the letters came from, with how many.
    pub sources: Vec<(String, i64)>,
    /// Sources beyond those.
    pub more_sources: i64,
    /// Letters of the group whatever their status; the other filters hold.
    pub of_any_status: i64,
    /// How many of those are resolved.
    pub resolved: i64,
}

impl LetterGroup {
    /// What a person calls it: reason and field, or the fixed text of the error.
    pub fn heading(&self) -> String {
        if let Some(code) = &self.reason_code {
            return [Some(code.clone()), self.field.clone()].into_iter().flatten().collect::<Vec<_>>().join(" · ");
        }
        let fixed = self.error.as_deref().map(|error| without_variable_parts(error).replace('#', "…"));
        match fixed.filter(|text| text.chars().any(char::is_alphabetic)) {
            Some(text) => preview(&text, HEADING_CHARACTERS),
            None => self.failure_reason.clone().unwrap_or_else(|| self.route.label().to_owned()),
        }
    }
}

/// Where the next page of groups starts: after this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupCursor {
    /// When its last letter was parked.
    pub last_seen: DateTime<Utc>,
    /// Its fingerprint.
    pub key: String,
}

impl GroupCursor {
    /// Reads what its `Display` wrote.
    ///
    /// # Errors
    /// Names the parameter.
    pub fn parse(parameter: &str, text: &str) -> Result<Self, FieldError> {
        let parsed = text.split_once('.').and_then(|(micros, key)| {
            let last_seen = DateTime::from_timestamp_micros(micros.parse().ok()?)?;
            Some(Self { last_seen, key: key.to_owned() })
        });
        parsed.ok_or_else(|| FieldError::new(parameter, "must come from a link of an earlier page"))
    }
}

impl std::fmt::Display for GroupCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.last_seen.timestamp_micros(), self.key)
    }
}

/// A page of groups, last seen first.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupPage {
    /// The groups.
    pub groups: Vec<LetterGroup>,
    /// Where the next page starts.
    pub next: Option<GroupCursor>,
    /// What the filters beside the list would find; `None` for a search by
    /// text, which would have to read every letter there is to tell.
    pub counts: Option<LetterCounts>,
    /// The database's clock at this reading.
    pub as_of: DateTime<Utc>,
}

/// A page of letters with what the filters beside the list would find.
#[derive(Debug, Clone, PartialEq)]
pub struct CountedLetterPage {
    /// The letters, newest first.
    pub letters: Vec<DeadLetter>,
    /// Where the next page starts.
    pub next: Option<super::ids::DeadLetterId>,
    /// What the filters beside the list would find; `None` for a search by
    /// text, which would have to read every letter there is to tell.
    pub counts: Option<LetterCounts>,
    /// The database's clock at this reading.
    pub as_of: DateTime<Utc>,
}

/// How many letters there are beside those of a list: each part counts what
/// the filter finds with that one parameter changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LetterCounts {
    /// By status.
    pub totals: LetterTotals,
    /// By age bucket, youngest first.
    pub by_age: [i64; 4],
    /// By reason, most first, at most [`REASONS_SHOWN`].
    pub by_reason: Vec<(String, i64)>,
    /// Reasons beyond those.
    pub more_reasons: i64,
    /// Letters of the list that nobody resolved yet and that nothing but a failure
    /// parked: neither the agent nor a check said a word about them.
    pub failures: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(error: Option<&str>, reason_code: Option<&str>) -> LetterGroup {
        LetterGroup {
            key: "00ff".to_owned(),
            kind: "k".to_owned(),
            route: Route::Exception,
            reason_code: reason_code.map(str::to_owned),
            failure_reason: Some("rate_limit".to_owned()),
            field: Some("currency".to_owned()),
            error: error.map(str::to_owned),
            letters: 1,
            first_seen: DateTime::UNIX_EPOCH,
            last_seen: DateTime::UNIX_EPOCH,
            per_day: [0; TREND_DAYS],
            sources: Vec::new(),
            more_sources: 0,
            of_any_status: 1,
            resolved: 0,
        }
    }

    #[test]
    fn a_heading_can_be_read() {
        for (error, code, heading) in [
            (None, Some("MISSING_REQUIRED_FIELD"), "MISSING_REQUIRED_FIELD · currency"),
            (Some("429 rate limit exceeded, retry after 240 s"), None, "… rate limit exceeded, retry after … s"),
            (Some("503"), None, "rate_limit"),
            (None, None, "rate_limit"),
        ] {
            assert_eq!(group(error, code).heading(), heading);
        }
        let long = group(Some(&"é".repeat(500)), None).heading();
        assert_eq!(long.chars().count(), HEADING_CHARACTERS + 1);
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let cursor = GroupCursor {
            last_seen: DateTime::from_timestamp_micros(1_764_511_651_000_001).unwrap(),
            key: "00ff.1".to_owned(),
        };
        assert_eq!(GroupCursor::parse("after", &cursor.to_string()), Ok(cursor));
        for text in ["", "x.00ff", "12", "99999999999999999999.a"] {
            assert_eq!(GroupCursor::parse("after", text).unwrap_err().field, "after", "{text}");
        }
    }
}
