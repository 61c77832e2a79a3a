//! What is masked in a payload, and the button by which a reviewer sees it once.

use crate::model::people::{Role, Viewer};
use leptos::prelude::*;

/// Nothing when nothing is hidden, or for those who see no payload at all.
/// `path` is the page of what carries the payload.
pub fn reveal(path: &str, hidden: &[String], viewer: &Viewer) -> Option<impl IntoView + use<>> {
    if hidden.is_empty() || !viewer.may(Role::Reviewer) {
        return None;
    }
    let action = format!("{path}/reveal");
    Some(view! {
        <form class="pause reveal" method="post" action=action>
            <span>"Masked in the payload: "<code>{hidden.join(", ")}</code></span>
            <button>"Reveal"</button>
            <small>"Shown once, on the next page. The audit keeps that you saw it."</small>
        </form>
    })
}
