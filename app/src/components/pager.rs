//! The way to older entries, and back to the newest.

use leptos::prelude::*;

/// Links to the next older page, if there is one, and to the first, if this is
/// not it.
pub fn pager(older: Option<String>, newest: Option<String>) -> impl IntoView {
    steps(newest, "← Newest", older, "Older →")
}

/// The same for a list that does not go by age.
pub fn page_steps(next: Option<String>, first: Option<String>) -> impl IntoView {
    steps(first, "← First", next, "Next →")
}

fn steps(first: Option<String>, to_first: &'static str, next: Option<String>, to_next: &'static str) -> impl IntoView {
    (next.is_some() || first.is_some()).then(|| {
        view! {
            <nav class="pager" aria-label="Pages of this list">
                {first.map(|href| view! { <a href=href>{to_first}</a> })}
                {next.map(|href| view! { <a href=href rel="next">{to_next}</a> })}
            </nav>
        }
    })
}
