//! Follow-ups: what has to change, left to somebody by a date.

use super::FieldError;
use super::ids::{DeadLetterId, FollowUpId};
use super::people::{Role, Viewer};
use chrono::{DateTime, NaiveDate, Utc};
use serde::Serialize;
use std::fmt;

/// Something that has to change, left to somebody by a date.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FollowUp {
    /// Its id.
    pub id: FollowUpId,
    /// Which letter it comes from. The letter may have been purged.
    pub dead_letter_id: DeadLetterId,
    /// That letter's kind.
    pub kind: String,
    /// What has to change.
    pub text: String,
    /// Who sees to it.
    pub owner: String,
    /// Until the end of this UTC day.
    pub due: NaiveDate,
    /// Who left it.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// When it was done, if it was.
    pub done_at: Option<DateTime<Utc>>,
    /// Who said so.
    pub done_by: Option<String>,
    /// What they noted.
    pub done_note: Option<String>,
}

impl FollowUp {
    /// Whether this person may say that it is done: its owner, and whoever acts on letters.
    pub fn may_be_done_by(&self, viewer: &Viewer) -> bool {
        viewer.may(Role::Reviewer) || self.owner == viewer.name
    }

    /// Whether it wants somebody on that day.
    pub fn is_due(&self, today: NaiveDate) -> bool {
        self.done_at.is_none() && self.due <= today
    }
}

/// Which follow-ups a list shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FollowUpShare {
    /// Not done.
    #[default]
    Open,
    /// Not done, and the viewer's own.
    Mine,
    /// Done.
    Done,
    /// All: open ones first.
    All,
}

impl FollowUpShare {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Open, Self::Mine, Self::Done, Self::All];

    /// The word in addresses and on tabs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Mine => "mine",
            Self::Done => "done",
            Self::All => "all",
        }
    }

    /// The share of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|share| share.as_str() == word)
    }
}

/// The last follow-up of a page: open ones by their day, then done ones, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowUpCursor {
    /// It is open.
    Open {
        /// Its day.
        due: NaiveDate,
        /// Its id.
        id: FollowUpId,
    },
    /// It is done.
    Done {
        /// Its id.
        id: FollowUpId,
    },
}

impl fmt::Display for FollowUpCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { due, id } => write!(f, "open.{due}.{id}"),
            Self::Done { id } => write!(f, "done.{id}"),
        }
    }
}

impl FollowUpCursor {
    /// Reads one out of an address.
    ///
    /// # Errors
    /// Names the parameter.
    pub fn parse(name: &str, text: &str) -> Result<Self, FieldError> {
        let parts: Vec<&str> = text.split('.').collect();
        let cursor = match parts.as_slice() {
            ["open", due, id] => due.parse().ok().zip(id.parse().ok()).map(|(due, id)| Self::Open { due, id }),
            ["done", id] => id.parse().ok().map(|id| Self::Done { id }),
            _ => None,
        };
        cursor.ok_or_else(|| FieldError::new(name, "must be as a link of the list has it"))
    }
}

/// What a list of follow-ups asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowUpFilter {
    /// Which.
    pub share: FollowUpShare,
    /// Who looks: whose [`FollowUpShare::Mine`] is about.
    pub viewer: String,
    /// Those after this one.
    pub after: Option<FollowUpCursor>,
    /// At most so many, 1 to 200.
    pub limit: u32,
}

/// A page of follow-ups.
#[derive(Debug, Clone, PartialEq)]
pub struct FollowUpPage {
    /// The follow-ups.
    pub follow_ups: Vec<FollowUp>,
    /// Where the next page starts.
    pub next: Option<FollowUpCursor>,
    /// The database's clock at this reading.
    pub as_of: DateTime<Utc>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_its_address_and_nothing_else_is_one() {
        let due = "2026-12-01".parse().unwrap();
        for cursor in [FollowUpCursor::Open { due, id: FollowUpId(5) }, FollowUpCursor::Done { id: FollowUpId(7) }] {
            assert_eq!(FollowUpCursor::parse("after", &cursor.to_string()), Ok(cursor));
        }
        for text in ["", "open", "open.2026-12-01", "open.soon.5", "open.2026-12-01.0", "done.x", "done.1.2", "5"] {
            assert_eq!(FollowUpCursor::parse("after", text).unwrap_err().field, "after", "{text}");
        }
    }
}
