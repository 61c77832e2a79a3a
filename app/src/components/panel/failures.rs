//! The last ten failures: what failed, how often, and whether it runs again.

use crate::components::link;
use crate::components::moment::{since, until, wall_clock};
use crate::components::name::name;
use crate::components::preview::folded;
use crate::model::reading::{Failure, Reading};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

pub(super) fn failures(reading: &Reading) -> impl IntoView {
    let rows = reading.failures.iter().map(|failure| row(failure, reading.as_of)).collect_view();
    view! {
        <section>
            <h2>"Last ten failures"</h2>
            {if reading.failures.is_empty() {
                view! { <p class="empty">"No attempt has failed."</p> }.into_any()
            } else {
                view! { <ol class="failures">{rows}</ol> }.into_any()
            }}
        </section>
    }
}

fn row(failure: &Failure, now: DateTime<Utc>) -> impl IntoView {
    let key = format!("{}-{}", failure.job_id, failure.attempt);
    let (href, word) = match failure.dead_letter_id {
        Some(id) => (link::letter(id), "letter"),
        None => (link::job(failure.job_id), "job"),
    };
    view! {
        <li data-k=key>
            <p>
                {wall_clock(failure.at, now)}" "
                <b>{name(&failure.kind)}</b>
                {format!(" attempt {} of {}, ", failure.attempt, failure.max_attempts)}
                {next(failure, now)}" "
                <a href=href>"→ "{word}</a>
            </p>
            {folded(&failure.error, "error")}
        </li>
    }
}

fn next(failure: &Failure, now: DateTime<Utc>) -> AnyView {
    match failure.next_run_at {
        Some(at) if !failure.is_final && at > now => view! { "again "{until(at, now)} }.into_any(),
        Some(at) if !failure.is_final => view! { "due again "{since(at, now)} }.into_any(),
        _ if failure.is_final => view! { <strong class="s-dead">"final"</strong> }.into_any(),
        _ => "runs again".into_any(),
    }
}
