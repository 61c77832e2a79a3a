//! The document around every page.
//!
//! No inline script and no inline style: the content security policy forbids
//! both. The one script is a module that wakes the islands and loads charts;
//! every page reads and acts without it.

use crate::routes::App;
use leptos::prelude::*;
use leptos_meta::{MetaTags, provide_meta_context};

/// Addresses of the site files this binary carries, hashed and immutable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteAssets {
    /// The style sheet.
    pub css: &'static str,
    /// The module script.
    pub js: &'static str,
}

/// The whole HTML document of the page that the request asks for.
///
/// The server gives, as contexts: `Arc<dyn Store>`, `Option<Viewer>`,
/// [`crate::api::PanelSource`], [`crate::api::FormKeys`] and
/// [`crate::api::FailureReport`].
pub fn shell(assets: SiteAssets) -> impl IntoView {
    provide_meta_context();
    // Only islands wake up in the browser: nothing else of a page is sent along as data.
    if let Some(shared) = Owner::current_shared_context() {
        shared.set_is_hydrating(false);
    }
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <link rel="stylesheet" href=assets.css />
                <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
                <script type="module" src=assets.js></script>
                <MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}
