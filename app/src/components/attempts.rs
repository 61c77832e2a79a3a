//! The attempts of a job, oldest first: who, when, how long, and how each ended.

use super::moment::{date_and_time, wall_clock};
use super::name::name;
use super::preview::{folded, short};
use super::state_mark::{of_attempt, state};
use crate::model::age::age_between;
use crate::model::job::Attempt;
use crate::model::text::visible;
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// The table, or a sentence when nobody claimed the job yet. `now` is the
/// database's clock at the reading; an error text that the page `shows` already
/// is only begun here.
pub fn attempts(history: &[Attempt], now: DateTime<Utc>, shows: Option<&str>) -> AnyView {
    if history.is_empty() {
        return view! { <p class="empty">"No worker has claimed this job yet."</p> }.into_any();
    }
    let rows = history.iter().map(|attempt| row(attempt, now, shows)).collect_view();
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Attempts">
            <table class="attempts compact">
                <thead>
                    <tr>
                        <th scope="col">"Attempt"</th>
                        <th scope="col">"Claimed"</th>
                        <th scope="col">"Worker"</th>
                        <th scope="col">"Took"</th>
                        <th scope="col">"End"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn row(attempt: &Attempt, now: DateTime<Utc>, shows: Option<&str>) -> impl IntoView + use<> {
    let (mark, word) = of_attempt(attempt.outcome);
    let took = age_between(attempt.claimed_at, attempt.ended_at.unwrap_or(now));
    view! {
        <tr>
            <td data-label="Attempt">{attempt.attempt}</td>
            <td>{date_and_time(attempt.claimed_at)}</td>
            <th scope="row">{name(&attempt.worker)}</th>
            <td data-label="took">{took}</td>
            <td class="end">
                {state(mark, word)}{facts(attempt)}
                {attempt.next_run_at.map(|at| view! { ", next not before "{wall_clock(at, now)} })}
                {attempt.error.as_deref().map(|error| {
                    if shows == Some(error) { short(error) } else { folded(error, "error") }
                })}
            </td>
        </tr>
    }
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
