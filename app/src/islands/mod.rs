//! What moves in the browser.
//!
//! An island enhances HTML that the server rendered whole; it renders nothing
//! of its own that a person without script would miss. The wasm bundle holds
//! these modules and nothing else of the pages, so keep them small.

pub mod live_panel;
mod morph;
mod signed_out;
mod stream;
pub mod triage;
mod triage_keys;

#[cfg(feature = "ssr")]
pub use crate::components::panel::panel_html;
pub use live_panel::LivePanel;
pub use triage::Triage;
