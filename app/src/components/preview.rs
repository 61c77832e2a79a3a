//! Long text in a list: the first characters, and the rest one press away.

use crate::model::text::{preview, visible_lines};
use leptos::prelude::*;

/// Characters a list shows of a text.
pub const PREVIEW_CHARACTERS: usize = 200;

/// The text, folded if it is long; `key` keeps it open while the panel moves.
pub fn folded(text: &str, key: &str) -> AnyView {
    let text = text.trim_end();
    let begin = preview(text, PREVIEW_CHARACTERS);
    if begin == text {
        return short(text);
    }
    view! {
        <details class="error" data-k=key.to_owned()>
            <summary><bdi>{visible_lines(&begin).into_owned()}</bdi></summary>
            <pre tabindex="0">{visible_lines(text).into_owned()}</pre>
        </details>
    }
    .into_any()
}

/// The beginning of the text alone.
pub fn short(text: &str) -> AnyView {
    let begin = preview(text.trim_end(), PREVIEW_CHARACTERS);
    view! { <p class="error"><bdi>{visible_lines(&begin).into_owned()}</bdi></p> }.into_any()
}
