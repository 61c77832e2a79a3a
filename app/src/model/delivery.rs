//! Sending something to a receiver outside that may be away: what one try led
//! to, and when the next one is.

use chrono::{DateTime, TimeDelta, Utc};

/// Until the second try, in seconds; doubled from try to try.
const FIRST_DELAY_SECONDS: i64 = 15;
/// Longest time between two tries, in seconds.
const LONGEST_DELAY_SECONDS: i64 = 2 * 3_600;
/// How long after the first try there are others, in seconds.
pub const GIVEN_UP_AFTER_SECONDS: i64 = 24 * 3_600;

/// What became of one try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TryOutcome {
    /// The receiver has it.
    Delivered,
    /// It may work later.
    Again {
        /// Why it did not, in a sentence for people.
        why: String,
        /// What the receiver asked for, in seconds.
        retry_after_seconds: Option<u64>,
    },
    /// The receiver will not have it, however often it is sent.
    GivenUp {
        /// Why, in a sentence for people.
        why: String,
    },
}

impl TryOutcome {
    /// A try that may work later, as far as anybody knows.
    pub fn again(why: impl Into<String>) -> Self {
        Self::Again { why: why.into(), retry_after_seconds: None }
    }
}

/// When to try again after the try number `tries` (from 1) failed; `None` when
/// the time for it is over. What the receiver asked for is a floor.
pub fn next_try(
    tries: u32,
    first_try_at: DateTime<Utc>,
    now: DateTime<Utc>,
    retry_after_seconds: Option<u64>,
) -> Option<DateTime<Utc>> {
    let doubled = FIRST_DELAY_SECONDS.saturating_mul(1 << tries.saturating_sub(1).min(30));
    let asked = retry_after_seconds.map_or(0, |seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
    let delay = doubled.min(LONGEST_DELAY_SECONDS).max(asked).min(GIVEN_UP_AFTER_SECONDS + 1);
    let at = now + TimeDelta::seconds(delay);
    (at <= first_try_at + TimeDelta::seconds(GIVEN_UP_AFTER_SECONDS)).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first() -> DateTime<Utc> {
        "2026-11-30T14:00:00Z".parse().unwrap()
    }

    /// Seconds after the first try at which a receiver that never answers is tried.
    fn tries(retry_after: Option<u64>) -> Vec<i64> {
        let (mut now, mut at) = (first(), vec![0]);
        while let Some(next) = next_try(at.len() as u32, first(), now, retry_after) {
            at.push((next - first()).num_seconds());
            now = next;
        }
        at
    }

    #[test]
    fn a_dead_receiver_is_tried_for_a_day_ever_less_often() {
        let at = tries(None);
        assert_eq!(at[..5], [0, 15, 45, 105, 225]);
        assert!(at.windows(2).all(|two| (1..=LONGEST_DELAY_SECONDS).contains(&(two[1] - two[0]))), "{at:?}");
        let last = *at.last().unwrap();
        assert!((GIVEN_UP_AFTER_SECONDS - LONGEST_DELAY_SECONDS..=GIVEN_UP_AFTER_SECONDS).contains(&last), "{at:?}");
    }

    #[test]
    fn what_the_receiver_asks_for_is_a_floor_and_no_way_to_hold_a_notice_for_ever() {
        let wait = |tries, asked| next_try(tries, first(), first(), asked).map(|at| (at - first()).num_seconds());
        assert_eq!((wait(1, Some(600)), wait(1, Some(1)), wait(12, Some(60))), (Some(600), Some(15), Some(7_200)));
        assert_eq!((wait(1, Some(GIVEN_UP_AFTER_SECONDS as u64 + 1)), wait(1, Some(u64::MAX))), (None, None));
        assert_eq!(tries(Some(40_000)), [0, 40_000, 80_000]);
        assert_eq!(wait(u32::MAX, None), Some(7_200));
    }
}
