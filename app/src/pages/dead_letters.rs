//! `/dead-letters`: what waits for a person, why it was parked, and what may be
//! done about it; first as groups, each a trouble of its own, then one by one.

use super::frame::{Loaded, Section, page};
use crate::api::{Access, FormKeys, Request};
use crate::components::bulk_bar::bulk_bar;
use crate::components::letter_facets::{View, count_of, letter_facets};
use crate::components::letter_groups::letter_groups;
pub(super) use crate::components::letter_rows::reason;
use crate::components::letter_rows::{RowContext, letter_rows};
use crate::components::link;
use crate::components::pager::pager;
use crate::components::triage_help::triage_help;
use crate::error::StoreError;
use crate::islands::Triage;
use crate::model::FieldError;
use crate::model::ids::DeadLetterId;
use crate::model::letter_filter::{LetterFilter, StatusFilter};
use crate::model::letter_group::{CountedLetterPage, GroupCursor, GroupPage, LetterCounts};
use crate::model::people::{Role, Viewer};
use crate::model::text::visible;
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// Letters or groups on a page.
const PER_PAGE: u32 = 50;

/// Kinds that a sentence names.
const KINDS_NAMED: usize = 5;

/// The filter's parameters (without `status`: what is unresolved), `view`,
/// and `before` (an id) or `after` (a group), all in the address.
#[component]
pub fn DeadLettersPage() -> impl IntoView {
    view! {
        {page(Section::DeadLetters, "Dead letters", Role::OnCall, load)}
        <Triage />
    }
}

async fn load(access: Access, request: Request) -> Loaded {
    let filter = filter_of(&request, &access.viewer)?;
    let found = match view_of(&request, &filter) {
        View::List => {
            let found = access.store.list_counted_letters(&filter).await?;
            list(&found, &filter, &access.viewer)
        }
        View::Groups => {
            let after = request.get("after").map(|text| GroupCursor::parse("after", text)).transpose()?;
            let found = access.store.list_counted_groups(&filter, after.as_ref()).await?;
            groups(&found, &filter, &access.viewer, after.is_some())
        }
    };
    let unsearched = unsearched(&access, &filter).await?;
    Ok(view! { {unsearched.map(|said| view! { <p class="hint">{said}</p> })}{found} }.into_any())
}

/// What a search leaves out, so that nothing found is not taken for nothing there.
async fn unsearched(access: &Access, filter: &LetterFilter) -> Result<Option<String>, StoreError> {
    if filter.text.is_none() {
        return Ok(None);
    }
    if !filter.searches_private {
        return Ok(Some("Only errors are searched: evidence and payloads are for reviewers.".to_owned()));
    }
    let policies = access.store.list_policies().await?;
    let masked: Vec<String> = policies
        .iter()
        .filter(|policy| filter.kind.as_ref().is_none_or(|kind| *kind == policy.kind))
        .filter(|policy| !policy.masked_fields().is_empty())
        .map(|policy| visible(&policy.kind).into_owned())
        .collect();
    let more = masked.len().saturating_sub(KINDS_NAMED);
    let named = masked.into_iter().take(KINDS_NAMED).collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Ok((!named.is_empty()).then(|| {
        format!(
            "Payloads of {named}{more} are not searched: fields of them are masked, and a search would give them away."
        )
    }))
}

fn filter_of(request: &Request, viewer: &Viewer) -> Result<LetterFilter, FieldError> {
    let filter = LetterFilter::parse(|name| request.get(name))?;
    let status = if request.get("status").is_none() { Some(StatusFilter::Unresolved) } else { filter.status };
    Ok(LetterFilter {
        status,
        searches_private: viewer.may(Role::Reviewer),
        before: request.parsed::<DeadLetterId>("before", "must be the id of a dead letter")?,
        limit: PER_PAGE,
        ..filter
    })
}

/// Letters of one group, and older pages, are a list by themselves.
fn view_of(request: &Request, filter: &LetterFilter) -> View {
    match request.get("view") {
        Some("list") => View::List,
        Some("groups") => View::Groups,
        _ if filter.group.is_some() || filter.before.is_some() => View::List,
        _ => View::Groups,
    }
}

/// The letters that were found by `filter`, one by one.
pub(super) fn list(found: &CountedLetterPage, filter: &LetterFilter, viewer: &Viewer) -> AnyView {
    let older = found.next.map(|before| link::letters(&LetterFilter { before: Some(before), ..filter.clone() }));
    let newest = filter.before.map(|_| link::letters(&filter.first_page()));
    let here = link::letters(filter);
    let context = RowContext { viewer, here: &here, key: FormKeys::next, as_of: found.as_of };
    view! {
        {letter_facets(View::List, filter, found.counts.as_ref())}
        {if found.letters.is_empty() {
            view! { <p class="empty">{nothing(filter, found.counts.as_ref(), filter.before.is_some())}</p> }.into_any()
        } else {
            let bar = bar(View::List, filter, found.counts.as_ref(), viewer, found.as_of);
            view! { {bar}{letter_rows(&found.letters, &context)} }.into_any()
        }}
        {pager(older, newest)}
        {triage_help()}
    }
    .into_any()
}

/// What can be done to many at once, for those who may, where anything waits.
fn bar(
    view: View,
    filter: &LetterFilter,
    counts: Option<&LetterCounts>,
    viewer: &Viewer,
    as_of: DateTime<Utc>,
) -> Option<impl IntoView + use<>> {
    let offers = viewer.may(Role::Reviewer) && filter.unresolved().is_some();
    offers.then(|| bulk_bar(view, filter, counts, as_of))
}

/// The groups that were found by `filter`; `is_older` when others stand before them.
pub(super) fn groups(found: &GroupPage, filter: &LetterFilter, viewer: &Viewer, is_older: bool) -> AnyView {
    let older = found.next.as_ref().map(|after| link::letter_groups(filter, Some(after)));
    let newest = is_older.then(|| link::letter_groups(filter, None));
    let bar =
        bar(View::Groups, filter, found.counts.as_ref(), viewer, found.as_of).filter(|_| !found.groups.is_empty());
    let has_bulk = bar.is_some();
    view! {
        {letter_facets(View::Groups, filter, found.counts.as_ref())}
        {if found.groups.is_empty() {
            view! { <p class="empty">{nothing(filter, found.counts.as_ref(), is_older)}</p> }.into_any()
        } else {
            view! { {bar}{letter_groups(&found.groups, filter, found.as_of, has_bulk)} }.into_any()
        }}
        {pager(older, newest)}
        {triage_help()}
    }
    .into_any()
}

/// Why a list is empty: filtered out, none yet, or all good.
fn nothing(filter: &LetterFilter, counts: Option<&LetterCounts>, is_older: bool) -> String {
    let totals = counts.map(|counts| counts.totals).unwrap_or_default();
    let waits_for_nobody = count_of(Some(StatusFilter::Unresolved), totals) == 0;
    match () {
        () if is_older => "There are no older letters.".to_owned(),
        () if filter.is_narrowed() => "No letter matches these filters.".to_owned(),
        () if count_of(None, totals) == 0 => "No job has been parked yet.".to_owned(),
        () if waits_for_nobody && filter.status != Some(StatusFilter::Resolved) => format!(
            "Nothing waits for a person; {} resolved so far. Whether the agent still says no is on the page Refusals.",
            totals.resolved
        ),
        () => "No letter has this status.".to_owned(),
    }
}
