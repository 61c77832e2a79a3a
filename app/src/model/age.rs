//! Ages as a person reads them: `20 s`, `12 min`, `14 h`, `3 d`.

use chrono::{DateTime, SecondsFormat, Utc};

/// Seconds below 60, minutes below 60, hours below 48, then days; rounded down.
/// A time slightly in the future (another machine's clock) counts as zero.
pub fn age(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match () {
        () if seconds < 60 => format!("{seconds} s"),
        () if minutes < 60 => format!("{minutes} min"),
        () if hours < 48 => format!("{hours} h"),
        () => format!("{} d", hours / 24),
    }
}

/// The age of `then` at `now`, both from the database's clock.
pub fn age_between(then: DateTime<Utc>, now: DateTime<Utc>) -> String {
    age((now - then).num_seconds())
}

/// `20 s ago`; `just now` for a time in the future, which another clock may have written.
pub fn ago(then: DateTime<Utc>, now: DateTime<Utc>) -> String {
    match (now - then).num_seconds() {
        ..=-1 => "just now".to_owned(),
        seconds => format!("{} ago", age(seconds)),
    }
}

/// `14:02:11 UTC`, for a time that is close.
pub fn clock(at: DateTime<Utc>) -> String {
    at.format("%H:%M:%S UTC").to_string()
}

/// RFC 3339 in UTC with microseconds, for machines and `title` attributes.
pub fn rfc3339(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_change_where_the_rule_says() {
        for (seconds, text) in [
            (-5, "0 s"),
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3_599, "59 min"),
            (3_600, "1 h"),
            (172_799, "47 h"),
            (172_800, "2 d"),
            (i64::MAX, "106751991167300 d"),
        ] {
            assert_eq!(age(seconds), text);
        }
    }

    #[test]
    fn the_future_is_just_now() {
        let now = DateTime::UNIX_EPOCH;
        assert_eq!(ago(now + chrono::TimeDelta::seconds(90), now), "just now");
        assert_eq!(ago(now, now), "0 s ago");
        assert_eq!(ago(now - chrono::TimeDelta::seconds(20), now), "20 s ago");
    }
}
