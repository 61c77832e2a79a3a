//! The attempts of a job as a time line, oldest first: when, who, how long, how
//! each ended, and how long nobody worked on it in between.

use super::moment::{date_and_time, wall_clock};
use super::name::name;
use super::preview::{folded, short};
use super::state_mark::{of_attempt, state};
use crate::model::age::age_between;
use crate::model::job::Attempt;
use crate::model::text::visible;
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// The list, or a sentence when nobody claimed the job yet. `now` is the
/// database's clock at the reading; an error text that the page `shows` already
/// is only begun here.
pub fn attempts(history: &[Attempt], now: DateTime<Utc>, shows: Option<&str>) -> AnyView {
    if history.is_empty() {
        return view! { <p class="empty">"No worker has claimed this job yet."</p> }.into_any();
    }
    let rows = history
        .iter()
        .enumerate()
        .map(|(at, attempt)| {
            let wait = history.get(at + 1).and_then(|next| wait_between(attempt, next));
            row(attempt, wait, now, shows)
        })
        .collect_view();
    view! { <ol class="timeline" aria-label="Attempts">{rows}</ol> }.into_any()
}

fn row(attempt: &Attempt, wait: Option<String>, now: DateTime<Utc>, shows: Option<&str>) -> impl IntoView + use<> {
    let (mark, word) = of_attempt(attempt.outcome);
    let took = match attempt.ended_at {
        Some(ended_at) => format!("took {}", age_between(attempt.claimed_at, ended_at)),
        None => format!("for {} so far", age_between(attempt.claimed_at, now)),
    };
    let is_last = wait.is_none();
    view! {
        <li>
            <p class="meta">{date_and_time(attempt.claimed_at)}</p>
            <p>
                <b>{format!("Attempt {}", attempt.attempt)}</b>" by "{name(&attempt.worker)}", "{took}": "
                {state(mark, word)}{facts(attempt)}
                {attempt.next_run_at.filter(|_| is_last).map(|at| view! { ", next not before "{wall_clock(at, now)} })}
            </p>
            {attempt.error.as_deref().map(|error| {
                if shows == Some(error) { short(error) } else { folded(error, "error") }
            })}
            {wait.map(|wait| view! { <p class="wait">{wait}</p> })}
        </li>
    }
}

/// How long nobody worked on it after an attempt, from a second on.
fn wait_between(attempt: &Attempt, next: &Attempt) -> Option<String> {
    let ended_at = attempt.ended_at?;
    ((next.claimed_at - ended_at).num_seconds() >= 1)
        .then(|| format!("waited {}", age_between(ended_at, next.claimed_at)))
}

/// `: transient · rate_limit · 429 · insufficient_quota`, as far as known.
fn facts(attempt: &Attempt) -> String {
    let parts = [
        attempt.category.map(|category| category.as_str().to_owned()),
        attempt.failure_reason.clone(),
        attempt.http_status.map(|status| status.to_string()),
        attempt.error_code.clone(),
        attempt.reason_code.clone(),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    if text.is_empty() { text } else { format!(": {}", visible(&text)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::markup::markup;
    use crate::model::job::AttemptOutcome;
    use chrono::TimeDelta;

    #[test]
    fn the_line_says_how_long_each_took_and_how_long_nobody_worked() {
        let start: DateTime<Utc> = "2026-11-30T14:00:00Z".parse().unwrap();
        let attempt = |n: u32, from: i64, to: Option<i64>| Attempt {
            attempt: n,
            worker: "w<1".to_owned(),
            claimed_at: start + TimeDelta::seconds(from),
            ended_at: to.map(|to| start + TimeDelta::seconds(to)),
            outcome: to.map(|_| AttemptOutcome::Failed),
            category: None,
            failure_reason: Some("rate_limit".to_owned()),
            http_status: Some(429),
            error_code: None,
            error: Some("slow down".to_owned()),
            reason_code: None,
            next_run_at: to.map(|to| start + TimeDelta::seconds(to + 240)),
        };
        let html =
            markup(attempts(&[attempt(1, 0, Some(3)), attempt(2, 243, None)], start + TimeDelta::seconds(250), None));
        for part in ["Attempt 1", "took 3 s", "rate_limit · 429", "waited 4 min", "for 7 s so far", "w&lt;1"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("next not before"), "what came is said instead of what was planned: {html}");
    }
}
