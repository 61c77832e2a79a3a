//! The stream of rendered panels: one while the tab is visible, none while it
//! is hidden (then one question a minute), and never a claim to be live without
//! an answer in the last seconds.
//!
//! Ages in the panel are the server's; the browser's clocks only measure how
//! long ago the last answer came.

use super::morph::morph;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{
    Document, Element, EventSource, HtmlTemplateElement, MessageEvent, Performance, VisibilityState, Window,
    XmlHttpRequest,
};

/// Without an answer for so long, the panel is stale.
const STALE_AFTER_MS: f64 = 5_000.0;
/// A stream that the server closed is asked for again after so long.
const RETRY_AFTER_MS: f64 = 5_000.0;
/// A hidden tab asks so often.
const HIDDEN_EVERY_MS: f64 = 60_000.0;

/// Starts the stream for the panel of this page, if there is one.
pub fn start() {
    let Some(live) = web_sys::window().and_then(Live::of) else { return };
    let live = Rc::new(live);
    live.connect();
    on_visibility_change(&live);
    tick_every_second(&live);
}

struct Live {
    document: Document,
    performance: Performance,
    panel: Element,
    status: Element,
    say: Element,
    badge: Option<Element>,
    now: RefCell<Now>,
}

#[derive(Default)]
struct Now {
    source: Option<Source>,
    /// A panel that waits until nothing in the old one is selected.
    held: Option<String>,
    /// When the last panel came, on both clocks of the browser.
    received: (f64, f64),
    /// When a question was last asked, on both clocks.
    asked: (f64, f64),
    is_signed_out: bool,
}

/// An open stream with the functions it calls.
struct Source {
    stream: EventSource,
    _on_panel: Closure<dyn FnMut(MessageEvent)>,
}

impl Drop for Source {
    fn drop(&mut self) {
        self.stream.close();
    }
}

impl Live {
    fn of(window: Window) -> Option<Self> {
        let document = window.document()?;
        let live = Self {
            performance: window.performance()?,
            panel: document.get_element_by_id("panel")?,
            status: document.get_element_by_id("live-state")?,
            say: document.get_element_by_id("say")?,
            badge: document.get_element_by_id("open-letters"),
            document,
            now: RefCell::default(),
        };
        let clocks = live.clocks();
        live.now.borrow_mut().received = clocks;
        Some(live)
    }

    /// The clock that never steps, and the one that goes on while a computer sleeps.
    fn clocks(&self) -> (f64, f64) {
        (self.performance.now(), js_sys::Date::now())
    }

    fn ms_since(&self, then: (f64, f64)) -> f64 {
        let now = self.clocks();
        (now.0 - then.0).max(now.1 - then.1)
    }

    fn is_hidden(&self) -> bool {
        self.document.visibility_state() == VisibilityState::Hidden
    }

    fn is_selecting(&self) -> bool {
        let Ok(Some(selection)) = self.document.get_selection() else { return false };
        let within = |node: Option<web_sys::Node>| self.panel.contains(node.as_ref());
        !selection.is_collapsed() && (within(selection.anchor_node()) || within(selection.focus_node()))
    }

    fn connect(self: &Rc<Self>) {
        if self.is_hidden() {
            return;
        }
        self.now.borrow_mut().asked = self.clocks();
        let Ok(stream) = EventSource::new("/live") else { return };
        let live = Rc::clone(self);
        let on_panel = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            live.receive(event.data().as_string());
        });
        let listening = stream.add_event_listener_with_callback("panel", on_panel.as_ref().unchecked_ref());
        if listening.is_ok() {
            self.now.borrow_mut().source = Some(Source { stream, _on_panel: on_panel });
        }
    }

    fn receive(&self, html: Option<String>) {
        {
            let mut now = self.now.borrow_mut();
            now.received = self.clocks();
            now.held = html;
            now.is_signed_out = false;
        }
        self.show_held();
    }

    /// Shows the panel that came last, unless a person is selecting text.
    fn show_held(&self) {
        if self.is_selecting() {
            return self.show_status();
        }
        let held = self.now.borrow_mut().held.take();
        if let Some(new) = held.and_then(|html| self.parsed(&html)) {
            let before = self.panel.get_attribute("data-state");
            morph(&self.panel, &new);
            self.follow(before);
        }
        self.show_status();
    }

    fn parsed(&self, html: &str) -> Option<Element> {
        let template: HtmlTemplateElement = self.document.create_element("template").ok()?.unchecked_into();
        template.set_inner_html(html);
        template.content().first_element_child()
    }

    /// What stands outside the panel and follows it: title, badge, voice.
    fn follow(&self, before: Option<String>) {
        if let Some(title) = self.panel.get_attribute("data-title") {
            self.document.set_title(&title);
        }
        if let (Some(badge), Some(count)) = (&self.badge, self.panel.get_attribute("data-letters")) {
            set_text(badge, &count);
        }
        if self.panel.get_attribute("data-state") != before
            && let Some(line) = self.document.get_element_by_id("verdict")
        {
            self.say.set_text_content(line.text_content().as_deref());
        }
    }

    fn show_status(&self) {
        let (age_ms, is_signed_out) = {
            let now = self.now.borrow();
            (self.ms_since(now.received), now.is_signed_out)
        };
        let is_stale = age_ms > STALE_AFTER_MS || self.panel.has_attribute("data-old");
        let (state, text) = if is_signed_out {
            ("stale", "Signed out: reload to sign in".to_owned())
        } else if is_stale {
            ("stale", format!("Stale since {}", self.panel.get_attribute("data-clock").unwrap_or_default()))
        } else if self.is_selecting() {
            ("paused", "Paused while selecting".to_owned())
        } else {
            ("live", format!("Live · {} s ago", (age_ms / 1_000.0) as u32))
        };
        set_text(&self.status, &text);
        let _ = self.status.set_attribute("data-state", state);
        if is_stale || is_signed_out {
            let _ = self.panel.set_attribute("data-stale", "");
        } else {
            let _ = self.panel.remove_attribute("data-stale");
        }
    }

    fn tick(self: &Rc<Self>) {
        let (asked, is_open) = {
            let now = self.now.borrow();
            let is_open = now.source.as_ref().is_some_and(|source| source.stream.ready_state() != EventSource::CLOSED);
            (now.asked, is_open)
        };
        let wait = if self.is_hidden() { HIDDEN_EVERY_MS } else { RETRY_AFTER_MS };
        if !is_open && self.ms_since(asked) >= wait {
            self.ask();
        }
        self.show_held();
    }

    /// Asks for one panel; when it comes and the tab is visible, the stream is
    /// opened again.
    fn ask(self: &Rc<Self>) {
        self.now.borrow_mut().asked = self.clocks();
        let Ok(request) = XmlHttpRequest::new() else { return };
        let (live, answer) = (Rc::clone(self), request.clone());
        let on_load = Closure::once_into_js(move || match answer.status() {
            Ok(200) => {
                live.receive(answer.response_text().ok().flatten());
                live.connect();
            }
            Ok(401 | 403) => {
                live.now.borrow_mut().is_signed_out = true;
                live.show_status();
            }
            _ => {}
        });
        request.set_onload(Some(on_load.unchecked_ref()));
        if request.open("GET", "/live/panel").is_ok() {
            request.set_timeout(STALE_AFTER_MS as u32);
            let _ = request.send();
        }
    }
}

fn on_visibility_change(live: &Rc<Live>) {
    let live_again = Rc::clone(live);
    let on_change: JsValue = Closure::<dyn FnMut()>::new(move || {
        live_again.now.borrow_mut().source = None;
        live_again.connect();
    })
    .into_js_value();
    let _ = live.document.add_event_listener_with_callback("visibilitychange", on_change.unchecked_ref());
}

fn tick_every_second(live: &Rc<Live>) {
    let live = Rc::clone(live);
    let tick: JsValue = Closure::<dyn FnMut()>::new(move || live.tick()).into_js_value();
    if let Some(window) = web_sys::window() {
        let _ = window.set_interval_with_callback_and_timeout_and_arguments_0(tick.unchecked_ref(), 1_000);
    }
}

/// Sets a text only where it changed, so that nothing else is disturbed.
fn set_text(element: &Element, text: &str) {
    if element.text_content().as_deref() != Some(text) {
        element.set_text_content(Some(text));
    }
}
