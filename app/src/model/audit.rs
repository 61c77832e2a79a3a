//! What people did: entries, filters, and what a check of the chain finds.

use super::people::Role;
use chrono::{DateTime, Utc};
use serde::Serialize;

/// How an act ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was done.
    Done,
    /// The role did not allow it.
    Refused,
    /// It came to nothing, such as a wrong password.
    Failed,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 3] = [Self::Done, Self::Refused, Self::Failed];

    /// The word used in JSON, URLs and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }

    /// The outcome of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == word)
    }
}

/// One audited act.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditEntry {
    /// Its number, without gaps.
    pub seq: i64,
    /// When, by the database's clock.
    pub at: DateTime<Utc>,
    /// Who: a person's name, `token NAME`, or `command line`.
    pub actor: String,
    /// The role they had, if a signed-in person acted.
    pub role: Option<String>,
    /// What, such as `approve_and_replay` or `user_add`.
    pub action: String,
    /// On what, such as `dead_letter 12`.
    pub subject: String,
    /// Further facts, as JSON.
    pub details: Option<String>,
    /// How it ended, as a word of [`Outcome`].
    pub outcome: String,
    /// From where.
    pub address: Option<String>,
    /// With what.
    pub user_agent: Option<String>,
}

/// Which entries a list shows. Everything is a conjunction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only by this one.
    pub actor: Option<String>,
    /// Only this act.
    pub action: Option<String>,
    /// Only on this.
    pub subject: Option<String>,
    /// Only with this outcome.
    pub outcome: Option<Outcome>,
    /// Not before then.
    pub from: Option<DateTime<Utc>>,
    /// Before then.
    pub to: Option<DateTime<Utc>>,
    /// Only numbers below this one: the page after it.
    pub before: Option<i64>,
    /// At most so many, 1 to 1,000.
    pub limit: u32,
}

/// What happened without any other change: kept in the audit by itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Noted {
    /// Name and password did not fit together.
    SignInFailed {
        /// The name that was typed.
        user: String,
    },
    /// The current password did not fit.
    PasswordChangeFailed {
        /// Whose.
        user: String,
    },
    /// A signed-in person was refused for their role.
    Refused {
        /// The request's method.
        method: String,
        /// The request's path, without its query.
        path: String,
    },
    /// Masked fields were shown.
    Revealed {
        /// Of what, such as `dead_letter 12`.
        subject: String,
        /// Which, as dotted paths.
        fields: Vec<String>,
    },
    /// Dead letters were taken away as a file.
    Exported {
        /// `csv` or `json`.
        format: &'static str,
        /// Which letters, as the query of an address.
        filter: String,
    },
}

/// What a check of the whole chain found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditCheck {
    /// Entries that were read and fit, from the first one on.
    pub entries: i64,
    /// The hash of the last entry that fits; empty without any. Whoever noted an
    /// earlier one elsewhere can tell whether the chain was made anew.
    pub last_hash: String,
    /// The first thing that does not fit.
    pub broken: Option<AuditBreak>,
}

/// Where the chain is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditBreak {
    /// The number of the entry.
    pub seq: i64,
    /// What is wrong there, in a sentence without the number.
    pub what: String,
}

/// Words for an act, for people: the verb of a sentence that ends in the subject.
pub fn act_words(action: &str, outcome: &str) -> String {
    match action {
        "sign_in" if outcome != Outcome::Done.as_str() => "tried to sign in as",
        "password_change" if outcome != Outcome::Done.as_str() => "tried to change the password of",
        "approve_and_replay" => "approved and replayed",
        "reject_and_close" => "rejected and closed",
        "bulk_start" => "started",
        "bulk_stop" => "stopped",
        "bulk_go_on" => "let go on",
        "notice_sent" => "marked as sent by hand:",
        "notice_hurry" => "let try again at once:",
        "follow_up_done" => "finished",
        "pause" => "paused",
        "resume" => "resumed",
        "policy_change" => "changed the policy of",
        "user_add" => "added",
        "user_change" => "changed",
        "user_invite" => "added, with a set-up link,",
        "set_up_link" => "made a set-up link for",
        "set_up" => "set up the first admin,",
        "password_set" => "chose a password by set-up link:",
        "password_change" => "changed the password of",
        "sign_in" => "signed in as",
        "sign_out" => "signed out",
        "session_revoke" => "ended sessions of",
        "token_add" => "made",
        "token_revoke" => "revoked",
        "reveal" => "revealed masked fields of",
        "export" => "exported",
        "request" => "asked for",
        other => return other.replace('_', " "),
    }
    .to_owned()
}

/// Who may read the audit: it holds addresses of people.
pub const READERS: Role = Role::Admin;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_done_is_not_told_as_done() {
        assert_eq!(act_words("sign_in", "done"), "signed in as");
        assert_eq!(act_words("sign_in", "failed"), "tried to sign in as");
        assert_eq!(act_words("close_and_notify", "done"), "close and notify", "an act of a newer binary still reads");
    }
}
