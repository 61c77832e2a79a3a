//! Dead letters: what was parked, why, and what became of it.

use super::classify::Category;
use super::evidence::Miss;
use super::follow_up::FollowUp;
use super::ids::{DeadLetterId, JobId};
use super::job::{Attempt, RawJson, ReplayMode};
use super::outbox::OutboxNotice;
use super::recovery::{RecoveryAction, RecoveryOption};
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

/// Who looks at a letter right now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Taken {
    /// Who.
    pub by: String,
    /// Until when, unless released or taken over before.
    pub until: DateTime<Utc>,
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
    /// Who has it, exactly when the status is taken.
    pub taken: Option<Taken>,
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

/// One replay made from a letter, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replay {
    /// The new job.
    pub job_id: JobId,
    /// How it runs.
    pub mode: ReplayMode,
    /// Where it stands.
    pub state: super::job::JobState,
    /// What it said, once done.
    pub verdict: Option<String>,
    /// The letter it became, if it was parked again.
    pub dead_letter_id: Option<DeadLetterId>,
    /// Where that letter stands.
    pub dead_letter_status: Option<LetterStatus>,
}

/// One thing that a person did to a letter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// What.
    pub action: RecoveryAction,
    /// Who.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Why.
    pub note: Option<String>,
    /// What a correction changed: `{changes: [{path, before, after}], left_out}`,
    /// values as JSON text, masked ones hidden.
    pub difference: Option<RawJson>,
    /// Jobs made by it.
    pub replay_job_ids: Vec<JobId>,
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
    /// The trace that the job was enqueued with.
    pub trace_id: Option<String>,
    /// Which evidence checks parked it, the one that named its code first.
    pub misses: Vec<Miss>,
    /// The parked job's attempts.
    #[serde(rename = "attempts")]
    pub attempt_history: Vec<Attempt>,
    /// Replays made from it, oldest first, at most 100.
    pub replays: Vec<Replay>,
    /// What people did to it, oldest first, at most 200.
    pub decisions: Vec<Decision>,
    /// The notice it was closed with.
    pub notice: Option<OutboxNotice>,
    /// The follow-up it was closed with.
    pub follow_up: Option<FollowUp>,
    /// Payloads that it was replayed from, and that were made from it. Never
    /// shown: their masked values are covered here, too.
    #[serde(skip)]
    pub related_payloads: Vec<RawJson>,
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
