//! What ending an attempt leads to, decided once for all databases.
//!
//! A store reads a job under its lease, asks here, and writes what the plan
//! says in the same transaction. Nothing here touches a database.

use app::model::FieldError;
use app::model::canary::CanaryEnd;
use app::model::classify::{Category, WORKER_LOST, classify};
use app::model::evidence::{Checked, Claimed, check, quote_of};
use app::model::fingerprint::{FINGERPRINT_VERSION, fingerprint_text};
use app::model::ids::DeadLetterId;
use app::model::job::{AttemptEnd, AttemptOutcome, DoneReport, Ended, FailReport, JobState, RawJson, RefuseReport};
use app::model::letter::Route;
use app::model::policy::Policy;
use app::model::retry::{AfterFailure, FailedAttempt, StoppedBy, after_failure, retry_after_seconds};
use app::model::text::{MAX_ERROR_BYTES, cut};
use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

/// The job as the store read it, with the policy in force and the database's clock.
#[derive(Debug, Clone)]
pub struct Running<'a> {
    /// Its kind.
    pub kind: &'a str,
    /// For whom it is.
    pub tenant: Option<&'a str>,
    /// When its input was received, or enqueued if nobody said.
    pub received_at: DateTime<Utc>,
    /// Number of the attempt that ends.
    pub attempt: u32,
    /// Where the cutoff counts from.
    pub anchor_at: DateTime<Utc>,
    /// Whether it is a canary.
    pub is_canary: bool,
    /// Policy in force.
    pub policy: &'a Policy,
    /// The database's clock.
    pub now: DateTime<Utc>,
    /// Uniform in [0, 1), for the jitter.
    pub chance: f64,
}

/// How the attempt's row ends.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptRow {
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// Category of a failure.
    pub category: Option<Category>,
    /// Failure reason.
    pub failure_reason: Option<String>,
    /// Status of the failed call.
    pub http_status: Option<u16>,
    /// Code of the failed call.
    pub error_code: Option<String>,
    /// Error text.
    pub error: Option<String>,
    /// Reason code of a refusal or a failed evidence check.
    pub reason_code: Option<String>,
    /// When the job runs again because of it.
    pub next_run_at: Option<DateTime<Utc>>,
    /// What it cost.
    pub cost_micro_usd: Option<i64>,
}

/// The letter to write.
#[derive(Debug, Clone, PartialEq)]
pub struct NewLetter {
    /// How the job got here.
    pub route: Route,
    /// Reason code of a refusal or a failed evidence check.
    pub reason_code: Option<String>,
    /// Failure reason of an exception.
    pub failure_reason: Option<String>,
    /// The field.
    pub field: Option<String>,
    /// What the agent quoted.
    pub evidence: Option<String>,
    /// Error text.
    pub error: Option<String>,
    /// Category of an exception.
    pub category: Option<Category>,
    /// Status of the failed call.
    pub http_status: Option<u16>,
    /// Code of the failed call.
    pub error_code: Option<String>,
    /// The decision context.
    pub envelope: Option<RawJson>,
    /// Fingerprint, in hex.
    pub group_key: String,
    /// Version of the fingerprint's rule.
    pub fingerprint_version: u32,
}

/// What is to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct EndPlan {
    /// New state of the job: waiting, done, dead or dropped.
    pub state: JobState,
    /// `run_at` and `due_at` when it waits again.
    pub run_at: Option<DateTime<Utc>>,
    /// End of the attempt's row.
    pub attempt: AttemptRow,
    /// The letter, exactly when the state is dead.
    pub letter: Option<NewLetter>,
    /// Outcome word of the row in `endings`, when the job ended:
    /// done, refused, evidence_failed, exception or dropped.
    pub ending: Option<&'static str>,
    /// What the kind's evidence checks said of a *done*.
    pub checked: Checked,
}

impl EndPlan {
    /// The answer of the call, once the letter has its id.
    pub fn answer(&self, letter_id: Option<DeadLetterId>) -> Ended {
        let category = self.attempt.category.unwrap_or(Category::Unknown);
        match (self.state, self.run_at, &self.letter, letter_id) {
            (JobState::Waiting, Some(run_at), ..) => Ended::Waiting { run_at, category },
            (JobState::Dead, _, Some(letter), Some(dead_letter_id)) => Ended::Dead {
                dead_letter_id,
                route: letter.route,
                reason_code: letter.reason_code.clone(),
                field: letter.field.clone(),
                category: letter.category,
            },
            (JobState::Dropped, ..) => Ended::Dropped,
            _ => Ended::Done,
        }
    }
}

impl EndPlan {
    /// How it ended for a canary, once it ended; `end` is what a worker said, if one did.
    pub fn canary_end(&self, end: Option<&AttemptEnd>) -> Option<CanaryEnd> {
        let reason_code = || self.attempt.reason_code.clone().unwrap_or_default();
        if self.state == JobState::Waiting {
            return None;
        }
        Some(match (self.attempt.outcome, end) {
            (AttemptOutcome::Refused, Some(AttemptEnd::Refuse(report))) => {
                CanaryEnd::Refused { reason_code: reason_code(), field: report.field.clone() }
            }
            (AttemptOutcome::EvidenceFailed, _) => CanaryEnd::EvidenceFailed {
                reason_code: reason_code(),
                field: self.checked.misses.first().map(|miss| miss.field.clone()),
            },
            (AttemptOutcome::Done, Some(AttemptEnd::Done(report))) => {
                CanaryEnd::Done { verdict: report.verdict.clone() }
            }
            _ => CanaryEnd::Failed { error: self.attempt.error.clone().unwrap_or_default() },
        })
    }
}

/// Plans the end that a worker reported.
///
/// # Errors
/// A reason code outside the kind's closed set.
pub fn plan_end(job: &Running<'_>, end: &AttemptEnd) -> Result<EndPlan, FieldError> {
    match end {
        AttemptEnd::Done(report) => Ok(plan_done(job, report)),
        AttemptEnd::Refuse(report) => plan_refusal(job, report),
        AttemptEnd::Fail(report) => Ok(plan_failure(job, report)),
    }
}

/// Plans the end of an attempt whose lease ran out. `lost_before` counts the
/// job's earlier attempts that were lost too.
pub fn plan_lost(job: &Running<'_>, lost_before: u32) -> EndPlan {
    let times = lost_before + 1;
    let attempt = AttemptRow {
        category: Some(Category::Unknown),
        failure_reason: Some(WORKER_LOST.to_owned()),
        error: Some(match times {
            1 => "worker lost, lease expired".to_owned(),
            n => format!("worker lost, lease expired {n} times"),
        }),
        ..ended(AttemptOutcome::Lost)
    };
    let failed = FailedAttempt {
        attempt: job.attempt,
        category: Category::Unknown,
        anchor_at: job.anchor_at,
        now: job.now,
        retry_after_seconds: None,
        lease_lost: true,
    };
    after(job, attempt, None, after_failure(job.policy, failed, job.chance))
}

/// A *done* counts only if its evidence holds; else the job is parked for the
/// first check that missed.
fn plan_done(job: &Running<'_>, report: &DoneReport) -> EndPlan {
    let claimed = Claimed {
        evidence: report.evidence.as_ref(),
        values: report.values.as_ref(),
        source_text: report.source_text.as_deref(),
        received_at: job.received_at,
    };
    let policy = job.policy;
    let checked = check(&policy.evidence_checks, &claimed, job.tenant, &policy.reason_codes);
    let cost_micro_usd = report.cost_micro_usd;
    let Some(first) = checked.misses.first() else {
        let attempt = AttemptRow { cost_micro_usd, ..ended(AttemptOutcome::Done) };
        return EndPlan { checked, ..end_as(JobState::Done, attempt, "done") };
    };
    let reason_code = Some(first.reason_code.clone());
    let attempt =
        AttemptRow { reason_code: reason_code.clone(), cost_micro_usd, ..ended(AttemptOutcome::EvidenceFailed) };
    // Nobody has to look at a canary that was stopped, by whomever.
    if job.is_canary {
        return EndPlan { checked, ..end_as(JobState::Done, attempt, "evidence_failed") };
    }
    let quote = quote_of(report.evidence.as_ref(), &first.field);
    let mut letter = NewLetter {
        reason_code,
        field: Some(first.field.clone()),
        evidence: Some(quote.map_or_else(|| "NOT FOUND".to_owned(), |quote| cut(&quote, MAX_ERROR_BYTES).to_owned())),
        envelope: report.envelope.clone(),
        ..letter_of(Route::FailedEvidenceCheck, &attempt)
    };
    letter.group_key = group_key(job.kind, &letter);
    EndPlan { letter: Some(letter), checked, ..end_as(JobState::Dead, attempt, "evidence_failed") }
}

/// An end without letter and checks.
fn end_as(state: JobState, attempt: AttemptRow, ending: &'static str) -> EndPlan {
    EndPlan { state, run_at: None, attempt, letter: None, ending: Some(ending), checked: Checked::default() }
}

fn plan_refusal(job: &Running<'_>, report: &RefuseReport) -> Result<EndPlan, FieldError> {
    let codes = &job.policy.reason_codes;
    if !codes.contains(&report.reason_code) {
        return Err(FieldError::new("reason_code", format!("must be one of {}", codes.join(", "))));
    }
    let attempt = AttemptRow {
        reason_code: Some(report.reason_code.clone()),
        cost_micro_usd: report.cost_micro_usd,
        ..ended(AttemptOutcome::Refused)
    };
    // A canary is there to be refused: no person has to look at it.
    if job.is_canary {
        return Ok(end_as(JobState::Done, attempt, "refused"));
    }
    let mut letter = NewLetter {
        reason_code: Some(report.reason_code.clone()),
        field: report.field.clone(),
        evidence: Some(report.evidence.clone()),
        envelope: report.envelope.clone(),
        ..letter_of(Route::RefusedByAgent, &attempt)
    };
    letter.group_key = group_key(job.kind, &letter);
    Ok(EndPlan { letter: Some(letter), ..end_as(JobState::Dead, attempt, "refused") })
}

fn plan_failure(job: &Running<'_>, report: &FailReport) -> EndPlan {
    let classified = classify(report.category, report.http_status, report.error_code.as_deref());
    let attempt = AttemptRow {
        category: Some(classified.category),
        failure_reason: Some(classified.reason),
        http_status: report.http_status,
        error_code: report.error_code.clone(),
        error: Some(report.error.clone()),
        cost_micro_usd: report.cost_micro_usd,
        ..ended(AttemptOutcome::Failed)
    };
    let failed = FailedAttempt {
        attempt: job.attempt,
        category: classified.category,
        anchor_at: job.anchor_at,
        now: job.now,
        retry_after_seconds: report.retry_after.as_deref().and_then(|text| retry_after_seconds(text, job.now)),
        lease_lost: false,
    };
    after(job, attempt, report.envelope.clone(), after_failure(job.policy, failed, job.chance))
}

fn after(job: &Running<'_>, mut attempt: AttemptRow, envelope: Option<RawJson>, next: AfterFailure) -> EndPlan {
    match next {
        AfterFailure::Retry { run_at } => {
            attempt.next_run_at = Some(run_at);
            let (letter, ending, checked) = (None, None, Checked::default());
            EndPlan { state: JobState::Waiting, run_at: Some(run_at), attempt, letter, ending, checked }
        }
        AfterFailure::Drop(rule) => {
            say_what_stopped(&mut attempt, rule, job.policy);
            end_as(JobState::Dropped, attempt, "dropped")
        }
        AfterFailure::Park(rule) => {
            say_what_stopped(&mut attempt, rule, job.policy);
            let mut letter = NewLetter { envelope, ..letter_of(Route::Exception, &attempt) };
            letter.group_key = group_key(job.kind, &letter);
            EndPlan { letter: Some(letter), ..end_as(JobState::Dead, attempt, "exception") }
        }
    }
}

/// A chain that the cutoff ends has attempts left, so that nobody would guess
/// why it stopped: the error says so.
fn say_what_stopped(attempt: &mut AttemptRow, rule: StoppedBy, policy: &Policy) {
    if let (StoppedBy::Cutoff, Some(error), Some(seconds)) = (rule, &mut attempt.error, policy.cutoff_seconds) {
        let reason = format!(" [not retried: the next try would pass the cutoff, {seconds} s after the anchor]");
        error.truncate(cut(error, MAX_ERROR_BYTES - reason.len()).len());
        error.push_str(&reason);
    }
}

fn ended(outcome: AttemptOutcome) -> AttemptRow {
    AttemptRow {
        outcome,
        category: None,
        failure_reason: None,
        http_status: None,
        error_code: None,
        error: None,
        reason_code: None,
        next_run_at: None,
        cost_micro_usd: None,
    }
}

fn letter_of(route: Route, attempt: &AttemptRow) -> NewLetter {
    NewLetter {
        route,
        reason_code: None,
        failure_reason: attempt.failure_reason.clone(),
        field: None,
        evidence: None,
        error: attempt.error.clone(),
        category: attempt.category,
        http_status: attempt.http_status,
        error_code: attempt.error_code.clone(),
        envelope: None,
        group_key: String::new(),
        fingerprint_version: FINGERPRINT_VERSION,
    }
}

fn group_key(kind: &str, letter: &NewLetter) -> String {
    let reason = letter.reason_code.as_deref().or(letter.failure_reason.as_deref());
    let text = fingerprint_text(kind, letter.route, reason, letter.field.as_deref(), letter.error.as_deref());
    hex(&Sha256::digest(text.as_bytes())[..12])
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use app::model::policy::OnCutoff;

    fn running(policy: &Policy, attempt: u32) -> Running<'_> {
        Running {
            kind: "k",
            tenant: None,
            received_at: DateTime::UNIX_EPOCH,
            attempt,
            anchor_at: DateTime::UNIX_EPOCH,
            is_canary: false,
            policy,
            now: DateTime::UNIX_EPOCH,
            chance: 0.5,
        }
    }

    #[test]
    fn a_failure_waits_and_then_is_parked_with_a_letter() {
        let policy = Policy::default();
        let report =
            AttemptEnd::Fail(FailReport { error: "503".into(), http_status: Some(503), ..FailReport::default() });
        let first = plan_end(&running(&policy, 1), &report).unwrap();
        assert_eq!((first.state, first.letter.is_none(), first.ending), (JobState::Waiting, true, None));
        let last = plan_end(&running(&policy, 3), &report).unwrap();
        assert_eq!((last.state, last.ending), (JobState::Dead, Some("exception")));
        assert_eq!(last.letter.unwrap().failure_reason.as_deref(), Some("service_unavailable"));
    }

    #[test]
    fn what_the_cutoff_stopped_says_so() {
        let report = AttemptEnd::Fail(FailReport { error: "é".repeat(MAX_ERROR_BYTES), ..FailReport::default() });
        for (on_cutoff, state) in [(OnCutoff::DeadLetter, JobState::Dead), (OnCutoff::Drop, JobState::Dropped)] {
            let policy = Policy { cutoff_seconds: Some(1), on_cutoff, ..Policy::default() };
            let plan = plan_end(&running(&policy, 1), &report).unwrap();
            let error = plan.attempt.error.unwrap();
            assert_eq!(plan.state, state);
            assert!(error.ends_with("would pass the cutoff, 1 s after the anchor]") && error.len() <= MAX_ERROR_BYTES);
        }
    }

    #[test]
    fn an_unknown_reason_code_lists_the_set() {
        let policy = Policy::default();
        let report = RefuseReport {
            reason_code: "BECAUSE".into(),
            field: None,
            evidence: "NOT FOUND".into(),
            envelope: None,
            cost_micro_usd: None,
        };
        let error = plan_end(&running(&policy, 1), &AttemptEnd::Refuse(report)).unwrap_err();
        assert_eq!(error.field, "reason_code");
        assert!(error.rule.contains("TRUNCATED_OR_UNREADABLE"), "{}", error.rule);
    }

    #[test]
    fn a_job_that_kills_its_workers_says_how_often() {
        let policy = Policy::default();
        let again = plan_lost(&running(&policy, 1), 0);
        assert_eq!((again.state, again.run_at), (JobState::Waiting, Some(DateTime::UNIX_EPOCH)));
        let parked = plan_lost(&running(&policy, 3), 2).letter.unwrap();
        assert_eq!(parked.error.as_deref(), Some("worker lost, lease expired 3 times"));
        assert_eq!(parked.route, Route::Exception);
    }
}
