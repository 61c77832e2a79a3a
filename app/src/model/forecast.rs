//! When due work will be gone, judged from its net change over five minutes.

use super::age::age;
use chrono::{DateTime, TimeDelta, Utc};

/// How far back readings count.
pub const WINDOW: TimeDelta = TimeDelta::minutes(5);

/// One reading of the due work of all kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The database's clock.
    pub at: DateTime<Utc>,
    /// Due jobs.
    pub due: i64,
}

/// `empties in about 13 min at 10 a minute`, `growing by 40 a minute`, or
/// `not draining`; nothing when nothing is due or fewer than three readings
/// lie within the window: a guess would be worse than silence.
pub fn forecast(samples: &[Sample]) -> Option<String> {
    let last = samples.last()?;
    let within: Vec<&Sample> = samples.iter().filter(|s| last.at - s.at <= WINDOW).collect();
    let first = within.first()?;
    let minutes = (last.at - first.at).num_milliseconds() as f64 / 60_000.0;
    if within.len() < 3 || last.due == 0 || minutes <= 0.0 {
        return None;
    }
    let per_minute = (last.due - first.due) as f64 / minutes;
    let whole = per_minute.abs().round() as i64;
    Some(match () {
        () if whole == 0 => "not draining".to_owned(),
        () if per_minute > 0.0 => format!("growing by {whole} a minute"),
        () => {
            let seconds = (last.due as f64 / -per_minute * 60.0).ceil() as i64;
            format!("empties in about {} at {whole} a minute", age(seconds))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(due: &[i64]) -> Vec<Sample> {
        (0..).zip(due).map(|(i, &due)| Sample { at: DateTime::UNIX_EPOCH + TimeDelta::minutes(i), due }).collect()
    }

    #[test]
    fn says_what_the_net_change_says() {
        for (due, text) in [
            (&[151, 141, 131][..], Some("empties in about 13 min at 10 a minute")),
            (&[10, 50, 90], Some("growing by 40 a minute")),
            (&[9, 9, 9], Some("not draining")),
            (&[9, 8], None),
            (&[9, 5, 0], None),
            (&[], None),
        ] {
            assert_eq!(forecast(&samples(due)).as_deref(), text, "{due:?}");
        }
    }

    #[test]
    fn older_readings_do_not_count() {
        let text = forecast(&samples(&[1_000, 60, 60, 60, 60, 60, 60])).unwrap();
        assert_eq!(text, "not draining");
    }
}
