//! A state is always a word, a shape and a colour. The colour comes from the
//! style sheet by the class, the shape from here, the word beside it.

use crate::model::alerting::Level;
use crate::model::bulk::{BulkState, ItemOutcome};
use crate::model::canary::RunResult;
use crate::model::job::{AttemptOutcome, JobState};
use crate::model::letter::{LetterStatus, Route};
use crate::model::outbox::NoticeState;
use crate::model::verdict::{KindState, VerdictState};
use leptos::prelude::*;

/// The shape, and the class that gives it its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// One character.
    pub shape: &'static str,
    /// A state class of the style sheet.
    pub class: &'static str,
}

const fn mark(shape: &'static str, class: &'static str) -> Mark {
    Mark { shape, class }
}

/// The shape alone; screen readers get the word beside it.
pub fn shape(mark: Mark) -> impl IntoView {
    view! { <i class=mark.class aria-hidden="true">{mark.shape}</i> }
}

/// Shape and word.
pub fn state(mark: Mark, word: impl Into<String>) -> impl IntoView {
    let word: String = word.into();
    view! { <span class="state"><i class=mark.class aria-hidden="true">{mark.shape}</i>" "{word}</span> }
}

/// The mark of a kind's verdict.
pub fn of_kind(state: KindState) -> Mark {
    match state {
        KindState::Paused => mark("‖", "s-held"),
        KindState::NotRunning => mark("■", "s-dead"),
        KindState::Skipped => mark("▲", "s-dead"),
        KindState::QueuedBehind => mark("◐", "s-due"),
        KindState::Running => mark("●", "s-done"),
        KindState::Idle => mark("○", "s-later"),
    }
}

/// The mark of the line.
pub fn of_verdict(state: VerdictState) -> Mark {
    match state {
        VerdictState::Unknown => mark("?", "s-later"),
        VerdictState::Paused => mark("‖", "s-held"),
        VerdictState::NotRunning => mark("■", "s-dead"),
        VerdictState::Failing => mark("▲", "s-dead"),
        VerdictState::RunningExcept => mark("▲", "s-held"),
        VerdictState::Running => mark("●", "s-done"),
        VerdictState::Idle => mark("○", "s-later"),
    }
}

/// The line's state as an attribute value.
pub fn verdict_word(state: VerdictState) -> &'static str {
    match state {
        VerdictState::Unknown => "unknown",
        VerdictState::Paused => "paused",
        VerdictState::NotRunning => "not_running",
        VerdictState::Failing => "failing",
        VerdictState::RunningExcept => "running_except",
        VerdictState::Running => "running",
        VerdictState::Idle => "idle",
    }
}

/// The mark of a job's state.
pub fn of_job(state: JobState) -> Mark {
    match state {
        JobState::Waiting => mark("○", "s-due"),
        JobState::InProgress => mark("◐", "s-progress"),
        JobState::Done => mark("●", "s-done"),
        JobState::Dead => mark("■", "s-dead"),
        JobState::Dropped => mark("▽", "s-later"),
        JobState::Cancelled => mark("×", "s-later"),
    }
}

/// A job's state as a person reads it.
pub fn job_word(state: JobState) -> &'static str {
    match state {
        JobState::Waiting => "waiting",
        JobState::InProgress => "in progress",
        JobState::Done => "done",
        JobState::Dead => "dead letter",
        JobState::Dropped => "dropped",
        JobState::Cancelled => "cancelled",
    }
}

/// The mark of an attempt's end; `None` while it is under way.
pub fn of_attempt(outcome: Option<AttemptOutcome>) -> (Mark, &'static str) {
    match outcome {
        None => (mark("◐", "s-progress"), "under way"),
        Some(AttemptOutcome::Done) => (mark("●", "s-done"), "done"),
        Some(AttemptOutcome::Refused) => (mark("◆", "s-held"), "refused by the agent"),
        Some(AttemptOutcome::EvidenceFailed) => (mark("◇", "s-held"), "evidence failed"),
        Some(AttemptOutcome::Failed) => (mark("■", "s-dead"), "failed"),
        Some(AttemptOutcome::Lost) => (mark("▲", "s-dead"), "lost: the lease expired"),
    }
}

/// The mark of a route: a refusal never looks like a failure.
pub fn of_route(route: Route) -> Mark {
    match route {
        Route::RefusedByAgent => mark("◆", "s-held"),
        Route::FailedEvidenceCheck => mark("◇", "s-held"),
        Route::Exception => mark("■", "s-dead"),
    }
}

/// The mark of where a bulk stands.
pub fn of_bulk(state: BulkState) -> Mark {
    match state {
        BulkState::Draft => mark("○", "s-later"),
        BulkState::Running => mark("◐", "s-progress"),
        BulkState::Halted => mark("▲", "s-held"),
        BulkState::Stopped => mark("×", "s-later"),
        BulkState::Done => mark("●", "s-done"),
    }
}

/// The mark of what became of a letter of a bulk.
pub fn of_item(outcome: ItemOutcome) -> Mark {
    match outcome {
        ItemOutcome::Acted => mark("●", "s-done"),
        ItemOutcome::Failed => mark("■", "s-dead"),
        ItemOutcome::AlreadyResolved
        | ItemOutcome::Changed
        | ItemOutcome::Taken
        | ItemOutcome::NotOffered
        | ItemOutcome::Forbidden => mark("▽", "s-later"),
    }
}

/// The mark of a notice.
pub fn of_notice(state: NoticeState) -> Mark {
    match state {
        NoticeState::Waiting => mark("○", "s-due"),
        NoticeState::Retrying => mark("◐", "s-held"),
        NoticeState::Failed => mark("■", "s-dead"),
        NoticeState::Sent => mark("●", "s-done"),
    }
}

/// The mark of a follow-up: done, due, or for later.
pub fn of_follow_up(is_done: bool, is_due: bool) -> Mark {
    match (is_done, is_due) {
        (true, _) => mark("●", "s-done"),
        (false, true) => mark("▲", "s-held"),
        (false, false) => mark("○", "s-due"),
    }
}

/// The mark of an alert's level.
pub fn of_level(level: Level) -> Mark {
    match level {
        Level::Warn => mark("▲", "s-held"),
        Level::Critical => mark("■", "s-dead"),
    }
}

/// The mark of how a run of a canary ended; `None` while it runs.
pub fn of_run(result: Option<RunResult>) -> Mark {
    match result {
        None => mark("◐", "s-progress"),
        Some(RunResult::Passed) => mark("●", "s-done"),
        Some(RunResult::WrongCode | RunResult::WrongField | RunResult::EvidenceFailed) => mark("▲", "s-held"),
        Some(RunResult::Done) => mark("■", "s-dead"),
        Some(RunResult::Failed) => mark("×", "s-dead"),
        Some(RunResult::NotTaken) => mark("▽", "s-later"),
    }
}

/// The mark of a letter's status.
pub fn of_letter(status: LetterStatus) -> Mark {
    match status {
        LetterStatus::Open => mark("○", "s-due"),
        LetterStatus::Taken => mark("◐", "s-progress"),
        LetterStatus::Resolved => mark("●", "s-done"),
    }
}
