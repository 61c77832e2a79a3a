//! Who has a letter, and the ways out of it: the likeliest three in sight, the
//! others folded, each with its role and what its press will do.

use super::moment::wall_clock;
use super::name::{name, said};
use super::recovery_form::{hidden, page_of};
use super::state_mark::{of_letter, state};
use crate::model::letter::{DeadLetter, LetterStatus};
use crate::model::people::{Role, Viewer};
use crate::model::recovery::{RecoveryAction, RecoveryOption};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// Ways out that are shown without unfolding.
const IN_SIGHT: usize = 3;

/// Who has it now, with the buttons that change that.
pub fn holder(
    letter: &DeadLetter,
    viewer: &Viewer,
    now: DateTime<Utc>,
    key: fn() -> Option<String>,
) -> impl IntoView + use<> {
    let (action, label) = match &letter.taken {
        None => (RecoveryAction::Take, "Take".to_owned()),
        Some(taken) if taken.by == viewer.name => (RecoveryAction::Release, "Release".to_owned()),
        Some(taken) => (RecoveryAction::Take, format!("Take over from {}", crate::model::text::visible(&taken.by))),
    };
    let button = (letter.status != LetterStatus::Resolved && viewer.may(Role::Reviewer)).then(|| {
        let path = format!("/dead-letters/{}/actions", letter.id);
        view! {
            <form method="post" action=path>
                {hidden(letter, action, key())}
                <button>{label}</button>
                <small>{action.consequence()}</small>
            </form>
        }
    });
    let has = match &letter.taken {
        None => view! { "Nobody has it." }.into_any(),
        Some(taken) if taken.by == viewer.name => {
            view! { "You have it until "{wall_clock(taken.until, now)}"." }.into_any()
        }
        Some(taken) => view! { {name(&taken.by)}" has it until "{wall_clock(taken.until, now)}"." }.into_any(),
    };
    let is_unresolved = letter.status != LetterStatus::Resolved;
    is_unresolved.then(|| {
        view! {
            <p class="standing">{state(of_letter(letter.status), letter.status.as_str())}" · "{has}</p>
            <div class="actions">{button}</div>
        }
    })
}

/// The ways out in the workflow's order.
/// `typed` is an action with the note of a press that came to nothing: it stands in its form again.
pub fn letter_options(
    letter: &DeadLetter,
    viewer: &Viewer,
    key: fn() -> Option<String>,
    typed: Option<(&str, &str)>,
) -> impl IntoView + use<> {
    if letter.recovery_options.is_empty() {
        return None;
    }
    let option = |option: &RecoveryOption| {
        let allowed = viewer.may(option.role);
        let note = typed.filter(|(action, _)| *action == option.action.as_str()).map_or("", |(_, note)| note);
        let press = allowed.then(|| press(letter, option.action, key(), note));
        let refused = (!allowed).then(|| view! { <b>{option.label}</b> });
        let who = match &option.actor {
            Some(actor) => format!("{} · {actor}", option.role.as_str()),
            None => option.role.as_str().to_owned(),
        };
        view! { <li>{press}{refused}<small>{said(&option.outcome)}" "<span class="zero">"("{said(&who)}")"</span></small></li> }
    };
    let first = letter.recovery_options.iter().take(IN_SIGHT).map(option).collect_view();
    let others = letter.recovery_options.iter().skip(IN_SIGHT).map(option).collect_view();
    let others_typed = letter
        .recovery_options
        .iter()
        .skip(IN_SIGHT)
        .any(|option| typed.is_some_and(|(action, _)| action == option.action.as_str()));
    let lowest = letter.recovery_options.iter().map(|option| option.role).min();
    let needs = lowest.filter(|role| !viewer.may(*role)).map(|role| {
        view! { <p class="hint">{format!("Recovery needs the role {}.", role.as_str())}</p> }
    });
    Some(view! {
        <h2>"Ways out"</h2>
        {needs}
        <ul class="options">{first}</ul>
        {(letter.recovery_options.len() > IN_SIGHT).then(|| view! {
            <details open=others_typed><summary>"Other ways out"</summary><ul class="options">{others}</ul></details>
        })}
    })
}

fn press(letter: &DeadLetter, action: RecoveryAction, key: Option<String>, note: &str) -> AnyView {
    if let Some(page) = page_of(action) {
        let href = format!("/dead-letters/{}/{page}", letter.id);
        return view! { <a class="button" href=href>{action.label()}" …"</a> }.into_any();
    }
    let path = format!("/dead-letters/{}/actions", letter.id);
    view! {
        <form method="post" action=path>
            {hidden(letter, action, key)}
            {action.needs_note().then(|| view! {
                <input name="note" required maxlength="2000" value=note.to_owned() placeholder="Why?" aria-label="Why? This cannot be taken back" />
            })}
            <button name="mode" value="current">{action.label()}</button>
            {action.replays().then(|| view! {
                <button name="mode" value="pinned" title="With the recorded model, prompt and context: does it reproduce?">
                    "Replay pinned"
                </button>
            })}
        </form>
    }
    .into_any()
}
