//! Dead letters as rows: why, of what, how old, who has it; the recovery
//! options folded into each row.

use super::json_text::MASKED;
use super::letter_actions::letter_actions;
use super::link;
use super::moment::since;
use super::name::{name, said};
use super::state_mark::{of_letter, of_route, shape, state};
use crate::model::letter::{DeadLetter, LetterStatus};
use crate::model::people::{Role, Viewer};
use crate::model::text::{preview, visible};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// Characters that a row shows of evidence or error.
const PREVIEW_CHARACTERS: usize = 200;

/// What all rows of a list share.
pub struct RowContext<'a> {
    /// Who looks.
    pub viewer: &'a Viewer,
    /// The address of this list, to come back to.
    pub here: &'a str,
    /// Makes the one-time key of a form.
    pub key: fn() -> Option<String>,
    /// The database's clock at this reading.
    pub as_of: DateTime<Utc>,
}

/// The rows.
pub fn letter_rows(letters: &[DeadLetter], context: &RowContext<'_>) -> impl IntoView + use<> {
    let rows = letters.iter().map(|letter| row(letter, context)).collect_view();
    view! { <ol class="letters rows">{rows}</ol> }
}

fn row(letter: &DeadLetter, context: &RowContext<'_>) -> impl IntoView + use<> {
    let may_select = context.viewer.may(Role::Reviewer) && letter.status != LetterStatus::Resolved;
    let quoted = quoted(letter, context.viewer).map(|text| preview(text.trim(), PREVIEW_CHARACTERS));
    view! {
        <li data-row data-k=letter.id.to_string()>
            <span class="select">{may_select.then(|| checkbox(letter))}</span>
            <span class="what">
                <span title=letter.route.label()>{shape(of_route(letter.route))}</span>" "
                <a data-open href=link::letter(letter.id)>{said(&reason(letter))}</a>
                <span class="unseen">{format!(" {}, letter {}", letter.route.label(), letter.id)}</span>
                {quoted.map(|text| view! { " "<span class="quoted">{said(&text)}</span> })}
            </span>
            {name(&letter.kind)}
            {name(&letter.source)}
            <span class="age">{since(letter.dead_lettered_at, context.as_of)}</span>
            <span class="standing">{state(of_letter(letter.status), standing(letter))}</span>
            {recovery(letter, context)}
        </li>
    }
}

/// Belongs to the form `bulk`, wherever that is; a browser must not tick it
/// again by itself when the page comes back.
fn checkbox(letter: &DeadLetter) -> impl IntoView + use<> {
    let label = format!("Select letter {}", letter.id);
    let value = format!("{}:{}", letter.id, letter.version);
    view! { <input type="checkbox" name="ids" value=value form="bulk" autocomplete="off" aria-label=label /> }
}

/// Evidence, which is a piece of the payload and as private, or the error.
fn quoted<'a>(letter: &'a DeadLetter, viewer: &Viewer) -> Option<&'a str> {
    let evidence = letter.evidence.as_deref().map(|text| if viewer.may(Role::Reviewer) { text } else { MASKED });
    evidence.or(letter.error.as_deref())
}

/// Where it stands, and with whom.
fn standing(letter: &DeadLetter) -> String {
    let by = letter.resolution.as_ref().map(|done| &done.by).or(letter.taken.as_ref().map(|taken| &taken.by));
    match by {
        Some(by) => format!("{} by {}", letter.status.as_str(), visible(by)),
        None => letter.status.as_str().to_owned(),
    }
}

/// A resolved letter has nothing to unfold.
fn recovery(letter: &DeadLetter, context: &RowContext<'_>) -> Option<impl IntoView + use<>> {
    let actions = letter_actions(letter, context.viewer, context.here, context.key);
    (letter.status != LetterStatus::Resolved).then(|| {
        view! {
            <details class="recovery">
                <summary aria-label=format!("Recovery options of letter {}", letter.id)>"Recover"</summary>
                {actions}
            </details>
        }
    })
}

/// Why it was parked, in the machine's words: `MISSING_REQUIRED_FIELD · currency`.
pub fn reason(letter: &DeadLetter) -> String {
    let status = letter.http_status.map(|status| status.to_string());
    let parts = [
        letter.reason_code.clone(),
        letter.field.clone(),
        letter.failure_reason.clone(),
        status,
        letter.error_code.clone(),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    if text.is_empty() { letter.route.label().to_owned() } else { text }
}
