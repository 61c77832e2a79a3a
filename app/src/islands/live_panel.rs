//! The island that keeps the panel live.

use super::stream;
use leptos::prelude::*;

/// Wakes the stream for the panel that the server rendered beside it (the
/// element with the id `panel`). Renders nothing.
#[island]
pub fn LivePanel() -> impl IntoView {
    // Only a browser has a stream to open; on the server this is an empty element.
    if cfg!(target_family = "wasm") {
        stream::start();
    }
}
