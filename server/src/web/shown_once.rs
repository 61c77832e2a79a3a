//! Answers that show something once: a secret that is stored only as its hash,
//! or masked fields. The answer to the form is the page itself; its address
//! shows nothing of it when it is loaded again.

use super::problem::{ShownOn, escaped};
use app::api::Once;
use axum::response::{Html, IntoResponse, Response};

/// A page of the app with something on it that comes once.
pub struct ShownOnce {
    /// Path and query of the page.
    pub page: String,
    /// What comes once.
    pub once: Once,
}

impl IntoResponse for ShownOnce {
    /// What stands here is only seen if the page cannot be shown: then the
    /// secret must not be lost.
    fn into_response(self) -> Response {
        let text = match &self.once {
            Once::SetUpLink { link, .. } => link.clone(),
            Once::Token { secret, .. } => secret.clone(),
            Once::Revealed { .. } => "The fields could not be shown; try again.".to_owned(),
        };
        let page = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Drainboard</title></head>\
             <body><main><p><code>{}</code></p><p><a href=\"{}\">Back</a></p></main></body></html>",
            escaped(&text),
            escaped(&self.page)
        );
        let mut response = Html(page).into_response();
        response.extensions_mut().insert(ShownOn(self.page));
        response.extensions_mut().insert(self.once);
        response
    }
}
