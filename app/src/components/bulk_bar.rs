//! What is done to many letters at once: a plain form that the checkboxes of
//! the rows and the buttons of the groups belong to, wherever it stands.

use super::letter_facets::{View, count_of};
use crate::model::age::{clock, rfc3339};
use crate::model::letter_filter::LetterFilter;
use crate::model::letter_group::LetterCounts;
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// Posts `scope` (`selection`, `group`, `filter` or `failures`) or, from a
/// group's button, `group`; the ticked `ids` (each `id:version`); the filter as
/// its query; when it was read, and in which view. Without counts (a search by
/// text) the draft is what tells how many there are.
pub fn bulk_bar(
    view: View,
    filter: &LetterFilter,
    counts: Option<&LetterCounts>,
    as_of: DateTime<Utc>,
) -> impl IntoView + use<> {
    let view_word = (view == View::Groups).then_some(("view", "groups".to_owned()));
    let hidden = filter
        .pairs()
        .into_iter()
        .chain([("as_of", rfc3339(as_of))])
        .chain(view_word)
        .map(|(name, value)| view! { <input type="hidden" name=name value=value /> })
        .collect_view();
    let shown = clock(as_of).replace(" UTC", "");
    view! {
        <form id="bulk" class="bulk" method="post" action="/dead-letters/bulk">
            {hidden}
            {(view == View::List).then(|| view! {
                <button name="scope" value="selection" data-bulk>"Selected…"</button>
                <span id="selection" role="status" data-as-of=shown.clone()></span>
            })}
            {all(filter, counts)}
            {counts.and_then(requeue)}
            <small>"as of "{shown.clone()}"; you see what is chosen before anything is done"</small>
        </form>
    }
}

/// All that the list or the group holds, whatever page of it is shown.
fn all(filter: &LetterFilter, counts: Option<&LetterCounts>) -> Option<impl IntoView + use<>> {
    let unresolved = filter.unresolved()?;
    let found = counts.map(|counts| count_of(unresolved.status, counts.totals));
    let (scope, of) = match &filter.group {
        Some(_) => ("group", "in this group…"),
        None => ("filter", "of this list…"),
    };
    let label = match found {
        Some(0) => return None,
        Some(found) => format!("All {found} {of}"),
        None => format!("All {of}"),
    };
    Some(view! { <button name="scope" value=scope>{label}</button> })
}

/// What nothing but a failure parked goes back as one; what was judged stays.
fn requeue(counts: &LetterCounts) -> Option<impl IntoView + use<>> {
    let label = match counts.failures {
        0 => return None,
        1 => "Re-queue this 1 failure…".to_owned(),
        failures => format!("Re-queue these {failures} failures…"),
    };
    Some(view! {
        <button name="scope" value="failures"
            title="What could not be done goes back. What the agent refused or a check found stays.">
            {label}
        </button>
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::markup::markup;
    use crate::model::letter::LetterTotals;
    use crate::model::letter_filter::StatusFilter;

    fn html(filter: &LetterFilter, counts: Option<&LetterCounts>) -> String {
        markup(bulk_bar(View::List, filter, counts, "2026-11-30T14:07:31Z".parse().unwrap()))
    }

    #[test]
    fn a_button_names_what_it_covers_and_nothing_resolved_is_in_it() {
        let totals = LetterTotals { open: 8, taken: 1, resolved: 391 };
        let counts = LetterCounts { totals, failures: 4, ..LetterCounts::default() };
        let any = html(&LetterFilter::default(), Some(&counts));
        assert!(any.contains(">All 9 of this list…<") && any.contains("as of 14:07:31"), "{any}");
        assert!(any.contains("value=\"failures\"") && any.contains("Re-queue these 4 failures…"), "{any}");
        let group = LetterFilter {
            group: Some("00ff".to_owned()),
            status: Some(StatusFilter::Open),
            ..LetterFilter::default()
        };
        let group = html(&group, Some(&counts));
        assert!(group.contains("value=\"group\">All 8 in this group…<"), "{group}");
        assert!(group.contains("name=\"as_of\" value=\"2026-11-30T14:07:31.000000Z\""), "{group}");
        let judged = LetterCounts { failures: 0, ..counts };
        assert!(!html(&LetterFilter::default(), Some(&judged)).contains("failures"));
        assert!(html(&LetterFilter::default(), None).contains(">All of this list…<"));
    }
}
