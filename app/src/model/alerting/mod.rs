//! When somebody has to be told: rules over counts, and when an alert opens and
//! closes.
//!
//! Each rule is a total function from counts to a [`Finding`]; [`follow`] makes
//! an alert of what a rule finds time after time. Nothing here counts anything,
//! keeps anything or reads a clock.

pub mod baseline;
pub mod limits;
pub mod refusals;
pub mod watch;

use super::text::visible;
use baseline::Baseline;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// What is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertRule {
    /// A source is no longer refused anything.
    ZeroRefusals,
    /// More of a source is parked than its baseline explains.
    HighParkRate,
    /// Dead letters come fast.
    DeadLettersPerHour,
    /// A dead letter has been open for long.
    OldestDeadLetter,
    /// A known-bad input was done.
    CanaryWritten,
    /// Canaries have not been run when they should.
    CanariesOverdue,
    /// The verdict is not running.
    NotRunning,
    /// Answers came after their lease was lost.
    LateAnswers,
}

impl AlertRule {
    /// All rules.
    pub const ALL: [Self; 8] = [
        Self::ZeroRefusals,
        Self::HighParkRate,
        Self::DeadLettersPerHour,
        Self::OldestDeadLetter,
        Self::CanaryWritten,
        Self::CanariesOverdue,
        Self::NotRunning,
        Self::LateAnswers,
    ];

    /// The word used in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ZeroRefusals => "zero_refusals",
            Self::HighParkRate => "high_park_rate",
            Self::DeadLettersPerHour => "dead_letters_per_hour",
            Self::OldestDeadLetter => "oldest_dead_letter",
            Self::CanaryWritten => "canary_written",
            Self::CanariesOverdue => "canaries_overdue",
            Self::NotRunning => "not_running",
            Self::LateAnswers => "late_answers",
        }
    }

    /// The rule of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == word)
    }

    /// How long it must have been clear before its alert closes: a figure that
    /// hovers around its threshold is one alert, not a stream of them.
    pub fn closes_after(self) -> TimeDelta {
        match self {
            Self::ZeroRefusals | Self::HighParkRate => TimeDelta::hours(24),
            Self::DeadLettersPerHour | Self::LateAnswers => TimeDelta::hours(1),
            Self::OldestDeadLetter | Self::CanaryWritten | Self::CanariesOverdue | Self::NotRunning => {
                TimeDelta::zero()
            }
        }
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Somebody should look today.
    Warn,
    /// Somebody should look now.
    Critical,
}

impl Level {
    /// The word used in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Critical => "critical",
        }
    }
}

/// What a rule says of the counts it saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It fires.
    Fires(Level),
    /// All is well.
    Clear,
    /// Too little was processed to say anything: not well, and never green.
    NotEnoughVolume,
    /// Nothing at all was processed: there is nothing to judge.
    NothingCame,
    /// The rule is not for this: its kinds may not refuse.
    NotWatched,
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The rule.
    pub rule: AlertRule,
    /// The source it is about, if it is about one.
    pub source: Option<String>,
    /// The reason code it is about, if it is about one.
    pub reason_code: Option<String>,
    /// What it says.
    pub standing: Standing,
    /// Why a zero fires.
    pub because: Option<refusals::ZeroCause>,
    /// The number that was judged.
    pub value: f64,
    /// What it was judged by.
    pub threshold: f64,
    /// What was expected, where it was learnt.
    pub baseline: Option<Baseline>,
    /// One sentence or two for a person.
    pub message: String,
}

impl Finding {
    /// A finding about the whole pipeline.
    fn of_all(rule: AlertRule, standing: Standing, value: f64, threshold: f64, message: String) -> Self {
        Self {
            rule,
            source: None,
            reason_code: None,
            standing,
            because: None,
            value,
            threshold,
            baseline: None,
            message,
        }
    }

    /// Whether it fires.
    pub fn fires(&self) -> bool {
        matches!(self.standing, Standing::Fires(_))
    }
}

/// An alert that is open.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenAlert {
    /// When it opened.
    pub since: DateTime<Utc>,
    /// Since when its rule has been clear without a break.
    pub clear_since: Option<DateTime<Utc>>,
    /// What its source was like before, to be judged by once all days of a later
    /// baseline are days in alarm.
    pub baseline: Option<Baseline>,
}

/// What became of an alert.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed {
    /// There is none.
    None,
    /// It has just opened.
    Opened(OpenAlert),
    /// It stays open.
    Open(OpenAlert),
    /// It has just closed.
    Closed,
}

impl Followed {
    /// The alert that is open now.
    pub fn open(self) -> Option<OpenAlert> {
        match self {
            Self::Opened(alert) | Self::Open(alert) => Some(alert),
            Self::None | Self::Closed => None,
        }
    }
}

/// The alert after its rule found something at `now`.
///
/// It opens at once and closes when its rule was clear for
/// [`AlertRule::closes_after`] without a break. Too little volume proves
/// nothing: it opens none, and keeps an open one open.
pub fn follow(open: Option<OpenAlert>, finding: &Finding, now: DateTime<Utc>) -> Followed {
    let is_clear = match finding.standing {
        Standing::Fires(_) => {
            return match open {
                Some(alert) => Followed::Open(OpenAlert { clear_since: None, ..alert }),
                None => {
                    Followed::Opened(OpenAlert { since: now, clear_since: None, baseline: finding.baseline.clone() })
                }
            };
        }
        Standing::NotWatched => return if open.is_some() { Followed::Closed } else { Followed::None },
        Standing::Clear | Standing::NothingCame => true,
        Standing::NotEnoughVolume => false,
    };
    let Some(alert) = open else { return Followed::None };
    let clear_since = is_clear.then(|| alert.clear_since.unwrap_or(now));
    match clear_since {
        Some(since) if now - since >= finding.rule.closes_after() => Followed::Closed,
        _ => Followed::Open(OpenAlert { clear_since, ..alert }),
    }
}

/// `1,000`, as messages write counts.
fn counted(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut written = String::from(if n < 0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written
}

/// `4.0 %`.
fn percent(x: i64, n: i64) -> String {
    if n <= 0 { "no share".to_owned() } else { format!("{:.1} %", 100.0 * x as f64 / n as f64) }
}

/// A probability as a person compares it: `0.0468`, or `under 0.0001`.
fn chance(p: f64) -> String {
    if p < 0.0001 { "under 0.0001".to_owned() } else { format!("{p:.4}") }
}

/// A name from outside, on one line.
fn shown(name: &str) -> String {
    visible(name).into_owned()
}

#[cfg(test)]
mod tests;
