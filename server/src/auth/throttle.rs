//! Bounds guessing of passwords, per server and in memory.
//!
//! Three counts over five minutes, each against another attack: one account
//! from one address (10), one address over many accounts (50), one account from
//! many addresses (100). An attempt counts before its password is looked at, so
//! that parallel guesses cannot slip through; success takes its pair's count
//! back. The bound per pair is the low one, so that nobody can lock a person
//! out of their own address by guessing from another.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(300);
const MOST_PER_PAIR: u32 = 10;
const MOST_PER_ADDRESS: u32 = 50;
const MOST_PER_ACCOUNT: u32 = 100;
const MOST_ENTRIES: usize = 30_000;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Pair(String, String),
    Address(String),
    Account(String),
}

impl Key {
    fn most(&self) -> u32 {
        match self {
            Self::Pair(..) => MOST_PER_PAIR,
            Self::Address(_) => MOST_PER_ADDRESS,
            Self::Account(_) => MOST_PER_ACCOUNT,
        }
    }
}

#[derive(Debug)]
struct Count {
    since: Instant,
    attempts: u32,
}

/// Shared by all sign-in requests of one server.
#[derive(Debug, Clone, Default)]
pub struct Throttle(Arc<Mutex<HashMap<Key, Count>>>);

/// Too many attempts; says when the next may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    /// Seconds until then, at least 1.
    pub retry_after_seconds: u64,
}

impl Throttle {
    /// Counts an attempt on `account` from `address`.
    ///
    /// # Errors
    /// When a bound is reached; the attempt must not be made then.
    pub fn attempt(&self, account: &str, address: Option<IpAddr>) -> Result<(), TooMany> {
        self.attempt_at(account, address, Instant::now())
    }

    /// The attempt was a success: its pair starts afresh, and it does not
    /// count against address and account.
    pub fn succeeded(&self, account: &str, address: Option<IpAddr>) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys(account, address) {
            match key {
                Key::Pair(..) => drop(counts.remove(&key)),
                _ => {
                    if let Some(count) = counts.get_mut(&key) {
                        count.attempts = count.attempts.saturating_sub(1);
                    }
                }
            }
        }
    }

    fn attempt_at(&self, account: &str, address: Option<IpAddr>, now: Instant) -> Result<(), TooMany> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MOST_ENTRIES {
            counts.retain(|_, count| now - count.since < WINDOW);
        }
        if counts.len() >= MOST_ENTRIES {
            return Err(TooMany { retry_after_seconds: WINDOW.as_secs() });
        }
        let keys = keys(account, address);
        let wait = keys.iter().filter_map(|key| wait(counts.get(key)?, key.most(), now)).max();
        if let Some(wait) = wait {
            return Err(TooMany { retry_after_seconds: wait.as_secs().max(1) });
        }
        for key in keys {
            let count = counts.entry(key).or_insert(Count { since: now, attempts: 0 });
            if now - count.since >= WINDOW {
                *count = Count { since: now, attempts: 0 };
            }
            count.attempts += 1;
        }
        Ok(())
    }
}

fn wait(count: &Count, most: u32, now: Instant) -> Option<Duration> {
    let left = WINDOW.checked_sub(now - count.since)?;
    (count.attempts >= most && !left.is_zero()).then_some(left)
}

fn keys(account: &str, address: Option<IpAddr>) -> [Key; 3] {
    let account: String = account.chars().take(200).collect();
    let address = network(address);
    [Key::Pair(account.clone(), address.clone()), Key::Address(address), Key::Account(account)]
}

/// A household or machine owns a whole IPv6 /64: counting single addresses
/// would give it 2^64 tries.
fn network(address: Option<IpAddr>) -> String {
    match address {
        None => "unknown".to_owned(),
        Some(IpAddr::V4(v4)) => v4.to_string(),
        Some(IpAddr::V6(v6)) => match v6.to_ipv4_mapped() {
            Some(v4) => v4.to_string(),
            None => {
                let [a, b, c, d, ..] = v6.segments();
                format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn the_eleventh_attempt_on_one_account_from_one_address_waits() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        for _ in 0..10 {
            throttle.attempt_at("mila", address("10.0.0.1"), start).unwrap();
        }
        let refused = throttle.attempt_at("mila", address("10.0.0.1"), start + Duration::from_secs(60)).unwrap_err();
        assert_eq!(refused.retry_after_seconds, 240);
        assert!(throttle.attempt_at("mila", address("10.0.0.2"), start).is_ok(), "another address is not locked out");
        assert!(throttle.attempt_at("mila", address("10.0.0.1"), start + WINDOW).is_ok());
    }

    #[test]
    fn one_address_cannot_spray_over_accounts_and_one_network_is_one_address() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        for n in 0..50 {
            throttle.attempt_at(&format!("user{n}"), address(&format!("2001:db8::{n:x}")), start).unwrap();
        }
        assert!(throttle.attempt_at("another", address("2001:db8::ffff"), start).is_err());
        assert!(throttle.attempt_at("another", address("2001:db8:1::1"), start).is_ok());
    }

    #[test]
    fn one_account_cannot_be_guessed_from_many_addresses() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        for n in 0..100 {
            throttle.attempt_at("mila", address(&format!("10.0.1.{n}")), start).unwrap();
        }
        assert!(throttle.attempt_at("mila", address("10.0.2.1"), start).is_err());
    }

    #[test]
    fn success_forgets_the_failures_before_it() {
        let throttle = Throttle::default();
        for _ in 0..30 {
            throttle.attempt("mila", address("10.0.0.1")).unwrap();
            throttle.succeeded("mila", address("10.0.0.1"));
        }
        assert!(throttle.attempt("mila", address("10.0.0.1")).is_ok());
    }
}
