//! Alerts as they are kept: opened once, acknowledged by people, closed by the
//! rule that opened them, each change told once.

use super::FieldError;
use super::alerting::baseline::Baseline;
use super::alerting::{AlertRule, Level};
use super::ids::AlertId;
use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use serde_json::{Value, json};

/// Longest time, in hours, for which somebody may acknowledge an alert: who knows
/// of it is asked again.
pub const MAX_ACKNOWLEDGED_HOURS: i64 = 14 * 24;

/// That somebody knows of an alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Acknowledged {
    /// Who.
    pub by: String,
    /// Since when.
    pub at: DateTime<Utc>,
    /// Until when it calls nobody.
    pub until: DateTime<Utc>,
    /// What they say.
    pub note: Option<String>,
}

/// An alert.
#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    /// Its id.
    pub id: AlertId,
    /// What is watched.
    pub rule: AlertRule,
    /// The source it is about, if it is about one.
    pub source: Option<String>,
    /// The reason code it is about, if it is about one.
    pub reason_code: Option<String>,
    /// How bad it is.
    pub level: Level,
    /// The number that was judged.
    pub value: f64,
    /// What it was judged by.
    pub threshold: f64,
    /// For a person.
    pub message: String,
    /// What was expected, where it was learnt.
    pub baseline: Option<Baseline>,
    /// When it opened.
    pub since: DateTime<Utc>,
    /// Since when its rule has been clear.
    pub clear_since: Option<DateTime<Utc>>,
    /// When it closed.
    pub closed_at: Option<DateTime<Utc>>,
    /// Who knows of it.
    pub acknowledged: Option<Acknowledged>,
}

impl Alert {
    /// Whether it is open and calls for somebody at `now`.
    pub fn calls(&self, now: DateTime<Utc>) -> bool {
        self.closed_at.is_none() && self.acknowledged.as_ref().is_none_or(|known| known.until <= now)
    }

    /// The page that shows what it is about.
    pub fn href(&self) -> String {
        let pairs = |pairs: &[(&str, Option<&str>)]| {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            for (name, value) in pairs {
                if let Some(value) = value {
                    query.append_pair(name, value);
                }
            }
            query.finish()
        };
        match self.rule {
            AlertRule::ZeroRefusals => format!("/refusals?{}", pairs(&[("source", self.source.as_deref())])),
            AlertRule::HighParkRate => format!(
                "/dead-letters?{}",
                pairs(&[
                    ("status", Some("all")),
                    ("source", self.source.as_deref()),
                    ("reason_code", self.reason_code.as_deref()),
                    ("view", Some("list")),
                ])
            ),
            AlertRule::DeadLettersPerHour | AlertRule::OldestDeadLetter => "/dead-letters?view=list".to_owned(),
            AlertRule::CanaryWritten | AlertRule::CanariesOverdue => "/canaries".to_owned(),
            AlertRule::NotRunning | AlertRule::LateAnswers => "/".to_owned(),
        }
    }

    /// As programs get it: an open one, or what a webhook is told.
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id, "rule": self.rule, "source": self.source, "reason_code": self.reason_code,
            "level": self.level, "since": self.since, "value": self.value, "threshold": self.threshold,
            "message": self.message, "closed_at": self.closed_at,
            "acknowledged_by": self.acknowledged.as_ref().map(|known| &known.by),
            "acknowledged_until": self.acknowledged.as_ref().map(|known| known.until),
            "baseline": self.baseline, "link": self.href(),
        })
    }
}

/// What a webhook is told about an alert, once each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlertChange {
    /// It opened.
    Opened,
    /// It became critical.
    Raised,
    /// It closed.
    Closed,
}

impl AlertChange {
    /// The word used in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Raised => "raised",
            Self::Closed => "closed",
        }
    }
}

/// A page of alerts: all that are open, the worst first, and some that closed.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertPage {
    /// Open, at most 500.
    pub open: Vec<Alert>,
    /// Closed, the newest first.
    pub closed: Vec<Alert>,
    /// Where the next page of closed ones starts.
    pub next: Option<AlertId>,
    /// Pinned baselines: source, first and last day, by whom.
    pub pinned: Vec<PinnedBaseline>,
    /// The database's clock at this reading.
    pub as_of: DateTime<Utc>,
}

/// A baseline that a person chose for a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedBaseline {
    /// The source.
    pub source: String,
    /// First day.
    pub from: chrono::NaiveDate,
    /// Last day.
    pub to: chrono::NaiveDate,
    /// Who chose it.
    pub by: String,
}

/// A change that is to be told now, by nobody else until its hold ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldChange {
    /// Its row.
    pub id: i64,
    /// What is sent.
    pub body: String,
    /// The same at every try.
    pub idempotency_key: String,
    /// This try's number, from 1.
    pub tries: u32,
    /// When it was tried first.
    pub first_try_at: DateTime<Utc>,
    /// What proves the hold.
    pub token: i64,
    /// The database's clock at the hold.
    pub held_at: DateTime<Utc>,
}

/// Until when an acknowledgement of so many hours holds.
///
/// # Errors
/// `hours`: less than 1, or more than [`MAX_ACKNOWLEDGED_HOURS`].
pub fn acknowledged_until(hours: i64, now: DateTime<Utc>) -> Result<DateTime<Utc>, FieldError> {
    if !(1..=MAX_ACKNOWLEDGED_HOURS).contains(&hours) {
        return Err(FieldError::new("hours", format!("must be 1 to {MAX_ACKNOWLEDGED_HOURS}")));
    }
    Ok(now + TimeDelta::hours(hours))
}
