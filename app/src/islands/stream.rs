//! The stream of rendered panels: one for all visible tabs of a browser, none
//! while all are hidden (then one question a minute), and never a claim to be
//! live without an answer in the last seconds.
//!
//! A browser has about six connections to a server, shared by all its tabs, so
//! the tab that has the stream passes each panel on to the others; a tab that
//! hears nothing opens the stream itself, and of two the lower number keeps it.
//!
//! Ages in the panel are the server's; the browser's clocks only measure how
//! long ago the last answer came.

use super::morph::morph;
use super::signed_out;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{
    BroadcastChannel, Document, Element, EventSource, HtmlTemplateElement, MessageEvent, Performance, VisibilityState,
    Window, XmlHttpRequest,
};

/// Without an answer for so long, the panel is stale.
const STALE_AFTER_MS: f64 = 5_000.0;
/// A stream that the server closed is asked for again after so long.
const RETRY_AFTER_MS: f64 = 5_000.0;
/// A tab that heard nothing from another for so long (and up to a second more,
/// so that not all of them move at once) opens the stream itself.
const QUIET_MS: f64 = 2_500.0;
/// A page that was just loaded waits so long for another tab's stream.
const FIRST_MS: f64 = 900.0;
/// A hidden tab asks so often.
const HIDDEN_EVERY_MS: f64 = 60_000.0;

/// Starts the stream for the panel of this page, if there is one.
pub fn start() {
    let Some(live) = web_sys::window().and_then(Live::of) else { return };
    let live = Rc::new(live);
    listen_to_other_tabs(&live);
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
    /// Where panels are passed on to other tabs, each with the sender's number.
    channel: Option<BroadcastChannel>,
    number: u32,
    now: RefCell<Now>,
}

#[derive(Default)]
struct Now {
    source: Option<Source>,
    /// A panel that waits until nothing in the old one is selected.
    held: Option<String>,
    /// When the last panel came, on both clocks of the browser.
    received: (f64, f64),
    /// When the server was last asked for a panel or stream, on both clocks.
    asked: (f64, f64),
    /// When another tab last passed a panel on.
    heard: Option<(f64, f64)>,
    /// The session ended: nothing is asked and nothing shown any more.
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
            channel: BroadcastChannel::new("drainboard-panel").ok(),
            number: (js_sys::Math::random() * f64::from(u32::MAX)) as u32,
            document,
            now: RefCell::default(),
        };
        let clocks = live.clocks();
        let now = Now { received: clocks, asked: clocks, ..Now::default() };
        live.now.replace(now);
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

    /// Whether another tab's stream serves this one, too.
    fn is_served(&self) -> bool {
        let patience = QUIET_MS + f64::from(self.number % 1_000);
        self.now.borrow().heard.is_some_and(|heard| self.ms_since(heard) < patience)
    }

    fn is_signed_out(&self) -> bool {
        self.now.borrow().is_signed_out
    }

    fn connect(self: &Rc<Self>) {
        if self.is_hidden() || self.is_served() || self.is_signed_out() {
            return;
        }
        self.now.borrow_mut().asked = self.clocks();
        let Ok(stream) = EventSource::new("/live") else { return };
        let live = Rc::clone(self);
        let on_panel = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            let Some(html) = event.data().as_string() else { return };
            live.pass_on(&html);
            live.receive(html);
        });
        let listening = stream.add_event_listener_with_callback("panel", on_panel.as_ref().unchecked_ref());
        if listening.is_ok() {
            self.now.borrow_mut().source = Some(Source { stream, _on_panel: on_panel });
        }
    }

    fn pass_on(&self, html: &str) {
        if let Some(channel) = &self.channel {
            let _ = channel.post_message(&JsValue::from_str(&format!("{} {html}", self.number)));
        }
    }

    /// Takes a panel from another tab's stream, and gives up an own stream
    /// beside one with a lower number.
    fn hear(&self, message: &str) {
        let Some((number, html)) = message.split_once(' ') else { return };
        let is_lower = number.parse().is_ok_and(|number: u32| number < self.number);
        let has_stream = self.now.borrow().source.is_some();
        if self.is_hidden() || self.is_signed_out() || (has_stream && !is_lower) {
            return;
        }
        {
            let mut now = self.now.borrow_mut();
            now.source = None;
            now.heard = Some(self.clocks());
        }
        self.receive(html.to_owned());
    }

    fn receive(&self, html: String) {
        {
            let mut now = self.now.borrow_mut();
            now.received = self.clocks();
            now.held = Some(html);
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

    /// What stands outside the panel and follows it: badge and voice; the title
    /// is part of the status.
    fn follow(&self, before: Option<String>) {
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
        if self.is_signed_out() {
            return;
        }
        let age_ms = self.ms_since(self.now.borrow().received);
        let is_stale = age_ms > STALE_AFTER_MS || self.panel.has_attribute("data-old");
        let (state, text) = if is_stale {
            ("stale", format!("Stale since {}", self.panel.get_attribute("data-clock").unwrap_or_default()))
        } else if self.is_selecting() {
            ("paused", "Paused while selecting".to_owned())
        } else {
            ("live", format!("Live · {} s ago", (age_ms / 1_000.0) as u32))
        };
        set_text(&self.status, &text);
        let _ = self.status.set_attribute("data-state", state);
        let title = if is_stale { "data-stale-title" } else { "data-title" };
        if let Some(title) = self.panel.get_attribute(title).filter(|title| *title != self.document.title()) {
            self.document.set_title(&title);
        }
        if is_stale {
            let _ = self.panel.set_attribute("data-stale", "");
        } else {
            let _ = self.panel.remove_attribute("data-stale");
        }
    }

    fn tick(self: &Rc<Self>) {
        if self.is_signed_out() {
            return;
        }
        let (asked, stream_state) = {
            let now = self.now.borrow();
            (now.asked, now.source.as_ref().map(|source| source.stream.ready_state()))
        };
        let since_asked = self.ms_since(asked);
        match stream_state {
            _ if self.is_hidden() && since_asked >= HIDDEN_EVERY_MS => self.ask(),
            // The server ended the stream: a question tells why.
            Some(EventSource::CLOSED) if since_asked >= RETRY_AFTER_MS => self.ask(),
            None if since_asked >= FIRST_MS => self.connect(),
            _ => {}
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
                if let Ok(Some(html)) = answer.response_text() {
                    live.receive(html);
                }
                live.now.borrow_mut().source = None;
                live.connect();
            }
            Ok(401 | 403) => {
                // The source is dropped, and with it the stream closed.
                live.now.replace(Now { is_signed_out: true, ..Now::default() });
                signed_out::show(&live.document, &live.panel, live.badge.as_ref());
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

fn listen_to_other_tabs(live: &Rc<Live>) {
    let Some(channel) = &live.channel else { return };
    let live = Rc::clone(live);
    let on_message: JsValue = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        if let Some(message) = event.data().as_string() {
            live.hear(&message);
        }
    })
    .into_js_value();
    channel.set_onmessage(Some(on_message.unchecked_ref()));
}

fn on_visibility_change(live: &Rc<Live>) {
    let live_again = Rc::clone(live);
    let on_change: JsValue = Closure::<dyn FnMut()>::new(move || {
        live_again.now.borrow_mut().source = None;
        if !live_again.is_hidden() && !live_again.is_signed_out() {
            live_again.ask();
        }
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
