//! Rows of alerts, the same whatever the database.

use crate::store::fault::{Fault, Tried};
use crate::store::time::{At, time};
use app::model::alert::{Acknowledged, Alert};
use app::model::alerting::{AlertRule, Level};
use app::model::ids::AlertId;
use sqlx::FromRow;

/// The columns of a [`StoredAlert`].
macro_rules! alert_columns {
    () => {
        "id, rule, source, reason_code, level, value, threshold, message, baseline, opened_at, clear_since_at, closed_at, \
         acknowledged_by, acknowledged_at, acknowledged_until, note"
    };
}
pub(super) use alert_columns;

/// An alert.
#[derive(Debug, FromRow)]
pub struct StoredAlert {
    id: i64,
    rule: String,
    source: Option<String>,
    reason_code: Option<String>,
    level: String,
    value: f64,
    threshold: f64,
    message: String,
    baseline: Option<String>,
    opened_at: At,
    clear_since_at: Option<At>,
    closed_at: Option<At>,
    acknowledged_by: Option<String>,
    acknowledged_at: Option<At>,
    acknowledged_until: Option<At>,
    note: Option<String>,
}

impl StoredAlert {
    /// The alert.
    pub fn alert(self) -> Tried<Alert> {
        let acknowledged = match (self.acknowledged_by, self.acknowledged_at, self.acknowledged_until) {
            (Some(by), Some(At(at)), Some(At(until))) => Some(Acknowledged { by, at, until, note: self.note }),
            _ => None,
        };
        Ok(Alert {
            id: AlertId(self.id),
            rule: AlertRule::from_word(&self.rule).ok_or_else(|| Fault::corrupt("rule", &self.rule))?,
            source: self.source,
            reason_code: self.reason_code,
            level: level_of(&self.level)?,
            value: self.value,
            threshold: self.threshold,
            message: self.message,
            baseline: self.baseline.as_deref().map(serde_json::from_str).transpose()?,
            since: self.opened_at.0,
            clear_since: time(self.clear_since_at),
            closed_at: time(self.closed_at),
            acknowledged,
        })
    }
}

fn level_of(word: &str) -> Tried<Level> {
    [Level::Warn, Level::Critical]
        .into_iter()
        .find(|level| level.as_str() == word)
        .ok_or_else(|| Fault::corrupt("level", word))
}
