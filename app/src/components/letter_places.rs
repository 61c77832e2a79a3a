//! The lists around dead letters: the letters themselves, the notices and the
//! follow-ups that closing them leaves, each with what wants somebody.

use super::link;
use crate::model::reading::Reading;
use leptos::prelude::*;

/// The places, with the one at `path` marked; nothing elsewhere. Without a
/// fresh reading nothing is counted.
pub fn letter_places(path: &str, reading: Option<&Reading>) -> Option<impl IntoView + use<>> {
    let notices = reading.map_or(0, |reading| reading.stuck_notices);
    let follow_ups = reading.map_or(0, |reading| reading.due_follow_ups);
    let places = [
        ("/dead-letters", "Letters", 0, ""),
        (link::OUTBOX, "Outbox", notices, "not sent"),
        (link::FOLLOW_UPS, "Follow-ups", follow_ups, "due"),
    ];
    let path = if path == "/groups" { "/dead-letters" } else { path };
    places.iter().any(|(href, ..)| *href == path).then(|| {
        let links = places
            .into_iter()
            .map(|(href, label, count, what)| {
                let is_current = (href == path).then_some("page");
                let badge = (count > 0).then(|| view! { " "<b>{format!("{count} {what}")}</b> });
                view! { <a href=href aria-current=is_current>{label}{badge}</a> }
            })
            .collect_view();
        view! { <nav class="tabs" aria-label="What letters lead to">{links}</nav> }
    })
}
