//! What is done to many letters at once: a plain form that the checkboxes of
//! the rows belong to, wherever it stands.

use super::letter_facets::count_of;
use crate::model::letter::LetterTotals;
use crate::model::letter_filter::LetterFilter;
use leptos::prelude::*;

/// Posts `scope` (`selection`, `group` or `filter`), the ticked `ids` (each
/// `id:version`), and the filter as its query.
pub fn bulk_bar(filter: &LetterFilter, totals: LetterTotals) -> impl IntoView + use<> {
    let hidden = filter
        .pairs()
        .into_iter()
        .map(|(name, value)| view! { <input type="hidden" name=name value=value /> })
        .collect_view();
    let found = count_of(filter.status, totals);
    let (scope, all) = match &filter.group {
        Some(_) => ("group", format!("All {found} in this group…")),
        None => ("filter", format!("All {found} of this list…")),
    };
    view! {
        <form id="bulk" class="bulk" method="post" action="/dead-letters/bulk">
            {hidden}
            <button name="scope" value="selection">"Selected…"</button>
            <button name="scope" value=scope>{all}</button>
        </form>
    }
}
