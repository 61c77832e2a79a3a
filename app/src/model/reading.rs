//! One snapshot of everything the panel shows, with its time.
//!
//! The page, the stream, `/pipeline`, `/verdict` and the command line all print
//! the same [`Reading`], so they cannot disagree. A store fills a [`Snapshot`]
//! at one instant of the database; [`Reading::of`] adds the verdicts.

use super::classify::Category;
use super::ids::{DeadLetterId, JobId};
use super::verdict::{KindVerdict, Verdict, judge};
use chrono::{DateTime, Utc};
use serde::Serialize;

/// A notice that could have been sent for so long, in seconds, waits for somebody.
pub const NOTICE_PATIENCE_SECONDS: i64 = 300;

/// Who paused a kind, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pause {
    /// Who.
    pub by: String,
    /// Since when.
    pub since: DateTime<Utc>,
}

/// A claim that came back with as many jobs as it asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullClaim {
    /// When it came.
    pub at: DateTime<Utc>,
    /// `due_at` of the newest job it handed out.
    pub newest_due_at: DateTime<Utc>,
}

/// The figures of one kind. Canaries are in none of them. Every other job that
/// is not done, dead, dropped or cancelled is in exactly one of `due`, `held`,
/// `scheduled`, `retrying`, `in_progress` and `lost`.
#[derive(Debug, Clone, PartialEq)]
pub struct KindSnapshot {
    /// The kind.
    pub kind: String,
    /// Claimable now: waiting with `due_at` passed, or lease expired with
    /// attempts left; not held.
    pub due: i64,
    /// Due, but not to be claimed now by rule.
    pub held: i64,
    /// Waiting for a later time, no attempt yet.
    pub scheduled: i64,
    /// Waiting for a later time after a failed attempt.
    pub retrying: i64,
    /// Under a live lease.
    pub in_progress: i64,
    /// Lease expired (those with attempts left are in `due` or `held` too).
    pub lease_expired: i64,
    /// Lease expired with all attempts used: about to become a dead letter.
    pub lost: i64,
    /// Done in the last hour.
    pub done_last_hour: i64,
    /// Dead letters by exception in the last 24 hours.
    pub failed_last_day: i64,
    /// Refused by the agent in the last 24 hours.
    pub refused_last_day: i64,
    /// Parked by an evidence check in the last 24 hours.
    pub evidence_failed_last_day: i64,
    /// Dropped by the cutoff in the last 24 hours.
    pub dropped_last_day: i64,
    /// `due_at` of the oldest due or held job.
    pub oldest_due_at: Option<DateTime<Utc>>,
    /// `due_at` of the oldest due job that is not held.
    pub oldest_unheld_due_at: Option<DateTime<Utc>>,
    /// `due_at` of the next scheduled or retrying job.
    pub next_later_at: Option<DateTime<Utc>>,
    /// Last claim that handed one out, accepted heartbeat or accepted end.
    pub last_worked_at: Option<DateTime<Utc>>,
    /// Last claim that handed one out; `None` too for what was worked before
    /// claims were told apart.
    pub last_claimed_at: Option<DateTime<Utc>>,
    /// When the last hold on it ended.
    pub hold_ended_at: Option<DateTime<Utc>>,
    /// Set while it is paused.
    pub paused: Option<Pause>,
    /// The kind's T, in seconds.
    pub not_running_after_seconds: u32,
    /// The last claim that admits the kind and came back full.
    pub full_claim: Option<FullClaim>,
}

/// The last 20 ended attempts, all kinds together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecentAttempts {
    /// How many there are, at most 20.
    pub ended: u32,
    /// How many of them failed or were lost.
    pub failed: u32,
    /// When the oldest of them ended.
    pub oldest_ended_at: Option<DateTime<Utc>>,
    /// When an attempt last ended otherwise than by failure, ever.
    pub last_success_at: Option<DateTime<Utc>>,
    /// Status and reason of the newest failure.
    pub last_http_status: Option<u16>,
    /// Reason of the newest failure.
    pub last_failure_reason: Option<String>,
    /// Largest T among their kinds, in seconds.
    pub not_running_after_seconds: u32,
}

/// A failed attempt, for the last ten failures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// The job.
    pub job_id: JobId,
    /// Its kind.
    pub kind: String,
    /// When the attempt ended.
    pub at: DateTime<Utc>,
    /// Attempt n …
    pub attempt: u32,
    /// … of m.
    pub max_attempts: u32,
    /// What kind of failure.
    pub category: Option<Category>,
    /// Failure reason.
    pub reason: Option<String>,
    /// Status of the call that failed.
    pub http_status: Option<u16>,
    /// Error text, cut to 2,000 characters.
    pub error: String,
    /// When it runs again; `None` if it does not.
    pub next_run_at: Option<DateTime<Utc>>,
    /// Whether this attempt was the last.
    pub is_final: bool,
    /// The letter, if the job was parked.
    pub dead_letter_id: Option<DeadLetterId>,
}

/// A worker as its calls show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkerSeen {
    /// Its name.
    pub worker: String,
    /// Its last claim, heartbeat or end.
    pub last_seen_at: DateTime<Utc>,
    /// Its last claim that handed out a job.
    pub last_claim_at: Option<DateTime<Utc>>,
    /// Jobs it holds under a live lease.
    pub holds: i64,
    /// Jobs whose lease it let run out and that nobody took since.
    pub lease_expired: i64,
    /// When its next lease ends.
    pub next_lease_expires_at: Option<DateTime<Utc>>,
    /// Whether its last claim came back empty.
    pub last_claim_was_empty: bool,
}

/// The clock that starts workers, as it reports itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tick {
    /// Its name.
    pub trigger: String,
    /// How often it says it comes.
    pub every_seconds: i64,
    /// When it last came.
    pub last_at: DateTime<Utc>,
}

/// When the agent last said no to one source, for a kind that may refuse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastRefusal {
    /// The source.
    pub source: String,
    /// The kind.
    pub kind: String,
    /// When; none: never.
    pub at: Option<DateTime<Utc>>,
    /// With which code.
    pub reason_code: Option<String>,
    /// Done or parked since then, or ever; canaries, replays and exceptions left out.
    pub processed_since: i64,
    /// Whether an alert says that it should have been said again.
    pub is_zero: bool,
}

/// What a store reads at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The database's clock at that instant.
    pub as_of: DateTime<Utc>,
    /// Every kind ever enqueued, by name; zeros included.
    pub kinds: Vec<KindSnapshot>,
    /// The last 20 ended attempts.
    pub recent: RecentAttempts,
    /// Failed attempts, newest first, at most ten.
    pub failures: Vec<Failure>,
    /// Workers seen in the last 24 hours or holding jobs, last seen first, at most 50.
    pub workers: Vec<WorkerSeen>,
    /// Late answers refused in the last 24 hours.
    pub late_answers_last_day: i64,
    /// Claims refused for a missing or wrong token, in the last 5 minutes.
    pub refused_polls_last_minutes: i64,
    /// Triggers that reported a tick in the last 7 days.
    pub ticks: Vec<Tick>,
    /// Letters nobody resolved.
    pub unresolved_dead_letters: i64,
    /// Follow-ups whose day has come.
    pub due_follow_ups: i64,
    /// Notices that failed, or that nobody has tried to send for
    /// [`NOTICE_PATIENCE_SECONDS`].
    pub stuck_notices: i64,
    /// Runs of canaries that were done instead of refused, and that nobody cleared.
    pub done_canaries: i64,
    /// When the agent last said no, per source and kind, those worked on last.
    pub last_refusals: Vec<LastRefusal>,
    /// Open alerts that call for somebody.
    pub calling_alerts: i64,
    /// Those of them that are critical.
    pub critical_alerts: i64,
}

/// The figures of one kind with its verdict, as shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindReading {
    /// The kind.
    pub kind: String,
    /// Claimable now.
    pub due: i64,
    /// Due, but held by rule.
    pub held: i64,
    /// Later, no attempt yet.
    pub scheduled: i64,
    /// Later, after a failed attempt.
    pub retrying: i64,
    /// Under a live lease.
    pub in_progress: i64,
    /// Lease expired.
    pub lease_expired: i64,
    /// Lease expired, attempts used up.
    pub lost: i64,
    /// Done in the last hour.
    pub done_last_hour: i64,
    /// Dead letters by exception, last 24 hours.
    pub failed_last_day: i64,
    /// Refused by the agent, last 24 hours.
    pub refused_last_day: i64,
    /// Parked by an evidence check, last 24 hours.
    pub evidence_failed_last_day: i64,
    /// Dropped, last 24 hours.
    pub dropped_last_day: i64,
    /// How long the oldest due or held job has been due, in seconds.
    pub oldest_due_seconds: Option<i64>,
    /// Last worked.
    pub last_worked_at: Option<DateTime<Utc>>,
    /// Set while paused.
    pub paused: Option<Pause>,
    /// The kind's own verdict.
    pub verdict: KindVerdict,
}

/// One reading.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reading {
    /// The database's clock at this reading.
    pub as_of: DateTime<Utc>,
    /// The one line.
    pub verdict: Verdict,
    /// By kind.
    pub kinds: Vec<KindReading>,
    /// The last ten failures.
    pub failures: Vec<Failure>,
    /// Who works.
    pub workers: Vec<WorkerSeen>,
    /// Late answers refused in the last 24 hours.
    pub late_answers_last_day: i64,
    /// Triggers.
    pub ticks: Vec<Tick>,
    /// Letters nobody resolved.
    pub unresolved_dead_letters: i64,
    /// Follow-ups whose day has come.
    pub due_follow_ups: i64,
    /// Notices that failed, or that nobody has tried to send for
    /// [`NOTICE_PATIENCE_SECONDS`].
    pub stuck_notices: i64,
    /// Runs of canaries that were done instead of refused, and that nobody cleared.
    pub done_canaries: i64,
    /// When the agent last said no, per source and kind, those worked on last.
    pub last_refusals: Vec<LastRefusal>,
    /// Open alerts that call for somebody.
    pub calling_alerts: i64,
    /// Those of them that are critical.
    pub critical_alerts: i64,
}

impl Reading {
    /// Adds the verdicts to a snapshot.
    pub fn of(snapshot: Snapshot) -> Self {
        let (verdict, kind_verdicts) = judge(&snapshot);
        let as_of = snapshot.as_of;
        let kinds = snapshot
            .kinds
            .into_iter()
            .zip(kind_verdicts)
            .map(|(kind, verdict)| KindReading {
                oldest_due_seconds: kind.oldest_due_at.map(|at| (as_of - at).num_seconds().max(0)),
                kind: kind.kind,
                due: kind.due,
                held: kind.held,
                scheduled: kind.scheduled,
                retrying: kind.retrying,
                in_progress: kind.in_progress,
                lease_expired: kind.lease_expired,
                lost: kind.lost,
                done_last_hour: kind.done_last_hour,
                failed_last_day: kind.failed_last_day,
                refused_last_day: kind.refused_last_day,
                evidence_failed_last_day: kind.evidence_failed_last_day,
                dropped_last_day: kind.dropped_last_day,
                last_worked_at: kind.last_worked_at,
                paused: kind.paused,
                verdict,
            })
            .collect();
        Self {
            as_of,
            verdict,
            kinds,
            failures: snapshot.failures,
            workers: snapshot.workers,
            late_answers_last_day: snapshot.late_answers_last_day,
            ticks: snapshot.ticks,
            unresolved_dead_letters: snapshot.unresolved_dead_letters,
            due_follow_ups: snapshot.due_follow_ups,
            stuck_notices: snapshot.stuck_notices,
            done_canaries: snapshot.done_canaries,
            last_refusals: snapshot.last_refusals,
            calling_alerts: snapshot.calling_alerts,
            critical_alerts: snapshot.critical_alerts,
        }
    }
}
