//! The filters in force, each with a link that takes it away, and one that
//! takes all away.

use super::name::name;
use crate::model::text::visible;
use leptos::prelude::*;

/// One filter in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chip {
    /// What is filtered: `kind`.
    pub name: &'static str,
    /// To which value.
    pub value: String,
    /// The same list without this filter.
    pub without: String,
}

/// The chips; nothing when nothing is filtered.
pub fn filter_chips(chips: Vec<Chip>, clear_all: &str) -> impl IntoView + use<> {
    (!chips.is_empty()).then(|| {
        let clear_all = clear_all.to_owned();
        let chips = chips
            .into_iter()
            .map(|chip| {
                let label = format!("Remove the filter {}: {}", chip.name, visible(&chip.value));
                view! {
                    <a class="chip" href=chip.without aria-label=label>
                        {chip.name}": "<b>{name(&chip.value)}</b>" ×"
                    </a>
                }
            })
            .collect_view();
        view! { <p class="chips">{chips}<a href=clear_all>"Clear all"</a></p> }
    })
}
