//! What is beside a list of dead letters: tabs, filters in force, counts that
//! lead to exactly the letters they count, the search, the other view, exports.

use super::filter_chips::{Chip, filter_chips};
use super::link;
use crate::model::letter::LetterTotals;
use crate::model::letter_filter::{AgeBucket, CanaryFilter, LetterFilter, OlderThan, StatusFilter};
use crate::model::letter_group::LetterCounts;
use crate::model::text::visible;
use leptos::prelude::*;

/// How letters are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// By what they have in common.
    Groups,
    /// One by one.
    List,
}

impl View {
    /// The address of `filter` in this view.
    pub fn link(self, filter: &LetterFilter) -> String {
        match self {
            Self::Groups => link::letter_groups(filter, None),
            Self::List => link::letters(&filter.first_page()),
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Groups => "Groups",
            Self::List => "List",
        }
    }
}

/// Letters of that status among the totals.
pub fn count_of(status: Option<StatusFilter>, totals: LetterTotals) -> i64 {
    match status {
        None => totals.open + totals.taken + totals.resolved,
        Some(StatusFilter::Unresolved) => totals.open + totals.taken,
        Some(StatusFilter::Open) => totals.open,
        Some(StatusFilter::Taken) => totals.taken,
        Some(StatusFilter::Resolved) => totals.resolved,
    }
}

/// All of it; without counts where there are none.
pub fn letter_facets(view: View, filter: &LetterFilter, counts: Option<&LetterCounts>) -> impl IntoView + use<> {
    // Everything off but the status, which the tabs hold.
    let cleared = LetterFilter { status: filter.status, ..LetterFilter::default() };
    view! {
        <div class="facets">
            {tabs(view, filter, counts.map(|counts| counts.totals))}
            {views(view, filter)}
            {exports(filter)}
        </div>
        {filter_chips(chips(view, filter), &view.link(&cleared))}
        <div class="facets">
            {counts.map(|counts| ages(view, filter, counts))}
            {older_than(view, filter)}
            {counts.and_then(|counts| reasons(view, filter, counts))}
            {search(view, filter)}
        </div>
    }
}

fn tabs(view: View, filter: &LetterFilter, totals: Option<LetterTotals>) -> impl IntoView + use<> {
    let tabs = StatusFilter::ALL
        .map(Some)
        .into_iter()
        .chain([None])
        .map(|status| {
            let href = view.link(&LetterFilter { status, ..filter.clone() });
            let is_current = (status == filter.status).then_some("true");
            let label = status.map_or("all", StatusFilter::as_str);
            let count = totals.map(|totals| view! { " "<b>{count_of(status, totals).to_string()}</b> });
            view! { <a href=href aria-current=is_current>{label}{count}</a> }
        })
        .collect_view();
    view! { <nav class="tabs" aria-label="Status">{tabs}</nav> }
}

fn views(current: View, filter: &LetterFilter) -> impl IntoView + use<> {
    let links = [View::Groups, View::List]
        .map(|view| {
            let is_current = (view == current).then_some("true");
            view! { <a href=view.link(filter) aria-current=is_current>{view.label()}</a> }
        })
        .collect_view();
    view! { <nav class="tabs views" aria-label="View">{links}</nav> }
}

fn exports(filter: &LetterFilter) -> impl IntoView + use<> {
    let filter = filter.first_page();
    view! {
        <p class="exports">
            "Export "<a href=link::letter_export(&filter, "csv")>"CSV"</a>" · "
            <a href=link::letter_export(&filter, "json")>"JSON"</a>" · "
            <a href="/bulk">"Bulk recovery"</a>
        </p>
    }
}

/// What a filter finds, in words: `unresolved letters · kind: extract-invoice`.
pub fn in_words(filter: &LetterFilter) -> String {
    let letters = match filter.status {
        None => "letters of any status".to_owned(),
        Some(status) => format!("{} letters", status.as_str()),
    };
    let chips = chips(View::List, filter).into_iter().map(|chip| format!("{}: {}", chip.name, visible(&chip.value)));
    std::iter::once(letters).chain(chips).collect::<Vec<_>>().join(" · ")
}

fn chips(view: View, filter: &LetterFilter) -> Vec<Chip> {
    let all = || filter.clone();
    let chips = [
        ("kind", filter.kind.clone(), LetterFilter { kind: None, ..all() }),
        ("source", filter.source.clone(), LetterFilter { source: None, ..all() }),
        ("tenant", filter.tenant.clone(), LetterFilter { tenant: None, ..all() }),
        ("route", filter.route.map(|route| route.label().to_owned()), LetterFilter { route: None, ..all() }),
        ("reason", filter.reason.clone(), LetterFilter { reason: None, ..all() }),
        ("reason code", filter.reason_code.clone(), LetterFilter { reason_code: None, ..all() }),
        ("failure reason", filter.failure_reason.clone(), LetterFilter { failure_reason: None, ..all() }),
        ("age", filter.age.map(|age| age.label().to_owned()), LetterFilter { age: None, ..all() }),
        ("older than", filter.older_than.map(|age| age.label().to_owned()), LetterFilter { older_than: None, ..all() }),
        ("text", filter.text.clone(), LetterFilter { text: None, ..all() }),
        ("group", filter.group.clone(), LetterFilter { group: None, ..all() }),
        ("day", filter.day.map(|day| format!("{day} UTC")), LetterFilter { day: None, ..all() }),
        (
            "canaries",
            (filter.canary != CanaryFilter::Exclude).then(|| filter.canary.as_str().to_owned()),
            LetterFilter { canary: CanaryFilter::Exclude, ..all() },
        ),
    ];
    chips
        .into_iter()
        .filter_map(|(name, value, without)| Some(Chip { name, value: value?, without: view.link(&without) }))
        .collect()
}

fn ages(view: View, filter: &LetterFilter, counts: &LetterCounts) -> impl IntoView + use<> {
    let buckets = AgeBucket::ALL
        .into_iter()
        .zip(counts.by_age)
        .map(|(age, count)| {
            let to = LetterFilter { age: Some(age), ..filter.clone() };
            counted(view.link(&to), age.label(), count, filter.age == Some(age))
        })
        .collect_view();
    view! { <nav class="facet" aria-label="Age">"parked "{buckets}</nav> }
}

fn older_than(view: View, filter: &LetterFilter) -> impl IntoView + use<> {
    let links = OlderThan::ALL
        .map(|older_than| {
            let href = view.link(&LetterFilter { older_than: Some(older_than), ..filter.clone() });
            let is_current = (filter.older_than == Some(older_than)).then_some("true");
            view! { " "<a href=href aria-current=is_current>{older_than.label()}</a> }
        })
        .collect_view();
    view! { <nav class="facet" aria-label="Older than">"older than"{links}</nav> }
}

fn reasons(view: View, filter: &LetterFilter, counts: &LetterCounts) -> Option<impl IntoView + use<>> {
    let links = counts
        .by_reason
        .iter()
        .map(|(reason, count)| {
            let to = LetterFilter { reason: Some(reason.clone()), ..filter.clone() };
            counted(view.link(&to), reason, *count, filter.reason.as_ref() == Some(reason))
        })
        .collect_view();
    let more = (counts.more_reasons > 0).then(|| format!("{} more", counts.more_reasons));
    (!counts.by_reason.is_empty())
        .then(|| view! { <nav class="facet" aria-label="Reason">"reason "{links}{more}</nav> })
}

/// A count with its link; nothing to follow where there is nothing.
fn counted(href: String, label: &str, count: i64, is_current: bool) -> AnyView {
    let is_current = is_current.then_some("true");
    let label = visible(label).into_owned();
    match count {
        0 => view! { <span class="zero">{label}" 0"</span>" " }.into_any(),
        _ => view! { <a href=href aria-current=is_current>{label}" "<b>{count.to_string()}</b></a>" " }.into_any(),
    }
}

/// A plain form: the other filters travel along.
fn search(view: View, filter: &LetterFilter) -> impl IntoView + use<> {
    let kept = LetterFilter { text: None, ..filter.first_page() };
    let hidden = kept
        .pairs()
        .into_iter()
        .chain((view == View::List).then(|| ("view", "list".to_owned())))
        .map(|(name, value)| view! { <input type="hidden" name=name value=value /> })
        .collect_view();
    let text = filter.text.clone().unwrap_or_default();
    view! {
        <form class="search" method="get" action="/dead-letters" role="search">
            {hidden}
            <input type="search" name="q" value=text maxlength="200" placeholder="Text in error, evidence, payload"
                aria-label="Text in error, evidence, payload" />
            <button>"Search"</button>
        </form>
    }
}
