//! How often checks looked and missed, per day: what a shadow would have parked.

use chrono::NaiveDate;
use serde::Serialize;

/// Which counts are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvidenceCountQuery {
    /// Only this kind.
    pub kind: Option<String>,
    /// First UTC day.
    pub from: Option<NaiveDate>,
    /// Last UTC day.
    pub to: Option<NaiveDate>,
}

/// One rule of a kind on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceCount {
    /// The kind.
    pub kind: String,
    /// For whom the jobs were; `None` for those without tenant.
    pub tenant: Option<String>,
    /// The field.
    pub field: String,
    /// The rule with its parameters.
    pub rule: String,
    /// UTC day.
    pub day: NaiveDate,
    /// Claims it looked at.
    pub checked: i64,
    /// Claims that missed.
    pub missed: i64,
}
