//! Bulks and their letters as rows, for both databases.

use super::fault::{Fault, Tried};
use super::time::{At, time};
use app::model::bulk::{Bulk, BulkAct, BulkItem, BulkState, ChosenLetter, ItemOutcome};
use app::model::ids::{BulkId, DeadLetterId, JobId};
use app::model::job::ReplayMode;
use app::model::letter::Route;
use app::model::people::Actor;
use app::model::recovery::RecoveryAction;
use sqlx::FromRow;

/// A bulk, up to its condition.
pub const BULK: &str = "SELECT id, scope, state, made_by, made_at, total, action, mode, note, started_by, started_at, \
     address, user_agent, is_trial, ended_at, said FROM bulks ";

/// An item with its letter's kind, and the letter that its replay became.
pub const ITEM: &str = "SELECT i.dead_letter_id, l.kind, i.version, i.outcome, i.said, i.replay_job_id, d.id AS parked_as, \
     coalesce(d.reason_code, substr(d.error, 1, 200), d.failure_reason) AS parked_why \
     FROM bulk_items i LEFT JOIN dead_letters d ON d.job_id = i.replay_job_id \
     LEFT JOIN dead_letters l ON l.id = i.dead_letter_id ";

/// A bulk as it is stored.
#[derive(Debug, FromRow)]
pub struct StoredBulk {
    id: i64,
    scope: String,
    state: String,
    made_by: String,
    made_at: At,
    total: i64,
    action: Option<String>,
    mode: Option<String>,
    note: Option<String>,
    started_by: Option<String>,
    started_at: Option<At>,
    address: Option<String>,
    user_agent: Option<String>,
    is_trial: i64,
    ended_at: Option<At>,
    said: Option<String>,
}

impl StoredBulk {
    /// The bulk.
    pub fn bulk(self) -> Tried<Bulk> {
        let state = BulkState::from_word(&self.state).ok_or_else(|| Fault::corrupt("state of a bulk", &self.state))?;
        let action = self
            .action
            .as_deref()
            .map(|word| RecoveryAction::from_word(word).ok_or_else(|| Fault::corrupt("action", word)));
        let mode = match self.mode.as_deref() {
            Some("pinned") => ReplayMode::Pinned,
            _ => ReplayMode::Current,
        };
        let note = self.note;
        let (address, user_agent) = (self.address, self.user_agent);
        Ok(Bulk {
            id: BulkId(self.id),
            scope: self.scope,
            state,
            made_by: self.made_by,
            made_at: self.made_at.0,
            total: self.total,
            act: action.transpose()?.map(|action| BulkAct { action, mode, note }),
            started_by: self.started_by.map(|name| Actor { name, address, user_agent, role: None }),
            started_at: time(self.started_at),
            is_trial: self.is_trial != 0,
            ended_at: time(self.ended_at),
            said: self.said,
        })
    }
}

/// A letter of a bulk as it is stored.
#[derive(Debug, FromRow)]
pub struct StoredItem {
    dead_letter_id: i64,
    kind: Option<String>,
    version: i64,
    outcome: Option<String>,
    said: Option<String>,
    replay_job_id: Option<i64>,
    parked_as: Option<i64>,
    parked_why: Option<String>,
}

impl StoredItem {
    /// The letter of the bulk.
    pub fn item(self) -> Tried<BulkItem> {
        let outcome = self
            .outcome
            .as_deref()
            .map(|word| ItemOutcome::from_word(word).ok_or_else(|| Fault::corrupt("outcome", word)));
        Ok(BulkItem {
            dead_letter_id: DeadLetterId(self.dead_letter_id),
            kind: self.kind,
            version: self.version,
            outcome: outcome.transpose()?,
            said: self.said,
            replay_job_id: self.replay_job_id.map(JobId),
            parked_again: self.parked_as.map(|id| (DeadLetterId(id), self.parked_why.unwrap_or_default())),
        })
    }
}

/// A letter of a draft as it is stored.
#[derive(Debug, FromRow)]
pub struct StoredChosen {
    dead_letter_id: i64,
    kind: String,
    route: String,
    reason: String,
    changed: Option<String>,
    changed_by: Option<String>,
}

impl StoredChosen {
    /// The letter of the draft.
    pub fn chosen(self) -> Tried<ChosenLetter> {
        let changed = self
            .changed
            .as_deref()
            .map(|word| ItemOutcome::from_word(word).ok_or_else(|| Fault::corrupt("outcome", word)));
        Ok(ChosenLetter {
            dead_letter_id: DeadLetterId(self.dead_letter_id),
            kind: self.kind,
            route: Route::from_word(&self.route).ok_or_else(|| Fault::corrupt("route", &self.route))?,
            reason: self.reason,
            changed: changed.transpose()?,
            changed_by: self.changed_by,
        })
    }
}
