//! What is done to many dead letters at once.
//!
//! Which letters, and in which version, is fixed when it is drafted. What comes
//! of each is kept; nothing here acts on a letter.

use super::FieldError;
use super::ids::{BulkId, DeadLetterId, JobId};
use super::job::ReplayMode;
use super::letter::Route;
use super::letter_filter::LetterFilter;
use super::people::Actor;
use super::recovery::RecoveryAction;
use chrono::{DateTime, Utc};

/// Most letters of one bulk.
pub const MAX_BULK_LETTERS: usize = 10_000;
/// So many letters are tried before the others follow.
pub const TRIAL_LETTERS: i64 = 5;

/// `1 letter`, `30 letters`.
pub fn letters(count: i64) -> String {
    match count {
        1 => "1 letter".to_owned(),
        count => format!("{count} letters"),
    }
}

/// Where a bulk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkState {
    /// Chosen, not confirmed.
    Draft,
    /// A server acts on its letters.
    Running,
    /// None of the first few succeeded, so it stopped itself.
    Halted,
    /// Somebody stopped it, or whoever started it may not act any more.
    Stopped,
    /// Every letter was tried.
    Done,
}

impl BulkState {
    const ALL: [Self; 5] = [Self::Draft, Self::Running, Self::Halted, Self::Stopped, Self::Done];

    /// The word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Running => "running",
            Self::Halted => "halted",
            Self::Stopped => "stopped",
            Self::Done => "done",
        }
    }

    /// The state of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// What a person reads.
    pub fn label(self) -> &'static str {
        match self {
            Self::Draft => "not confirmed yet",
            Self::Running => "running",
            Self::Halted => "stopped itself",
            Self::Stopped => "stopped",
            Self::Done => "done",
        }
    }
}

/// What became of one letter of a bulk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemOutcome {
    /// It was acted on.
    Acted,
    /// Somebody resolved it before.
    AlreadyResolved,
    /// It changed since it was chosen.
    Changed,
    /// Somebody else has it.
    Taken,
    /// Its workflow does not offer the action.
    NotOffered,
    /// Its workflow asks for a higher role.
    Forbidden,
    /// It could not be done.
    Failed,
}

impl ItemOutcome {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Acted,
        Self::AlreadyResolved,
        Self::Changed,
        Self::Taken,
        Self::NotOffered,
        Self::Forbidden,
        Self::Failed,
    ];

    /// The word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acted => "acted",
            Self::AlreadyResolved => "already_resolved",
            Self::Changed => "changed",
            Self::Taken => "taken",
            Self::NotOffered => "not_offered",
            Self::Forbidden => "forbidden",
            Self::Failed => "failed",
        }
    }

    /// The outcome of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == word)
    }

    /// What a person reads.
    pub fn label(self) -> &'static str {
        match self {
            Self::Acted => "acted on",
            Self::AlreadyResolved => "already resolved",
            Self::Changed => "changed meanwhile",
            Self::Taken => "taken by somebody else",
            Self::NotOffered => "not offered by the workflow",
            Self::Forbidden => "needs a higher role",
            Self::Failed => "failed",
        }
    }
}

/// Which letters.
#[derive(Debug, Clone, PartialEq)]
pub enum BulkSelection {
    /// These, in the versions that were seen.
    Ids(Vec<(DeadLetterId, i64)>),
    /// What a filter finds unresolved now.
    Filter(Box<LetterFilter>),
}

/// A bulk to be drafted.
#[derive(Debug, Clone, PartialEq)]
pub struct NewBulk {
    /// Which letters.
    pub selection: BulkSelection,
    /// Where they were chosen, in words.
    pub scope: String,
}

/// What a person does to a bulk.
#[derive(Debug, Clone, PartialEq)]
pub enum Steer {
    /// Start it.
    Confirm(BulkAct),
    /// Act on no further letter.
    Stop,
    /// Go on, without waiting for the first few.
    GoOn,
}

impl Steer {
    /// Whether the bulk is as `by` wants it already: a second press of the same
    /// button finds what the first one did.
    pub fn is_so(&self, bulk: &Bulk, by: &str) -> bool {
        match self {
            Self::Confirm(act) => {
                bulk.act.as_ref() == Some(act) && bulk.started_by.as_ref().is_some_and(|actor| actor.name == by)
            }
            Self::Stop => bulk.state == BulkState::Stopped,
            Self::GoOn => bulk.state == BulkState::Running && !bulk.is_trial,
        }
    }
}

/// What a bulk does to each of its letters.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkAct {
    /// Approve and replay, or reject and close.
    pub action: RecoveryAction,
    /// How replays run.
    pub mode: ReplayMode,
    /// Why.
    pub note: Option<String>,
}

impl BulkAct {
    /// What many letters can have done to them at once.
    pub const ACTIONS: [RecoveryAction; 2] = [RecoveryAction::ApproveAndReplay, RecoveryAction::RejectAndClose];

    /// Checks it.
    ///
    /// # Errors
    /// The field that breaks a rule.
    pub fn check(&self) -> Result<(), FieldError> {
        if !Self::ACTIONS.contains(&self.action) {
            return Err(FieldError::new("action", "must be approve_and_replay or reject_and_close"));
        }
        if self.action.needs_note() && self.note.as_deref().is_none_or(|note| note.trim().is_empty()) {
            return Err(FieldError::new("note", "must say why: this cannot be taken back"));
        }
        if self.mode == ReplayMode::Pinned && !self.action.replays() {
            return Err(FieldError::new("mode", "goes with a replay only"));
        }
        Ok(())
    }
}

/// A bulk.
#[derive(Debug, Clone, PartialEq)]
pub struct Bulk {
    /// Its id.
    pub id: BulkId,
    /// Where its letters were chosen, in words.
    pub scope: String,
    /// Where it stands.
    pub state: BulkState,
    /// Who drafted it.
    pub made_by: String,
    /// When.
    pub made_at: DateTime<Utc>,
    /// Its letters.
    pub total: i64,
    /// What it does, once confirmed.
    pub act: Option<BulkAct>,
    /// As whom it acts.
    pub started_by: Option<Actor>,
    /// Since when.
    pub started_at: Option<DateTime<Utc>>,
    /// Whether it still tries a few.
    pub is_trial: bool,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
    /// Why, if not because every letter was tried.
    pub said: Option<String>,
}

/// What became of the letters of a bulk so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BulkCounts {
    /// Not tried yet.
    pub outstanding: i64,
    /// By outcome, in the order of [`ItemOutcome::ALL`].
    pub outcomes: [i64; 7],
    /// Replays that are done.
    pub replays_done: i64,
    /// Replays that have not ended.
    pub replays_running: i64,
    /// Replays that were parked again.
    pub replays_parked: i64,
}

impl BulkCounts {
    /// Letters that were tried, whatever came of it.
    pub fn tried(&self) -> i64 {
        self.outcomes.iter().sum()
    }

    /// Letters with that outcome.
    pub fn of(&self, outcome: ItemOutcome) -> i64 {
        ItemOutcome::ALL.iter().position(|other| *other == outcome).map_or(0, |at| self.outcomes[at])
    }
}

/// One letter of a bulk.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkItem {
    /// The letter.
    pub dead_letter_id: DeadLetterId,
    /// Its kind, while the letter is kept.
    pub kind: Option<String>,
    /// As it was chosen.
    pub version: i64,
    /// What became of it.
    pub outcome: Option<ItemOutcome>,
    /// Why.
    pub said: Option<String>,
    /// The replay made from it.
    pub replay_job_id: Option<JobId>,
    /// The letter that the replay became, with its reason.
    pub parked_again: Option<(DeadLetterId, String)>,
}

/// One letter of a draft.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenLetter {
    /// The letter.
    pub dead_letter_id: DeadLetterId,
    /// Its kind.
    pub kind: String,
    /// How it got parked.
    pub route: Route,
    /// Why, in the machine's words, at most 200 characters.
    pub reason: String,
    /// What it will be skipped for, if it changed since it was chosen.
    pub changed: Option<ItemOutcome>,
    /// Who changed it, where that is known.
    pub changed_by: Option<String>,
}

/// A bulk whole.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkDetail {
    /// The bulk.
    pub bulk: Bulk,
    /// What became of its letters.
    pub counts: BulkCounts,
    /// How many changed since they were chosen; only of a draft.
    pub changed: i64,
    /// The first of its letters, at most 20; of a draft, those that changed first.
    pub sample: Vec<ChosenLetter>,
    /// What was skipped, failed, or was parked again, by letter.
    pub trouble: Vec<BulkItem>,
    /// Where the next page of trouble begins.
    pub next: Option<DeadLetterId>,
    /// The database's clock at this reading.
    pub as_of: DateTime<Utc>,
}

impl BulkDetail {
    /// What came of it so far: `28 replayed, 1 already resolved`.
    pub fn summary(&self) -> String {
        let acted = match &self.bulk.act {
            Some(act) if act.action.replays() => "replayed",
            _ => "closed",
        };
        let said = ItemOutcome::ALL
            .into_iter()
            .map(|outcome| (outcome, self.counts.of(outcome)))
            .filter(|(outcome, count)| *count > 0 || *outcome == ItemOutcome::Acted)
            .map(|(outcome, count)| match outcome {
                ItemOutcome::Acted => format!("{count} {acted}"),
                other => format!("{count} {}", other.label()),
            });
        said.collect::<Vec<_>>().join(", ")
    }

    /// Letters that a confirmation would act on: those that did not change since.
    pub fn unchanged(&self) -> i64 {
        self.bulk.total - self.changed
    }
}

/// How a server leaves a bulk that it worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leave {
    /// There is more to do at once.
    Again,
    /// The first few have not ended yet.
    Waiting,
    /// The first few succeeded.
    TrialOver,
    /// None of the first few succeeded.
    Halted(String),
    /// Whoever started it may not act any more.
    Stopped(String),
    /// Every letter was tried.
    Done,
}

/// What follows the first few letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trial {
    /// So many more are to be tried.
    TryMore(i64),
    /// Wait for their replays.
    Wait,
    /// None succeeded.
    NoneSucceeded,
    /// The others may follow.
    Over,
}

impl Trial {
    /// Where the trial of a bulk stands.
    pub fn of(action: RecoveryAction, counts: &BulkCounts) -> Self {
        let acted = counts.of(ItemOutcome::Acted);
        match () {
            () if counts.outstanding > 0 && acted < TRIAL_LETTERS => Self::TryMore(TRIAL_LETTERS - acted),
            () if !action.replays() || counts.outstanding == 0 => Self::Over,
            () if counts.replays_running > 0 => Self::Wait,
            () if counts.replays_done == 0 => Self::NoneSucceeded,
            () => Self::Over,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(outstanding: i64, acted: i64, done: i64, running: i64) -> BulkCounts {
        let mut outcomes = [0; 7];
        outcomes[0] = acted;
        BulkCounts {
            outstanding,
            outcomes,
            replays_done: done,
            replays_running: running,
            replays_parked: acted - done - running,
        }
    }

    #[test]
    fn the_others_follow_only_when_the_first_few_ended_and_one_succeeded() {
        let replay = |counts| Trial::of(RecoveryAction::ApproveAndReplay, &counts);
        assert_eq!(replay(counts(100, 0, 0, 0)), Trial::TryMore(5));
        assert_eq!(replay(counts(96, 4, 0, 4)), Trial::TryMore(1));
        assert_eq!(replay(counts(95, 5, 4, 1)), Trial::Wait);
        assert_eq!(replay(counts(95, 5, 0, 0)), Trial::NoneSucceeded);
        assert_eq!(replay(counts(95, 5, 1, 0)), Trial::Over);
        assert_eq!(replay(counts(0, 3, 0, 3)), Trial::Over, "there is nothing left to hold back");
        assert_eq!(Trial::of(RecoveryAction::RejectAndClose, &counts(95, 5, 0, 0)), Trial::Over);
    }

    #[test]
    fn words_lead_back() {
        for outcome in ItemOutcome::ALL {
            assert_eq!(ItemOutcome::from_word(outcome.as_str()), Some(outcome));
        }
        for state in BulkState::ALL {
            assert_eq!(BulkState::from_word(state.as_str()), Some(state));
        }
    }

    #[test]
    fn closing_for_good_needs_a_note_and_no_other_action_is_done_to_many() {
        let act =
            |action, note: Option<&str>| BulkAct { action, mode: ReplayMode::Current, note: note.map(Into::into) };
        assert_eq!(act(RecoveryAction::RejectAndClose, Some(" ")).check().unwrap_err().field, "note");
        assert_eq!(act(RecoveryAction::ApproveAndReplay, None).check(), Ok(()));
        assert_eq!(act(RecoveryAction::Take, None).check().unwrap_err().field, "action");
    }
}
