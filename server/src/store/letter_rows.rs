//! Rows of dead letters and of what hangs on them, as both databases return
//! them. Nothing here runs a query.

use crate::store::fault::{Fault, Tried};
use crate::store::promises::{StoredFollowUp, StoredNotice};
use crate::store::rows::{StoredAttempt, attempt_history, category, http_status, job_state, json, misses, replay_mode};
use crate::store::time::At;
use app::model::cover::Cover;
use app::model::ids::{DeadLetterId, JobId};
use app::model::job::RawJson;
use app::model::letter::{DeadLetter, DeadLetterDetail, Decision, LetterStatus, Replay, Resolution, Route, Taken};
use app::model::letter_policy::LetterPolicy;
use app::model::policy::Overrides;
use app::model::recovery::RecoveryAction;
use app::model::workflow::{Parked, recovery_options};
use chrono::{DateTime, Utc};
use sqlx::FromRow;

/// A letter as a list shows it.
#[derive(Debug, FromRow)]
pub struct StoredLetter {
    pub(super) id: i64,
    pub(super) job_id: i64,
    pub(super) kind: String,
    pub(super) source: String,
    pub(super) tenant: Option<String>,
    pub(super) route: String,
    pub(super) reason_code: Option<String>,
    pub(super) failure_reason: Option<String>,
    pub(super) field: Option<String>,
    pub(super) evidence: Option<String>,
    pub(super) error: Option<String>,
    pub(super) category: Option<String>,
    pub(super) http_status: Option<i64>,
    pub(super) error_code: Option<String>,
    pub(super) group_key: String,
    pub(super) status: String,
    pub(super) version: i64,
    pub(super) dead_lettered_at: At,
    pub(super) resolution: Option<String>,
    pub(super) resolved_by: Option<String>,
    pub(super) resolved_at: Option<At>,
    pub(super) note: Option<String>,
    pub(super) taken_by: Option<String>,
    pub(super) taken_until: Option<At>,
    /// The kind's changed settings, as JSON.
    pub(super) overrides: String,
    /// Where the kind masks fields and a list must know which values to cover:
    /// see [`masking_payloads`](crate::store::rows::masking_payloads).
    #[sqlx(default)]
    pub(super) masking: Option<String>,
}

impl StoredLetter {
    /// The settings for letters of its kind.
    pub fn policy(&self) -> Tried<LetterPolicy> {
        let overrides: Overrides = serde_json::from_str(&self.overrides)?;
        Ok(LetterPolicy::effective(&overrides))
    }

    /// The letter as it stands at `now`, with `error` as the query cut it, and with
    /// masked values covered if the query says which they are.
    pub fn letter(mut self, now: DateTime<Utc>) -> Tried<DeadLetter> {
        let policy = self.policy()?;
        let masking = self.masking.take();
        let mut letter = self.uncovered(&policy, now)?;
        Cover::of_list(masking.as_deref(), &policy.masked_fields).put_on_letter(&mut letter);
        Ok(letter)
    }

    fn uncovered(self, policy: &LetterPolicy, now: DateTime<Utc>) -> Tried<DeadLetter> {
        let stored = LetterStatus::from_word(&self.status).ok_or_else(|| Fault::corrupt("status", &self.status))?;
        let taken = match (stored, self.taken_by, self.taken_until) {
            (LetterStatus::Open, Some(by), Some(At(until))) if until > now => Some(Taken { by, until }),
            _ => None,
        };
        let status = if taken.is_some() { LetterStatus::Taken } else { stored };
        let resolution = match (self.resolution, self.resolved_by, self.resolved_at) {
            (Some(word), Some(by), Some(At(at))) => {
                let action = RecoveryAction::from_word(&word).ok_or_else(|| Fault::corrupt("action", &word))?;
                Some(Resolution { action, by, at, note: self.note })
            }
            _ => None,
        };
        let route = Route::from_word(&self.route).ok_or_else(|| Fault::corrupt("route", &self.route))?;
        let parked = Parked {
            kind: &self.kind,
            route,
            reason_code: self.reason_code.as_deref(),
            failure_reason: self.failure_reason.as_deref(),
            evidence: self.evidence.as_deref(),
            error: self.error.as_deref(),
        };
        let recovery_options = recovery_options(&policy.workflow, &parked, status);
        Ok(DeadLetter {
            id: DeadLetterId(self.id),
            job_id: JobId(self.job_id),
            kind: self.kind,
            source: self.source,
            tenant: self.tenant,
            route,
            reason_code: self.reason_code,
            failure_reason: self.failure_reason,
            field: self.field,
            evidence: self.evidence,
            error: self.error,
            category: category(self.category.as_deref()),
            http_status: http_status(self.http_status),
            error_code: self.error_code,
            status,
            taken,
            resolution,
            dead_lettered_at: self.dead_lettered_at.0,
            group: self.group_key,
            version: self.version,
            recovery_options,
        })
    }
}

/// A letter with what it and its job carry.
#[derive(Debug, FromRow)]
pub struct StoredLetterDetail {
    #[sqlx(flatten)]
    pub(super) letter: StoredLetter,
    pub(super) payload: Option<String>,
    pub(super) payload_ref: Option<String>,
    pub(super) upstream_handoffs: Option<String>,
    pub(super) envelope: Option<String>,
    pub(super) trace_id: Option<String>,
    pub(super) misses: Option<String>,
}

/// What was made from a letter, and what people did to it.
#[derive(Debug)]
pub struct LetterHistory {
    /// The parked job's attempts.
    pub attempts: Vec<StoredAttempt>,
    /// Replays, oldest first.
    pub replays: Vec<StoredReplay>,
    /// Decisions, oldest first.
    pub decisions: Vec<StoredDecision>,
    /// The notice, if there is one.
    pub notice: Option<StoredNotice>,
    /// The follow-up, if there is one.
    pub follow_up: Option<StoredFollowUp>,
    /// Payloads of other generations.
    pub related_payloads: Vec<RawJson>,
}

impl StoredLetterDetail {
    /// The letter whole, read at `as_of`.
    pub fn detail(self, history: LetterHistory, as_of: DateTime<Utc>) -> Tried<DeadLetterDetail> {
        Ok(DeadLetterDetail {
            letter: self.letter.letter(as_of)?,
            payload: json(self.payload),
            payload_ref: self.payload_ref,
            upstream_handoffs: json(self.upstream_handoffs),
            envelope: json(self.envelope),
            trace_id: self.trace_id,
            misses: misses(self.misses)?,
            attempt_history: attempt_history(history.attempts)?,
            replays: history.replays.into_iter().map(StoredReplay::replay).collect::<Tried<_>>()?,
            decisions: history.decisions.into_iter().map(StoredDecision::decision).collect::<Tried<_>>()?,
            notice: history.notice.map(StoredNotice::notice),
            follow_up: history.follow_up.map(StoredFollowUp::follow_up),
            related_payloads: history.related_payloads,
            as_of,
        })
    }
}

/// A replay made from a letter.
#[derive(Debug, FromRow)]
pub struct StoredReplay {
    pub(super) id: i64,
    pub(super) replay_mode: String,
    pub(super) state: String,
    pub(super) verdict: Option<String>,
    pub(super) dead_letter_id: Option<i64>,
    pub(super) dead_letter_status: Option<String>,
}

impl StoredReplay {
    fn replay(self) -> Tried<Replay> {
        Ok(Replay {
            job_id: JobId(self.id),
            mode: replay_mode(&self.replay_mode)?,
            state: job_state(&self.state)?,
            verdict: self.verdict,
            dead_letter_id: self.dead_letter_id.map(DeadLetterId),
            dead_letter_status: self.dead_letter_status.as_deref().and_then(LetterStatus::from_word),
        })
    }
}

/// What a person did to a letter.
#[derive(Debug, FromRow)]
pub struct StoredDecision {
    pub(super) action: String,
    pub(super) decided_by: String,
    pub(super) at: At,
    pub(super) note: Option<String>,
    pub(super) difference: Option<String>,
    pub(super) replay_job_ids: String,
}

impl StoredDecision {
    fn decision(self) -> Tried<Decision> {
        Ok(Decision {
            action: RecoveryAction::from_word(&self.action).ok_or_else(|| Fault::corrupt("action", &self.action))?,
            by: self.decided_by,
            at: self.at.0,
            note: self.note,
            difference: json(self.difference),
            replay_job_ids: serde_json::from_str(&self.replay_job_ids)?,
        })
    }
}
