//! The outbox: where each customer notice stands, and what a list of them shows.

use super::FieldError;
use super::customer_notice::CustomerNotice;
use super::ids::{DeadLetterId, NoticeId};
use chrono::{DateTime, Utc};
use serde::Serialize;
use std::fmt;

/// A notice in the outbox.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutboxNotice {
    /// Its id.
    pub id: NoticeId,
    /// About which letter. The letter may have been purged: a notice outlives it.
    pub dead_letter_id: DeadLetterId,
    /// What is sent to whom.
    #[serde(flatten)]
    pub notice: CustomerNotice,
    /// Who closed the letter with it.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// When it was sent, if it was.
    pub sent_at: Option<DateTime<Utc>>,
    /// Who marked it as sent by hand; absent when the webhook took it.
    pub sent_by: Option<String>,
    /// What they noted.
    pub sent_note: Option<String>,
    /// Deliveries that were tried since it was made or let try again.
    pub tries: u32,
    /// When it is tried next; absent when it is not.
    pub next_try_at: Option<DateTime<Utc>>,
    /// When its delivery was given up.
    pub failed_at: Option<DateTime<Utc>>,
    /// Why the last try failed.
    pub last_error: Option<String>,
}

/// Where a notice stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeState {
    /// Nobody has tried to send it.
    Waiting,
    /// A try failed or is under way; there will be others.
    Retrying,
    /// It did not arrive and is not tried any more.
    Failed,
    /// It is sent.
    Sent,
}

impl NoticeState {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "not sent yet",
            Self::Retrying => "tried again",
            Self::Failed => "failed",
            Self::Sent => "sent",
        }
    }
}

impl OutboxNotice {
    /// Where it stands.
    pub fn state(&self) -> NoticeState {
        match (self.sent_at, self.failed_at) {
            (Some(_), _) => NoticeState::Sent,
            (None, Some(_)) => NoticeState::Failed,
            (None, None) if self.tries > 0 => NoticeState::Retrying,
            (None, None) => NoticeState::Waiting,
        }
    }

    /// Whether somebody may let it be tried at once: it failed, or its next try
    /// lies ahead.
    pub fn can_be_hurried(&self, now: DateTime<Utc>) -> bool {
        self.sent_at.is_none() && (self.failed_at.is_some() || self.next_try_at.is_some_and(|at| at > now))
    }
}

/// Which notices a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeShare {
    /// Neither sent nor failed.
    Waiting,
    /// Not sent, and not tried any more.
    Failed,
    /// Sent.
    Sent,
}

impl NoticeShare {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Waiting, Self::Failed, Self::Sent];

    /// The word in addresses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Failed => "failed",
            Self::Sent => "sent",
        }
    }

    /// The share of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|share| share.as_str() == word)
    }
}

/// The last notice of a page: what is not sent comes first, then by id, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoticeCursor {
    /// Whether it stands among those that are sent.
    pub is_sent: bool,
    /// Its id.
    pub id: NoticeId,
}

impl fmt::Display for NoticeCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", if self.is_sent { "sent" } else { "unsent" }, self.id)
    }
}

impl NoticeCursor {
    /// Reads one out of an address.
    ///
    /// # Errors
    /// Names the parameter.
    pub fn parse(name: &str, text: &str) -> Result<Self, FieldError> {
        let cursor = text.split_once('-').and_then(|(part, id)| {
            let is_sent = match part {
                "sent" => true,
                "unsent" => false,
                _ => return None,
            };
            Some(Self { is_sent, id: id.parse().ok()? })
        });
        cursor.ok_or_else(|| FieldError::new(name, "must be as a link of the list has it"))
    }
}

/// What a list of notices asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoticeFilter {
    /// Only these.
    pub share: Option<NoticeShare>,
    /// Those after this one.
    pub after: Option<NoticeCursor>,
    /// At most so many, 1 to 200.
    pub limit: u32,
}

/// A page of the outbox.
#[derive(Debug, Clone, PartialEq)]
pub struct NoticePage {
    /// The notices.
    pub notices: Vec<OutboxNotice>,
    /// Where the next page starts.
    pub next: Option<NoticeCursor>,
    /// How many wait, whatever the filter.
    pub waiting: i64,
    /// How many failed, whatever the filter.
    pub failed: i64,
    /// The database's clock at this reading.
    pub as_of: DateTime<Utc>,
}

/// A notice that is to be delivered now, by nobody else until its hold ends.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldNotice {
    /// The notice, this try counted in.
    pub notice: OutboxNotice,
    /// The same at every try.
    pub idempotency_key: String,
    /// Grows with every hold: an answer that comes after another hold began changes nothing.
    pub token: i64,
    /// When it was first tried.
    pub first_try_at: DateTime<Utc>,
    /// The database's clock when the hold began.
    pub held_at: DateTime<Utc>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_its_address_and_nothing_else_is_one() {
        for is_sent in [true, false] {
            let cursor = NoticeCursor { is_sent, id: NoticeId(12) };
            assert_eq!(NoticeCursor::parse("after", &cursor.to_string()), Ok(cursor));
        }
        for text in ["", "12", "sent-", "sent-0", "failed-1", "sent-1-2", "unsent-x"] {
            assert_eq!(NoticeCursor::parse("after", text).unwrap_err().field, "after", "{text}");
        }
    }
}
