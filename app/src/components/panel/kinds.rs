//! The kinds table: every count with its window, and a total row. On a narrow
//! screen the style sheet makes two lines of a row, so each cell carries its
//! label, and the roles of a table are spelled out.

use crate::components::link;
use crate::components::moment::since;
use crate::components::name::name;
use crate::components::state_mark::{of_kind, shape};
use crate::model::age::age;
use crate::model::letter::Route;
use crate::model::letter_filter::LetterFilter;
use crate::model::reading::{KindReading, Reading};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// A count's column: its label, its window, and how to read it off a kind.
type Count = (&'static str, &'static str, fn(&KindReading) -> i64);

const DUE: Count = ("Due", "", |kind| kind.due);
const IN_PROGRESS: Count = ("In progress", "", |kind| kind.in_progress);
const LATER: [Count; 3] =
    [("Held", "", |kind| kind.held), ("Scheduled", "", |kind| kind.scheduled), ("Retrying", "", |kind| kind.retrying)];
const DONE: Count = ("Done", "1 h", |kind| kind.done_last_hour);
const FAILED: Count = ("Failed", "24 h", |kind| kind.failed_last_day);
const REFUSED: Count = ("Refused", "24 h", |kind| kind.refused_last_day);
const EVIDENCE: Count = ("Evidence", "24 h", |kind| kind.evidence_failed_last_day);
const DROPPED: Count = ("Dropped", "24 h", |kind| kind.dropped_last_day);

fn columns() -> impl Iterator<Item = Count> {
    [DUE].into_iter().chain(LATER).chain([IN_PROGRESS, DONE, FAILED, REFUSED, EVIDENCE, DROPPED])
}

pub(super) fn kinds(reading: &Reading) -> impl IntoView + use<> {
    if reading.kinds.is_empty() {
        return view! {
            <p class="empty">"No job has been enqueued yet. The first "<code>"POST /api/v1/jobs"</code>" brings its kind here."</p>
        }
        .into_any();
    }
    let rows = reading.kinds.iter().map(|kind| row(kind, reading)).collect_view();
    let headers = columns()
        .map(|(label, window, _)| {
            let window = (!window.is_empty()).then(|| view! { " "<small>{window}</small> });
            view! { <th scope="col" role="columnheader">{label}{window}</th> }
        })
        .collect_view();
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Kinds">
            <table class="kinds compact" role="table">
                <thead role="rowgroup">
                    <tr role="row">
                        <th scope="col" role="columnheader">"Kind"</th>
                        {headers}
                        <th scope="col" role="columnheader">"Oldest"</th>
                        <th scope="col" role="columnheader">"Last worked"</th>
                        <th scope="col" role="columnheader">"State"</th>
                    </tr>
                </thead>
                <tbody role="rowgroup">{rows}</tbody>
                <tfoot role="rowgroup">{total(reading)}</tfoot>
            </table>
        </div>
    }
    .into_any()
}

fn row(kind: &KindReading, reading: &Reading) -> impl IntoView + use<> {
    let letters = |route| {
        link::letters(&LetterFilter { kind: Some(kind.kind.clone()), route: Some(route), ..LetterFilter::default() })
    };
    let count = |column: Count| number(column, column.2(kind));
    let linked = |column: Count, route| linked(column, column.2(kind), letters(route));
    view! {
        <tr role="row" data-k=kind.kind.clone()>
            <th scope="row" role="rowheader">
                {shape(of_kind(kind.verdict.state))}" "<a href=link::jobs(&kind.kind, None)>{name(&kind.kind)}</a>
            </th>
            {count(DUE)}
            {LATER.map(count).collect_view()}
            {in_progress(kind.in_progress, kind.lease_expired, kind.lost)}
            {count(DONE)}
            {linked(FAILED, Route::Exception)}
            {linked(REFUSED, Route::RefusedByAgent)}
            {linked(EVIDENCE, Route::FailedEvidenceCheck)}
            {count(DROPPED)}
            {times(kind.oldest_due_seconds, kind.last_worked_at, reading)}
            <td class="word" role="cell">{kind.verdict.text.clone()}</td>
        </tr>
    }
}

fn total(reading: &Reading) -> impl IntoView + use<> {
    let sum = |of: fn(&KindReading) -> i64| reading.kinds.iter().map(of).sum::<i64>();
    let count = |column: Count| number(column, sum(column.2));
    let oldest = reading.kinds.iter().filter_map(|kind| kind.oldest_due_seconds).max();
    let last_worked = reading.kinds.iter().filter_map(|kind| kind.last_worked_at).max();
    view! {
        <tr role="row">
            <th scope="row" role="rowheader">"all kinds"</th>
            {count(DUE)}
            {LATER.map(count).collect_view()}
            {in_progress(sum(|kind| kind.in_progress), sum(|kind| kind.lease_expired), sum(|kind| kind.lost))}
            {[DONE, FAILED, REFUSED, EVIDENCE, DROPPED].map(count).collect_view()}
            {times(oldest, last_worked, reading)}
            <td class="word" role="cell"></td>
        </tr>
    }
}

/// How long the oldest due job has been due, and when work was last done.
fn times(oldest: Option<i64>, last_worked: Option<DateTime<Utc>>, reading: &Reading) -> impl IntoView + use<> {
    view! {
        <td role="cell" data-label="Oldest" class=oldest.is_none().then_some("zero")>{oldest.map_or_else(|| "–".to_owned(), age)}</td>
        <td role="cell" data-label="Last worked">{match last_worked {
            None => "never".into_any(),
            Some(at) => since(at, reading.as_of).into_any(),
        }}</td>
    }
}

fn label((label, window, _): Count) -> String {
    if window.is_empty() { label.to_owned() } else { format!("{label} {window}") }
}

/// A zero is shown, and shown quietly.
fn number(column: Count, count: i64) -> AnyView {
    let class = (count == 0).then_some("zero");
    view! { <td role="cell" data-label=label(column) class=class>{count.to_string()}</td> }.into_any()
}

fn linked(column: Count, count: i64, href: String) -> AnyView {
    match count {
        0 => number(column, 0),
        _ => view! { <td role="cell" data-label=label(column)><a href=href>{count.to_string()}</a></td> }.into_any(),
    }
}

/// Live leases; expired ones are beside the number, never in it.
fn in_progress(count: i64, lease_expired: i64, lost: i64) -> impl IntoView {
    let beside = [(lease_expired, "lease expired"), (lost, "of them lost")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| view! { " "<small class="beside">{format!("{count} {words}")}</small> })
        .collect_view();
    let class = (count == 0 && lease_expired == 0 && lost == 0).then_some("zero");
    view! { <td role="cell" data-label=label(IN_PROGRESS) class=class>{count.to_string()}{beside}</td> }
}
