//! Acting on a dead letter.

use super::back_with_notice;
use crate::auth::secret::sha256_hex;
use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::Problem;
use app::model::FieldError;
use app::model::ids::DeadLetterId;
use app::model::job::ReplayMode;
use app::model::letter::{IdempotencyKey, LetterAct, RecoveryAction};
use app::model::people::Role;
use app::model::text::clean;
use app::pages::notice::Notice;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::response::Redirect;
use serde::Deserialize;

/// Longest note, in characters.
const MAX_NOTE_CHARACTERS: usize = 2_000;

/// What a recovery button posts.
#[derive(Deserialize)]
pub struct ActForm {
    action: String,
    version: String,
    note: Option<String>,
    mode: Option<String>,
    key: Option<String>,
    next: Option<String>,
}

/// `POST /dead-letters/{id}/actions`.
///
/// # Errors
/// 401, 403; 404 no such letter; 409 somebody acted meanwhile, with what
/// happened; 422 naming the field.
pub async fn act(
    State(state): State<AppState>,
    Path(id): Path<String>,
    person: SignedIn,
    form: Result<Form<ActForm>, FormRejection>,
) -> Result<Redirect, Problem> {
    let Ok(id) = id.parse::<DeadLetterId>() else {
        return Err(Problem::not_found("There is no such dead letter."));
    };
    let page = format!("/dead-letters/{id}");
    let on_letter = |problem: Problem| {
        problem.back_to(&page, "To the dead letter as it stands now").shown_with_fitting_notice(&page)
    };
    person.must_be(Role::Reviewer).map_err(on_letter)?;
    let Form(form) = form.map_err(|e| on_letter(Problem::bad_form(&e)))?;
    let act = checked(id, &form).map_err(|e| match e.field.as_str() {
        "note" => on_letter(Problem::invalid(&e)).shown_on(&page, Notice::NoteNeeded),
        _ => on_letter(Problem::invalid(&e)),
    })?;
    person.must_be(act.action.role()).map_err(on_letter)?;
    state.store.act(&act, &person.actor).await.map_err(|e| on_letter(Problem::of_store(&state, e)))?;
    let notice = match act.action {
        RecoveryAction::ApproveAndReplay => Notice::Replayed,
        RecoveryAction::RejectAndClose => Notice::Closed,
    };
    Ok(back_with_notice(form.next.as_deref(), &page, notice))
}

/// `GET /dead-letters/{id}/actions`, which is where the answer to a press stands:
/// leads to the letter as it is now.
///
/// # Errors
/// 404 for what is no id.
pub async fn lead_back(Path(id): Path<String>) -> Result<Redirect, Problem> {
    match id.parse::<DeadLetterId>() {
        Ok(id) => Ok(Redirect::to(&format!("/dead-letters/{id}"))),
        Err(_) => Err(Problem::not_found("There is no such dead letter.")),
    }
}

fn checked(id: DeadLetterId, form: &ActForm) -> Result<LetterAct, FieldError> {
    let action = RecoveryAction::from_word(&form.action).ok_or_else(|| {
        let words: Vec<&str> = RecoveryAction::ALL.into_iter().map(RecoveryAction::as_str).collect();
        FieldError::new("action", format!("must be one of {}", words.join(", ")))
    })?;
    let version =
        form.version.parse().map_err(|_| FieldError::new("version", "must be the version that the page showed"))?;
    let mode = match form.mode.as_deref() {
        None | Some("" | "current") => ReplayMode::Current,
        Some("pinned") => ReplayMode::Pinned,
        Some(_) => return Err(FieldError::new("mode", "must be current or pinned")),
    };
    let note = form.note.as_deref().map(|note| clean(note.trim()).into_owned()).filter(|note| !note.is_empty());
    match &note {
        None if action.needs_note() => {
            return Err(FieldError::new("note", format!("must say why: “{}” cannot be taken back", action.label())));
        }
        Some(note) if note.chars().count() > MAX_NOTE_CHARACTERS => {
            return Err(FieldError::new("note", format!("must be at most {MAX_NOTE_CHARACTERS} characters")));
        }
        _ => {}
    }
    let idempotency = idempotency(id, form, note.as_deref())?;
    Ok(LetterAct { id, action, note, mode, version, idempotency })
}

/// A page's form carries a key of its own, so that a double press acts once.
fn idempotency(id: DeadLetterId, form: &ActForm, note: Option<&str>) -> Result<Option<IdempotencyKey>, FieldError> {
    let Some(key) = form.key.as_deref().filter(|key| !key.is_empty()) else {
        return Ok(None);
    };
    if key.chars().count() > 200 {
        return Err(FieldError::new("key", "must be at most 200 characters"));
    }
    let body = serde_json::json!(["form", id, form.action, form.version, note, form.mode]);
    Ok(Some(IdempotencyKey { key: clean(key).into_owned(), body_sha256: sha256_hex(&body.to_string()) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(action: &str, note: Option<&str>) -> ActForm {
        ActForm {
            action: action.into(),
            version: "3".into(),
            note: note.map(Into::into),
            mode: None,
            key: Some("k1".into()),
            next: None,
        }
    }

    #[test]
    fn what_cannot_be_taken_back_needs_a_note() {
        let id = DeadLetterId(7);
        assert_eq!(checked(id, &form("reject_and_close", Some("  "))).unwrap_err().field, "note");
        assert_eq!(checked(id, &form("reject_and_close", Some(" spam "))).unwrap().note.as_deref(), Some("spam"));
        assert!(checked(id, &form("approve_and_replay", None)).is_ok());
        assert_eq!(checked(id, &form("explode", None)).unwrap_err().field, "action");
    }

    #[test]
    fn the_same_press_has_the_same_hash_and_another_body_has_not() {
        let hash = |id, form: &ActForm| checked(DeadLetterId(id), form).unwrap().idempotency.unwrap().body_sha256;
        let pressed = form("approve_and_replay", Some("ok"));
        assert_eq!(hash(7, &pressed), hash(7, &form("approve_and_replay", Some("ok"))));
        assert_ne!(hash(7, &pressed), hash(7, &form("approve_and_replay", Some("ok!"))));
        assert_ne!(hash(7, &pressed), hash(8, &pressed));
    }
}
