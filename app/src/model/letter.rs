//! Dead letters and what a person may do to them.

use super::classify::Category;
use super::ids::{DeadLetterId, JobId};
use super::job::{Attempt, RawJson, ReplayMode};
use super::people::Role;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// How a job got parked. The three never share a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// The agent said no.
    RefusedByAgent,
    /// The agent said yes, its evidence did not hold.
    FailedEvidenceCheck,
    /// The work could not be done.
    Exception,
}

impl Route {
    /// All routes.
    pub const ALL: [Self; 3] = [Self::RefusedByAgent, Self::FailedEvidenceCheck, Self::Exception];

    /// The word used in JSON, URLs and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RefusedByAgent => "refused_by_agent",
            Self::FailedEvidenceCheck => "failed_evidence_check",
            Self::Exception => "exception",
        }
    }

    /// The words a person reads.
    pub fn label(self) -> &'static str {
        match self {
            Self::RefusedByAgent => "refused by agent",
            Self::FailedEvidenceCheck => "failed evidence check",
            Self::Exception => "exception",
        }
    }

    /// The route of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|route| route.as_str() == word)
    }
}

/// Where a letter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterStatus {
    /// Nobody acted yet.
    Open,
    /// A reviewer has it.
    Taken,
    /// Somebody acted.
    Resolved,
}

impl LetterStatus {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::Open, Self::Taken, Self::Resolved];

    /// The word used in JSON, URLs and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Taken => "taken",
            Self::Resolved => "resolved",
        }
    }

    /// The status of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// What a person does to a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryAction {
    /// The input is fine: run it again.
    ApproveAndReplay,
    /// The input is bad: close the letter.
    RejectAndClose,
}

impl RecoveryAction {
    /// All actions.
    pub const ALL: [Self; 2] = [Self::ApproveAndReplay, Self::RejectAndClose];

    /// The word used in JSON, forms and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ApproveAndReplay => "approve_and_replay",
            Self::RejectAndClose => "reject_and_close",
        }
    }

    /// The action of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == word)
    }

    /// The button's text.
    pub fn label(self) -> &'static str {
        match self {
            Self::ApproveAndReplay => "Approve & replay",
            Self::RejectAndClose => "Reject & close",
        }
    }

    /// What the press will do.
    pub fn consequence(self) -> &'static str {
        match self {
            Self::ApproveAndReplay => "A new job with the same payload and fresh attempts is due at once.",
            Self::RejectAndClose => "Closes the letter for good. Nothing is run again.",
        }
    }

    /// Who may.
    pub fn role(self) -> Role {
        Role::Reviewer
    }

    /// Whether a note must say why: only where the step cannot be taken back.
    pub fn needs_note(self) -> bool {
        matches!(self, Self::RejectAndClose)
    }
}

/// One recovery option as a list or page offers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecoveryOption {
    /// The action.
    pub action: RecoveryAction,
    /// The button's text.
    pub label: &'static str,
    /// Who may.
    pub role: Role,
}

/// What may be done to a letter of that status.
pub fn recovery_options(status: LetterStatus) -> Vec<RecoveryOption> {
    match status {
        LetterStatus::Resolved => Vec::new(),
        LetterStatus::Open | LetterStatus::Taken => RecoveryAction::ALL
            .into_iter()
            .map(|action| RecoveryOption { action, label: action.label(), role: action.role() })
            .collect(),
    }
}

/// How a letter was resolved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Resolution {
    /// By which action.
    pub action: RecoveryAction,
    /// By whom.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Why.
    pub note: Option<String>,
}

/// A letter as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeadLetter {
    /// Its id.
    pub id: DeadLetterId,
    /// The parked job.
    pub job_id: JobId,
    /// What was to be done.
    pub kind: String,
    /// Where it came from.
    pub source: String,
    /// For whom.
    pub tenant: Option<String>,
    /// How it got here.
    pub route: Route,
    /// Reason code of a refusal or a failed check.
    pub reason_code: Option<String>,
    /// Failure reason of an exception.
    pub failure_reason: Option<String>,
    /// The field, if one is named.
    pub field: Option<String>,
    /// What the agent quoted.
    pub evidence: Option<String>,
    /// Error text of an exception (cut to 2,000 characters in lists).
    pub error: Option<String>,
    /// Category of an exception.
    pub category: Option<Category>,
    /// Status of the failed call, word for word.
    pub http_status: Option<u16>,
    /// Code of the failed call, word for word.
    pub error_code: Option<String>,
    /// Where it stands.
    pub status: LetterStatus,
    /// How it was resolved.
    pub resolution: Option<Resolution>,
    /// When it was parked.
    pub dead_lettered_at: DateTime<Utc>,
    /// Its fingerprint.
    pub group: String,
    /// Grows with every change; an action names the one it saw.
    pub version: i64,
    /// What may be done now.
    pub recovery_options: Vec<RecoveryOption>,
}

/// One replay made from a letter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replay {
    /// The new job.
    pub job_id: JobId,
    /// How it runs.
    pub mode: ReplayMode,
    /// Where it stands.
    pub state: super::job::JobState,
}

/// A letter with all it carries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeadLetterDetail {
    /// As a list shows it, error text whole.
    #[serde(flatten)]
    pub letter: DeadLetter,
    /// The parked job's input.
    pub payload: Option<RawJson>,
    /// Where the input lies.
    pub payload_ref: Option<String>,
    /// What earlier agents did to the input.
    pub upstream_handoffs: Option<RawJson>,
    /// The decision context.
    pub envelope: Option<RawJson>,
    /// The parked job's attempts.
    #[serde(rename = "attempts")]
    pub attempt_history: Vec<Attempt>,
    /// Replays made from it.
    pub replays: Vec<Replay>,
    /// The database's clock at this reading.
    pub as_of: DateTime<Utc>,
}

/// A page of letters, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct LetterPage {
    /// The letters.
    pub letters: Vec<DeadLetter>,
    /// Where the next page starts.
    pub next: Option<DeadLetterId>,
    /// The database's clock at this reading.
    pub as_of: DateTime<Utc>,
}

/// Letters by status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LetterTotals {
    /// Open.
    pub open: i64,
    /// Taken.
    pub taken: i64,
    /// Resolved.
    pub resolved: i64,
}

/// A person's act on a letter.
#[derive(Debug, Clone, PartialEq)]
pub struct LetterAct {
    /// The letter.
    pub id: DeadLetterId,
    /// What to do.
    pub action: RecoveryAction,
    /// Why.
    pub note: Option<String>,
    /// How a replay runs.
    pub mode: ReplayMode,
    /// The version the person saw.
    pub version: i64,
    /// The same key with the same body gives the same answer, once.
    pub idempotency: Option<IdempotencyKey>,
}

/// An `Idempotency-Key` with the hash of what came with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The key as sent, 1 to 200 characters.
    pub key: String,
    /// SHA-256 of letter, action and body, in hex.
    pub body_sha256: String,
}

/// What an act led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Acted {
    /// The letter afterwards.
    pub letter: DeadLetter,
    /// Jobs made by it.
    pub replay_job_ids: Vec<JobId>,
}
