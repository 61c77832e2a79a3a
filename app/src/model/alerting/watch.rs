//! What the rules find in a reading: every source, every code that parks any of
//! it, and the figures of the whole pipeline.

use super::baseline::{Baseline, BaselineDay, Counts, window_from};
use super::limits::{
    AlertLimits, judge_canaries_overdue, judge_canaries_written, judge_dead_letters, judge_late_answers,
    judge_oldest_letter, judge_verdict,
};
use super::refusals::{LastChange, RefusalLimits, Watched, judge_high, judge_zero};
use super::{AlertRule, Finding};
use chrono::{DateTime, NaiveDate, Utc};
use std::collections::{BTreeMap, BTreeSet};

/// What one UTC day counted of a kind and a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayCount {
    /// The day.
    pub day: NaiveDate,
    /// The kind.
    pub kind: String,
    /// The source.
    pub source: String,
    /// Of one code alone, which has no `processed`; else of all together.
    pub reason_code: Option<String>,
    /// How many.
    pub counts: Counts,
}

/// Days of a source, first and last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceDays {
    /// The source.
    pub source: String,
    /// First day.
    pub from: NaiveDate,
    /// Last day.
    pub to: NaiveDate,
}

/// What an open alert is about, and the baseline that it opened with.
#[derive(Debug, Clone, PartialEq)]
pub struct Open {
    /// Its rule.
    pub rule: AlertRule,
    /// Its source.
    pub source: Option<String>,
    /// Its code.
    pub reason_code: Option<String>,
    /// Its baseline.
    pub baseline: Option<Baseline>,
}

/// A kind, as far as alerts look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchedKind {
    /// The kind.
    pub kind: String,
    /// Whether it may refuse.
    pub may_refuse: bool,
    /// What its sources are judged by.
    pub limits: RefusalLimits,
    /// When done jobs last named another model, prompt or tools, and which.
    pub changed: Option<(DateTime<Utc>, &'static str)>,
}

/// All that is judged, read at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertInput {
    /// The database's clock.
    pub as_of: DateTime<Utc>,
    /// Days of the window and of all baselines.
    pub days: Vec<DayCount>,
    /// Days that alerts keep out of baselines.
    pub in_alarm: Vec<SourceDays>,
    /// Baselines that a person chose.
    pub pinned: Vec<SourceDays>,
    /// Alerts that are open.
    pub open: Vec<Open>,
    /// The kinds.
    pub kinds: Vec<WatchedKind>,
    /// Dead letters of the last hour, canaries left out.
    pub letters_last_hour: i64,
    /// For how long the oldest open one has been open, in seconds.
    pub oldest_letter_seconds: Option<i64>,
    /// Answers of the last hour that came after their lease.
    pub late_answers_last_hour: i64,
    /// Canaries that were done and that nobody has cleared, with the kind of the last.
    pub canaries_written: (i64, Option<String>),
    /// Canaries whose schedule was missed.
    pub canaries_overdue: i64,
}

/// What the rules find; `not_running` is the verdict's line, if it says so.
pub fn findings(input: &AlertInput, not_running: Option<&str>) -> Vec<Finding> {
    let limits = AlertLimits::default();
    let (written, last_kind) = &input.canaries_written;
    let mut found = vec![
        judge_dead_letters(input.letters_last_hour, &limits),
        judge_oldest_letter(input.oldest_letter_seconds, &limits),
        judge_canaries_written(*written, last_kind.as_deref()),
        judge_canaries_overdue(input.canaries_overdue),
        judge_verdict(not_running.is_some(), not_running.unwrap_or("The verdict is not Not running?.")),
        judge_late_answers(input.late_answers_last_hour),
    ];
    found.extend(source_findings(input));
    found
}

/// What the rules find about refusals, source by source: zero first, then high,
/// of all together and of each code.
pub fn source_findings(input: &AlertInput) -> Vec<Finding> {
    let mut found = Vec::new();
    for (source, days) in sources(input) {
        found.extend(days.findings(source, input));
    }
    found
}

/// A source's days, of the kinds that may refuse.
#[derive(Default)]
struct Source<'a> {
    kinds: BTreeSet<&'a str>,
    whole: BTreeMap<NaiveDate, Counts>,
    codes: BTreeMap<&'a str, BTreeMap<NaiveDate, Counts>>,
}

fn sources(input: &AlertInput) -> BTreeMap<&str, Source<'_>> {
    let kinds: BTreeMap<&str, &WatchedKind> = input.kinds.iter().map(|kind| (kind.kind.as_str(), kind)).collect();
    let mut sources: BTreeMap<&str, Source<'_>> = BTreeMap::new();
    for open in &input.open {
        let Some(source) = &open.source else { continue };
        let source = sources.entry(source).or_default();
        if let Some(code) = &open.reason_code {
            source.codes.entry(code).or_default();
        }
    }
    for count in &input.days {
        let source = sources.entry(&count.source).or_default();
        source.kinds.insert(&count.kind);
        if kinds.get(count.kind.as_str()).is_some_and(|kind| !kind.may_refuse) {
            continue;
        }
        let days = match &count.reason_code {
            None => &mut source.whole,
            Some(code) => source.codes.entry(code).or_default(),
        };
        let sum = days.entry(count.day).or_default();
        *sum = sum.plus(count.counts);
    }
    sources
}

impl Source<'_> {
    fn findings(&self, source: &str, input: &AlertInput) -> Vec<Finding> {
        let watched: Vec<&WatchedKind> =
            input.kinds.iter().filter(|kind| self.kinds.contains(kind.kind.as_str()) && kind.may_refuse).collect();
        let may_refuse = !watched.is_empty() || self.kinds.is_empty();
        let limits = strictest(&watched);
        let changed = watched.iter().filter_map(|kind| kind.changed).max();
        let last_change = changed.map(|(at, what)| LastChange { what, at });
        let judge = |rule: AlertRule, code: Option<&str>| {
            let days = self.days_of(code);
            let baseline = baseline(input, source, rule, code, &days);
            let from = window_from(input.as_of);
            let window =
                days.iter().filter(|(day, _)| **day >= from).fold(Counts::default(), |sum, (_, c)| sum.plus(*c));
            let watched = Watched { source, reason_code: code, may_refuse, window, baseline: &baseline, last_change };
            match rule {
                AlertRule::ZeroRefusals => judge_zero(&watched, &limits),
                _ => judge_high(&watched, &limits),
            }
        };
        let mut found = vec![judge(AlertRule::ZeroRefusals, None), judge(AlertRule::HighParkRate, None)];
        found.extend(self.codes.keys().map(|code| judge(AlertRule::HighParkRate, Some(code))));
        found
    }

    /// The days of all together, or those of a code out of all that was processed.
    fn days_of(&self, code: Option<&str>) -> BTreeMap<NaiveDate, Counts> {
        let Some(code) = code else { return self.whole.clone() };
        let of_code = self.codes.get(code);
        let day = |(day, whole): (&NaiveDate, &Counts)| {
            let parked = of_code.and_then(|days| days.get(day)).copied().unwrap_or_default();
            (*day, Counts { processed: whole.processed, ..parked })
        };
        self.whole.iter().map(day).collect()
    }
}

/// A source of several kinds is judged by the limits that say something first.
fn strictest(kinds: &[&WatchedKind]) -> RefusalLimits {
    kinds
        .iter()
        .map(|kind| kind.limits)
        .reduce(|a, b| RefusalLimits {
            minimum_volume: a.minimum_volume.min(b.minimum_volume),
            zero_alpha: a.zero_alpha.max(b.zero_alpha),
            high_alpha: a.high_alpha.max(b.high_alpha),
        })
        .unwrap_or_default()
}

fn baseline(
    input: &AlertInput,
    source: &str,
    rule: AlertRule,
    code: Option<&str>,
    days: &BTreeMap<NaiveDate, Counts>,
) -> Baseline {
    let covers = |of: &SourceDays, day: NaiveDate| of.source == source && (of.from..=of.to).contains(&day);
    let usual: Vec<BaselineDay> = days
        .iter()
        .map(|(&day, &counts)| BaselineDay {
            day,
            counts,
            is_in_alarm: input.in_alarm.iter().any(|alarm| covers(alarm, day)),
        })
        .collect();
    let pinned = input.pinned.iter().find(|pin| pin.source == source).map(|pin| {
        let counts = days.range(pin.from..=pin.to).fold(Counts::default(), |sum, (_, counts)| sum.plus(*counts));
        Baseline::pinned(pin.from, pin.to, counts)
    });
    let opened_with = input
        .open
        .iter()
        .find(|open| open.rule == rule && open.source.as_deref() == Some(source) && open.reason_code.as_deref() == code)
        .and_then(|open| open.baseline.as_ref());
    Baseline::in_force(pinned.as_ref(), Baseline::before(window_from(input.as_of), &usual), opened_with)
}
