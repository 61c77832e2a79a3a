//! Groups of dead letters, one line each: what, how many, since when, from where.

use super::link;
use super::moment::since;
use super::name::{name, said};
use super::sparkline::sparkline;
use super::state_mark::{of_route, state};
use crate::model::bulk::letters;
use crate::model::letter_filter::LetterFilter;
use crate::model::letter_group::LetterGroup;
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// The groups; each opens as the list of its letters. Where there is a form
/// `bulk`, a press on a group's button goes to it.
pub fn letter_groups(
    groups: &[LetterGroup],
    filter: &LetterFilter,
    as_of: DateTime<Utc>,
    has_bulk: bool,
) -> impl IntoView + use<> {
    let rows = groups.iter().map(|group| row(group, filter, as_of, has_bulk)).collect_view();
    view! { <ol class="letters groups">{rows}</ol> }
}

fn row(group: &LetterGroup, filter: &LetterFilter, as_of: DateTime<Utc>, has_bulk: bool) -> impl IntoView + use<> {
    let href = link::letters(&LetterFilter { group: Some(group.key.clone()), ..filter.first_page() });
    let letters = letters(group.letters);
    // An error's heading leaves its reason out.
    let failure_reason = group.failure_reason.clone().filter(|reason| *reason != group.heading());
    view! {
        <li data-row data-k=group.key.clone()>
            <span class="what">
                <a data-open href=href>{said(&group.heading())}</a>
            </span>
            <b class="count">{letters}</b>
            <span class="trend">{sparkline(&group.per_day)}</span>
            <span class="seen">"first "{since(group.first_seen, as_of)}", last "{since(group.last_seen, as_of)}</span>
            <span class="meta">
                {state(of_route(group.route), group.route.label())}
                {failure_reason.map(|reason| view! { ", "{name(&reason)} })}
                " · "{name(&group.kind)}
                " · from "{sources(group)}
                {resolved(group)}
            </span>
            {has_bulk.then(|| all_of(group, filter))}
        </li>
    }
}

fn sources(group: &LetterGroup) -> impl IntoView + use<> {
    let named = group
        .sources
        .iter()
        .enumerate()
        .map(|(i, (source, letters))| {
            let before = if i == 0 { "" } else { ", " };
            view! { {before}{name(source)}{format!(" {letters}")} }
        })
        .collect_view();
    let more = (group.more_sources > 0).then(|| format!(", {} more", group.more_sources));
    view! { {named}{more} }
}

/// What a filter of any status finds in a group is not all to be acted on.
fn all_of(group: &LetterGroup, filter: &LetterFilter) -> Option<impl IntoView + use<>> {
    let unresolved = if filter.status.is_none() { group.letters - group.resolved } else { group.letters };
    (unresolved > 0).then(|| {
        view! {
            <button class="all" name="group" value=group.key.clone() form="bulk" data-bulk>
                {format!("All {unresolved} in this group…")}
            </button>
        }
    })
}

/// How much of the group is done, however the list is filtered by status.
fn resolved(group: &LetterGroup) -> Option<String> {
    let all = group.of_any_status;
    (group.resolved > 0 && all > 0)
        .then(|| format!(" · {} % of {all} resolved", (group.resolved * 100).div_euclid(all)))
}
