//! Every number of a snapshot counted a second time, from the rows themselves.
//!
//! Deliberately simple: all rows are read and looked at one by one. Nothing of
//! the store or of the model's rules is used.

use super::side_door::{SideDoor, TextRow};
use app::model::reading::{KindSnapshot, Snapshot};
use chrono::{DateTime, Utc};
use std::collections::BTreeMap;

/// The numbers of one kind that can be counted from rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counted {
    /// Claimable now.
    pub due: i64,
    /// Due, but the kind is paused.
    pub held: i64,
    /// Later, never tried.
    pub scheduled: i64,
    /// Later, tried before.
    pub retrying: i64,
    /// Under a live lease.
    pub in_progress: i64,
    /// Under a dead one.
    pub lease_expired: i64,
    /// Under a dead one, all attempts used.
    pub lost: i64,
    /// Done within the hour.
    pub done_last_hour: i64,
    /// Parked by exception within the day.
    pub failed_last_day: i64,
    /// Refused within the day.
    pub refused_last_day: i64,
    /// Parked by a check within the day.
    pub evidence_failed_last_day: i64,
    /// Dropped within the day.
    pub dropped_last_day: i64,
    /// In microseconds.
    pub oldest_due_at: Option<i64>,
    /// In microseconds.
    pub oldest_unheld_due_at: Option<i64>,
    /// In microseconds.
    pub next_later_at: Option<i64>,
}

impl From<&KindSnapshot> for Counted {
    fn from(kind: &KindSnapshot) -> Self {
        let micros = |at: Option<DateTime<Utc>>| at.map(|at| at.timestamp_micros());
        Self {
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
            oldest_due_at: micros(kind.oldest_due_at),
            oldest_unheld_due_at: micros(kind.oldest_unheld_due_at),
            next_later_at: micros(kind.next_later_at),
        }
    }
}

/// The snapshot's own numbers, by kind.
pub fn shown(snapshot: &Snapshot) -> BTreeMap<String, Counted> {
    snapshot.kinds.iter().map(|kind| (kind.kind.clone(), Counted::from(kind))).collect()
}

/// The rows as they stand, read at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    kinds: Vec<TextRow>,
    jobs: Vec<TextRow>,
    letters: Vec<TextRow>,
}

impl Rows {
    /// Reads them. Three statements: nothing may be written meanwhile.
    pub async fn read(door: &SideDoor) -> Self {
        let (due, finished) = (door.micros("due_at"), door.micros("finished_at"));
        let parked = door.micros("l.dead_lettered_at");
        Self {
            kinds: door.rows(&["kind", "max_attempts", "paused_at"], "kinds ORDER BY kind").await,
            jobs: door
                .rows(
                    &["id", "kind", "state", "attempts", "canary_reason_code", &due, &finished],
                    "jobs WHERE canary_reason_code IS NULL ORDER BY id",
                )
                .await,
            letters: door
                .rows(
                    &["l.id", "l.kind", "l.route", &parked],
                    "dead_letters AS l JOIN jobs AS j ON j.id = l.job_id \
                     WHERE j.canary_reason_code IS NULL ORDER BY l.id",
                )
                .await,
        }
    }

    /// Counts them as of `now`.
    pub fn count(&self, now: DateTime<Utc>) -> BTreeMap<String, Counted> {
        let now = now.timestamp_micros();
        let mut counted: BTreeMap<String, (Counted, i64, bool)> = self
            .kinds
            .iter()
            .map(|row| (text(row, 0), (Counted::default(), number(row, 1), row[2].is_some())))
            .collect();
        for row in &self.jobs {
            let (kind, max_attempts, paused) = counted.get_mut(&text(row, 1)).expect("a job's kind has a row");
            count_job(kind, row, *max_attempts, *paused, now);
        }
        for row in &self.letters {
            let (kind, ..) = counted.get_mut(&text(row, 1)).expect("a letter's kind has a row");
            if number(row, 3) > now - 24 * HOUR {
                match text(row, 2).as_str() {
                    "exception" => kind.failed_last_day += 1,
                    "refused_by_agent" => kind.refused_last_day += 1,
                    "failed_evidence_check" => kind.evidence_failed_last_day += 1,
                    other => panic!("unknown route {other}"),
                }
            }
        }
        counted.into_iter().map(|(kind, (count, ..))| (kind, count)).collect()
    }
}

const HOUR: i64 = 3_600 * 1_000_000;

fn count_job(kind: &mut Counted, row: &TextRow, max_attempts: i64, paused: bool, now: i64) {
    let attempts = number(row, 3);
    match text(row, 2).as_str() {
        "waiting" if number(row, 5) > now => {
            *(if attempts == 0 { &mut kind.scheduled } else { &mut kind.retrying }) += 1;
            earliest(&mut kind.next_later_at, number(row, 5));
        }
        "in_progress" if number(row, 5) > now => kind.in_progress += 1,
        "in_progress" if attempts >= max_attempts => {
            kind.lease_expired += 1;
            kind.lost += 1;
        }
        state @ ("waiting" | "in_progress") => {
            kind.lease_expired += i64::from(state == "in_progress");
            earliest(&mut kind.oldest_due_at, number(row, 5));
            if paused {
                kind.held += 1;
            } else {
                kind.due += 1;
                earliest(&mut kind.oldest_unheld_due_at, number(row, 5));
            }
        }
        "done" => kind.done_last_hour += i64::from(number(row, 6) > now - HOUR),
        "dropped" => kind.dropped_last_day += i64::from(number(row, 6) > now - 24 * HOUR),
        "dead" | "cancelled" => {}
        other => panic!("unknown state {other}"),
    }
}

fn earliest(slot: &mut Option<i64>, at: i64) {
    *slot = Some(slot.map_or(at, |earlier| earlier.min(at)));
}

fn text(row: &TextRow, column: usize) -> String {
    row[column].clone().expect("a column that is never null")
}

fn number(row: &TextRow, column: usize) -> i64 {
    text(row, column).parse().expect("a number")
}
