//! When a new job may run, decided once for all databases.

use app::model::job::NewJob;
use chrono::{DateTime, TimeDelta, Utc};

/// The three times of a new job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Not before then.
    pub run_at: DateTime<Utc>,
    /// The later of `run_at` and the clock when it came.
    pub due_at: DateTime<Utc>,
    /// Where the cutoff counts from: when it first becomes due, unless told.
    pub anchor_at: DateTime<Utc>,
}

/// Schedules `job`. The job's own spread delays whatever start it names; the
/// kind's spread only jobs that name no start. `chance` is uniform in [0, 1).
pub fn schedule(job: &NewJob, kind_spread_seconds: u32, now: DateTime<Utc>, chance: f64) -> Schedule {
    let spread = match (job.spread_seconds, job.run_at) {
        (Some(seconds), _) => seconds,
        (None, None) => kind_spread_seconds,
        (None, Some(_)) => 0,
    };
    let delay = TimeDelta::microseconds((f64::from(spread) * 1e6 * chance) as i64);
    let start = job.run_at.unwrap_or(now);
    let run_at = start.checked_add_signed(delay).unwrap_or(start);
    let due_at = run_at.max(now);
    Schedule { run_at, due_at, anchor_at: job.anchor_at.unwrap_or(due_at) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use app::model::name::Name;

    fn job(run_at: Option<DateTime<Utc>>, spread_seconds: Option<u32>) -> NewJob {
        NewJob {
            kind: Name::stored("k".into()),
            source: Name::stored("s".into()),
            tenant: None,
            payload: None,
            payload_ref: None,
            payload_sha256: None,
            received_at: None,
            upstream_handoffs: None,
            run_at,
            spread_seconds,
            unique_key: None,
            anchor_at: None,
            canary: None,
            trace_id: None,
        }
    }

    #[test]
    fn a_spread_delays_and_a_past_start_is_due_now() {
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
        let seconds = |n| now + TimeDelta::seconds(n);
        for (run_at, own, kinds, due_at) in [
            (None, None, 0, now),
            (None, None, 180, seconds(90)),
            (None, Some(10), 180, seconds(5)),
            (Some(seconds(60)), None, 180, seconds(60)),
            (Some(seconds(60)), Some(10), 180, seconds(65)),
            (Some(seconds(-60)), None, 0, now),
        ] {
            let schedule = schedule(&job(run_at, own), kinds, now, 0.5);
            assert_eq!((schedule.due_at, schedule.anchor_at), (due_at, due_at), "{run_at:?} {own:?} {kinds}");
        }
    }
}
