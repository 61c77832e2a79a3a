//! Acting on a dead letter.

use super::back_with_notice;
use crate::auth::secret::sha256_hex;
use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::Problem;
use app::api::Posted;
use app::error::StoreError;
use app::model::FieldError;
use app::model::ids::DeadLetterId;
use app::model::job::{RawJson, ReplayMode};
use app::model::json_tree::{JsonTree, typed_json};
use app::model::people::Role;
use app::model::recovery::{IdempotencyKey, LetterAct, RecoveryAction, SPLIT_PARTS};
use app::model::text::{MAX_PAYLOAD_BYTES, clean, is_blank};
use app::pages::notice::Notice;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::response::Redirect;
use chrono::NaiveDate;
use std::sync::Arc;

/// Longest note, in characters.
const MAX_NOTE_CHARACTERS: usize = 2_000;

/// What a recovery button posts.
pub struct ActForm {
    action: String,
    version: String,
    note: Option<String>,
    mode: Option<String>,
    /// The corrected payload, as JSON.
    payload: Option<String>,
    /// The payloads of the parts, as a JSON list.
    payloads: Option<String>,
    owner: Option<String>,
    due: Option<String>,
    key: Option<String>,
    next: Option<String>,
}

impl ActForm {
    /// Out of the fields that a page of its own posted.
    pub(super) fn of(posted: &Posted) -> Self {
        let text = |name: &str| posted.get(name).map(str::to_owned);
        Self {
            action: text("action").unwrap_or_default(),
            version: text("version").unwrap_or_default(),
            note: text("note"),
            mode: text("mode"),
            payload: text("payload"),
            payloads: text("payloads"),
            owner: text("owner"),
            due: text("due"),
            key: text("key"),
            next: text("next"),
        }
    }
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
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Redirect, Problem> {
    let Ok(id) = id.parse::<DeadLetterId>() else {
        return Err(Problem::not_found("There is no such dead letter."));
    };
    let page = format!("/dead-letters/{id}");
    let on_letter = |problem: Problem| {
        problem.back_to(&page, "To the dead letter as it stands now").shown_with_fitting_notice(&page)
    };
    person.must_be(Role::Reviewer).map_err(on_letter)?;
    let Form(fields) = form.map_err(|e| on_letter(Problem::bad_form(&e)))?;
    let posted = Posted { fields: Arc::new(fields), sentence: None };
    let form = ActForm::of(&posted);
    // In its own words, with what was typed.
    let again = |problem: Problem| {
        problem.back_to(&page, "To the dead letter as it stands now").shown_with(&page, posted.fields.clone())
    };
    let act = match checked(id, &form, person.viewer.role) {
        Ok(act) => act,
        Err(e) => {
            // That there is no such letter comes before what may be done to one.
            let found = state.store.find_letter(id).await.map_err(|e| again(Problem::of_store(&state, e)))?;
            return Err(match found {
                None => Problem::not_found("There is no such dead letter."),
                Some(_) => again(Problem::invalid(&e)),
            });
        }
    };
    state.store.act(&act, &person.actor).await.map_err(|error| {
        let is_missing = matches!(error, StoreError::NotFound(_));
        let problem = Problem::of_store(&state, error);
        if is_missing { problem } else { again(problem) }
    })?;
    Ok(back_with_notice(form.next.as_deref(), &page, notice_of(act.action)))
}

/// What the page says afterwards.
pub(super) fn notice_of(action: RecoveryAction) -> Notice {
    match action {
        RecoveryAction::ApproveAndReplay | RecoveryAction::CorrectAndReplay => Notice::Replayed,
        RecoveryAction::SplitAndReplay => Notice::Split,
        RecoveryAction::CloseAndNotify => Notice::Notified,
        RecoveryAction::PolicyUpdate => Notice::FollowUpLeft,
        RecoveryAction::RejectAndClose => Notice::Closed,
        RecoveryAction::Take => Notice::Taken,
        RecoveryAction::Release => Notice::Released,
    }
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

pub(super) fn checked(id: DeadLetterId, form: &ActForm, role: Role) -> Result<LetterAct, FieldError> {
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
    let note = note(form.note.as_deref())?;
    let payload = match (action, filled(form.payload.as_deref())) {
        (RecoveryAction::CorrectAndReplay, Some(text)) => Some(typed_json("payload", &text, MAX_PAYLOAD_BYTES)?),
        _ => None,
    };
    let payloads = match (action, filled(form.payloads.as_deref())) {
        (RecoveryAction::SplitAndReplay, Some(text)) => Some(parts(&text)?),
        _ => None,
    };
    let is_follow_up = action == RecoveryAction::PolicyUpdate;
    let due = filled(form.due.as_deref()).filter(|_| is_follow_up);
    let due = due
        .map(|day| day.parse::<NaiveDate>().map_err(|_| FieldError::new("due", "must be a day, such as 2026-03-09")));
    let act = LetterAct {
        note,
        mode: if action.replays() { mode } else { ReplayMode::Current },
        payload,
        payloads,
        owner: filled(form.owner.as_deref()).filter(|_| is_follow_up),
        due: due.transpose()?,
        ..LetterAct::new(id, action, version, role)
    };
    let idempotency = idempotency(id, form, act.note.as_deref())?;
    Ok(LetterAct { idempotency, ..act })
}

/// A note that may stay empty.
///
/// # Errors
/// `note`: too long.
pub(super) fn note(text: Option<&str>) -> Result<Option<String>, FieldError> {
    let note = filled(text);
    if note.as_ref().is_some_and(|note| note.chars().count() > MAX_NOTE_CHARACTERS) {
        return Err(FieldError::new("note", format!("must be at most {MAX_NOTE_CHARACTERS} characters")));
    }
    Ok(note)
}

/// A field that is not blank, made storable.
pub(super) fn filled(text: Option<&str>) -> Option<String> {
    text.map(|text| clean(text.trim()).into_owned()).filter(|text| !is_blank(text))
}

/// The parts, word for word, out of a JSON list.
fn parts(text: &str) -> Result<Vec<RawJson>, FieldError> {
    let list = typed_json("payloads", text, SPLIT_PARTS.end() * MAX_PAYLOAD_BYTES)?;
    match JsonTree::of(&list) {
        JsonTree::Array(items) => Ok(items.iter().map(JsonTree::to_json).collect()),
        _ => Err(FieldError::new("payloads", "must be a JSON list with one payload for each part")),
    }
}

/// A page's form carries a key of its own, so that a double press acts once.
fn idempotency(id: DeadLetterId, form: &ActForm, note: Option<&str>) -> Result<Option<IdempotencyKey>, FieldError> {
    let Some(key) = form.key.as_deref().filter(|key| !key.is_empty()) else {
        return Ok(None);
    };
    if key.chars().count() > 200 {
        return Err(FieldError::new("key", "must be at most 200 characters"));
    }
    let body = serde_json::json!([
        "form",
        id,
        form.action,
        form.version,
        note,
        form.mode,
        form.payload,
        form.payloads,
        form.owner,
        form.due
    ]);
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
            payload: None,
            payloads: None,
            owner: None,
            due: None,
            key: Some("k1".into()),
            next: None,
        }
    }

    fn check(id: DeadLetterId, form: &ActForm) -> Result<LetterAct, FieldError> {
        checked(id, form, Role::Reviewer)
    }

    #[test]
    fn what_is_typed_as_json_is_kept_word_for_word() {
        let id = DeadLetterId(7);
        let correct = |text: &str| ActForm { payload: Some(text.into()), ..form("correct_and_replay", None) };
        let act = check(id, &correct(" {\"id\": 9007199254740993} ")).unwrap();
        assert_eq!(act.payload.unwrap().as_str(), "{\"id\": 9007199254740993}");
        let error = check(id, &correct("{\n\"a\" 1}")).unwrap_err();
        assert!(error.field == "payload" && error.rule.contains("line 2"), "{error}");
        let split = |text: &str| ActForm { payloads: Some(text.into()), ..form("split_and_replay", None) };
        let act = check(id, &split("[{\"n\": 1.0}, 2]")).unwrap();
        assert_eq!(act.payloads.unwrap()[0].as_str(), "{\"n\":1.0}");
        for bad in ["[1]", "[]", "{}", "[1,2"] {
            let refused = check(id, &split(bad)).and_then(|act| act.check());
            assert_eq!(refused.unwrap_err().field, "payloads", "{bad}");
        }
    }

    #[test]
    fn what_cannot_be_taken_back_needs_a_note() {
        let id = DeadLetterId(7);
        let silent = check(id, &form("reject_and_close", Some("  "))).unwrap();
        assert_eq!(silent.check().unwrap_err().field, "note");
        assert_eq!(check(id, &form("reject_and_close", Some(" spam "))).unwrap().note.as_deref(), Some("spam"));
        assert!(check(id, &form("approve_and_replay", None)).is_ok());
        assert_eq!(check(id, &form("explode", None)).unwrap_err().field, "action");
    }

    #[test]
    fn the_same_press_has_the_same_hash_and_another_body_has_not() {
        let hash = |id, form: &ActForm| check(DeadLetterId(id), form).unwrap().idempotency.unwrap().body_sha256;
        let pressed = form("approve_and_replay", Some("ok"));
        assert_eq!(hash(7, &pressed), hash(7, &form("approve_and_replay", Some("ok"))));
        assert_ne!(hash(7, &pressed), hash(7, &form("approve_and_replay", Some("ok!"))));
        assert_ne!(hash(7, &pressed), hash(8, &pressed));
    }
}
