//! Keys on rows: `j` `k` move, `x` selects, `b` acts on what is selected or on the
//! group, `a` unfolds the recovery options, `o` opens, `?` helps, Esc leaves.
//!
//! The current row is the one that has the focus, so that nothing but the
//! browser remembers it and every way of moving agrees. What is typed into a
//! field is text, never a command.

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{Document, Element, Event, HtmlDialogElement, HtmlElement, KeyboardEvent, NodeList};

const ROWS: &str = "[data-row]";
/// What a recovery option begins with: its first field, or its button.
const FIRST_OPTION: &str = "details :is(a, button, select, textarea, input:not([type=hidden]))";
const FIELDS: &str = "input:not([type=checkbox]), textarea, select";

/// Listens on this page, if it has rows.
pub fn start() {
    let Some(document) = web_sys::window().and_then(|window| window.document()) else { return };
    if first(&document, ROWS).is_none() {
        return;
    }
    let keys = document.clone();
    listen(&document, "keydown", move |event| {
        if let Some(event) = event.dyn_ref::<KeyboardEvent>() {
            press(&keys, event);
        }
    });
    let ticks = document.clone();
    listen(&document, "change", move |_| say_selection(&ticks));
}

/// For as long as the page is open.
fn listen(document: &Document, event: &str, does: impl FnMut(Event) + 'static) {
    let does = Closure::<dyn FnMut(Event)>::new(does);
    let _ = document.add_event_listener_with_callback(event, does.as_ref().unchecked_ref());
    does.forget();
}

fn press(document: &Document, event: &KeyboardEvent) {
    let is_typing = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok())
        .is_some_and(|target| matches!(target.closest(FIELDS), Ok(Some(_))));
    let key = event.key();
    let is_command = !(event.ctrl_key() || event.meta_key() || event.alt_key() || event.default_prevented())
        && (!is_typing || key == "Escape")
        && first(document, "dialog[open]").is_none();
    if is_command && obey(document, &key).is_some() {
        event.prevent_default();
    }
}

/// `None` when the key says nothing here.
fn obey(document: &Document, key: &str) -> Option<()> {
    let row = document.active_element().and_then(|focused| focused.closest(ROWS).ok().flatten());
    match key {
        "j" => go(document, row.as_ref(), 1),
        "k" => go(document, row.as_ref(), -1),
        "x" => html(within(&row?, "input[name=ids]")?).map(|tick| tick.click()),
        "b" => {
            let of_row = row.as_ref().and_then(|row| within(row, "[data-bulk]"));
            html(of_row.or_else(|| first(document, "#bulk [data-bulk]"))?).map(|button| button.click())
        }
        "o" => html(within(&row?, "[data-open]")?).map(|link| link.click()),
        "a" => {
            within(row.as_ref()?, "details")?.set_attribute("open", "").ok()?;
            focus(within(&row?, FIRST_OPTION)?)
        }
        "?" => first(document, "#triage-help")?.dyn_into::<HtmlDialogElement>().ok()?.show_modal().ok(),
        "Escape" => leave(document, &row?),
        _ => None,
    }
}

/// To the next row or the one before; without a current one, to the first.
fn go(document: &Document, row: Option<&Element>, step: i32) -> Option<()> {
    let rows = document.query_selector_all(ROWS).ok()?;
    let place = row.and_then(|row| place_of(&rows, row));
    let to = place.map_or(0, |place| place.saturating_add_signed(step).min(rows.length().saturating_sub(1)));
    focus(within(&rows.item(to)?.dyn_into::<Element>().ok()?, "[data-open]")?)
}

fn place_of(rows: &NodeList, row: &Element) -> Option<u32> {
    (0..rows.length()).find(|&i| rows.item(i).is_some_and(|other| other.is_same_node(Some(row))))
}

/// Out of the options to the row, out of the row to the page.
fn leave(document: &Document, row: &Element) -> Option<()> {
    match within(row, "details[open]") {
        Some(options) => {
            options.remove_attribute("open").ok()?;
            focus(within(row, "[data-open]")?)
        }
        None => html(document.active_element()?)?.blur().ok(),
    }
}

/// `9 selected, as of 14:07:31`: what was ticked is what was seen then.
fn say_selection(document: &Document) {
    let Some(says) = first(document, "#selection") else { return };
    let count = document.query_selector_all("input[name=ids]:checked").map_or(0, |ticked| ticked.length());
    let as_of = says.get_attribute("data-as-of").unwrap_or_default();
    let text = if count == 0 { String::new() } else { [&count.to_string(), " selected, as of ", &as_of].concat() };
    says.set_text_content(Some(&text));
}

fn focus(element: Element) -> Option<()> {
    html(element)?.focus().ok()
}

fn html(element: Element) -> Option<HtmlElement> {
    element.dyn_into().ok()
}

fn first(document: &Document, selector: &str) -> Option<Element> {
    document.query_selector(selector).ok().flatten()
}

fn within(row: &Element, selector: &str) -> Option<Element> {
    row.query_selector(selector).ok().flatten()
}
