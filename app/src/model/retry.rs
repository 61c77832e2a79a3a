//! When a failed attempt is tried again, and what stops the chain.
//!
//! The one function that the queue asks after a failure is the one that any
//! preview or simulation must ask too.

use super::classify::Category;
use super::policy::{Backoff, Jitter, MAX_SECONDS, OnCutoff, Policy};
use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

/// What a failure leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// Wait until then and try again.
    Retry {
        /// When the job is due again.
        run_at: DateTime<Utc>,
    },
    /// Park it for a person.
    Park(StoppedBy),
    /// Let it go without a letter.
    Drop(StoppedBy),
}

/// The rule that ended a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// The failure cannot go away by itself.
    Permanent,
    /// All attempts are used.
    MaxAttempts,
    /// The next retry would pass the cutoff.
    Cutoff,
}

/// One failed attempt, as far as the retry rule is concerned.
#[derive(Debug, Clone, Copy)]
pub struct FailedAttempt {
    /// Number of this attempt, from 1.
    pub attempt: u32,
    /// What kind of failure it was.
    pub category: Category,
    /// Where the cutoff counts from.
    pub anchor_at: DateTime<Utc>,
    /// The database's clock at the failure.
    pub now: DateTime<Utc>,
    /// Floor for the delay that the other side asked for.
    pub retry_after_seconds: Option<u64>,
    /// A lost lease is due again at once, without delay.
    pub lease_lost: bool,
}

/// What to do after a failure. `chance` is uniform in [0, 1).
///
/// Never schedules past the cutoff, never more attempts than `max_attempts`,
/// never a permanent failure; the delay is never negative, and never above
/// `max_delay_seconds` (additive jitter included in the cap's base only).
pub fn after_failure(policy: &Policy, failed: FailedAttempt, chance: f64) -> AfterFailure {
    if failed.category == Category::Permanent {
        return AfterFailure::Park(StoppedBy::Permanent);
    }
    if failed.attempt >= policy.max_attempts {
        return AfterFailure::Park(StoppedBy::MaxAttempts);
    }
    if failed.lease_lost {
        return AfterFailure::Retry { run_at: failed.now };
    }
    let delay = delay_seconds(policy, failed.attempt, failed.retry_after_seconds, chance);
    let run_at = failed.now + TimeDelta::microseconds((delay * 1e6) as i64);
    let cutoff = policy.cutoff_seconds.map(|s| failed.anchor_at + TimeDelta::seconds(i64::from(s)));
    match cutoff {
        Some(cutoff) if run_at > cutoff => match policy.on_cutoff {
            OnCutoff::DeadLetter => AfterFailure::Park(StoppedBy::Cutoff),
            OnCutoff::Drop => AfterFailure::Drop(StoppedBy::Cutoff),
        },
        _ => AfterFailure::Retry { run_at },
    }
}

/// Seconds to wait before retry `retry` (the one after failed attempt `retry`).
///
/// The base is capped before chance is applied, and the result again: no
/// setting a person may type overflows. `Retry-After` is a floor, itself
/// capped at `max_delay_seconds`.
pub fn delay_seconds(policy: &Policy, retry: u32, retry_after_seconds: Option<u64>, chance: f64) -> f64 {
    let cap = f64::from(policy.max_delay_seconds);
    let start = f64::from(policy.start_seconds);
    let base = match policy.backoff {
        Backoff::Fixed => start,
        // A power may be infinite; `min` brings it back. 0 · ∞ is no number, hence the guard.
        Backoff::Exponential if policy.start_seconds == 0 => 0.0,
        Backoff::Exponential => start * policy.multiplier.powf(f64::from(retry.saturating_sub(1))),
    }
    .min(cap);
    let chance = chance.clamp(0.0, 1.0);
    let jittered = match policy.jitter {
        Jitter::None => base,
        Jitter::Full => base * chance,
        Jitter::Equal => base / 2.0 + base / 2.0 * chance,
        Jitter::Additive => base * (1.0 + policy.jitter_percent / 100.0 * chance),
    };
    let floor = retry_after_seconds.map_or(0.0, |s| s.min(MAX_SECONDS) as f64).min(cap);
    jittered.min(cap).max(floor)
}

/// Reads a `Retry-After`: seconds, or an HTTP date measured against `now`.
/// Negative, past, fractional, listed or unreadable values are ignored.
pub fn retry_after_seconds(text: &str, now: DateTime<Utc>) -> Option<u64> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return Some(text.parse().unwrap_or(MAX_SECONDS).min(MAX_SECONDS));
    }
    let at = DateTime::parse_from_rfc2822(text).ok()?.with_timezone(&Utc);
    u64::try_from((at - now).num_seconds()).ok().filter(|&s| s > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn now() -> DateTime<Utc> {
        "2026-07-02T12:00:00Z".parse().unwrap()
    }

    fn failed(attempt: u32, category: Category) -> FailedAttempt {
        FailedAttempt { attempt, category, anchor_at: now(), now: now(), retry_after_seconds: None, lease_lost: false }
    }

    #[test]
    fn the_ladder_of_the_field_report() {
        let policy = Policy {
            start_seconds: 300,
            max_attempts: 11,
            jitter: Jitter::Additive,
            cutoff_seconds: Some(57_600),
            max_delay_seconds: u32::MAX,
            ..Policy::default()
        };
        let mut at = now();
        let mut delays = Vec::new();
        for attempt in 1..=11 {
            let step = FailedAttempt { now: at, ..failed(attempt, Category::Transient) };
            match after_failure(&policy, step, 0.0) {
                AfterFailure::Retry { run_at } => {
                    delays.push((run_at - at).num_seconds());
                    at = run_at;
                }
                stop => {
                    assert_eq!(stop, AfterFailure::Park(StoppedBy::Cutoff));
                    assert_eq!((at - now()).num_seconds(), 10 * 3600 + 35 * 60);
                    break;
                }
            }
        }
        assert_eq!(delays, [300, 600, 1_200, 2_400, 4_800, 9_600, 19_200]);
    }

    #[test]
    fn retry_after_forms() {
        let ahead = (now() + TimeDelta::seconds(45)).format("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let past = (now() - TimeDelta::seconds(45)).format("%a, %d %b %Y %H:%M:%S GMT").to_string();
        for (text, seconds) in [
            ("30", Some(30)),
            (" 30 ", Some(30)),
            (ahead.as_str(), Some(45)),
            (past.as_str(), None),
            ("-5", None),
            ("0", Some(0)),
            ("1e9", None),
            ("99999999999", Some(MAX_SECONDS)),
            ("99999999999999999999999999", Some(MAX_SECONDS)),
            ("soon", None),
            ("120, 60", None),
            ("", None),
        ] {
            assert_eq!(retry_after_seconds(text, now()), seconds, "{text:?}");
        }
    }

    #[test]
    fn a_lost_lease_is_due_at_once_and_still_charged() {
        let lost = FailedAttempt { lease_lost: true, ..failed(1, Category::Unknown) };
        assert_eq!(after_failure(&Policy::default(), lost, 0.9), AfterFailure::Retry { run_at: now() });
        let last = FailedAttempt { attempt: 3, ..lost };
        assert_eq!(after_failure(&Policy::default(), last, 0.9), AfterFailure::Park(StoppedBy::MaxAttempts));
    }

    fn any_policy() -> impl Strategy<Value = Policy> {
        (
            (1u32..100, 0u32..=315_360_000, 1.0f64..1_000.0, 0u32..=315_360_000),
            (0usize..4, 0.0f64..1_000.0, proptest::option::of(1u32..=315_360_000), any::<bool>(), any::<bool>()),
        )
            .prop_map(
                |(
                    (max_attempts, start_seconds, multiplier, max_delay_seconds),
                    (jitter, jitter_percent, cutoff_seconds, drop, fixed),
                )| Policy {
                    max_attempts,
                    start_seconds,
                    multiplier,
                    max_delay_seconds,
                    jitter: [Jitter::Full, Jitter::None, Jitter::Equal, Jitter::Additive][jitter],
                    jitter_percent,
                    cutoff_seconds,
                    on_cutoff: if drop { OnCutoff::Drop } else { OnCutoff::DeadLetter },
                    backoff: if fixed { Backoff::Fixed } else { Backoff::Exponential },
                    ..Policy::default()
                },
            )
    }

    proptest! {
        #[test]
        fn any_chain_ends_and_no_delay_is_odd(policy in any_policy(), chance in 0.0f64..1.0, after in proptest::option::of(any::<u64>())) {
            let mut at = now();
            for attempt in 1..=policy.max_attempts {
                let step = FailedAttempt { attempt, now: at, retry_after_seconds: after, ..failed(attempt, Category::Transient) };
                let delay = delay_seconds(&policy, attempt, after, chance);
                prop_assert!(delay >= 0.0 && delay <= f64::from(policy.max_delay_seconds));
                match after_failure(&policy, step, chance) {
                    AfterFailure::Retry { run_at } => {
                        prop_assert!(attempt < policy.max_attempts && run_at >= at);
                        if let Some(cutoff) = policy.cutoff_seconds {
                            prop_assert!(run_at <= now() + TimeDelta::seconds(i64::from(cutoff)));
                        }
                        at = run_at;
                    }
                    _ => return Ok(()),
                }
            }
            prop_assert!(false, "the last attempt must end the chain");
        }

        #[test]
        fn a_permanent_failure_is_never_retried(policy in any_policy(), attempt in 1u32..100, chance in 0.0f64..1.0) {
            prop_assert_eq!(
                after_failure(&policy, failed(attempt, Category::Permanent), chance),
                AfterFailure::Park(StoppedBy::Permanent)
            );
        }
    }
}
