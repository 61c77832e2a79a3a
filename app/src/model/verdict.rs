//! The one line: does the pipeline run?
//!
//! First match wins: unknown, paused, not running, failing, running except,
//! running, idle. Computed from one row per kind; nothing here reads a clock.

use super::age::{age, age_between, ago, clock};
use super::reading::{KindSnapshot, Snapshot};
use super::text::visible;
use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

/// What the line says, as a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictState {
    /// There is no fresh reading.
    Unknown,
    /// A person holds all waiting work.
    Paused,
    /// Work is due and nobody works.
    NotRunning,
    /// Work goes on and nothing succeeds.
    Failing,
    /// Some kind is skipped while others are worked.
    RunningExcept,
    /// Work is due or under way.
    Running,
    /// Nothing to do.
    Idle,
}

impl VerdictState {
    /// Whether a monitor may be content: running, idle, or a person's pause.
    pub fn is_well(self) -> bool {
        matches!(self, Self::Running | Self::Idle | Self::Paused)
    }
}

/// The line, with what stands behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// As a word.
    pub state: VerdictState,
    /// As a person reads it.
    pub text: String,
    /// Why, and what to look at; may be empty.
    pub why: Vec<String>,
}

/// Why there is no fresh reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoReading {
    /// The database does not answer.
    Unreachable,
    /// It answers, but with an error: a table is missing, a page is damaged.
    DatabaseError,
}

impl Verdict {
    /// The verdict while the database cannot be read. The line is the same for
    /// every cause, because other programs match it; `why` tells them apart.
    pub fn unknown(since: DateTime<Utc>, cause: NoReading) -> Self {
        let why = match cause {
            NoReading::Unreachable => {
                "Numbers below are the last that were read; nothing can be done until it is back."
            }
            NoReading::DatabaseError => {
                "The database answers with an error, which is in the server's log. \
                 Numbers below are the last that were read; nothing can be done until it is mended."
            }
        };
        Self {
            state: VerdictState::Unknown,
            text: format!("Unknown · database unreachable since {}", clock(since)),
            why: vec![why.to_owned()],
        }
    }
}

/// What one kind's row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KindState {
    /// A person holds it.
    Paused,
    /// It is due and nobody works on anything.
    NotRunning,
    /// It is due and only others are worked.
    Skipped,
    /// It is due, but what is handed out was due before it.
    QueuedBehind,
    /// It is due or under way.
    Running,
    /// Nothing to do.
    Idle,
}

/// A kind's own verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindVerdict {
    /// As a word.
    pub state: KindState,
    /// As a person reads it.
    pub text: String,
}

/// Judges a snapshot: the line, and one verdict per kind in the same order.
pub fn judge(snapshot: &Snapshot) -> (Verdict, Vec<KindVerdict>) {
    let states: Vec<KindState> = snapshot.kinds.iter().map(|kind| kind_state(kind, snapshot)).collect();
    let kinds = snapshot.kinds.iter().zip(&states).map(|(kind, &state)| kind_verdict(kind, state, snapshot.as_of));
    (line(snapshot, &states), kinds.collect())
}

fn line(snapshot: &Snapshot, states: &[KindState]) -> Verdict {
    let now = snapshot.as_of;
    let facts = Totals::of(snapshot);
    let any = |wanted: KindState| states.contains(&wanted);
    let verdict = |state, text: String| Verdict {
        state,
        text: one_line(&text),
        why: why(snapshot, state).iter().map(|reason| one_line(reason)).collect(),
    };

    if let Some(pause) = paused_everywhere(snapshot) {
        return verdict(
            VerdictState::Paused,
            format!("Paused · {}, paused by {} {}", facts.waiting_text(now), pause.by, ago(pause.since, now)),
        );
    }
    if any(KindState::NotRunning) {
        let claimed = match facts.last_claimed_at {
            None => "never worked".to_owned(),
            Some(at) => format!("nothing claimed for {}", age_between(at, now)),
        };
        return verdict(VerdictState::NotRunning, format!("Not running? · {}, {claimed}", facts.waiting_text(now)));
    }
    if let Some(since) = failing_since(snapshot, &facts) {
        return verdict(
            VerdictState::Failing,
            format!(
                "Running, but nothing succeeds since {} · {}{}",
                since.format("%H:%M"),
                facts.waiting_text(now),
                failure_text(snapshot)
            ),
        );
    }
    if any(KindState::Skipped) {
        return verdict(VerdictState::RunningExcept, format!("Running, except {}", skipped_text(snapshot, states)));
    }
    if facts.waiting > 0 || facts.in_progress > 0 {
        let work = match facts.waiting {
            0 => format!("nothing waiting, {} in progress", facts.in_progress),
            _ => facts.waiting_text(now),
        };
        return verdict(VerdictState::Running, format!("Running · {work}, {}", facts.worked_text(now)));
    }
    verdict(VerdictState::Idle, format!("Idle · nothing waiting, {}{}", facts.worked_text(now), facts.later_text(now)))
}

/// Sums over all kinds.
struct Totals {
    waiting: i64,
    in_progress: i64,
    scheduled: i64,
    retrying: i64,
    oldest_due_at: Option<DateTime<Utc>>,
    next_later_at: Option<DateTime<Utc>>,
    last_worked_at: Option<DateTime<Utc>>,
    last_claimed_at: Option<DateTime<Utc>>,
}

impl Totals {
    fn of(snapshot: &Snapshot) -> Self {
        let kinds = &snapshot.kinds;
        Self {
            waiting: kinds.iter().map(|k| k.due + k.held).sum(),
            in_progress: kinds.iter().map(|k| k.in_progress).sum(),
            scheduled: kinds.iter().map(|k| k.scheduled).sum(),
            retrying: kinds.iter().map(|k| k.retrying).sum(),
            oldest_due_at: kinds.iter().filter_map(|k| k.oldest_due_at).min(),
            next_later_at: kinds.iter().filter_map(|k| k.next_later_at).min(),
            last_worked_at: kinds.iter().filter_map(|k| k.last_worked_at).max(),
            last_claimed_at: kinds.iter().filter_map(last_claim).max(),
        }
    }

    fn waiting_text(&self, now: DateTime<Utc>) -> String {
        match self.oldest_due_at {
            Some(oldest) if self.waiting > 0 => {
                format!("{} waiting, oldest {}", self.waiting, age_between(oldest, now))
            }
            _ => "nothing waiting".to_owned(),
        }
    }

    fn worked_text(&self, now: DateTime<Utc>) -> String {
        self.last_worked_at.map_or_else(|| "never worked".to_owned(), |at| format!("last worked {}", ago(at, now)))
    }

    /// `, 465 retrying, 3 scheduled, next in 4 min`, or nothing.
    fn later_text(&self, now: DateTime<Utc>) -> String {
        let mut text = String::new();
        for (count, word) in [(self.retrying, "retrying"), (self.scheduled, "scheduled")] {
            if count > 0 {
                text.push_str(&format!(", {count} {word}"));
            }
        }
        if let (false, Some(next)) = (text.is_empty(), self.next_later_at) {
            text.push_str(&format!(", next in {}", age((next - now).num_seconds())));
        }
        text
    }
}

fn kind_state(kind: &KindSnapshot, snapshot: &Snapshot) -> KindState {
    let now = snapshot.as_of;
    let worked_within =
        |other: &KindSnapshot, limit: TimeDelta| other.last_worked_at.is_some_and(|at| now - at < limit);
    let limit = TimeDelta::seconds(i64::from(kind.not_running_after_seconds));
    match clock_start(kind) {
        Some(start) if now - start >= limit => {
            if is_queued_behind(kind, now, limit) {
                KindState::QueuedBehind
            } else if snapshot.kinds.iter().any(|other| other.kind != kind.kind && worked_within(other, limit)) {
                KindState::Skipped
            } else {
                KindState::NotRunning
            }
        }
        _ if kind.paused.is_some() => KindState::Paused,
        _ if kind.due + kind.held > 0 || kind.in_progress > 0 => KindState::Running,
        _ => KindState::Idle,
    }
}

/// When the clock of a kind with unheld due work started: the latest of its
/// oldest unheld due job becoming due, its last work, and the end of a hold.
fn clock_start(kind: &KindSnapshot) -> Option<DateTime<Utc>> {
    let due = kind.oldest_unheld_due_at?;
    [Some(due), kind.last_worked_at, kind.hold_ended_at].into_iter().flatten().max()
}

/// Whether, within T, a claim that admits the kind came back full of jobs that
/// were all due before this kind's oldest.
fn is_queued_behind(kind: &KindSnapshot, now: DateTime<Utc>, limit: TimeDelta) -> bool {
    match (kind.full_claim, kind.oldest_unheld_due_at) {
        (Some(claim), Some(oldest)) => now - claim.at < limit && claim.newest_due_at < oldest,
        _ => false,
    }
}

/// The latest pause, if every kind that has waiting work is paused.
fn paused_everywhere(snapshot: &Snapshot) -> Option<&super::reading::Pause> {
    let mut waiting = snapshot.kinds.iter().filter(|k| k.due + k.held > 0).peekable();
    waiting.peek()?;
    let pauses: Option<Vec<_>> = waiting.map(|kind| kind.paused.as_ref()).collect();
    pauses?.into_iter().max_by_key(|pause| pause.since)
}

/// Since when nothing succeeds, if work goes on, the last 20 ended attempts all
/// failed, and the last success is older than T.
fn failing_since(snapshot: &Snapshot, facts: &Totals) -> Option<DateTime<Utc>> {
    let recent = &snapshot.recent;
    let limit = TimeDelta::seconds(i64::from(recent.not_running_after_seconds));
    let is_worked = facts.last_worked_at.is_some_and(|at| snapshot.as_of - at < limit);
    let goes_on = is_worked && (facts.waiting > 0 || facts.in_progress > 0 || facts.retrying > 0);
    if !goes_on || recent.ended < 20 || recent.failed < recent.ended {
        return None;
    }
    match recent.last_success_at {
        Some(at) if snapshot.as_of - at <= limit => None,
        success => success.or(recent.oldest_ended_at),
    }
}

fn failure_text(snapshot: &Snapshot) -> String {
    let recent = &snapshot.recent;
    let status = recent.last_http_status.map(|s| s.to_string());
    let parts: Vec<String> = status.into_iter().chain(recent.last_failure_reason.clone()).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(" ")) }
}

fn skipped_text(snapshot: &Snapshot, states: &[KindState]) -> String {
    let skipped: Vec<&KindSnapshot> =
        snapshot.kinds.iter().zip(states).filter(|(_, s)| **s == KindState::Skipped).map(|(k, _)| k).collect();
    let mut shown: Vec<String> =
        skipped.iter().take(3).map(|kind| format!("{}: {}", kind.kind, unclaimed_text(kind, snapshot.as_of))).collect();
    if skipped.len() > 3 {
        shown.push(format!("and {} more kinds", skipped.len() - 3));
    }
    shown.join("; ")
}

/// The last claim of the kind. Where claims were not told apart from other work
/// yet, the last work: no claim came after it.
fn last_claim(kind: &KindSnapshot) -> Option<DateTime<Utc>> {
    kind.last_claimed_at.or(kind.last_worked_at)
}

fn unclaimed_text(kind: &KindSnapshot, now: DateTime<Utc>) -> String {
    let since = last_claim(kind).or(kind.oldest_unheld_due_at).unwrap_or(now);
    format!("{} waiting, none claimed for {}", kind.due, age_between(since, now))
}

fn kind_verdict(kind: &KindSnapshot, state: KindState, now: DateTime<Utc>) -> KindVerdict {
    let text = match state {
        KindState::Paused => match &kind.paused {
            Some(pause) => {
                format!("paused by {} {} · {} waiting", pause.by, ago(pause.since, now), kind.due + kind.held)
            }
            None => "paused".to_owned(),
        },
        KindState::NotRunning => format!("not running? {}", unclaimed_text(kind, now)),
        KindState::Skipped => format!("skipped: {}", unclaimed_text(kind, now)),
        KindState::QueuedBehind => "queued behind older work".to_owned(),
        KindState::Running if kind.due + kind.held == 0 => format!("{} in progress", kind.in_progress),
        KindState::Running => "running".to_owned(),
        KindState::Idle => "idle".to_owned(),
    };
    KindVerdict { state, text: one_line(&text) }
}

/// What to look at when the line is not a good one.
fn why(snapshot: &Snapshot, state: VerdictState) -> Vec<String> {
    if state.is_well() {
        return Vec::new();
    }
    let now = snapshot.as_of;
    let mut why = Vec::new();
    let last_claim = snapshot.workers.iter().filter_map(|w| w.last_claim_at.map(|at| (at, &w.worker))).max();
    why.push(match last_claim {
        Some((at, worker)) => format!("last claim {} by {worker}", ago(at, now)),
        None => "no worker ever claimed a job in the last 24 hours".to_owned(),
    });
    let polling = snapshot
        .workers
        .iter()
        .filter(|w| w.last_claim_was_empty && now - w.last_seen_at < TimeDelta::minutes(5))
        .count();
    match polling {
        0 => why.push("no worker polls".to_owned()),
        1 => why.push("1 worker still polls and gets nothing".to_owned()),
        n => why.push(format!("{n} workers still poll and get nothing")),
    }
    if snapshot.refused_polls_last_minutes > 0 {
        why.push(format!("{} claims refused (401) in the last 5 min", snapshot.refused_polls_last_minutes));
    }
    let expired: i64 = snapshot.kinds.iter().map(|k| k.lease_expired).sum();
    if expired > 0 {
        why.push(format!("{expired} with an expired lease"));
    }
    why.extend(snapshot.ticks.iter().filter_map(|tick| missing_tick(tick, now)));
    why
}

/// Names a trigger whose tick is late by more than half its period (and 5 s).
fn missing_tick(tick: &super::reading::Tick, now: DateTime<Utc>) -> Option<String> {
    let late_after = TimeDelta::seconds(tick.every_seconds + (tick.every_seconds / 2).max(5));
    (now - tick.last_at > late_after).then(|| {
        format!(
            "trigger {} last ticked {}, expected every {}",
            tick.trigger,
            ago(tick.last_at, now),
            age(tick.every_seconds)
        )
    })
}

/// Names come from outside: what could break the line, move a terminal's
/// cursor or turn the reading direction is shown as a replacement character.
fn one_line(text: &str) -> String {
    visible(text).into_owned()
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
