//! Rows of a snapshot as both databases return them, and what they mean.
//! Nothing here runs a query.

use crate::store::fault::{Fault, Tried};
use crate::store::rows::{category, cover_of, http_status, narrow};
use crate::store::time::{At, time};
use app::model::evidence::counts::EvidenceCount;
use app::model::ids::{DeadLetterId, JobId};
use app::model::park_rate::ParkCount;
use app::model::reading::{Failure, FullClaim, KindSnapshot, LastRefusal, Pause, RecentAttempts, Tick, WorkerSeen};
use serde::Deserialize;
use sqlx::FromRow;

/// The figures of one kind. `claimable` is what would be due if it were not held.
#[derive(Debug, FromRow, Deserialize)]
pub struct StoredKind {
    pub(super) kind: String,
    pub(super) not_running_after_seconds: i64,
    pub(super) paused_at: Option<At>,
    pub(super) paused_by: Option<String>,
    pub(super) hold_ended_at: Option<At>,
    pub(super) claimable: i64,
    pub(super) scheduled: i64,
    pub(super) retrying: i64,
    pub(super) in_progress: i64,
    pub(super) lease_expired: i64,
    pub(super) lost: i64,
    pub(super) oldest_due_at: Option<At>,
    pub(super) next_later_at: Option<At>,
    pub(super) done_last_hour: i64,
    pub(super) failed_last_day: i64,
    pub(super) refused_last_day: i64,
    pub(super) evidence_failed_last_day: i64,
    pub(super) dropped_last_day: i64,
    pub(super) last_worked_at: Option<At>,
    pub(super) last_claimed_at: Option<At>,
}

impl StoredKind {
    /// The kind, with the last full claim that admits it.
    pub fn snapshot(self, claims: &[AdmittingClaim]) -> KindSnapshot {
        let is_held = self.paused_at.is_some();
        let oldest_due_at = time(self.oldest_due_at);
        KindSnapshot {
            full_claim: claims
                .iter()
                .filter(|claim| claim.admits(&self.kind))
                .map(AdmittingClaim::claim)
                .max_by_key(|claim| claim.at),
            due: if is_held { 0 } else { self.claimable },
            held: if is_held { self.claimable } else { 0 },
            scheduled: self.scheduled,
            retrying: self.retrying,
            in_progress: self.in_progress,
            lease_expired: self.lease_expired,
            lost: self.lost,
            done_last_hour: self.done_last_hour,
            failed_last_day: self.failed_last_day,
            refused_last_day: self.refused_last_day,
            evidence_failed_last_day: self.evidence_failed_last_day,
            dropped_last_day: self.dropped_last_day,
            oldest_due_at,
            oldest_unheld_due_at: oldest_due_at.filter(|_| !is_held),
            next_later_at: time(self.next_later_at),
            last_worked_at: time(self.last_worked_at),
            last_claimed_at: time(self.last_claimed_at),
            hold_ended_at: time(self.hold_ended_at),
            paused: self.paused_at.map(|At(since)| Pause { by: self.paused_by.unwrap_or_default(), since }),
            not_running_after_seconds: narrow(self.not_running_after_seconds),
            kind: self.kind,
        }
    }
}

/// The last claim that came back full, of those that admit one set of kinds.
#[derive(Debug, FromRow, Deserialize)]
pub struct AdmittingClaim {
    /// A JSON array of kinds, or empty for all.
    pub(super) admits: String,
    pub(super) full_at: At,
    pub(super) newest_due_at: At,
}

impl AdmittingClaim {
    fn admits(&self, kind: &str) -> bool {
        self.admits.is_empty()
            || serde_json::from_str::<Vec<String>>(&self.admits).is_ok_and(|kinds| kinds.iter().any(|k| k == kind))
    }

    fn claim(&self) -> FullClaim {
        FullClaim { at: self.full_at.0, newest_due_at: self.newest_due_at.0 }
    }
}

/// One of the last ended attempts.
#[derive(Debug, FromRow, Deserialize)]
pub struct StoredRecent {
    pub(super) ended_at: At,
    pub(super) outcome: String,
    pub(super) http_status: Option<i64>,
    pub(super) failure_reason: Option<String>,
    pub(super) not_running_after_seconds: i64,
}

impl StoredRecent {
    /// All of them together, newest first.
    pub fn summary(recent: Vec<Self>, last_success_at: Option<At>) -> RecentAttempts {
        let failures = || recent.iter().filter(|attempt| matches!(attempt.outcome.as_str(), "failed" | "lost"));
        let newest_failure = failures().next();
        RecentAttempts {
            ended: recent.len() as u32,
            failed: failures().count() as u32,
            oldest_ended_at: recent.last().map(|attempt| attempt.ended_at.0),
            last_success_at: time(last_success_at),
            last_http_status: newest_failure.and_then(|attempt| http_status(attempt.http_status)),
            last_failure_reason: newest_failure.and_then(|attempt| attempt.failure_reason.clone()),
            not_running_after_seconds: recent
                .iter()
                .map(|attempt| narrow(attempt.not_running_after_seconds))
                .max()
                .unwrap_or_default(),
        }
    }
}

/// One of the last failures.
#[derive(Debug, FromRow, Deserialize)]
pub struct StoredFailure {
    pub(super) job_id: i64,
    pub(super) kind: String,
    pub(super) ended_at: At,
    pub(super) attempt: i64,
    pub(super) max_attempts: i64,
    pub(super) category: Option<String>,
    pub(super) failure_reason: Option<String>,
    pub(super) http_status: Option<i64>,
    pub(super) error: Option<String>,
    pub(super) next_run_at: Option<At>,
    pub(super) dead_letter_id: Option<i64>,
    /// Where the kind masks fields: its changed settings.
    pub(super) overrides: Option<String>,
    /// Where the kind masks fields: which values they are.
    pub(super) masking: Option<String>,
}

impl StoredFailure {
    /// The failure, with `error` as the query cut it.
    pub fn failure(mut self) -> Failure {
        cover_of(self.overrides.as_deref(), self.masking.as_deref()).put_on(&mut self.error);
        Failure {
            job_id: JobId(self.job_id),
            kind: self.kind,
            at: self.ended_at.0,
            attempt: narrow(self.attempt),
            max_attempts: narrow(self.max_attempts),
            category: category(self.category.as_deref()),
            reason: self.failure_reason,
            http_status: http_status(self.http_status),
            error: self.error.unwrap_or_default(),
            next_run_at: time(self.next_run_at),
            is_final: self.next_run_at.is_none(),
            dead_letter_id: self.dead_letter_id.map(DeadLetterId),
        }
    }
}

/// When the agent last said no to a source.
#[derive(Debug, FromRow, Deserialize)]
pub struct StoredLastRefusal {
    pub(super) source: String,
    pub(super) kind: String,
    pub(super) last_no_at: Option<At>,
    pub(super) reason_code: Option<String>,
    pub(super) processed_since: i64,
    pub(super) is_zero: bool,
}

impl StoredLastRefusal {
    /// The same as people read it.
    pub fn last_refusal(self) -> LastRefusal {
        LastRefusal {
            source: self.source,
            kind: self.kind,
            at: time(self.last_no_at),
            reason_code: self.reason_code,
            processed_since: self.processed_since,
            is_zero: self.is_zero,
        }
    }
}

/// A worker.
#[derive(Debug, FromRow, Deserialize)]
pub struct StoredWorker {
    pub(super) worker: String,
    pub(super) last_seen_at: At,
    pub(super) last_claim_at: Option<At>,
    pub(super) last_claim_was_empty: bool,
    pub(super) holds: i64,
    pub(super) lease_expired: i64,
    pub(super) next_lease_expires_at: Option<At>,
}

impl StoredWorker {
    /// The worker.
    pub fn seen(self) -> WorkerSeen {
        WorkerSeen {
            worker: self.worker,
            last_seen_at: self.last_seen_at.0,
            last_claim_at: time(self.last_claim_at),
            holds: self.holds,
            lease_expired: self.lease_expired,
            next_lease_expires_at: time(self.next_lease_expires_at),
            last_claim_was_empty: self.last_claim_was_empty,
        }
    }
}

/// A trigger.
#[derive(Debug, FromRow, Deserialize)]
pub struct StoredTick {
    pub(super) trigger_name: String,
    pub(super) every_seconds: i64,
    pub(super) last_at: At,
}

impl StoredTick {
    /// The trigger.
    pub fn tick(self) -> Tick {
        Tick { trigger: self.trigger_name, every_seconds: self.every_seconds, last_at: self.last_at.0 }
    }
}

/// Processed and parked of one day.
#[derive(Debug, FromRow)]
pub struct StoredParkCount {
    pub(super) day: chrono::NaiveDate,
    pub(super) source: Option<String>,
    pub(super) reason_code: Option<String>,
    pub(super) processed: i64,
    pub(super) parked: i64,
}

impl StoredParkCount {
    /// The count.
    pub fn count(self) -> ParkCount {
        ParkCount {
            source: self.source,
            reason_code: self.reason_code,
            day: self.day,
            processed: self.processed,
            parked: self.parked,
        }
    }
}

/// What one evidence check did on one day, as a row.
#[derive(Debug, FromRow)]
pub struct StoredEvidenceCount {
    pub(super) kind: String,
    pub(super) tenant: Option<String>,
    pub(super) field: String,
    pub(super) rule: String,
    pub(super) day: String,
    pub(super) checked: i64,
    pub(super) missed: i64,
}

impl StoredEvidenceCount {
    /// The count.
    pub fn count(self) -> Tried<EvidenceCount> {
        Ok(EvidenceCount {
            day: self.day.parse().map_err(|_| Fault::corrupt("day", &self.day))?,
            kind: self.kind,
            tenant: self.tenant,
            field: self.field,
            rule: self.rule,
            checked: self.checked,
            missed: self.missed,
        })
    }
}
