//! What stands in place of the panel when the session has ended: a log-out
//! elsewhere, another role, a disabled user, or time. Numbers that nobody may see
//! any more must not stay on the screen, least of all as if they were fresh.

use wasm_bindgen::JsValue;
use web_sys::{Document, Element};

const SENTENCE: &str = "Your session has ended, so this page gets no more readings.";

/// Empties the panel and says why, with a link that leads back here.
pub fn show(document: &Document, panel: &Element, badge: Option<&Element>) {
    panel.set_text_content(None);
    for name in ["data-stale", "data-old"] {
        let _ = panel.remove_attribute(name);
    }
    let _ = panel.set_attribute("data-state", "signed_out");
    if let Some(badge) = badge {
        badge.set_text_content(Some("?"));
    }
    document.set_title("Signed out · Drainboard");
    // Elements of these names can always be made and put in.
    let _ = fill(document, panel);
}

fn fill(document: &Document, panel: &Element) -> Result<(), JsValue> {
    let add = |parent: &Element, name: &str, text: &str| -> Result<Element, JsValue> {
        let element = document.create_element(name)?;
        element.set_text_content(Some(text));
        parent.append_child(&element)?;
        Ok(element)
    };
    let header = add(panel, "header", "")?;
    header.set_class_name("verdict");
    add(&header, "h1", "Signed out")?.set_id("verdict");
    let said = add(&header, "p", SENTENCE)?;
    said.set_class_name("why");
    said.set_attribute("role", "alert")?;
    let way = add(&header, "p", "")?;
    add(&way, "a", "Sign in again")?.set_attribute("href", &sign_in_address(document))
}

/// The sign-in page that leads back to this one.
fn sign_in_address(document: &Document) -> String {
    let here = document.location().and_then(|at| Some(at.pathname().ok()? + &at.search().ok()?));
    format!("/login?next={}", String::from(js_sys::encode_uri_component(&here.unwrap_or_else(|| "/".to_owned()))))
}
