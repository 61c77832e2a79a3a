//! The parts that all forms of recovery share.

use crate::model::letter::DeadLetter;
use crate::model::recovery::RecoveryAction;
use leptos::prelude::*;

/// What the server has to know beside what a person fills in.
pub fn hidden(letter: &DeadLetter, action: RecoveryAction, key: Option<String>) -> impl IntoView + use<> {
    view! {
        <input type="hidden" name="action" value=action.as_str() />
        <input type="hidden" name="version" value=letter.version.to_string() />
        {key.map(|key| view! { <input type="hidden" name="key" value=key /> })}
    }
}

/// A text area filled with a text that may hold anything. Its children are not
/// escaped by the renderer, and the first line end in it is swallowed by browsers.
pub fn text_area(name: &'static str, label: &'static str, text: &str, rows: u32) -> impl IntoView + use<> {
    let inner = area_text(text);
    view! {
        <label>{label}<textarea name=name rows=rows.to_string() spellcheck="false" inner_html=inner></textarea></label>
    }
}

/// The inside of a text area, by hand.
pub fn area_text(text: &str) -> String {
    format!("\n{}", escaped(text))
}

/// Text as it may stand between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The note: why.
pub fn note(text: Option<&str>, is_needed: bool) -> impl IntoView + use<> {
    let label = if is_needed { "Why? (needed: this cannot be taken back)" } else { "Why? (may stay empty)" };
    let text = text.unwrap_or_default().to_owned();
    view! { <label>{label}<input name="note" maxlength="2000" required=is_needed value=text /></label> }
}

/// The address of the page on which an action is prepared, if it has one.
pub fn page_of(action: RecoveryAction) -> Option<&'static str> {
    match action {
        RecoveryAction::CorrectAndReplay => Some("correct"),
        RecoveryAction::SplitAndReplay => Some("split"),
        RecoveryAction::CloseAndNotify => Some("notify"),
        RecoveryAction::PolicyUpdate => Some("follow-up"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::markup::markup;

    #[test]
    fn no_text_leaves_its_area() {
        let html = markup(text_area("payload", "Payload", "\n</textarea><script>alert(1)</script>&lt;", 3));
        assert!(html.contains("\n\n&lt;/textarea&gt;&lt;script&gt;"), "{html}");
        assert!(html.contains("&amp;lt;") && html.matches("</textarea>").count() == 1, "{html}");
    }
}
