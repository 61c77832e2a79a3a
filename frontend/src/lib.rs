//! The wasm entry: wakes the islands of a page, nothing else.
//!
//! Called by `frontend/js/islands.js`. The islands themselves are exported by
//! the `#[island]` functions of the app, one function each.

// Linked for its exports alone.
use app as _;
use wasm_bindgen::prelude::wasm_bindgen;

/// Prepares the page for its islands; to be called once, before any of them.
#[wasm_bindgen]
pub fn hydrate() {
    leptos::mount::hydrate_islands();
}
