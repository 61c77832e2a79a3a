//! Park rate: parked / processed, with its interval. Exceptions, replays and
//! canaries are in neither number.

use super::stats::wilson;
use chrono::NaiveDate;
use serde::Serialize;

/// Which figures to count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParkRateQuery {
    /// One row per source.
    pub by_source: bool,
    /// One row per reason code.
    pub by_reason: bool,
    /// First UTC day.
    pub from: Option<NaiveDate>,
    /// Last UTC day.
    pub to: Option<NaiveDate>,
    /// Only this source.
    pub source: Option<String>,
    /// Only this kind.
    pub kind: Option<String>,
}

/// Processed and parked of one day, as the store counted them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkCount {
    /// Set when counted by source.
    pub source: Option<String>,
    /// Set when counted by reason code.
    pub reason_code: Option<String>,
    /// UTC day.
    pub day: NaiveDate,
    /// Parked + done, over all reason codes.
    pub processed: i64,
    /// Parked (with this reason code).
    pub parked: i64,
}

/// One row as shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParkRateRow {
    /// The source, if asked for.
    pub source: Option<String>,
    /// The reason code, if asked for.
    pub reason_code: Option<String>,
    /// UTC day.
    pub day: NaiveDate,
    /// n.
    pub processed: i64,
    /// How many of them were parked.
    pub parked: i64,
    /// parked / processed; `None` when nothing was processed.
    pub rate: Option<f64>,
    /// Lower end of the Wilson 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl From<ParkCount> for ParkRateRow {
    fn from(count: ParkCount) -> Self {
        let (low, high) = wilson(count.parked, count.processed);
        Self {
            rate: (count.processed > 0).then(|| count.parked as f64 / count.processed as f64),
            source: count.source,
            reason_code: count.reason_code,
            day: count.day,
            processed: count.processed,
            parked: count.parked,
            low,
            high,
        }
    }
}
