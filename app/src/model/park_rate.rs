//! Park rate: parked / processed, with its interval. Exceptions, replays and
//! canaries are in neither number.

use chrono::NaiveDate;
use serde::Serialize;

/// 97.5 % point of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Wilson's 95 % interval for `parked` out of `processed`; the whole of [0, 1]
/// when nothing was processed.
pub fn wilson(parked: i64, processed: i64) -> (f64, f64) {
    if processed <= 0 {
        return (0.0, 1.0);
    }
    let n = processed as f64;
    let p = parked as f64 / n;
    let z2 = Z * Z;
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    let low = if parked == 0 { 0.0 } else { (centre - half).clamp(0.0, 1.0) };
    let high = if parked == processed { 1.0 } else { (centre + half).clamp(0.0, 1.0) };
    (low, high)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_reference_values() {
        for (x, n, low, high) in [
            (0, 10, 0.0, 0.277_532_8),
            (0, 75, 0.0, 0.048_723_8),
            (0, 300, 0.0, 0.012_643_0),
            (1, 10, 0.017_876_2, 0.404_150_0),
            (3, 100, 0.010_254_5, 0.084_519_4),
            (12, 100, 0.069_994_1, 0.198_121_0),
            (40, 1_000, 0.029_511_0, 0.054_009_6),
            (75, 75, 0.951_276_2, 1.0),
        ] {
            let (l, h) = wilson(x, n);
            assert!((l - low).abs() < 5e-7 && (h - high).abs() < 5e-7, "{x}/{n}: {l} {h}");
        }
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }
}
