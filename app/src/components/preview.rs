//! Long text in a list: the first characters, and the rest one press away.

use crate::model::text::preview;
use leptos::prelude::*;

/// Characters a list shows of a text.
pub const PREVIEW_CHARACTERS: usize = 200;

/// The text, folded if it is long; `key` keeps it open while the panel moves.
pub fn folded(text: &str, key: &str) -> AnyView {
    let text = text.trim_end();
    let short = preview(text, PREVIEW_CHARACTERS);
    if short == text {
        return view! { <p class="error">{short}</p> }.into_any();
    }
    view! {
        <details class="error" data-k=key.to_owned()>
            <summary>{short}</summary>
            <pre>{text.to_owned()}</pre>
        </details>
    }
    .into_any()
}
