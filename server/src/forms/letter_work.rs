//! The pages on which a way out is prepared: the first press shows what would be
//! done, the second does it. Whatever comes of it, what was typed comes back.

use super::letters::{ActForm, checked, notice_of};
use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::{Problem, with_notice};
use app::api::{Posted, masked_fields};
use app::model::FieldError;
use app::model::cover::mask_letter;
use app::model::field_edits::with_fields;
use app::model::ids::DeadLetterId;
use app::model::job::RawJson;
use app::model::json_tree::{JsonTree, differences};
use app::model::letter::DeadLetterDetail;
use app::model::people::Role;
use app::model::recovery::RecoveryAction;
use app::pages::letter_work::posted_fields;
use app::store::Stored;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, OriginalUri, Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use std::sync::Arc;

/// Largest form: a payload of 1 MiB, encoded, twice (as fields and as JSON).
pub const MAX_FORM_BYTES: usize = 8 * 1024 * 1024;

type Fields = Vec<(String, String)>;

/// `POST /dead-letters/{id}/correct`, `/split`, `/notify` and `/follow-up`.
///
/// # Errors
/// 401, 403; 404 no such letter; 409 with what happened; 413; 422 naming the
/// field. All but 401 and 404 show the page again with what was typed.
pub async fn post(
    State(state): State<AppState>,
    OriginalUri(uri): OriginalUri,
    Path(id): Path<String>,
    person: SignedIn,
    form: Result<Form<Fields>, FormRejection>,
) -> Result<Response, Problem> {
    let Ok(id) = id.parse::<DeadLetterId>() else {
        return Err(Problem::not_found("There is no such dead letter."));
    };
    let (letter, page) = (format!("/dead-letters/{id}"), uri.path().to_owned());
    person.must_be(Role::Reviewer).map_err(|problem| problem.back_to(&letter, "To the dead letter"))?;
    let Form(fields) = form.map_err(|error| {
        Problem::bad_form(&error).back_to(&page, "Back to the form").shown_with_fitting_notice(&page)
    })?;
    let posted = Posted { fields: Arc::new(fields), sentence: None };
    let again = |problem: Problem, fields: &Posted| {
        problem.back_to(&letter, "To the dead letter as it stands now").shown_with(&page, fields.fields.clone())
    };
    let found = state.store.find_letter(id).await.map_err(|error| again(Problem::of_store(&state, error), &posted))?;
    let Some(mut detail) = found else { return Err(Problem::not_found("There is no such dead letter.")) };
    hide(&state, &mut detail).await.map_err(|error| again(Problem::of_store(&state, error), &posted))?;
    let posted = with_payload(posted, &detail).map_err(|(error, posted)| again(Problem::invalid(&error), &posted))?;
    let act = checked(id, &ActForm::of(&posted), person.viewer.role)
        .map_err(|error| again(Problem::invalid(&error), &posted))?;
    if posted.get("confirmed").is_none() {
        act.check().map_err(|error| again(Problem::invalid(&error), &posted))?;
        if act.action == RecoveryAction::CorrectAndReplay {
            is_a_change(&detail, act.payload.as_ref()).map_err(|error| again(Problem::invalid(&error), &posted))?;
        }
        return Ok(Problem::preview(&page, posted.fields).into_response());
    }
    state.store.act(&act, &person.actor).await.map_err(|error| again(Problem::of_store(&state, error), &posted))?;
    Ok(Redirect::to(&with_notice(&letter, notice_of(act.action))).into_response())
}

/// What the page did not show must not get onto it by way of a form.
async fn hide(state: &AppState, detail: &mut DeadLetterDetail) -> Stored<()> {
    let fields = masked_fields(&*state.store, &detail.letter.kind).await?;
    mask_letter(detail, &fields);
    Ok(())
}

/// Where the payload was edited field by field, the payload that this makes.
fn with_payload(posted: Posted, detail: &DeadLetterDetail) -> Result<Posted, (FieldError, Posted)> {
    if posted.get("by") != Some("fields") {
        return Ok(posted);
    }
    let original = original(detail);
    let edits: Vec<_> = posted_fields(&posted).into_iter().filter(|field| !field.at.is_empty()).collect();
    match with_fields(&original, &edits) {
        Err(error) => Err((error, posted)),
        Ok(payload) => {
            let mut fields = (*posted.fields).clone();
            fields.retain(|(name, _)| name != "payload");
            fields.push(("payload".to_owned(), payload.to_json().as_str().to_owned()));
            Ok(Posted { fields: Arc::new(fields), sentence: None })
        }
    }
}

fn original(detail: &DeadLetterDetail) -> JsonTree {
    detail.payload.as_ref().map_or(JsonTree::Object(Vec::new()), JsonTree::of)
}

/// What the store would say in the end is said at the first press.
fn is_a_change(detail: &DeadLetterDetail, payload: Option<&RawJson>) -> Result<(), FieldError> {
    let (original, Some(payload)) = (original(detail), payload) else { return Ok(()) };
    if differences(&original, &JsonTree::of(payload)).is_empty() {
        return Err(FieldError::new("payload", "is the same as before: change something, or approve the dead letter"));
    }
    Ok(())
}
