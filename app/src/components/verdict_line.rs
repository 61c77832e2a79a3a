//! The line on pages that show other things, and the page's title.

use super::state_mark::{of_verdict, shape, verdict_word};
use crate::model::age::clock;
use crate::model::verdict::{Verdict, VerdictState};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// The title that carries the line and its time, as plain text. While the
/// database is away the line names the one time that counts itself.
pub fn title_of(verdict: &Verdict, as_of: Option<DateTime<Utc>>) -> String {
    match as_of {
        Some(at) if verdict.state != VerdictState::Unknown => {
            format!("{} · {} · Drainboard", verdict.text, clock(at))
        }
        _ => format!("{} · Drainboard", verdict.text),
    }
}

/// The title of a page that hears nothing new: since when, before all else.
pub fn stale_title_of(verdict: &Verdict, as_of: Option<DateTime<Utc>>) -> String {
    match as_of {
        Some(at) if verdict.state != VerdictState::Unknown => {
            format!("Stale since {} · {} · Drainboard", at.format("%H:%M"), verdict.text)
        }
        _ => title_of(verdict, as_of),
    }
}

/// Text made safe for the `<title>` element, which is filled without escaping.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The line, small, with a link to where it is large.
pub fn verdict_line(verdict: &Verdict, as_of: Option<DateTime<Utc>>) -> impl IntoView + use<> {
    view! {
        <p class="reminder" data-state=verdict_word(verdict.state)>
            <a href="/">{shape(of_verdict(verdict.state))}" "{verdict.text.clone()}</a>
            {as_of.map(|at| view! { " "<small>"as of "{clock(at)}</small> })}
        </p>
    }
}
