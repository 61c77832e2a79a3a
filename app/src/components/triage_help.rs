//! The keys of a list of dead letters, in a dialog that the island opens.

use leptos::prelude::*;

const KEYS: [(&str, &str); 8] = [
    ("j", "next row"),
    ("k", "row before"),
    ("x", "select or unselect the row"),
    ("b", "act on what is selected, or on the group"),
    ("a", "recovery options of the row"),
    ("o or Enter", "open the row"),
    ("?", "these keys"),
    ("Esc", "leave"),
];

/// Closed until somebody presses `?`.
pub fn triage_help() -> impl IntoView {
    let keys = KEYS.map(|(key, does)| view! { <div><dt><kbd>{key}</kbd></dt><dd>{does}</dd></div> }).collect_view();
    view! {
        <dialog id="triage-help" aria-labelledby="triage-help-title">
            <h2 id="triage-help-title">"Keys"</h2>
            <dl class="facts">{keys}</dl>
            <form method="dialog"><button>"Close"</button></form>
        </dialog>
    }
}
