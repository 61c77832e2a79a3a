//! A bulk before anything is done: how many letters, which, and the two things
//! that can be done to them, each with its own button that names the count.

use super::link;
use super::name::{name, said};
use super::recovery_form::note;
use super::state_mark::{of_item, of_route, shape, state};
use crate::model::bulk::{BulkDetail, ChosenLetter, TRIAL_LETTERS, letters};
use crate::model::job::ReplayMode;
use crate::model::recovery::RecoveryAction;
use leptos::prelude::*;

/// What was filled in before, when the form comes back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filled {
    /// Why.
    pub note: Option<String>,
    /// Whether replays were to be pinned.
    pub is_pinned: bool,
}

/// The draft; forms only for those who may confirm it.
pub fn bulk_draft(detail: &BulkDetail, may_steer: bool, filled: &Filled) -> impl IntoView + use<> {
    let unchanged = detail.unchanged();
    let forms = match (may_steer, unchanged) {
        (false, _) => None,
        (true, 0) => Some(
            view! { <p class="lead">"There is nothing left to do here: every one of them changed."</p> }.into_any(),
        ),
        (true, _) => {
            Some(view! { <div class="columns">{replay(detail, filled)}{close(detail, filled)}</div> }.into_any())
        }
    };
    view! {
        {changed(detail)}
        {forms}
        {may_steer.then(|| view! { <div class="actions">{steer(detail, "stop", "Leave it", "Drops this draft. Nothing is done to any letter.")}</div> })}
        {sample(detail)}
    }
}

fn changed(detail: &BulkDetail) -> Option<impl IntoView + use<>> {
    let (changed, total) = (detail.changed, detail.bulk.total);
    (changed > 0).then(|| {
        let text = format!(
            "{changed} of the {} changed since they were chosen. They stand first below and are not acted on.",
            letters(total)
        );
        view! { <p class="notice odd">{text}</p> }
    })
}

fn replay(detail: &BulkDetail, filled: &Filled) -> impl IntoView + use<> {
    let action = RecoveryAction::ApproveAndReplay;
    let unchanged = detail.unchanged();
    let trial = (unchanged > TRIAL_LETTERS).then(|| {
        format!(
            " The first {TRIAL_LETTERS} go alone; the others follow when one of those succeeded, else it stops itself."
        )
    });
    let mode = |mode: ReplayMode, says: &'static str| {
        let is_chosen = (mode == ReplayMode::Pinned) == filled.is_pinned;
        let word = mode.as_str();
        view! {
            <label class="choice"><input type="radio" name="mode" value=word checked=is_chosen />" "<b>{word}</b>": "{says}</label>
        }
    };
    view! {
        <form class="stack" method="post" action=link::bulk(detail.bulk.id, None)>
            <h2>{action.label()}</h2>
            {confirms(action)}
            <fieldset>
                <legend>"Replays run"</legend>
                {mode(ReplayMode::Current, "with today's model, prompt and context. Is it fixed?")}
                {mode(ReplayMode::Pinned, "with the recorded ones. Does it reproduce? Nothing is written as real.")}
            </fieldset>
            {note(filled.note.as_deref(), false)}
            <button>{format!("{} {}", action.label(), letters(unchanged))}</button>
            <small>"Each gets a new job with the same payload and fresh attempts, due at once."{trial}</small>
        </form>
    }
}

fn close(detail: &BulkDetail, filled: &Filled) -> impl IntoView + use<> {
    let action = RecoveryAction::RejectAndClose;
    view! {
        <form class="stack" method="post" action=link::bulk(detail.bulk.id, None)>
            <h2>{action.label()}</h2>
            {confirms(action)}
            {note(filled.note.as_deref(), true)}
            <button>{format!("{} {}", action.label(), letters(detail.unchanged()))}</button>
            <small>"Closes each of them for good. Nothing is run again."</small>
        </form>
    }
}

fn confirms(action: RecoveryAction) -> impl IntoView {
    view! {
        <input type="hidden" name="step" value="confirm" />
        <input type="hidden" name="action" value=action.as_str() />
    }
}

/// A button that steers the bulk, with what its press will do.
pub fn steer(
    detail: &BulkDetail,
    step: &'static str,
    label: &'static str,
    does: &'static str,
) -> impl IntoView + use<> {
    view! {
        <form method="post" action=link::bulk(detail.bulk.id, None)>
            <button name="step" value=step>{label}</button>
            <small>{does}</small>
        </form>
    }
}

fn sample(detail: &BulkDetail) -> impl IntoView + use<> {
    let shown = i64::try_from(detail.sample.len()).unwrap_or(i64::MAX);
    let heading = match detail.bulk.total {
        total if total > shown => format!("The first {shown} of the {}", letters(total)),
        total => format!("The {}", letters(total)),
    };
    let rows = detail.sample.iter().map(row).collect_view();
    view! {
        <h2>{heading}</h2>
        <div class="scroll" tabindex="0" role="region" aria-label="Letters">
            <table class="compact">
                <thead>
                    <tr>
                        <th scope="col">"Letter"</th>
                        <th scope="col">"Kind"</th>
                        <th scope="col">"Why it was parked"</th>
                        <th scope="col">"Since it was chosen"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

fn row(letter: &ChosenLetter) -> impl IntoView + use<> {
    let id = letter.dead_letter_id;
    let reason = if letter.reason.is_empty() { letter.route.label() } else { &letter.reason };
    let since = match letter.changed {
        None => view! { <span class="zero">"unchanged"</span> }.into_any(),
        Some(outcome) => {
            let by = letter.changed_by.as_ref().map(|by| view! { ", "{name(by)} });
            view! { {state(of_item(outcome), outcome.label())}{by}": not acted on" }.into_any()
        }
    };
    view! {
        <tr>
            <td><a href=link::letter(id)>{format!("letter {id}")}</a></td>
            <td class="name">{name(&letter.kind)}</td>
            <td class="says"><span title=letter.route.label()>{shape(of_route(letter.route))}</span>" "{said(reason)}</td>
            <td>{since}</td>
        </tr>
    }
}
