//! A dead letter as an export carries it: all of it, one record per letter.

use super::job::RawJson;
use super::letter::{DeadLetter, LetterStatus};
use super::people::Role;
use chrono::{DateTime, Utc};
use serde::Serialize;

/// What a masked part says instead, on pages and in exports.
pub const MASKED: &str = "Hidden: payloads are shown to reviewers and admins.";

/// One record. Ids are text, numbers are numbers, JSON is as it was stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExportedLetter {
    /// The letter, its texts whole.
    #[serde(flatten)]
    pub letter: DeadLetter,
    /// Where the input lies.
    pub payload_ref: Option<String>,
    /// The parked job's input.
    pub payload: Option<RawJson>,
    /// What earlier agents did to the input.
    pub upstream_handoffs: Option<RawJson>,
    /// The decision context.
    pub envelope: Option<RawJson>,
}

/// Some letters of an export, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportBatch {
    /// The letters; none when there are no more.
    pub letters: Vec<ExportedLetter>,
    /// The database's clock at this reading.
    pub as_of: DateTime<Utc>,
}

impl ExportedLetter {
    /// The same with what that role may not see hidden, as on its pages:
    /// evidence is a piece of the payload, and as private.
    #[must_use]
    pub fn as_seen_by(mut self, role: Role) -> Self {
        if role == Role::OnCall {
            self.letter.evidence = self.letter.evidence.map(|_| MASKED.to_owned());
            for json in [&mut self.payload, &mut self.envelope] {
                *json = json.take().map(|_| RawJson::stored(format!("\"{MASKED}\"")));
            }
        }
        self
    }

    /// The names of [`Self::cells`].
    pub const COLUMNS: [&str; 26] = [
        "id",
        "job_id",
        "kind",
        "source",
        "tenant",
        "route",
        "reason_code",
        "failure_reason",
        "field",
        "evidence",
        "error",
        "category",
        "http_status",
        "error_code",
        "status",
        "resolution",
        "resolved_by",
        "resolved_at",
        "note",
        "dead_lettered_at",
        "group",
        "version",
        "payload_ref",
        "payload",
        "upstream_handoffs",
        "envelope",
    ];

    /// The record as a row of a table.
    pub fn cells(&self) -> [Cell; 26] {
        let letter = &self.letter;
        let resolution = letter.resolution.as_ref().filter(|_| letter.status == LetterStatus::Resolved);
        let json = |json: &Option<RawJson>| Cell::text(json.as_ref().map(RawJson::as_str));
        [
            Cell::text(Some(&letter.id.to_string())),
            Cell::text(Some(&letter.job_id.to_string())),
            Cell::text(Some(&letter.kind)),
            Cell::text(Some(&letter.source)),
            Cell::text(letter.tenant.as_deref()),
            Cell::text(Some(letter.route.as_str())),
            Cell::text(letter.reason_code.as_deref()),
            Cell::text(letter.failure_reason.as_deref()),
            Cell::text(letter.field.as_deref()),
            Cell::text(letter.evidence.as_deref()),
            Cell::text(letter.error.as_deref()),
            Cell::text(letter.category.map(|category| category.as_str())),
            letter.http_status.map_or(Cell::Text(String::new()), |status| Cell::Number(status.into())),
            Cell::text(letter.error_code.as_deref()),
            Cell::text(Some(letter.status.as_str())),
            Cell::text(resolution.map(|done| done.action.as_str())),
            Cell::text(resolution.map(|done| done.by.as_str())),
            Cell::text(resolution.map(|done| super::age::rfc3339(done.at)).as_deref()),
            Cell::text(resolution.and_then(|done| done.note.as_deref())),
            Cell::text(Some(&super::age::rfc3339(letter.dead_lettered_at))),
            Cell::text(Some(&letter.group)),
            Cell::Number(letter.version),
            Cell::text(self.payload_ref.as_deref()),
            json(&self.payload),
            json(&self.upstream_handoffs),
            json(&self.envelope),
        ]
    }
}

/// One cell of a table that a spreadsheet may open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Text from outside.
    Text(String),
    /// A number of ours.
    Number(i64),
}

/// What makes a spreadsheet take a text for a formula, in the wide forms that some
/// take for the same, too.
const FORMULA_STARTS: [char; 12] = ['=', '+', '-', '@', '\t', '\r', '\n', '|', '＝', '＋', '－', '＠'];

impl Cell {
    fn text(text: Option<&str>) -> Self {
        Self::Text(text.unwrap_or_default().to_owned())
    }

    /// The cell as it is written: text that a spreadsheet would take for a
    /// formula gets a leading `'`; numbers stay numbers.
    pub fn written(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) if text.starts_with(FORMULA_STARTS) => format!("'{text}"),
            Self::Text(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_a_formula_and_numbers_stay_numbers() {
        for text in [
            "=HYPERLINK(\"http://x\",\"y\")",
            "+1",
            "-1",
            "@SUM(1)",
            "\t+=1",
            "\r+=1",
            "|calc",
            "＝1",
            "＋1",
            "－1",
            "＠x",
        ] {
            assert_eq!(Cell::Text(text.to_owned()).written(), format!("'{text}"));
        }
        for text in ["a=1", " =1", "7", ""] {
            assert_eq!(Cell::Text(text.to_owned()).written(), text);
        }
        assert_eq!(Cell::Number(-1).written(), "-1");
    }
}
