//! The rate limit that the stand-in really enforces: a token bucket.

use std::time::{Duration, Instant};

/// Lets `per_second` calls through on average and `burst` at once.
#[derive(Debug)]
pub struct TokenBucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    filled_at: Instant,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(per_second: f64, burst: f64, now: Instant) -> Self {
        Self { per_second, burst, tokens: burst, filled_at: now }
    }

    /// Takes one token, or says how long it takes until there is one.
    ///
    /// # Errors
    /// The time to wait; a refused call takes nothing from the bucket.
    pub fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let passed = now.saturating_duration_since(self.filled_at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.per_second).min(self.burst);
        self.filled_at = self.filled_at.max(now);
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - self.tokens) / self.per_second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls every `every` for `seconds`; how many got through.
    fn let_through(bucket: &mut TokenBucket, start: Instant, every: Duration, seconds: u64) -> usize {
        let calls = Duration::from_secs(seconds).as_nanos() / every.as_nanos();
        (0..u32::try_from(calls).unwrap()).filter(|&n| bucket.take(start + every * n).is_ok()).count()
    }

    #[test]
    fn a_flood_gets_the_rate_and_one_burst() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(15.0, 15.0, start);
        let through = let_through(&mut bucket, start, Duration::from_millis(1), 60);
        assert!((900..=915).contains(&through), "{through}");
    }

    #[test]
    fn who_stays_below_the_rate_is_never_refused() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(1.5, 1.0, start);
        assert_eq!(let_through(&mut bucket, start, Duration::from_millis(700), 70), 100);
    }

    #[test]
    fn a_quiet_hour_saves_up_no_more_than_the_burst() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(10.0, 5.0, start);
        let later = start + Duration::from_secs(3_600);
        assert_eq!((0..100).filter(|_| bucket.take(later).is_ok()).count(), 5);
    }

    #[test]
    fn the_wait_it_names_is_enough_and_not_too_long() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(0.25, 1.0, start);
        assert!(bucket.take(start).is_ok());
        let wait = bucket.take(start + Duration::from_secs(1)).unwrap_err();
        assert_eq!(wait, Duration::from_secs(3));
        assert!(bucket.take(start + Duration::from_secs(1) + wait - Duration::from_millis(1)).is_err());
        assert!(bucket.take(start + Duration::from_secs(1) + wait).is_ok());
    }
}
