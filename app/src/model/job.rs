//! Jobs and their attempts, as they travel between the worker API, the store
//! and the pages.

use super::classify::Category;
use super::evidence::Miss;
use super::ids::{DeadLetterId, JobId};
use super::letter::Route;
use super::name::Name;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// Most jobs in one `POST /jobs`.
pub const MAX_BATCH: usize = 10_000;
/// Most jobs one claim hands out.
pub const MAX_CLAIM: u32 = 500;

/// JSON text kept exactly as it came: digits, key order and repeated keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawJson(String);

impl RawJson {
    /// Text that is known to be JSON (it was parsed, or comes out of the store).
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.clone()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Box::<RawValue>::deserialize(deserializer)?.get().to_owned()))
    }
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// To be claimed when due.
    Waiting,
    /// A worker holds, or held, a lease.
    InProgress,
    /// The work was done.
    Done,
    /// Parked: there is a dead letter.
    Dead,
    /// Let go by the cutoff.
    Dropped,
    /// Called off before anyone claimed it.
    Cancelled,
}

impl JobState {
    /// All states, in the order of a job's life.
    pub const ALL: [Self; 6] =
        [Self::Waiting, Self::InProgress, Self::Done, Self::Dead, Self::Dropped, Self::Cancelled];

    /// The word used in JSON, URLs and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::InProgress => "in_progress",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Dropped => "dropped",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// A known-bad input must be refused with this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Canary {
    /// Expected reason code.
    pub reason_code: String,
    /// Expected field.
    #[serde(default)]
    pub field: Option<String>,
}

/// A checked job to enqueue.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    /// What is to be done.
    pub kind: Name,
    /// Where the input came from.
    pub source: Name,
    /// For whom.
    pub tenant: Option<Name>,
    /// The input, if it is small enough to travel.
    pub payload: Option<RawJson>,
    /// Where the input lies, if not.
    pub payload_ref: Option<String>,
    /// Hash of the input.
    pub payload_sha256: Option<String>,
    /// When the input arrived at the source.
    pub received_at: Option<DateTime<Utc>>,
    /// What earlier agents did to the input.
    pub upstream_handoffs: Option<RawJson>,
    /// Not before then; absent means now.
    pub run_at: Option<DateTime<Utc>>,
    /// Width of the uniform random delay; absent means the kind's.
    pub spread_seconds: Option<u32>,
    /// Held per kind until the job ended.
    pub unique_key: Option<String>,
    /// Where the cutoff counts from; absent means when it first became due.
    pub anchor_at: Option<DateTime<Utc>>,
    /// Set for a canary.
    pub canary: Option<Canary>,
    /// The trace this job belongs to.
    pub trace_id: Option<String>,
}

/// What became of one enqueued job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnqueuedJob {
    /// Its id, or the id of the job that holds its unique key.
    pub id: JobId,
    /// Its state.
    pub state: JobState,
    /// When it may run.
    pub run_at: DateTime<Utc>,
    /// Whether another job already held its unique key.
    pub duplicate: bool,
}

/// What special work a worker says it can take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Accepts {
    /// Canaries.
    pub canary: bool,
    /// Pinned replays.
    pub pinned: bool,
}

/// A worker asks for due jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimRequest {
    /// Its name.
    pub worker: Name,
    /// Kinds it takes; `None` means all. Sorted, without repeats.
    pub kinds: Option<Vec<Name>>,
    /// At most so many jobs, 1 to 500.
    pub limit: u32,
    /// A shorter lease than the policy's.
    pub lease_seconds: Option<u32>,
    /// Special work it takes.
    pub accepts: Accepts,
}

/// How a replay is to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayMode {
    /// With today's model and prompt: is it fixed?
    Current,
    /// With the recorded ones: does it reproduce?
    Pinned,
}

impl ReplayMode {
    /// The word used in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Pinned => "pinned",
        }
    }
}

/// What a worker is told about a replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayOf {
    /// How to run it.
    pub mode: ReplayMode,
    /// The letter it comes from.
    pub dead_letter_id: DeadLetterId,
    /// That letter's envelope.
    pub envelope: Option<RawJson>,
}

/// A job handed out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimedJob {
    /// Its id.
    pub id: JobId,
    /// What is to be done.
    pub kind: String,
    /// Where it came from.
    pub source: String,
    /// For whom.
    pub tenant: Option<String>,
    /// The input as it was enqueued.
    pub payload: Option<RawJson>,
    /// Where the input lies.
    pub payload_ref: Option<String>,
    /// Number of this attempt, from 1.
    pub attempt: u32,
    /// Attempts it gets in all.
    pub max_attempts: u32,
    /// To be carried by every later call about this claim.
    pub lease_token: i64,
    /// When the claim ends unless a heartbeat comes.
    pub lease_expires_at: DateTime<Utc>,
    /// Whether it is a canary.
    pub canary: bool,
    /// Set for a replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayOf>,
}

/// *done*: the work says something.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DoneReport {
    /// What it says, in its own word.
    pub verdict: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// What came out.
    pub result: Option<RawJson>,
    /// Field → verbatim quote.
    pub evidence: Option<RawJson>,
    /// Field → value.
    pub values: Option<RawJson>,
    /// The text the quotes are from.
    pub source_text: Option<String>,
    /// The decision context.
    pub envelope: Option<RawJson>,
    /// What the attempt cost, in millionths of a US dollar.
    pub cost_micro_usd: Option<i64>,
    /// What the job was worth, in minor units of `currency`.
    pub value_minor: Option<i64>,
    /// ISO 4217 code of `value_minor`.
    pub currency: Option<String>,
    /// What a rule under test would have decided.
    pub shadow: Option<RawJson>,
}

impl DoneReport {
    /// Whether it carries anything beside verdict, reason and cost.
    pub fn says_more(&self) -> bool {
        let json = [&self.result, &self.evidence, &self.values, &self.envelope, &self.shadow];
        let has_value = self.value_minor.is_some() || self.currency.is_some();
        has_value || self.source_text.is_some() || json.into_iter().any(Option::is_some)
    }
}

/// *refuse*: the agent called `cannot_process`.
#[derive(Debug, Clone, PartialEq)]
pub struct RefuseReport {
    /// One of the kind's closed set; the store checks it against the policy.
    pub reason_code: String,
    /// The field it could not fill.
    pub field: Option<String>,
    /// A quote, or `NOT FOUND`.
    pub evidence: String,
    /// The decision context.
    pub envelope: Option<RawJson>,
    /// What the attempt cost, in millionths of a US dollar.
    pub cost_micro_usd: Option<i64>,
}

/// *fail*: the work could not be done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FailReport {
    /// What happened, at most 64 KiB.
    pub error: String,
    /// The worker's own opinion.
    pub category: Option<Category>,
    /// Status of the call that failed.
    pub http_status: Option<u16>,
    /// Code of the call that failed.
    pub error_code: Option<String>,
    /// `Retry-After` as it came.
    pub retry_after: Option<String>,
    /// The decision context.
    pub envelope: Option<RawJson>,
    /// What the attempt cost, in millionths of a US dollar.
    pub cost_micro_usd: Option<i64>,
}

/// How a worker ends an attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum AttemptEnd {
    /// The work is done.
    Done(Box<DoneReport>),
    /// The agent refuses.
    Refuse(RefuseReport),
    /// The attempt failed.
    Fail(FailReport),
}

/// What an ended attempt led to; also the answer of the call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Ended {
    /// The job is done.
    Done,
    /// The job waits for its next attempt.
    Waiting {
        /// When it runs again.
        run_at: DateTime<Utc>,
        /// What kind of failure it was.
        category: Category,
    },
    /// The job is parked.
    Dead {
        /// Its letter.
        dead_letter_id: DeadLetterId,
        /// How it got there.
        route: Route,
        /// Set for a refusal or a failed evidence check.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason_code: Option<String>,
        /// The field, if one is named.
        #[serde(skip_serializing_if = "Option::is_none")]
        field: Option<String>,
        /// Set for a failure.
        #[serde(skip_serializing_if = "Option::is_none")]
        category: Option<Category>,
    },
    /// The job was let go.
    Dropped,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// It has a verdict.
    Done,
    /// The agent refused.
    Refused,
    /// Its evidence did not hold.
    EvidenceFailed,
    /// It failed.
    Failed,
    /// Its lease ran out.
    Lost,
}

impl AttemptOutcome {
    /// The word used in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::EvidenceFailed => "evidence_failed",
            Self::Failed => "failed",
            Self::Lost => "lost",
        }
    }

    /// The outcome of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Done, Self::Refused, Self::EvidenceFailed, Self::Failed, Self::Lost]
            .into_iter()
            .find(|outcome| outcome.as_str() == word)
    }
}

/// One attempt of a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    /// Number, from 1.
    pub attempt: u32,
    /// Who claimed it.
    pub worker: String,
    /// When.
    pub claimed_at: DateTime<Utc>,
    /// When it ended, unless it is under way.
    pub ended_at: Option<DateTime<Utc>>,
    /// How it ended.
    pub outcome: Option<AttemptOutcome>,
    /// Category of a failure.
    pub category: Option<Category>,
    /// Failure reason.
    pub failure_reason: Option<String>,
    /// Status of the call that failed.
    pub http_status: Option<u16>,
    /// Code of the call that failed.
    pub error_code: Option<String>,
    /// Error text.
    pub error: Option<String>,
    /// Reason code of a refusal.
    pub reason_code: Option<String>,
    /// When the job runs again because of it.
    pub next_run_at: Option<DateTime<Utc>>,
}

/// A job as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobSummary {
    /// Its id.
    pub id: JobId,
    /// What is to be done.
    pub kind: String,
    /// Where it came from.
    pub source: String,
    /// For whom.
    pub tenant: Option<String>,
    /// Where it stands.
    pub state: JobState,
    /// Claims so far, as `attempt` in JSON: the list of them is `attempts`.
    #[serde(rename = "attempt")]
    pub attempts: u32,
    /// Attempts it gets in all.
    pub max_attempts: u32,
    /// When it may be claimed: while waiting, or while leased the lease's end.
    pub due_at: Option<DateTime<Utc>>,
    /// When it came.
    pub enqueued_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Who holds the lease.
    pub worker: Option<String>,
    /// When the lease ends.
    pub lease_expires_at: Option<DateTime<Utc>>,
    /// What the work said.
    pub verdict: Option<String>,
    /// The last failure's text, cut for a list.
    pub last_error: Option<String>,
    /// The letter it was parked as.
    pub dead_letter_id: Option<DeadLetterId>,
    /// The code of the refusal or of the evidence check that parked it.
    pub reason_code: Option<String>,
    /// The field that the code is about.
    pub field: Option<String>,
}

/// A job with all it carries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobDetail {
    /// As a list shows it.
    #[serde(flatten)]
    pub summary: JobSummary,
    /// The input; a page masks it unless the viewer may see it.
    pub payload: Option<RawJson>,
    /// Where the input lies.
    pub payload_ref: Option<String>,
    /// Hash of the input.
    pub payload_sha256: Option<String>,
    /// When the input arrived at the source.
    pub received_at: Option<DateTime<Utc>>,
    /// What earlier agents did to the input.
    pub upstream_handoffs: Option<RawJson>,
    /// Not before then.
    pub run_at: DateTime<Utc>,
    /// Where the cutoff counts from.
    pub anchor_at: Option<DateTime<Utc>>,
    /// Its unique key.
    pub unique_key: Option<String>,
    /// Its trace.
    pub trace_id: Option<String>,
    /// Whether it is a canary.
    pub canary: bool,
    /// The letter it replays.
    pub replay_of: Option<DeadLetterId>,
    /// Why the work said so.
    pub reason: Option<String>,
    /// What came out.
    pub result: Option<RawJson>,
    /// Field → quote, as sent.
    pub evidence: Option<RawJson>,
    /// Field → value, as sent.
    pub values: Option<RawJson>,
    /// The text the quotes are from.
    pub source_text: Option<String>,
    /// The decision context of what it said.
    pub envelope: Option<RawJson>,
    /// What evidence checks that are still shadows would have parked it for.
    pub shadow_misses: Vec<Miss>,
    /// Its attempts, oldest first.
    #[serde(rename = "attempts")]
    pub attempt_history: Vec<Attempt>,
    /// Payloads that it was replayed from, and that were made from it. Never
    /// shown: their masked values are covered here, too.
    #[serde(skip)]
    pub related_payloads: Vec<RawJson>,
    /// The database's clock at this reading.
    pub as_of: DateTime<Utc>,
}

/// Which jobs a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Only this kind.
    pub kind: Option<String>,
    /// Only this state.
    pub state: Option<JobState>,
    /// Only ids below this one: the page after it.
    pub before: Option<JobId>,
    /// At most so many, 1 to 200.
    pub limit: u32,
}

/// A page of jobs, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPage {
    /// The jobs.
    pub jobs: Vec<JobSummary>,
    /// Where the next page starts.
    pub next: Option<JobId>,
    /// The database's clock at this reading.
    pub as_of: DateTime<Utc>,
}
