//! Parameters of the address that no page reads: named, never ignored in silence.

use crate::api::Request;
use crate::components::name::said;
use crate::model::text::preview;
use leptos::prelude::*;

/// Names that one line mentions.
const MENTIONED: usize = 5;
/// Characters shown of each.
const NAME_CHARACTERS: usize = 40;

/// A line about parameters that changed nothing; to be made after the page has
/// read its own.
pub fn unread(request: &Request) -> Option<impl IntoView + use<>> {
    let (unknown, repeated) = (request.unread(), request.repeated());
    let unknown: Vec<&str> = unknown.into_iter().collect();
    let repeated: Vec<&str> = repeated.into_iter().filter(|name| !unknown.contains(name)).collect();
    if unknown.is_empty() && repeated.is_empty() {
        return None;
    }
    let word = if unknown.len() == 1 { "Unknown filter " } else { "Unknown filters " };
    let unknown = (!unknown.is_empty()).then(|| view! { {word}{names(&unknown)}", ignored. " });
    let repeated =
        (!repeated.is_empty()).then(|| view! { {names(&repeated)}": given more than once, the first counts." });
    Some(view! { <p class="notice odd" role="status">{unknown}{repeated}</p> })
}

fn names(names: &[&str]) -> impl IntoView + use<> {
    let shown = names
        .iter()
        .take(MENTIONED)
        .enumerate()
        .map(|(at, name)| view! { {(at > 0).then_some(", ")}<b>{said(&preview(name, NAME_CHARACTERS))}</b> })
        .collect_view();
    let more = names.len().saturating_sub(MENTIONED);
    view! { {shown}{(more > 0).then(|| format!(" and {more} more"))} }
}
