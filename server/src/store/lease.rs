//! How long a lease runs, decided once for all databases.

use chrono::{DateTime, TimeDelta, Utc};

/// When a claim's or heartbeat's lease ends: after the time the worker asked
/// for, never after more than the policy's `lease_seconds`, and never later
/// than `max_attempt_seconds` after the claim.
pub fn lease_end(
    now: DateTime<Utc>,
    claimed_at: DateTime<Utc>,
    asked_seconds: Option<u32>,
    lease_seconds: u32,
    max_attempt_seconds: u32,
) -> DateTime<Utc> {
    let seconds = asked_seconds.map_or(lease_seconds, |asked| asked.min(lease_seconds));
    let lease = now + TimeDelta::seconds(i64::from(seconds));
    lease.min(claimed_at + TimeDelta::seconds(i64::from(max_attempt_seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_gets_less_but_never_more() {
        let at = |seconds| DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        for (now, asked, end) in
            [(0, None, 300), (0, Some(20), 20), (0, Some(900), 300), (3_500, None, 3_600), (3_500, Some(20), 3_520)]
        {
            assert_eq!(lease_end(at(now), at(0), asked, 300, 3_600), at(end), "at {now} asking for {asked:?}");
        }
    }
}
