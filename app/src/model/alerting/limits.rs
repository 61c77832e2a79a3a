//! Alerts that need no baseline: a figure reaches its limit, or something
//! happened that must not.

use super::{AlertRule, Finding, Level, Standing, counted, shown};
use crate::model::age::age;
use serde::{Deserialize, Serialize};

/// Two limits of one figure; reaching one is passing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// From here on it warns.
    pub warn: i64,
    /// From here on it is critical.
    pub critical: i64,
}

impl Limit {
    /// The level that a figure reaches, with the limit that it reached or, below
    /// both, will reach first.
    fn judge(self, figure: i64) -> (Standing, i64) {
        if figure >= self.critical {
            (Standing::Fires(Level::Critical), self.critical)
        } else if figure >= self.warn {
            (Standing::Fires(Level::Warn), self.warn)
        } else {
            (Standing::Clear, self.warn.min(self.critical))
        }
    }
}

/// The limits in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AlertLimits {
    /// Dead letters of the last hour.
    pub dead_letters_per_hour: Limit,
    /// Hours that the oldest open dead letter has been open.
    pub oldest_dead_letter_hours: Limit,
}

impl Default for AlertLimits {
    fn default() -> Self {
        Self {
            dead_letters_per_hour: Limit { warn: 5, critical: 20 },
            oldest_dead_letter_hours: Limit { warn: 48, critical: 168 },
        }
    }
}

/// Dead letters of the last hour, canaries left out.
pub fn judge_dead_letters(last_hour: i64, limits: &AlertLimits) -> Finding {
    let (standing, limit) = limits.dead_letters_per_hour.judge(last_hour);
    let message = format!("{} in the last hour (limit {}).", letters(last_hour), counted(limit));
    Finding::of_all(AlertRule::DeadLettersPerHour, standing, last_hour as f64, limit as f64, message)
}

/// The oldest open dead letter, by how long it has been open; none may be.
pub fn judge_oldest_letter(open_seconds: Option<i64>, limits: &AlertLimits) -> Finding {
    let rule = AlertRule::OldestDeadLetter;
    let hours = open_seconds.map_or(0, |seconds| seconds.max(0) / 3_600);
    let (standing, limit) = limits.oldest_dead_letter_hours.judge(hours);
    match open_seconds {
        None => Finding::of_all(rule, Standing::Clear, 0.0, limit as f64, "No dead letter is open.".to_owned()),
        Some(seconds) => {
            let message = format!("The oldest open dead letter has been open for {} (limit {limit} h).", age(seconds));
            Finding::of_all(rule, standing, hours as f64, limit as f64, message)
        }
    }
}

/// Canaries that were done in the last 24 hours, with the kind of the last one.
pub fn judge_canaries_written(written: i64, last_kind: Option<&str>) -> Finding {
    let (standing, message) = match written {
        ..=0 => (Standing::Clear, "No canary was done.".to_owned()),
        n => {
            let kind = last_kind.map(|kind| format!(", the last by {}", shown(kind))).unwrap_or_default();
            let what = if n == 1 { "A canary was".to_owned() } else { format!("{} canaries were", counted(n)) };
            let message = format!("{what} done in the last 24 h{kind}: a known-bad input was not refused.");
            (Standing::Fires(Level::Critical), message)
        }
    };
    Finding::of_all(AlertRule::CanaryWritten, standing, written.max(0) as f64, 1.0, message)
}

/// Canaries whose last run is further back than it should be.
pub fn judge_canaries_overdue(overdue: i64) -> Finding {
    let (standing, message) = match overdue {
        ..=0 => (Standing::Clear, "No canary is overdue.".to_owned()),
        1 => (Standing::Fires(Level::Warn), "A canary is overdue: nobody knows that it is still refused.".to_owned()),
        n => {
            let message = format!("{} canaries are overdue: nobody knows that they are still refused.", counted(n));
            (Standing::Fires(Level::Warn), message)
        }
    };
    Finding::of_all(AlertRule::CanariesOverdue, standing, overdue.max(0) as f64, 1.0, message)
}

/// Whether the verdict is *not running*, with its line.
pub fn judge_verdict(is_not_running: bool, line: &str) -> Finding {
    let standing = if is_not_running { Standing::Fires(Level::Critical) } else { Standing::Clear };
    Finding::of_all(AlertRule::NotRunning, standing, f64::from(u8::from(is_not_running)), 1.0, shown(line))
}

/// Answers of the last hour that came after their lease was lost.
pub fn judge_late_answers(last_hour: i64) -> Finding {
    let (standing, message) = match last_hour {
        ..=0 => (Standing::Clear, "No answer came late.".to_owned()),
        n => {
            let what = if n == 1 { "An answer".to_owned() } else { format!("{} answers", counted(n)) };
            let message =
                format!("{what} came after the lease was lost, in the last hour: a worker outlives its lease.");
            (Standing::Fires(Level::Warn), message)
        }
    };
    Finding::of_all(AlertRule::LateAnswers, standing, last_hour.max(0) as f64, 1.0, message)
}

fn letters(n: i64) -> String {
    if n == 1 { "1 dead letter".to_owned() } else { format!("{} dead letters", counted(n)) }
}
