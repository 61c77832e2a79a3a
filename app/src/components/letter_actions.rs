//! What a person may do to a letter: one plain form per action, each with what
//! its press will do.

use crate::model::letter::DeadLetter;
use crate::model::people::Viewer;
use crate::model::recovery::RecoveryAction;
use leptos::prelude::*;

/// The forms that the viewer may press; a sentence where the role or the
/// letter's status allows none. `key` makes the one-time key of a form; `next`
/// is where its answer leads back to.
pub fn letter_actions(
    letter: &DeadLetter,
    viewer: &Viewer,
    next: &str,
    key: fn() -> Option<String>,
) -> impl IntoView + use<> {
    let options = &letter.recovery_options;
    let allowed: Vec<RecoveryAction> = options
        .iter()
        .filter(|option| viewer.may(option.role))
        .map(|option| option.action)
        .filter(|action| is_one_press(*action))
        .collect();
    if allowed.is_empty() {
        return options.first().map(|option| {
            let role = option.role.as_str();
            view! { <p class="hint">{format!("Recovery needs the role {role}.")}</p> }.into_any()
        });
    }
    let forms = allowed.into_iter().map(|action| form(letter, action, next, key())).collect_view();
    Some(view! { <div class="actions">{forms}</div> }.into_any())
}

fn form(letter: &DeadLetter, action: RecoveryAction, next: &str, key: Option<String>) -> impl IntoView + use<> {
    let path = format!("/dead-letters/{}/actions", letter.id);
    view! {
        <form method="post" action=path>
            <input type="hidden" name="action" value=action.as_str() />
            <input type="hidden" name="version" value=letter.version.to_string() />
            <input type="hidden" name="mode" value="current" />
            <input type="hidden" name="next" value=next.to_owned() />
            {key.map(|key| view! { <input type="hidden" name="key" value=key /> })}
            {action.needs_note().then(|| view! {
                <input name="note" required maxlength="2000" placeholder="Why?" aria-label="Why? This cannot be taken back" />
            })}
            <button>{action.label()}</button>
            <small>{action.consequence()}</small>
        </form>
    }
}

/// Whether a press and a note say all that the action needs.
fn is_one_press(action: RecoveryAction) -> bool {
    matches!(action, RecoveryAction::ApproveAndReplay | RecoveryAction::RejectAndClose)
}
