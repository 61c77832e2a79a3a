//! What people do with alerts: acknowledge one, choose what a source is compared with.

use super::letters::note;
use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::{Problem, with_notice};
use app::api::Posted;
use app::components::link;
use app::model::FieldError;
use app::model::ids::AlertId;
use app::model::people::Role;
use app::pages::notice::Notice;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::response::Redirect;
use chrono::NaiveDate;
use std::sync::Arc;

/// `POST /alerts`: reviewers acknowledge, admins pin a baseline or give it up.
///
/// # Errors
/// 401, 403; 404 no such alert; 409 it closed meanwhile; 422 naming the field.
pub async fn post(
    State(state): State<AppState>,
    person: SignedIn,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Redirect, Problem> {
    let page = link::ALERTS;
    person.must_be(Role::Reviewer).map_err(|problem| problem.shown_with_fitting_notice(page))?;
    let Form(fields) = form.map_err(|error| Problem::bad_form(&error).shown_with_fitting_notice(page))?;
    let posted = Posted { fields: Arc::new(fields), sentence: None };
    let again = |problem: Problem| problem.back_to(page, "To the alerts").shown_with(page, posted.fields.clone());
    let invalid = |error: FieldError| again(Problem::invalid(&error));
    let done = match posted.get("form") {
        Some("acknowledge") => {
            let id = posted.get("id").and_then(|id| id.parse::<AlertId>().ok());
            let id = id.ok_or_else(|| Problem::not_found("There is no such alert."))?;
            let hours = posted.get("hours").and_then(|hours| hours.trim().parse::<i64>().ok());
            let hours = hours.ok_or_else(|| invalid(FieldError::new("hours", "must be a whole number")))?;
            let note = note(posted.get("note")).map_err(invalid)?;
            let done = state.store.acknowledge_alert(id, hours, note.as_deref(), &person.actor).await;
            done.map(|()| Notice::AlertKnown)
        }
        Some("pin" | "unpin") => {
            person.must_be(Role::Admin).map_err(again)?;
            let days = match posted.get("form") {
                Some("pin") => Some(pinned_days(&posted).map_err(invalid)?),
                _ => None,
            };
            let source = posted.get("source").unwrap_or_default();
            state.store.pin_baseline(source, days, &person.actor).await.map(|()| Notice::BaselineChosen)
        }
        _ => return Err(invalid(FieldError::new("form", "must be one of the forms of this page"))),
    };
    let notice = done.map_err(|error| again(Problem::of_store(&state, error)))?;
    Ok(Redirect::to(&with_notice(page, notice)))
}

fn pinned_days(posted: &Posted) -> Result<(NaiveDate, NaiveDate), FieldError> {
    let day = |name: &str| {
        let text = posted.get(name).unwrap_or_default();
        text.parse::<NaiveDate>().map_err(|_| FieldError::new(name, "must be a day such as 2026-11-30"))
    };
    Ok((day("from")?, day("to")?))
}
