//! What a source was like before: the days that a week is compared with.

use chrono::{DateTime, Days, NaiveDate, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// Days of a window.
pub const WINDOW_DAYS: i64 = 7;
/// Days before the window that make its baseline.
pub const BASELINE_DAYS: u64 = 56;

/// What was processed, and what of it was not done. Canaries, replays and
/// exceptions are in none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Parked + done.
    pub processed: i64,
    /// Refused by the agent.
    pub refused: i64,
    /// Refused by the agent or parked by an evidence check; of one reason code,
    /// where the counts are of one.
    pub parked: i64,
}

impl Counts {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            processed: self.processed.saturating_add(other.processed.max(0)),
            refused: self.refused.saturating_add(other.refused.max(0)),
            parked: self.parked.saturating_add(other.parked.max(0)),
        }
    }
}

/// One UTC day of a source, or of a source and a reason code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaselineDay {
    /// The day.
    pub day: NaiveDate,
    /// What it counted.
    pub counts: Counts,
    /// Whether it is one of the [`days_in_alarm`] of any alert about this source.
    pub is_in_alarm: bool,
}

/// The days that a window is compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// First day.
    pub from: NaiveDate,
    /// Last day.
    pub to: NaiveDate,
    /// Days in alarm between the two that are left out.
    pub days_left_out: u32,
    /// Whether a person chose it.
    pub is_pinned: bool,
    /// What its days count together.
    pub counts: Counts,
}

impl Baseline {
    /// The 56 days before a window that begins on `window_from`, without those
    /// in alarm. Days outside of them are not looked at.
    pub fn before(window_from: NaiveDate, days: &[BaselineDay]) -> Self {
        let from = window_from.checked_sub_days(Days::new(BASELINE_DAYS)).unwrap_or(NaiveDate::MIN);
        let to = window_from.pred_opt().unwrap_or(NaiveDate::MIN);
        let mut baseline = Self { from, to, days_left_out: 0, is_pinned: false, counts: Counts::default() };
        for day in days.iter().filter(|day| (from..=to).contains(&day.day)) {
            if day.is_in_alarm {
                baseline.days_left_out += 1;
            } else {
                baseline.counts = baseline.counts.plus(day.counts);
            }
        }
        baseline
    }

    /// The baseline that a person pinned to those days.
    pub fn pinned(from: NaiveDate, to: NaiveDate, counts: Counts) -> Self {
        Self { from, to, days_left_out: 0, is_pinned: true, counts }
    }

    /// The baseline to judge by: the pinned one; else the usual one; else, when
    /// the usual one holds nothing because the alert has outlived all its days,
    /// the one that the alert opened with. So what raised an alarm never becomes
    /// the norm by lasting.
    pub fn in_force(pinned: Option<&Self>, usual: Self, opened_with: Option<&Self>) -> Self {
        match (pinned, opened_with) {
            (Some(pinned), _) => pinned.clone(),
            (None, Some(opened_with)) if usual.counts.processed == 0 => opened_with.clone(),
            (None, _) => usual,
        }
    }
}

/// First and last day that an alert keeps out of later baselines: from the
/// beginning of the window that raised it until it closed, or until `now`.
pub fn days_in_alarm(since: DateTime<Utc>, until: DateTime<Utc>) -> (NaiveDate, NaiveDate) {
    (window_from(since), until.date_naive())
}

/// The day on which the window that ends at `now` begins.
pub fn window_from(now: DateTime<Utc>) -> NaiveDate {
    now.checked_sub_signed(TimeDelta::days(WINDOW_DAYS)).map_or(NaiveDate::MIN, |at| at.date_naive())
}
