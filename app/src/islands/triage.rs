//! The island that lets a reviewer go through letters by keyboard.

use super::triage_keys;
use leptos::prelude::*;

/// Wakes the keys of the rows that the server rendered (elements with
/// `data-row`), if there are any. Renders nothing.
#[island]
pub fn Triage() -> impl IntoView {
    // Only a browser has keys; on the server this is an empty element.
    if cfg!(target_family = "wasm") {
        triage_keys::start();
    }
}
