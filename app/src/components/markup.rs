//! A view as the HTML that is sent.

use leptos::prelude::*;

/// The view's HTML without the empty comments that Leptos puts between texts
/// for hydration: outside of islands nothing is hydrated, and a validator
/// complains of each. Escaped text never holds one.
pub fn markup(view: impl IntoView) -> String {
    view.into_view().to_html().replace("<!>", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_looks_like_a_marker_stays() {
        let html = markup(view! { <p title="<!>">"a"{"<!>".to_owned()}"b"</p> });
        assert_eq!(html, r#"<p title="&lt;!&gt;">a&lt;!&gt;b</p>"#);
    }
}
