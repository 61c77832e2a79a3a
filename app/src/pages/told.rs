//! What a person is told in answer to a form or an address that could not be
//! used as it was, inside the frame of every page.

use crate::components::name::said;
use crate::components::recovery_form::area_text;
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
    /// What was posted and could not be looked at, to be sent once more.
    pub again: Option<Again>,
}

/// A form as it was posted, while nothing could be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    /// Where it was posted to.
    pub action: String,
    /// Its fields in their order.
    pub fields: Vec<(String, String)>,
}

/// Fields that a person did not type.
const UNSEEN: [&str; 12] =
    ["action", "version", "key", "next", "mode", "by", "confirmed", "kind", "form", "seen", "preview", "reset"];

impl Again {
    /// The form, with what was typed in sight. Its one-time key is the same, so
    /// that it acts once even if the first press got through.
    pub fn form(&self) -> impl IntoView + use<> {
        let fields = self
            .fields
            .iter()
            .map(|(name, value)| {
                let is_unseen = UNSEEN.contains(&name.as_str())
                    || ["at", "kind"].iter().any(|start| is_numbered(name, start))
                    || value.is_empty();
                let (name, label) = (name.clone(), name.clone());
                if is_unseen {
                    return view! { <input type="hidden" name=name value=value.clone() /> }.into_any();
                }
                // By hand: the renderer does not escape what is inside a text area.
                let inner = area_text(value);
                let rows = value.lines().count().clamp(1, 16).to_string();
                view! { <label>{said(&label)}<textarea name=name rows=rows spellcheck="false" inner_html=inner></textarea></label> }
                    .into_any()
            })
            .collect_view();
        view! {
            <h2>"What you typed"</h2>
            <form method="post" action=self.action.clone() class="stack">
                {fields}
                <button>"Send it again"</button>
            </form>
        }
    }
}

/// Whether the name is `start` with a number behind it, as the fields of a
/// correction are.
fn is_numbered(name: &str, start: &str) -> bool {
    name.strip_prefix(start).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Told {
    /// The answer as a page shows it under its heading.
    pub fn contents(&self) -> AnyView {
        view! {
            <p role="alert">{self.sentence.clone()}</p>
            <p><a href=self.href.clone()>{self.label.clone()}</a></p>
            {self.again.as_ref().map(Again::form)}
        }
        .into_any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::markup::markup;

    #[test]
    fn what_was_typed_comes_back_and_breaks_out_of_nothing() {
        let hostile = "</textarea><script>alert(1)</script>\">";
        let fields = [("key", "k1"), ("note", hostile), (hostile, "x"), ("v0", ""), ("kind0", "text")];
        let again = Again {
            action: "/dead-letters/7/actions".to_owned(),
            fields: fields.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        };
        let html = markup(again.form());
        assert!(html.contains("action=\"/dead-letters/7/actions\""), "{html}");
        assert!(html.contains("<input type=\"hidden\" name=\"key\" value=\"k1\""), "{html}");
        assert!(!html.contains("<script") && html.contains("&lt;/textarea&gt;&lt;script&gt;"), "{html}");
        assert_eq!(html.matches("<textarea").count(), 2, "{html}");
    }
}
