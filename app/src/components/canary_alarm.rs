//! Says on every page that a canary was done instead of refused.

use super::link::CANARIES;
use crate::panel::PanelView;
use leptos::prelude::*;

/// Nothing while every canary is refused.
pub fn canary_alarm(view: &PanelView) -> Option<impl IntoView + use<>> {
    let done = view.reading.as_ref().map(|reading| reading.done_canaries).filter(|done| *done > 0)?;
    let what = match done {
        1 => "A canary was done instead of refused".to_owned(),
        n => format!("{n} canaries were done instead of refused"),
    };
    Some(view! {
        <p class="notice bad canary-alarm" role="alert">
            <a href=CANARIES><i class="s-dead" aria-hidden="true">"■"</i>" Critical: "{what}</a>
            ". The agent writes as real what it must not; see to it before anything else."
        </p>
    })
}
