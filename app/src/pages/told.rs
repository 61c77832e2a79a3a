//! What a person is told in answer to a form or an address that could not be
//! used as it was, inside the frame of every page.

use leptos::prelude::*;

/// Such an answer; its status is the server's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// In a few words.
    pub heading: String,
    /// How to go on.
    pub sentence: String,
    /// Where to go on.
    pub href: String,
    /// What the link to there says.
    pub label: String,
}

impl Told {
    /// The answer as a page shows it under its heading.
    pub fn contents(&self) -> AnyView {
        view! {
            <p role="alert">{self.sentence.clone()}</p>
            <p><a href=self.href.clone()>{self.label.clone()}</a></p>
        }
        .into_any()
    }
}
