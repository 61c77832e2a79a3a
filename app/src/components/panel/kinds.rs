//! The kinds table: every count with its window, and a total row.

use crate::components::link;
use crate::components::moment::since;
use crate::components::state_mark::{of_kind, shape};
use crate::model::age::age;
use crate::model::letter::Route;
use crate::model::letter_filter::LetterFilter;
use crate::model::reading::{KindReading, Reading};
use leptos::prelude::*;

/// Headers of the counts, with their windows.
const COUNTS: [(&str, Option<&str>); 10] = [
    ("Due", None),
    ("Held", None),
    ("Scheduled", None),
    ("Retrying", None),
    ("In progress", None),
    ("Done", Some("1 h")),
    ("Failed", Some("24 h")),
    ("Refused", Some("24 h")),
    ("Evidence", Some("24 h")),
    ("Dropped", Some("24 h")),
];

pub(super) fn kinds(reading: &Reading) -> impl IntoView {
    if reading.kinds.is_empty() {
        return view! {
            <p class="empty">"No job has been enqueued yet. The first "<code>"POST /api/v1/jobs"</code>" brings its kind here."</p>
        }
        .into_any();
    }
    let rows = reading.kinds.iter().map(|kind| row(kind, reading)).collect_view();
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Kinds">
            <table class="kinds">
                <thead>
                    <tr>
                        <th scope="col">"Kind"</th>
                        {COUNTS.map(|(name, window)| view! {
                            <th scope="col">{name}{window.map(|window| view! { " "<small>{window}</small> })}</th>
                        }).collect_view()}
                        <th scope="col">"Oldest"</th>
                        <th scope="col">"Last worked"</th>
                        <th scope="col">"State"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
                <tfoot>{total(reading)}</tfoot>
            </table>
        </div>
    }
    .into_any()
}

fn row(kind: &KindReading, reading: &Reading) -> impl IntoView {
    let name = kind.kind.clone();
    let letters = |route| {
        link::letters(&LetterFilter { kind: Some(kind.kind.clone()), route: Some(route), ..LetterFilter::default() })
    };
    let mark = of_kind(kind.verdict.state);
    view! {
        <tr data-k=name.clone()>
            <th scope="row" title=name.clone()>
                {shape(mark)}" "<a href=link::jobs(&name, None)>{name.clone()}</a>
            </th>
            {number(kind.due)}
            {number(kind.held)}
            {number(kind.scheduled)}
            {number(kind.retrying)}
            {in_progress(kind.in_progress, kind.lease_expired, kind.lost)}
            {number(kind.done_last_hour)}
            {linked(kind.failed_last_day, letters(Route::Exception))}
            {linked(kind.refused_last_day, letters(Route::RefusedByAgent))}
            {linked(kind.evidence_failed_last_day, letters(Route::FailedEvidenceCheck))}
            {number(kind.dropped_last_day)}
            <td>{kind.oldest_due_seconds.map_or_else(|| "–".to_owned(), age)}</td>
            <td>{match kind.last_worked_at {
                None => "never".into_any(),
                Some(at) => since(at, reading.as_of).into_any(),
            }}</td>
            <td class="word">{kind.verdict.text.clone()}</td>
        </tr>
    }
}

fn total(reading: &Reading) -> impl IntoView {
    let sum = |of: fn(&KindReading) -> i64| reading.kinds.iter().map(of).sum::<i64>();
    let oldest = reading.kinds.iter().filter_map(|kind| kind.oldest_due_seconds).max();
    let last_worked = reading.kinds.iter().filter_map(|kind| kind.last_worked_at).max();
    view! {
        <tr>
            <th scope="row">"all kinds"</th>
            {number(sum(|kind| kind.due))}
            {number(sum(|kind| kind.held))}
            {number(sum(|kind| kind.scheduled))}
            {number(sum(|kind| kind.retrying))}
            {in_progress(sum(|kind| kind.in_progress), sum(|kind| kind.lease_expired), sum(|kind| kind.lost))}
            {number(sum(|kind| kind.done_last_hour))}
            {number(sum(|kind| kind.failed_last_day))}
            {number(sum(|kind| kind.refused_last_day))}
            {number(sum(|kind| kind.evidence_failed_last_day))}
            {number(sum(|kind| kind.dropped_last_day))}
            <td>{oldest.map_or_else(|| "–".to_owned(), age)}</td>
            <td>{match last_worked {
                None => "never".into_any(),
                Some(at) => since(at, reading.as_of).into_any(),
            }}</td>
            <td></td>
        </tr>
    }
}

/// A zero is shown, and shown quietly.
fn number(count: i64) -> impl IntoView {
    view! { <td class=(count == 0).then_some("zero")>{count.to_string()}</td> }
}

fn linked(count: i64, href: String) -> impl IntoView {
    match count {
        0 => number(0).into_any(),
        _ => view! { <td><a href=href>{count.to_string()}</a></td> }.into_any(),
    }
}

/// Live leases; expired ones are beside the number, never in it.
fn in_progress(count: i64, lease_expired: i64, lost: i64) -> impl IntoView {
    let beside = [(lease_expired, "lease expired"), (lost, "of them lost")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| view! { " "<small class="beside">{format!("{count} {words}")}</small> })
        .collect_view();
    view! { <td class=(count == 0).then_some("zero")>{count.to_string()}{beside}</td> }
}
