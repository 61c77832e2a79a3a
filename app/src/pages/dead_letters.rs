//! `/dead-letters`: what waits for a person, why it was parked, and what may be
//! done about it.

use super::frame::{Loaded, Section, page};
use crate::api::{Access, FormKeys, Request};
use crate::components::filter_chips::{Chip, filter_chips};
use crate::components::json_text::MASKED;
use crate::components::letter_actions::folded_letter_actions;
use crate::components::link;
use crate::components::moment::since;
use crate::components::name::{name, said};
use crate::components::pager::pager;
use crate::components::preview::folded;
use crate::components::state_mark::{of_letter, of_route, state};
use crate::model::FieldError;
use crate::model::ids::DeadLetterId;
use crate::model::letter::{DeadLetter, LetterFilter, LetterPage, LetterStatus, LetterTotals, Route};
use crate::model::people::{Role, Viewer};
use chrono::{DateTime, NaiveDate, Utc};
use leptos::prelude::*;

const PER_PAGE: u32 = 25;

/// Filters `status`, `kind`, `source`, `tenant`, `route`, `reason`, `group`,
/// `day` (UTC) and `before` (an id), all in the address.
#[component]
pub fn DeadLettersPage() -> impl IntoView {
    page(Section::DeadLetters, "Dead letters", Role::OnCall, load)
}

async fn load(access: Access, request: Request) -> Loaded {
    let filter = filter_of(&request)?;
    let found = access.store.list_letters(&filter).await?;
    Ok(contents(&found, &filter, &access.viewer))
}

/// What the page shows of a list that was found by `filter`.
pub(super) fn contents(found: &LetterPage, filter: &LetterFilter, viewer: &Viewer) -> AnyView {
    let older = found.next.map(|before| link::letters(&LetterFilter { before: Some(before), ..filter.clone() }));
    let newest = filter.before.map(|_| link::letters(&first_page(filter)));
    let cleared = link::letters(&LetterFilter { status: filter.status, ..LetterFilter::default() });
    let here = link::letters(filter);
    let rows = found.letters.iter().map(|letter| row(letter, viewer, &here, found.as_of)).collect_view();
    view! {
        {tabs(filter, found.totals)}
        {filter_chips(chips(filter), &cleared)}
        {if found.letters.is_empty() {
            view! { <p class="empty">{nothing(filter, found.totals)}</p> }.into_any()
        } else {
            view! { <ol class="letters">{rows}</ol> }.into_any()
        }}
        {pager(older, newest)}
    }
    .into_any()
}

fn filter_of(request: &Request) -> Result<LetterFilter, FieldError> {
    Ok(LetterFilter {
        status: request.word("status", "must be open, taken or resolved", LetterStatus::from_word)?,
        kind: request.text("kind"),
        source: request.text("source"),
        tenant: request.text("tenant"),
        reason_code: request.text("reason"),
        route: request.word("route", "must be a route of a dead letter", Route::from_word)?,
        group: request.text("group"),
        day: request.parsed::<NaiveDate>("day", "must be a day such as 2026-11-30")?,
        before: request.parsed::<DeadLetterId>("before", "must be the id of a dead letter")?,
        limit: PER_PAGE,
    })
}

fn first_page(filter: &LetterFilter) -> LetterFilter {
    LetterFilter { before: None, ..filter.clone() }
}

/// Whether anything but the status is filtered.
fn is_narrowed(filter: &LetterFilter) -> bool {
    let only_status = LetterFilter { status: filter.status, limit: filter.limit, ..LetterFilter::default() };
    first_page(filter) != only_status
}

/// Counts are those of the whole database, so they stand only beside a list
/// that is not narrowed further.
fn tabs(filter: &LetterFilter, totals: LetterTotals) -> impl IntoView + use<> {
    let count_of = |status: Option<LetterStatus>| match status {
        None => totals.open + totals.taken + totals.resolved,
        Some(LetterStatus::Open) => totals.open,
        Some(LetterStatus::Taken) => totals.taken,
        Some(LetterStatus::Resolved) => totals.resolved,
    };
    let has_counts = !is_narrowed(filter);
    let tabs = LetterStatus::ALL
        .map(Some)
        .into_iter()
        .chain([None])
        .map(|status| {
            let href = link::letters(&LetterFilter { status, ..first_page(filter) });
            let is_current = (status == filter.status).then_some("true");
            let count = has_counts.then(|| view! { " "<b>{count_of(status).to_string()}</b> });
            view! { <a href=href aria-current=is_current>{status.map_or("all", LetterStatus::as_str)}{count}</a> }
        })
        .collect_view();
    view! { <nav class="tabs" aria-label="Status">{tabs}</nav> }
}

fn chips(filter: &LetterFilter) -> Vec<Chip> {
    let first = || first_page(filter);
    let all = [
        ("kind", filter.kind.clone(), LetterFilter { kind: None, ..first() }),
        ("source", filter.source.clone(), LetterFilter { source: None, ..first() }),
        ("tenant", filter.tenant.clone(), LetterFilter { tenant: None, ..first() }),
        ("route", filter.route.map(|route| route.label().to_owned()), LetterFilter { route: None, ..first() }),
        ("reason", filter.reason_code.clone(), LetterFilter { reason_code: None, ..first() }),
        ("group", filter.group.clone(), LetterFilter { group: None, ..first() }),
        ("day", filter.day.map(|day| format!("{day} UTC")), LetterFilter { day: None, ..first() }),
    ];
    all.into_iter()
        .filter_map(|(name, value, without)| Some(Chip { name, value: value?, without: link::letters(&without) }))
        .collect()
}

/// Why a list is empty: filtered out, none yet, or all good.
fn nothing(filter: &LetterFilter, totals: LetterTotals) -> String {
    let all = totals.open + totals.taken + totals.resolved;
    match () {
        () if filter.before.is_some() => "There are no older letters.".to_owned(),
        () if is_narrowed(filter) => "No letter matches these filters.".to_owned(),
        () if all == 0 => "No job has been parked yet.".to_owned(),
        () if filter.status == Some(LetterStatus::Open) => format!(
            "Nothing waits for a person; {} resolved so far. Whether the agent still says no is on the page Refusals.",
            totals.resolved
        ),
        () => "No letter has this status.".to_owned(),
    }
}

fn row(letter: &DeadLetter, viewer: &Viewer, here: &str, now: DateTime<Utc>) -> impl IntoView + use<> {
    // Evidence is a piece of the payload, and as private.
    let evidence = letter.evidence.as_deref().map(|text| if viewer.may(Role::Reviewer) { text } else { MASKED });
    let quoted = evidence.or(letter.error.as_deref());
    view! {
        <li data-k=letter.id.to_string()>
            <p class="headline">
                <a href=link::letter(letter.id)>{letter.id.to_string()}" · "{said(&reason(letter))}</a>" "
                {state(of_route(letter.route), letter.route.label())}
            </p>
            <p class="meta">
                <b>{name(&letter.kind)}</b>" from "{name(&letter.source)}
                ", parked "{since(letter.dead_lettered_at, now)}", "
                {state(of_letter(letter.status), letter.status.as_str())}
                {letter.resolution.as_ref().map(|done| view! { " by "{name(&done.by)}": "{done.action.label()} })}
            </p>
            {quoted.map(|text| folded(text, "quoted"))}
            {folded_letter_actions(letter, viewer, here, FormKeys::next)}
        </li>
    }
}

/// Why it was parked, in the machine's words: `MISSING_REQUIRED_FIELD · currency`.
pub(super) fn reason(letter: &DeadLetter) -> String {
    let status = letter.http_status.map(|status| status.to_string());
    let parts = [
        letter.reason_code.clone(),
        letter.field.clone(),
        letter.failure_reason.clone(),
        status,
        letter.error_code.clone(),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    if text.is_empty() { letter.route.label().to_owned() } else { text }
}
