//! What people do with canaries: add, change, import, run, acknowledge, take away.

use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::{Problem, with_notice};
use app::api::Posted;
use app::components::link;
use app::model::FieldError;
use app::model::canary::{CanaryInput, CanaryText, RunCause, read_fixture, write_fixture};
use app::model::ids::CanaryId;
use app::model::job::RawJson;
use app::model::people::Role;
use app::pages::notice::Notice;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use std::sync::Arc;

/// Largest form: a fixture, encoded.
pub const MAX_FORM_BYTES: usize = 4 * 1024 * 1024;
const NO_SUCH: &str = "There is no such canary.";

type Fields = Result<Form<Vec<(String, String)>>, FormRejection>;

/// `POST /canaries`: adds one, imports some, or acknowledges a run.
///
/// # Errors
/// 401, 403; 404 no such run; 409; 413; 422 naming the field.
pub async fn add(State(state): State<AppState>, person: SignedIn, form: Fields) -> Result<Redirect, Problem> {
    let page = link::CANARIES;
    person.must_be(Role::Admin).map_err(|problem| problem.shown_with_fitting_notice(page))?;
    let Form(fields) = form.map_err(|error| Problem::bad_form(&error).shown_with_fitting_notice(page))?;
    let posted = Posted { fields: Arc::new(fields), sentence: None };
    let again = |problem: Problem| problem.back_to(page, "To the canaries").shown_with(page, posted.fields.clone());
    let invalid = |error: FieldError| again(Problem::invalid(&error));
    let done = match posted.get("form") {
        Some("save") => {
            let input = input_of(&posted).map_err(invalid)?;
            state.store.save_canary(None, &input, &person.actor).await.map(|_| Notice::CanarySaved)
        }
        Some("import") => {
            let inputs = read_fixture(posted.get("fixture").unwrap_or_default()).map_err(invalid)?;
            state.store.import_canaries(&inputs, &person.actor).await.map(|()| Notice::CanariesImported)
        }
        Some("clear") => {
            let run = posted.get("run").and_then(|run| run.parse::<i64>().ok());
            let run = run.ok_or_else(|| invalid(FieldError::new("run", "must be a run of a canary")))?;
            state.store.clear_canary_run(run, &person.actor).await.map(|()| Notice::CanaryCleared)
        }
        _ => return Err(invalid(FieldError::new("form", "must be one of the forms of this page"))),
    };
    let notice = done.map_err(|error| again(Problem::of_store(&state, error)))?;
    Ok(Redirect::to(&with_notice(page, notice)))
}

/// `POST /canaries/{id}`: changes one (admins), or runs it now (reviewers too).
///
/// # Errors
/// 401, 403; 404 no such canary; 409; 413; 422 naming the field.
pub async fn act(
    State(state): State<AppState>,
    Path(id): Path<String>,
    person: SignedIn,
    form: Fields,
) -> Result<Redirect, Problem> {
    person.must_be(Role::Reviewer)?;
    let id = id.parse::<CanaryId>().map_err(|_| Problem::not_found(NO_SUCH))?;
    let page = link::canary(id);
    let Form(fields) = form.map_err(|error| Problem::bad_form(&error).shown_with_fitting_notice(&page))?;
    let posted = Posted { fields: Arc::new(fields), sentence: None };
    let again = |problem: Problem| problem.back_to(&page, "To the canary").shown_with(&page, posted.fields.clone());
    let done = match posted.get("form") {
        Some("run") => state.store.run_canary(id, RunCause::Person, &person.actor).await.map(|_| Notice::CanaryStarted),
        Some("save") => {
            person.must_be(Role::Admin).map_err(again)?;
            let input = input_of(&posted).map_err(|error| again(Problem::invalid(&error)))?;
            state.store.save_canary(Some(id), &input, &person.actor).await.map(|_| Notice::CanarySaved)
        }
        _ => return Err(again(Problem::invalid(&FieldError::new("form", "must be one of the forms of this page")))),
    };
    let notice = done.map_err(|error| again(Problem::of_store(&state, error)))?;
    Ok(Redirect::to(&with_notice(&page, notice)))
}

/// `GET /canaries/{id}/export`: one canary as the fixture that imports it.
///
/// # Errors
/// 401, 403; 404 no such canary.
pub async fn export(
    State(state): State<AppState>,
    Path(id): Path<String>,
    person: SignedIn,
) -> Result<Response, Problem> {
    person.must_be(Role::Reviewer)?;
    let id = id.parse::<CanaryId>().map_err(|_| Problem::not_found(NO_SUCH))?;
    let found = state.store.find_canary(id, None, 0).await.map_err(|error| Problem::of_store(&state, error))?;
    let found = found.ok_or_else(|| Problem::not_found(NO_SUCH))?;
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("content-disposition", format!("attachment; filename=\"canary-{id}.json\"")),
    ];
    Ok((headers, write_fixture(&[found.canary.input])).into_response())
}

fn input_of(posted: &Posted) -> Result<CanaryInput, FieldError> {
    let text = |name: &str| posted.get(name).unwrap_or_default().to_owned();
    let every = text("every_seconds");
    let payload = serde_json::from_str::<RawJson>(&text("payload"))
        .map_err(|error| FieldError::new("payload", format!("must be JSON: {error}")))?;
    let not_a_number = |_| FieldError::new("every_seconds", "must be a number of seconds, or nothing");
    CanaryText {
        name: text("name"),
        kind: text("kind"),
        source: text("source"),
        payload: Some(payload),
        reason_code: text("reason_code").trim().to_owned(),
        field: Some(text("field").trim().to_owned()),
        every_seconds: match every.trim() {
            "" => None,
            every => Some(every.parse().map_err(not_a_number)?),
        },
        enabled: posted.get("enabled").is_some(),
    }
    .checked()
}
