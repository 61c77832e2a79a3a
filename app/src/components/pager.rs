//! The way to older entries, and back to the newest.

use leptos::prelude::*;

/// Links to the next older page, if there is one, and to the first, if this is
/// not it.
pub fn pager(older: Option<String>, newest: Option<String>) -> impl IntoView {
    (older.is_some() || newest.is_some()).then(|| {
        view! {
            <nav class="pager" aria-label="Pages of this list">
                {newest.map(|href| view! { <a href=href>"← Newest"</a> })}
                {older.map(|href| view! { <a href=href rel="next">"Older →"</a> })}
            </nav>
        }
    })
}
