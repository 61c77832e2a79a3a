//! How fast the demo plays.

use std::time::Duration;

/// The one dial. At 1 the burst of 821 jobs drains in about ten minutes, nine
/// times as fast as the ten jobs a minute of the site that it is taken from.
#[derive(Debug, Clone, Copy, PartialEq, clap::Args)]
pub struct Pace {
    /// How fast to play: at 1 the burst drains in about ten minutes, at 10 in one.
    #[arg(long, default_value_t = 1.0, value_parser = speed)]
    speed: f64,
}

impl Pace {
    /// That pace.
    ///
    /// # Errors
    /// A sentence, outside of 0.01 to 200.
    pub fn new(factor: f64) -> Result<Self, String> {
        speed(&factor.to_string()).map(|speed| Self { speed })
    }

    /// The factor.
    pub fn speed(self) -> f64 {
        self.speed
    }

    /// How long something takes that takes `duration` at speed 1.
    pub fn shortened(self, duration: Duration) -> Duration {
        duration.div_f64(self.speed)
    }

    /// The same in whole seconds, at least 1: settings of a policy.
    pub fn shortened_seconds(self, seconds: f64) -> u64 {
        Duration::from_secs_f64((seconds / self.speed).max(1.0).round()).as_secs()
    }
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if (0.01..=200.0).contains(&speed) => Ok(speed),
        _ => Err("must be a number from 0.01 to 200".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_shrinks_by_the_factor_and_settings_stay_above_zero() {
        let pace = Pace::new(10.0).unwrap();
        assert_eq!(pace.shortened(Duration::from_secs(5)), Duration::from_millis(500));
        assert_eq!((pace.shortened_seconds(300.0), pace.shortened_seconds(2.0)), (30, 1));
        assert!(Pace::new(0.0).is_err() && Pace::new(f64::NAN).is_err() && Pace::new(1e9).is_err());
    }
}
