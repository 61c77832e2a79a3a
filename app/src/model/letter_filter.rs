//! Which dead letters a list, a group, a count or an export is about.
//!
//! One parser and one writer of query parameters, for pages, API, exports and
//! links alike: what one of them wrote, each of them reads as the same letters.

use super::FieldError;
use super::ids::DeadLetterId;
use super::letter::{LetterStatus, Route};
use super::name::Name;
use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

/// The word for letters of any status.
const ANY_STATUS: &str = "all";

/// Where letters stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatusFilter {
    /// Open or taken: somebody still has to act.
    Unresolved,
    /// Nobody acted yet.
    Open,
    /// A reviewer has them.
    Taken,
    /// Somebody acted.
    Resolved,
}

impl StatusFilter {
    /// All, in the order of the tabs.
    pub const ALL: [Self; 4] = [Self::Unresolved, Self::Open, Self::Taken, Self::Resolved];

    /// The word used in URLs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unresolved => "unresolved",
            Self::Open => LetterStatus::Open.as_str(),
            Self::Taken => LetterStatus::Taken.as_str(),
            Self::Resolved => LetterStatus::Resolved.as_str(),
        }
    }
}

/// How long ago letters were parked: four buckets that leave no gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgeBucket {
    /// Below an hour.
    UnderHour,
    /// An hour to a day.
    HourToDay,
    /// A day to a week.
    DayToWeek,
    /// A week or more.
    OverWeek,
}

impl AgeBucket {
    /// All, youngest first.
    pub const ALL: [Self; 4] = [Self::UnderHour, Self::HourToDay, Self::DayToWeek, Self::OverWeek];

    /// The word used in URLs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnderHour => "under_1h",
            Self::HourToDay => "1h_24h",
            Self::DayToWeek => "24h_7d",
            Self::OverWeek => "over_7d",
        }
    }

    /// The words a person reads.
    pub fn label(self) -> &'static str {
        match self {
            Self::UnderHour => "under 1 h",
            Self::HourToDay => "1 to 24 h",
            Self::DayToWeek => "1 to 7 d",
            Self::OverWeek => "over 7 d",
        }
    }

    /// The age it begins at, and the one it ends before.
    pub fn bounds(self) -> (Option<TimeDelta>, Option<TimeDelta>) {
        let (hour, day, week) = (TimeDelta::hours(1), TimeDelta::hours(24), TimeDelta::days(7));
        match self {
            Self::UnderHour => (None, Some(hour)),
            Self::HourToDay => (Some(hour), Some(day)),
            Self::DayToWeek => (Some(day), Some(week)),
            Self::OverWeek => (Some(week), None),
        }
    }
}

/// The least age of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OlderThan {
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A week.
    Week,
}

impl OlderThan {
    /// All, youngest first.
    pub const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    /// The word used in URLs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::Day => "24h",
            Self::Week => "7d",
        }
    }

    /// The words a person reads.
    pub fn label(self) -> &'static str {
        match self {
            Self::Hour => "1 h",
            Self::Day => "24 h",
            Self::Week => "7 d",
        }
    }

    /// The age itself.
    pub fn age(self) -> TimeDelta {
        match self {
            Self::Hour => TimeDelta::hours(1),
            Self::Day => TimeDelta::hours(24),
            Self::Week => TimeDelta::days(7),
        }
    }
}

/// Whether letters of canaries are among the others. A canary counts only on
/// its own page, so unless somebody asks, it is in no list,
/// group, total or export. This is the only place where that is decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum CanaryFilter {
    /// They are left out.
    #[default]
    Exclude,
    /// They are among the others.
    Include,
    /// They alone.
    Only,
}

impl CanaryFilter {
    /// All.
    pub const ALL: [Self; 3] = [Self::Exclude, Self::Include, Self::Only];

    /// The word used in URLs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exclude => "exclude",
            Self::Include => "include",
            Self::Only => "only",
        }
    }
}

/// Which letters. Everything is a conjunction; the default is every letter that
/// no canary made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LetterFilter {
    /// Where they stand; `None`: anywhere.
    pub status: Option<StatusFilter>,
    /// Only this kind.
    pub kind: Option<String>,
    /// Only this source.
    pub source: Option<String>,
    /// Only this tenant.
    pub tenant: Option<String>,
    /// Only this reason, be it a reason code or a failure reason.
    pub reason: Option<String>,
    /// Only this reason code of a refusal or a failed check.
    pub reason_code: Option<String>,
    /// Only this failure reason of an exception.
    pub failure_reason: Option<String>,
    /// Only this route.
    pub route: Option<Route>,
    /// Only this age.
    pub age: Option<AgeBucket>,
    /// Only this age or more.
    pub older_than: Option<OlderThan>,
    /// Only with this text, 1 to 200 characters; `a` finds `A`, and no
    /// character stands for another.
    pub text: Option<String>,
    /// Only this fingerprint.
    pub group: Option<String>,
    /// Only letters parked on this UTC day.
    pub day: Option<NaiveDate>,
    /// What about letters of canaries.
    pub canary: CanaryFilter,

    /// Whether `text` is looked for in evidence and payload, too, and not in
    /// the error alone. Whoever may not see them must not find out by searching.
    pub searches_private: bool,
    /// Ages are judged as of this time; `None`: when it is read.
    pub ages_at: Option<DateTime<Utc>>,
    /// Only what was parked by then: what came later was not seen.
    pub parked_until: Option<DateTime<Utc>>,
    /// Only ids below this one: the page after it.
    pub before: Option<DeadLetterId>,
    /// At most so many rows, 1 to 200.
    pub limit: u32,
}

impl LetterFilter {
    /// Every parameter that [`Self::parse`] reads.
    pub const PARAMETERS: [&str; 14] = [
        "status",
        "kind",
        "source",
        "tenant",
        "reason",
        "reason_code",
        "failure_reason",
        "route",
        "age",
        "older_than",
        "q",
        "group",
        "day",
        "canary",
    ];

    /// Reads a filter; `value_of` gives a parameter's value, if it was sent.
    /// Paging, rights and clock are left as in the default.
    ///
    /// # Errors
    /// Names the parameter and the rule it breaks.
    pub fn parse<'q>(value_of: impl Fn(&str) -> Option<&'q str>) -> Result<Self, FieldError> {
        let name = |parameter: &str| -> Result<Option<String>, FieldError> {
            let name = value_of(parameter).map(|text| Name::new(parameter, text)).transpose()?;
            Ok(name.map(|name| name.as_str().to_owned()))
        };
        Ok(Self {
            status: match value_of("status") {
                Some(ANY_STATUS) => None,
                given => word("status", given, &StatusFilter::ALL, StatusFilter::as_str, &[ANY_STATUS])?,
            },
            kind: name("kind")?,
            source: name("source")?,
            tenant: name("tenant")?,
            reason: name("reason")?,
            reason_code: name("reason_code")?,
            failure_reason: name("failure_reason")?,
            route: word("route", value_of("route"), &Route::ALL, Route::as_str, &[])?,
            age: word("age", value_of("age"), &AgeBucket::ALL, AgeBucket::as_str, &[])?,
            older_than: word("older_than", value_of("older_than"), &OlderThan::ALL, OlderThan::as_str, &[])?,
            text: name("q")?,
            group: name("group")?,
            day: value_of("day").map(|text| day("day", text)).transpose()?,
            canary: word("canary", value_of("canary"), &CanaryFilter::ALL, CanaryFilter::as_str, &[])?
                .unwrap_or_default(),
            ..Self::default()
        })
    }

    /// The parameters that [`Self::parse`] reads as this very filter. The status
    /// is always among them, because readers differ in what they show without.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let status = self.status.map_or(ANY_STATUS, StatusFilter::as_str);
        let all = [
            ("status", Some(status.to_owned())),
            ("kind", self.kind.clone()),
            ("source", self.source.clone()),
            ("tenant", self.tenant.clone()),
            ("reason", self.reason.clone()),
            ("reason_code", self.reason_code.clone()),
            ("failure_reason", self.failure_reason.clone()),
            ("route", self.route.map(|route| route.as_str().to_owned())),
            ("age", self.age.map(|age| age.as_str().to_owned())),
            ("older_than", self.older_than.map(|age| age.as_str().to_owned())),
            ("q", self.text.clone()),
            ("group", self.group.clone()),
            ("day", self.day.map(|day| day.to_string())),
            ("canary", (self.canary != CanaryFilter::Exclude).then(|| self.canary.as_str().to_owned())),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// The same from its first page on.
    #[must_use]
    pub fn first_page(&self) -> Self {
        Self { before: None, ..self.clone() }
    }

    /// What this filter finds that nobody resolved yet; `None` where that is nothing.
    pub fn unresolved(&self) -> Option<Self> {
        let status = match self.status {
            Some(StatusFilter::Resolved) => return None,
            None => StatusFilter::Unresolved,
            Some(status) => status,
        };
        Some(Self { status: Some(status), ..self.first_page() })
    }

    /// What this filter finds that nobody resolved yet and that nothing but a
    /// failure parked; `None` where it asks for what was judged.
    pub fn failures(&self) -> Option<Self> {
        match self.route {
            None | Some(Route::Exception) => Some(Self { route: Some(Route::Exception), ..self.unresolved()? }),
            Some(_) => None,
        }
    }

    /// Whether anything but the status is asked for.
    pub fn is_narrowed(&self) -> bool {
        self.pairs().len() > 1
    }
}

/// A day, `YYYY-MM-DD` and nothing shorter.
///
/// # Errors
/// Names the parameter.
pub fn day(parameter: &str, text: &str) -> Result<NaiveDate, FieldError> {
    let is_written_in_full = text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    match NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        Ok(day) if is_written_in_full => Ok(day),
        _ => Err(FieldError::new(parameter, "must be a day, such as 2026-03-09")),
    }
}

/// The value among `all` whose word is `given`; `others` are words that the
/// caller reads itself.
fn word<T: Copy>(
    parameter: &str,
    given: Option<&str>,
    all: &[T],
    as_str: fn(T) -> &'static str,
    others: &[&str],
) -> Result<Option<T>, FieldError> {
    let Some(given) = given else { return Ok(None) };
    let found = all.iter().copied().find(|&value| as_str(value) == given);
    found.map(Some).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|&value| as_str(value)).chain(others.iter().copied()).collect();
        FieldError::new(parameter, format!("must be one of {}", words.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn parse(pairs: &[(&str, &str)]) -> Result<LetterFilter, FieldError> {
        let pairs: HashMap<&str, &str> = pairs.iter().copied().collect();
        LetterFilter::parse(|name| pairs.get(name).copied())
    }

    #[test]
    fn a_mistyped_value_names_its_parameter_and_the_words_there_are() {
        for (parameter, value, rule) in [
            ("status", "new", "must be one of unresolved, open, taken, resolved, all"),
            ("route", "refused", "must be one of refused_by_agent, failed_evidence_check, exception"),
            ("age", "1h", "must be one of under_1h, 1h_24h, 24h_7d, over_7d"),
            ("older_than", "1 h", "must be one of 1h, 24h, 7d"),
            ("day", "2026-3-9", "must be a day, such as 2026-03-09"),
            ("canary", "yes", "must be one of exclude, include, only"),
            ("q", "", "must not be empty"),
        ] {
            assert_eq!(parse(&[(parameter, value)]), Err(FieldError::new(parameter, rule)));
        }
    }

    #[test]
    fn every_parameter_is_known_and_written_back() {
        let values = [
            ("status", "unresolved"),
            ("kind", "a/b?x=1&y"),
            ("source", "100%_done"),
            ("tenant", " a"),
            ("reason", "rate_limit"),
            ("reason_code", "AMBIGUOUS_VALUE"),
            ("failure_reason", "rate_limit"),
            ("route", "exception"),
            ("age", "24h_7d"),
            ("older_than", "24h"),
            ("q", "€ 1.234,56"),
            ("group", "00ff"),
            ("day", "2026-11-30"),
            ("canary", "only"),
        ];
        assert_eq!(values.map(|(name, _)| name), LetterFilter::PARAMETERS);
        let written = parse(&values).unwrap().pairs();
        assert_eq!(written.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>(), values);
    }

    #[test]
    fn all_is_written_out_because_readers_differ_in_their_default() {
        assert_eq!(LetterFilter::default().pairs(), [("status", "all".to_owned())]);
        assert_eq!(parse(&[("status", "all")]).unwrap(), LetterFilter::default());
    }

    #[test]
    fn buckets_leave_no_gap_and_do_not_overlap() {
        for pair in AgeBucket::ALL.windows(2) {
            assert_eq!(pair[0].bounds().1, pair[1].bounds().0);
        }
    }

    #[test]
    fn what_was_judged_is_no_failure() {
        let filter = parse(&[("status", "all"), ("kind", "k")]).unwrap();
        let failures = filter.failures().unwrap();
        assert_eq!((failures.route, failures.status), (Some(Route::Exception), Some(StatusFilter::Unresolved)));
        assert_eq!(failures.kind.as_deref(), Some("k"));
        for judged in ["refused_by_agent", "failed_evidence_check"] {
            assert_eq!(parse(&[("route", judged)]).unwrap().failures(), None, "{judged}");
        }
        assert_eq!(parse(&[("status", "resolved")]).unwrap().failures(), None);
        assert_eq!(parse(&[("status", "open")]).unwrap().failures().unwrap().status, Some(StatusFilter::Open));
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_as_the_same(kind in "\\PC{1,30}", text in "\\PC{1,30}", status in 0usize..4) {
            let filter = LetterFilter {
                kind: Some(kind),
                text: Some(text),
                status: Some(StatusFilter::ALL[status]),
                ..LetterFilter::default()
            };
            let pairs = filter.pairs();
            let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
            prop_assert_eq!(parse(&pairs).unwrap(), filter);
        }
    }
}
