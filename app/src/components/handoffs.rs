//! What earlier agents did to the input. A note is where an upstream fault says
//! its name (`pages_emitted=1 of 2`), so it stands out.

use super::json_text::indented;
use super::name::{name, said};
use crate::model::job::RawJson;
use crate::model::json_tree::JsonTree;
use crate::model::text::visible_lines;
use leptos::prelude::*;

/// The list under its heading; as JSON where it is no list of agents.
pub fn handoffs(raw: Option<&RawJson>) -> Option<impl IntoView + use<>> {
    let raw = raw?;
    let body = match JsonTree::of(raw) {
        JsonTree::Array(handoffs) if handoffs.iter().all(|one| !one.members().is_empty()) => {
            let rows = handoffs.iter().map(handoff).collect_view();
            view! { <ol class="handoffs">{rows}</ol> }.into_any()
        }
        _ => view! { <pre tabindex="0">{indented(raw)}</pre> }.into_any(),
    };
    Some(view! { <h2>"Handoffs"</h2>{body} })
}

/// Whatever else an agent says of itself is kept, too.
fn handoff(handoff: &JsonTree) -> impl IntoView + use<> {
    let members = handoff.members();
    let text = |key: &str| members.iter().find(|(name, _)| name == key).and_then(|(_, value)| value.as_text());
    let (agent, version, note, hash) = (text("agent"), text("version"), text("note"), text("output_sha256"));
    let shown = ["agent", "version", "note", "output_sha256"];
    let others = members
        .iter()
        .filter(|(key, value)| !shown.contains(&key.as_str()) || value.as_text().is_none())
        .map(|(key, value)| {
            let text = value.as_text().unwrap_or_else(|| value.to_json().as_str().to_owned());
            view! { " "<small>{name(key)}": "{visible_lines(&text).into_owned()}</small> }
        })
        .collect_view();
    view! {
        <li>
            <b>{agent.as_deref().map(name)}</b>{version.map(|version| view! { " "{said(&version)} })}
            {note.map(|note| view! { " "<mark>{visible_lines(&note).into_owned()}</mark> })}
            {hash.map(|hash| view! { " "<small>{name(&hash)}</small> })}
            {others}
        </li>
    }
}
