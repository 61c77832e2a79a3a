//! Canaries: known-bad inputs that must be refused with a known reason code.
//! What a run of one means, when the next is due, and which codes nobody tests.

use super::FieldError;
use super::ids::{CanaryId, JobId};
use super::job::RawJson;
use super::name::Name;
use super::text::{clean, preview};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// There are no more canaries than this, so that a page shows all of them.
pub const MAX_CANARIES: i64 = 1_000;
/// A run that nobody takes for so long, in seconds, ends.
pub const TAKE_SECONDS: i64 = 900;
/// Changes of a kind's model start no run within so many seconds after the last:
/// two models that take turns must not start one for every job.
pub const CHANGE_PAUSE_SECONDS: i64 = 600;
/// Largest input, in bytes.
const MAX_PAYLOAD_BYTES: usize = 1024 * 1024;
/// Longest reason code, field and saying, in characters.
const MAX_CHARACTERS: usize = 200;

/// Why a run was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunCause {
    /// Somebody pressed the button.
    Person,
    /// Its time had come.
    Schedule,
    /// Done jobs of the kind name another model.
    ModelChange,
    /// Done jobs of the kind name another hash.
    HashChange,
    /// `drainboard canary run`.
    Cli,
    /// Enqueued by the worker API, without a canary that is kept here.
    Api,
}

impl RunCause {
    const ALL: [Self; 6] = [Self::Person, Self::Schedule, Self::ModelChange, Self::HashChange, Self::Cli, Self::Api];

    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Schedule => "schedule",
            Self::ModelChange => "model_change",
            Self::HashChange => "hash_change",
            Self::Cli => "cli",
            Self::Api => "api",
        }
    }

    /// As a person reads it.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Person => "started by a person",
            Self::Schedule => "by schedule",
            Self::ModelChange => "the model changed",
            Self::HashChange => "a hash changed",
            Self::Cli => "by the command line",
            Self::Api => "enqueued by the worker API",
        }
    }

    /// Reads the stored word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.as_str() == word)
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunResult {
    /// Refused as expected.
    Passed,
    /// Refused, with another code.
    WrongCode,
    /// Refused with the code, and another field.
    WrongField,
    /// Not refused: its result would have been written as real. Critical.
    Done,
    /// It failed, so nobody knows.
    Failed,
    /// Not refused; an evidence check stopped it.
    EvidenceFailed,
    /// No worker that accepts canaries claimed it.
    NotTaken,
}

impl RunResult {
    const ALL: [Self; 7] = [
        Self::Passed,
        Self::WrongCode,
        Self::WrongField,
        Self::Done,
        Self::Failed,
        Self::EvidenceFailed,
        Self::NotTaken,
    ];

    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::WrongCode => "wrong_code",
            Self::WrongField => "wrong_field",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::EvidenceFailed => "evidence_failed",
            Self::NotTaken => "not_taken",
        }
    }

    /// As a person reads it.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::WrongCode => "refused, wrong code",
            Self::WrongField => "refused, wrong field",
            Self::Done => "done: not refused",
            Self::Failed => "failed",
            Self::EvidenceFailed => "not refused, stopped by a check",
            Self::NotTaken => "no worker took it",
        }
    }

    /// Reads the stored word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|result| result.as_str() == word)
    }
}

/// How the job of a canary ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CanaryEnd {
    /// The agent refused it.
    Refused {
        /// The code it gave.
        reason_code: String,
        /// The field it named.
        field: Option<String>,
    },
    /// The agent said done, and a check of the evidence missed.
    EvidenceFailed {
        /// The check's code.
        reason_code: String,
        /// The check's field.
        field: Option<String>,
    },
    /// The agent said done.
    Done {
        /// Its verdict.
        verdict: Option<String>,
    },
    /// It could not be done.
    Failed {
        /// Why.
        error: String,
    },
}

/// What an end means for a canary that expects `reason_code`, and `field` if it
/// names one; and what was said.
pub fn judge(reason_code: &str, field: Option<&str>, end: &CanaryEnd) -> (RunResult, String) {
    let at = |code: &str, field: &Option<String>| match field {
        Some(field) => format!("{code} at {field}"),
        None => code.to_owned(),
    };
    let (result, said) = match end {
        CanaryEnd::Refused { reason_code: code, field: at_field } => {
            let result = match (code == reason_code, field) {
                (false, _) => RunResult::WrongCode,
                (true, Some(field)) if at_field.as_deref() != Some(field) => RunResult::WrongField,
                (true, _) => RunResult::Passed,
            };
            (result, at(code, at_field))
        }
        CanaryEnd::EvidenceFailed { reason_code, field } => (RunResult::EvidenceFailed, at(reason_code, field)),
        CanaryEnd::Done { verdict } => {
            (RunResult::Done, verdict.as_ref().map_or_else(|| "done".to_owned(), |said| format!("done: {said}")))
        }
        CanaryEnd::Failed { error } => (RunResult::Failed, error.clone()),
    };
    (result, preview(&clean(&said), 2 * MAX_CHARACTERS))
}

/// What a person or a fixture says of a canary, checked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CanaryInput {
    /// Unique.
    pub name: Name,
    /// Which kind has to refuse it.
    pub kind: Name,
    /// Which source it pretends to come from.
    pub source: Name,
    /// The input.
    pub payload: RawJson,
    /// Expected reason code.
    pub reason_code: String,
    /// Expected field; none takes any.
    pub field: Option<String>,
    /// Runs by itself after so many seconds.
    pub every_seconds: Option<u32>,
    /// Whether it runs at all, and counts against a gap.
    pub enabled: bool,
}

/// The same as it comes, from a form or a file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CanaryText {
    /// See [`CanaryInput`], here and below.
    pub name: String,
    #[expect(missing_docs, reason = "as above")]
    pub kind: String,
    #[expect(missing_docs, reason = "as above")]
    pub source: String,
    #[expect(missing_docs, reason = "as above")]
    pub payload: Option<RawJson>,
    #[expect(missing_docs, reason = "as above")]
    pub reason_code: String,
    #[expect(missing_docs, reason = "as above")]
    #[serde(default)]
    pub field: Option<String>,
    #[expect(missing_docs, reason = "as above")]
    #[serde(default)]
    pub every_seconds: Option<i64>,
    #[expect(missing_docs, reason = "as above")]
    #[serde(default = "yes")]
    pub enabled: bool,
}

fn yes() -> bool {
    true
}

impl CanaryText {
    /// # Errors
    /// Names the field and the rule it breaks.
    pub fn checked(self) -> Result<CanaryInput, FieldError> {
        let short = |name: &str, text: &str| match text.chars().count() {
            1..=MAX_CHARACTERS => Ok(clean(text).into_owned()),
            _ => Err(FieldError::new(name, format!("must be 1 to {MAX_CHARACTERS} characters"))),
        };
        let payload = self.payload.ok_or_else(|| FieldError::new("payload", "must be JSON"))?;
        if payload.as_str().len() > MAX_PAYLOAD_BYTES {
            return Err(FieldError::new("payload", "must be at most 1 MiB"));
        }
        let every_seconds = self
            .every_seconds
            .map(|seconds| match seconds {
                60..=31_536_000 => Ok(seconds as u32),
                _ => Err(FieldError::new("every_seconds", "must be 60 to 31536000, or nothing")),
            })
            .transpose()?;
        Ok(CanaryInput {
            name: Name::new("name", &self.name)?,
            kind: Name::new("kind", &self.kind)?,
            source: Name::new("source", &self.source)?,
            payload: RawJson::stored(clean(payload.as_str()).into_owned()),
            reason_code: short("reason_code", &self.reason_code)?,
            field: self.field.filter(|field| !field.is_empty()).map(|field| short("field", &field)).transpose()?,
            every_seconds,
            enabled: self.enabled,
        })
    }
}

/// A file of canaries: `{"canaries":[…]}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    canaries: Vec<CanaryText>,
}

/// Reads a fixture.
///
/// # Errors
/// Names the place and the rule it breaks.
pub fn read_fixture(text: &str) -> Result<Vec<CanaryInput>, FieldError> {
    let fixture: Fixture =
        serde_json::from_str(text).map_err(|error| FieldError::new("fixture", format!("cannot be read: {error}")))?;
    if fixture.canaries.is_empty() || fixture.canaries.len() as i64 > MAX_CANARIES {
        return Err(FieldError::new("canaries", format!("must be 1 to {MAX_CANARIES}")));
    }
    let checked =
        |(at, one): (usize, CanaryText)| one.checked().map_err(|error| error.within(&format!("canaries[{at}]")));
    fixture.canaries.into_iter().enumerate().map(checked).collect()
}

/// The fixture that [`read_fixture`] reads back, inputs as they were written.
pub fn write_fixture(canaries: &[CanaryInput]) -> String {
    #[derive(Serialize)]
    struct Written<'a> {
        canaries: &'a [CanaryInput],
    }
    serde_json::to_string(&Written { canaries }).expect("names, JSON and numbers always serialise")
}

/// A code must be in the kind's closed set.
///
/// # Errors
/// Lists the set.
pub fn check_code(code: &str, codes: &[String]) -> Result<(), FieldError> {
    match codes.iter().any(|known| known == code) {
        true => Ok(()),
        false => Err(FieldError::new("reason_code", format!("must be one of {}", codes.join(", ")))),
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct CanaryRun {
    /// Its id.
    pub id: i64,
    /// Whose; none when it was enqueued by the worker API.
    pub canary_id: Option<CanaryId>,
    /// The job, until it is purged.
    pub job_id: JobId,
    /// The kind it ran for.
    pub kind: String,
    /// What was expected then.
    pub reason_code: String,
    /// And where.
    pub field: Option<String>,
    /// Why it was started.
    pub cause: RunCause,
    /// By whom, if by somebody.
    pub started_by: Option<String>,
    /// When.
    pub started_at: DateTime<Utc>,
    /// When it ended, and how.
    pub ended: Option<(DateTime<Utc>, RunResult)>,
    /// What the agent said, or why nobody did.
    pub said: Option<String>,
    /// Of a run that was done: since when and by whom it is cleared.
    pub cleared: Option<(DateTime<Utc>, String)>,
}

impl CanaryRun {
    /// How it ended.
    pub fn result(&self) -> Option<RunResult> {
        self.ended.map(|(_, result)| result)
    }

    /// Whether somebody has to hear of it.
    pub fn alarms(&self) -> bool {
        self.result() == Some(RunResult::Done) && self.cleared.is_none()
    }
}

/// A canary with its last run.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedCanary {
    /// Its id.
    pub id: CanaryId,
    /// What it is.
    pub input: CanaryInput,
    /// When it was added.
    pub created_at: DateTime<Utc>,
    /// By whom.
    pub created_by: String,
    /// The last run.
    pub last_run: Option<CanaryRun>,
}

impl SavedCanary {
    /// Whether its schedule was missed: no run ended within its time and the time to take one.
    pub fn is_overdue(&self, now: DateTime<Utc>) -> bool {
        let Some(every) = self.input.every_seconds.filter(|_| self.input.enabled) else { return false };
        let last = self.last_run.as_ref().map(|run| (run.started_at, run.result()));
        is_overdue(i64::from(every), self.created_at, last, now)
    }
}

/// The rule of [`SavedCanary::is_overdue`]; `last` is when the last run started and
/// how it ended, if it did.
pub fn is_overdue(
    every_seconds: i64,
    created_at: DateTime<Utc>,
    last: Option<(DateTime<Utc>, Option<RunResult>)>,
    now: DateTime<Utc>,
) -> bool {
    let last = match last {
        None => created_at,
        Some((_, Some(RunResult::NotTaken))) => return true,
        Some((started_at, Some(_))) => started_at,
        Some((started_at, None)) => started_at - TimeDelta::seconds(every_seconds),
    };
    now - last > TimeDelta::seconds(every_seconds + TAKE_SECONDS)
}

/// What decides whether a canary runs now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Its schedule.
    pub every_seconds: Option<i64>,
    /// When it was added.
    pub created_at: DateTime<Utc>,
    /// When it last started.
    pub last_started_at: Option<DateTime<Utc>>,
    /// When done jobs of its kind last named something new, and what.
    pub changed: Option<(DateTime<Utc>, RunCause)>,
}

/// Why it is to run now, if it is.
pub fn why_now(waiting: &Waiting, now: DateTime<Utc>) -> Option<RunCause> {
    let since_last = waiting.last_started_at.map(|at| (now - at).num_seconds());
    let last = waiting.last_started_at.unwrap_or(waiting.created_at);
    if let Some((changed_at, cause)) = waiting.changed
        && changed_at > last
        && since_last.is_none_or(|seconds| seconds >= CHANGE_PAUSE_SECONDS)
    {
        return Some(cause);
    }
    let every = waiting.every_seconds?;
    since_last.is_none_or(|seconds| seconds >= every).then_some(RunCause::Schedule)
}

/// Everything the matrix shows, at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct CanaryOverview {
    /// The database's clock.
    pub as_of: DateTime<Utc>,
    /// All canaries, by kind, code and name.
    pub canaries: Vec<SavedCanary>,
    /// Runs that were done and that nobody has cleared, newest first, at most 50.
    pub alarms: Vec<CanaryRun>,
}

/// One canary with its history.
#[derive(Debug, Clone, PartialEq)]
pub struct CanaryDetail {
    /// The database's clock.
    pub as_of: DateTime<Utc>,
    /// The canary.
    pub canary: SavedCanary,
    /// Its runs, newest first.
    pub runs: Vec<CanaryRun>,
}

/// Codes of a kind that no enabled canary expects.
pub fn gaps<'a>(kind: &str, codes: &'a [String], canaries: &[SavedCanary]) -> Vec<&'a str> {
    let is_tested = |code: &String| {
        canaries
            .iter()
            .any(|one| one.input.enabled && one.input.kind.as_str() == kind && one.input.reason_code == *code)
    };
    codes.iter().filter(|code| !is_tested(code)).map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_expected_refusal_passes() {
        let refused = |code: &str, field: Option<&str>| CanaryEnd::Refused {
            reason_code: code.to_owned(),
            field: field.map(str::to_owned),
        };
        let evidence = CanaryEnd::EvidenceFailed { reason_code: "A".to_owned(), field: None };
        for (field, end, result) in [
            (None, refused("A", None), RunResult::Passed),
            (None, refused("A", Some("x")), RunResult::Passed),
            (Some("x"), refused("A", Some("x")), RunResult::Passed),
            (Some("x"), refused("A", None), RunResult::WrongField),
            (Some("x"), refused("A", Some("y")), RunResult::WrongField),
            (Some("x"), refused("B", Some("x")), RunResult::WrongCode),
            (None, evidence, RunResult::EvidenceFailed),
            (None, CanaryEnd::Done { verdict: None }, RunResult::Done),
            (None, CanaryEnd::Failed { error: "429".to_owned() }, RunResult::Failed),
        ] {
            assert_eq!(judge("A", field, &end).0, result, "{field:?} {end:?}");
        }
        for result in RunResult::ALL {
            assert_eq!(RunResult::from_word(result.as_str()), Some(result));
        }
    }

    #[test]
    fn it_runs_when_its_time_has_come_or_something_changed() {
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
        let ago = |seconds| now - TimeDelta::seconds(seconds);
        let waiting = |every_seconds, last: Option<i64>, changed: Option<i64>| Waiting {
            every_seconds,
            created_at: ago(100_000),
            last_started_at: last.map(ago),
            changed: changed.map(|seconds| (ago(seconds), RunCause::ModelChange)),
        };
        for (waiting, cause) in [
            (waiting(None, None, None), None),
            (waiting(Some(3600), None, None), Some(RunCause::Schedule)),
            (waiting(Some(3600), Some(3599), None), None),
            (waiting(Some(3600), Some(3600), None), Some(RunCause::Schedule)),
            (waiting(None, Some(3600), Some(60)), Some(RunCause::ModelChange)),
            (waiting(None, None, Some(60)), Some(RunCause::ModelChange)),
            (waiting(None, Some(60), Some(3600)), None),
            (waiting(None, Some(599), Some(60)), None),
        ] {
            assert_eq!(why_now(&waiting, now), cause, "{waiting:?}");
        }
    }

    #[test]
    fn a_fixture_comes_back_as_it_went_and_says_where_it_is_wrong() {
        let text = r#"{"canaries":[{"name":"n","kind":"k","source":"s","payload":{"b":1,"a":2},"reason_code":"A",
            "field":"x","every_seconds":3600}]}"#;
        let read = read_fixture(text).unwrap();
        assert_eq!(read_fixture(&write_fixture(&read)).unwrap(), read);
        assert!(read[0].enabled);
        assert_eq!(read_fixture(&text.replace("3600", "5")).unwrap_err().field, "canaries[0].every_seconds");
        for bad in ["", "[]", r#"{"canaries":[]}"#, &text.replace("field", "fields")] {
            assert!(read_fixture(bad).is_err(), "{bad}");
        }
    }
}
