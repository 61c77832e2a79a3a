//! The two-sided alerts on refusal: a source that is no longer refused anything,
//! and one that is parked more than it used to be.
//!
//! Zero looks at what the *agent* refused: checks that still park something do
//! not show that the agent can still say no. High looks at all that is parked.

use super::baseline::{Baseline, Counts};
use super::{AlertRule, Finding, Level, Standing, chance, counted, percent, shown};
use crate::model::stats::{Share, beta_binomial_tail, beta_binomial_zero};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// What the two alerts are judged by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RefusalLimits {
    /// Fewer processed than this in the window say nothing.
    pub minimum_volume: i64,
    /// Zero fires when no refusal at all has at most this probability.
    pub zero_alpha: f64,
    /// High fires when as many parked, or more, have at most this probability.
    pub high_alpha: f64,
}

impl Default for RefusalLimits {
    fn default() -> Self {
        Self { minimum_volume: 75, zero_alpha: 0.05, high_alpha: 0.01 }
    }
}

/// Why a zero fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ZeroCause {
    /// By the baseline's rate, chance alone hardly explains it.
    Improbable,
    /// The baseline holds no refusal either: perhaps there never was a way to say no.
    NeverRefused,
}

/// What changed last about how a source is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastChange<'a> {
    /// `model`, `prompt` or `tools`.
    pub what: &'a str,
    /// When it was first seen.
    pub at: DateTime<Utc>,
}

/// A source, or a source and a reason code, in its window of 7 days.
#[derive(Debug, Clone, Copy)]
pub struct Watched<'a> {
    /// The source.
    pub source: &'a str,
    /// The reason code, if the counts of parked are of one.
    pub reason_code: Option<&'a str>,
    /// Whether any of its kinds may refuse; the counts are of those kinds.
    pub may_refuse: bool,
    /// The last 7 days.
    pub window: Counts,
    /// What they are compared with.
    pub baseline: &'a Baseline,
    /// What changed last.
    pub last_change: Option<LastChange<'a>>,
}

/// Whether the agent can still say no to this source.
pub fn judge_zero(watched: &Watched<'_>, limits: &RefusalLimits) -> Finding {
    let (window, known) = (watched.window, watched.baseline.counts);
    let p = beta_binomial_zero(window.processed, Share::new(known.refused, known.processed));
    let finding = |standing, because, value, threshold, message| Finding {
        because,
        ..watched.finding(AlertRule::ZeroRefusals, standing, value, threshold, message)
    };
    if let Some((standing, message)) = watched.cannot_say(limits) {
        return finding(standing, None, p, limits.zero_alpha, message);
    }
    let source = shown(watched.source);
    if window.refused > 0 {
        let message = format!(
            "{source}: {} of {} refused in the last 7 days.",
            counted(window.refused),
            counted(window.processed)
        );
        return finding(Standing::Clear, None, p, limits.zero_alpha, message);
    }
    let fires = Standing::Fires(Level::Warn);
    let zero = format!("{source}: no refusal among {} in the last 7 days", counted(window.processed));
    if known.refused <= 0 {
        let message = format!(
            "{zero}, and none in the baseline ({}). Can the agent say no at all?{}",
            watched.described(0),
            watched.change()
        );
        let (value, threshold) = (window.processed as f64, limits.minimum_volume as f64);
        return finding(fires, Some(ZeroCause::NeverRefused), value, threshold, message);
    }
    let expected = format!("the baseline ({}) makes that a chance of {}", watched.described(known.refused), chance(p));
    if p <= limits.zero_alpha {
        let message = format!("{zero}; {expected}. Can the agent still say no?{}", watched.change());
        return finding(fires, Some(ZeroCause::Improbable), p, limits.zero_alpha, message);
    }
    finding(Standing::Clear, None, p, limits.zero_alpha, format!("{zero}; {expected}, which is no alarm."))
}

/// Whether more of this source is parked than its baseline explains.
pub fn judge_high(watched: &Watched<'_>, limits: &RefusalLimits) -> Finding {
    let (window, known) = (watched.window, watched.baseline.counts);
    let p = beta_binomial_tail(window.parked, window.processed, Share::new(known.parked, known.processed));
    let finding = |standing, message| watched.finding(AlertRule::HighParkRate, standing, p, limits.high_alpha, message);
    if let Some((standing, message)) = watched.cannot_say(limits) {
        return finding(standing, message);
    }
    let what = match watched.reason_code {
        None => "parked".to_owned(),
        Some(code) => format!("parked for {}", shown(code)),
    };
    let parked = format!(
        "{}: {} of {} {what} in the last 7 days ({})",
        shown(watched.source),
        counted(window.parked),
        counted(window.processed),
        percent(window.parked, window.processed)
    );
    let expected =
        format!("the baseline ({}) makes so many a chance of {}", watched.described(known.parked), chance(p));
    if p <= limits.high_alpha {
        let message =
            format!("{parked}; {expected}. Did its input change, or did a rule become too strict?{}", watched.change());
        return finding(Standing::Fires(Level::Warn), message);
    }
    finding(Standing::Clear, format!("{parked}; {expected}, which is no alarm."))
}

impl Watched<'_> {
    fn finding(&self, rule: AlertRule, standing: Standing, value: f64, threshold: f64, message: String) -> Finding {
        Finding {
            rule,
            source: Some(self.source.to_owned()),
            reason_code: self.reason_code.map(str::to_owned),
            standing,
            because: None,
            value,
            threshold,
            baseline: Some(self.baseline.clone()),
            message,
        }
    }

    /// Why nothing can be said, if nothing can.
    fn cannot_say(&self, limits: &RefusalLimits) -> Option<(Standing, String)> {
        let source = shown(self.source);
        let processed = self.window.processed;
        if !self.may_refuse {
            return Some((Standing::NotWatched, format!("{source}: its kinds may not refuse.")));
        }
        if processed <= 0 {
            return Some((Standing::NothingCame, format!("{source}: nothing was processed in the last 7 days.")));
        }
        (processed < limits.minimum_volume).then(|| {
            let message = format!(
                "{source}: not enough volume, {} processed in the last 7 days and {} needed to say anything.",
                counted(processed),
                counted(limits.minimum_volume)
            );
            (Standing::NotEnoughVolume, message)
        })
    }

    /// The baseline in words, of which so many were hits.
    fn described(&self, hits: i64) -> String {
        let baseline = self.baseline;
        let days = format!("{} to {}", baseline.from, baseline.to);
        if baseline.counts.processed <= 0 {
            return format!("{days}, in which nothing was processed");
        }
        let processed = baseline.counts.processed;
        let left_out = match (baseline.is_pinned, baseline.days_left_out) {
            (true, _) => ", pinned".to_owned(),
            (false, 0) => String::new(),
            (false, 1) => ", without 1 day in alarm".to_owned(),
            (false, n) => format!(", without {n} days in alarm"),
        };
        format!("{} of {}, {}, {days}{left_out}", counted(hits), counted(processed), percent(hits, processed))
    }

    fn change(&self) -> String {
        match self.last_change {
            None => " No change of model, prompt or tools is known.".to_owned(),
            Some(change) => {
                format!(" What changed last: {}, {}.", shown(change.what), change.at.format("%Y-%m-%d %H:%M UTC"))
            }
        }
    }
}
