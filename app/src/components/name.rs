//! A name from outside as a label: nothing in it can reorder, hide or imitate
//! what stands beside it.

use crate::model::text::visible;
use leptos::prelude::*;

/// The name of a kind, source, tenant, worker or person, isolated from the
/// reading direction around it; whole in its `title` where it is cut.
pub fn name(text: &str) -> impl IntoView + use<> {
    let shown = visible(text).into_owned();
    view! { <bdi class="name" title=shown.clone()>{shown.clone()}</bdi> }
}

/// What a machine or a person said in a few words, isolated likewise.
pub fn said(text: &str) -> impl IntoView + use<> {
    let shown = visible(text).into_owned();
    view! { <bdi>{shown}</bdi> }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::markup::markup;

    #[test]
    fn a_name_stands_for_itself_alone() {
        let html = markup(name("w\u{202e}<1\u{200b}"));
        assert_eq!(html, "<bdi title=\"w\u{fffd}&lt;1\u{fffd}\" class=\"name\">w\u{fffd}&lt;1\u{fffd}</bdi>");
        assert_eq!(markup(said("   ")), "<bdi>␣␣␣</bdi>");
    }
}
