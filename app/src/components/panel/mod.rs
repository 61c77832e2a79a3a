//! The panel: the verdict, every count of every kind, the last failures, who
//! works, and what needs somebody.
//!
//! Rendered to a string once, for the first paint of the page and for every
//! update of its stream alike, so that the two cannot drift.

mod failures;
mod kinds;
mod people;
#[cfg(test)]
mod tests;

use super::canary_alarm::canary_alarm;
use super::markup::markup;
use super::moment::{absolute, moment};
use super::state_mark::{of_verdict, shape, verdict_word};
use super::verdict_line::{stale_title_of, title_of};
use crate::model::age::clock;
use crate::model::reading::Reading;
use crate::panel::PanelView;
use leptos::prelude::*;

const NEVER_READ: &str = "No numbers have been read since this server started.";

/// The panel as HTML: one element with the id `panel`, on one line, so that it
/// can travel as one event of a stream. Everybody gets the same bytes.
///
/// Its attributes: `data-state` (the verdict's word), `data-title` (for the
/// page's title), `data-stale-title` (for when nothing new comes), `data-as-of` and `data-clock` (the reading's time),
/// `data-letters` (unresolved dead letters), `data-old` when the numbers are
/// not fresh.
pub fn panel_html(view: &PanelView) -> String {
    // A line break is the same text as its character reference, and a stream
    // event must not hold a carriage return.
    markup(panel(view)).replace('\r', "&#13;").replace('\n', "&#10;")
}

fn panel(view: &PanelView) -> impl IntoView {
    let reading = view.reading.as_ref();
    let as_of = view.as_of();
    let is_old = (!view.is_fresh).then_some("");
    view! {
        <div
            id="panel"
            class="panel"
            data-state=verdict_word(view.verdict.state)
            data-title=title_of(&view.verdict, as_of)
            data-stale-title=stale_title_of(&view.verdict, as_of)
            data-as-of=as_of.map(absolute)
            data-clock=as_of.map_or_else(|| "the start".to_owned(), clock)
            data-letters=reading.map(|reading| reading.unresolved_dead_letters.to_string())
            data-old=is_old
            data-stale=is_old
        >
            {head(view)}
            {match reading {
                None => view! { <p class="empty">{NEVER_READ}</p> }.into_any(),
                Some(reading) => body(reading).into_any(),
            }}
        </div>
    }
}

/// The counts of the last reading with its time, for a page that has nothing
/// else to show while the database is away. Never zeros.
pub fn last_reading(view: &PanelView) -> impl IntoView + use<> {
    let is_old = (!view.is_fresh).then_some("");
    let numbers = match &view.reading {
        None => view! { <p class="empty">{NEVER_READ}</p> }.into_any(),
        Some(reading) => view! {
            <h2>"The last reading, "{moment(reading.as_of, clock(reading.as_of))}</h2>
            {kinds::kinds(reading)}
        }
        .into_any(),
    };
    view! { <div class="last" data-stale=is_old><section>{numbers}</section></div> }
}

fn head(view: &PanelView) -> impl IntoView {
    let verdict = &view.verdict;
    let as_of = view.as_of();
    let why: Vec<String> = view.forecast.iter().chain(&verdict.why).cloned().collect();
    view! {
        <header class="verdict">
            <h1 id="verdict">{shape(of_verdict(verdict.state))}" "{verdict.text.clone()}</h1>
            <p id="live-state" class="live" data-keep="">
                {as_of.map(|at| view! { "as of "{moment(at, clock(at))} })}
            </p>
            {(!why.is_empty()).then(|| view! { <p class="why">{why.join(" · ")}</p> })}
        </header>
        {canary_alarm(view)}
        <p id="say" class="unseen" role="status" data-keep=""></p>
    }
}

fn body(reading: &Reading) -> impl IntoView {
    view! {
        {kinds::kinds(reading)}
        <div class="columns">
            <div>
                {failures::failures(reading)}
                {people::last_refusals(reading)}
            </div>
            <div>
                {people::workers(reading)}
                {people::needs_somebody(reading)}
            </div>
        </div>
    }
}
