//! Saying that a follow-up is done: its owner, or whoever acts on dead letters.

use super::letters::note;
use super::{back_with_notice, way_back};
use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::Problem;
use app::model::FieldError;
use app::model::ids::FollowUpId;
use app::model::people::Role;
use app::pages::notice::Notice;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::response::Redirect;
use serde::Deserialize;
use std::sync::Arc;

const HOME: &str = "/follow-ups";

/// What the button *Done* posts.
#[derive(Deserialize)]
pub struct DoneForm {
    id: String,
    note: Option<String>,
    next: Option<String>,
}

/// `POST /follow-ups`, the page's own address.
///
/// # Errors
/// 401; 403 for whoever neither owns it nor acts on letters; 404 no such
/// follow-up; 409 it is done already; 422 naming the field.
pub async fn post(
    State(state): State<AppState>,
    person: SignedIn,
    form: Result<Form<DoneForm>, FormRejection>,
) -> Result<Redirect, Problem> {
    let Form(form) = match form {
        Ok(form) => form,
        Err(error) => {
            person.must_be(Role::Reviewer).map_err(|problem| problem.shown_with_fitting_notice(HOME))?;
            return Err(Problem::bad_form(&error).shown_with_fitting_notice(HOME));
        }
    };
    let page = way_back(form.next.as_deref(), HOME);
    let typed = vec![("id".to_owned(), form.id.clone()), ("note".to_owned(), form.note.clone().unwrap_or_default())];
    let typed = Arc::new(typed);
    let again = |problem: Problem| problem.back_to(&page, "To the follow-ups").shown_with(&page, typed.clone());
    let found = match form.id.parse::<FollowUpId>() {
        Err(_) => None,
        Ok(id) => state.store.find_follow_up(id).await.map_err(|error| again(Problem::of_store(&state, error)))?,
    };
    // Whoever may not do it is not told which there are.
    if !found.as_ref().is_some_and(|found| found.may_be_done_by(&person.viewer)) {
        person.must_be(Role::Reviewer).map_err(|problem| problem.shown_with_fitting_notice(&page))?;
    }
    let found = found.ok_or_else(|| Problem::not_found("There is no such follow-up."))?;
    let note = note(form.note.as_deref()).map_err(|error: FieldError| again(Problem::invalid(&error)))?;
    let done = state.store.finish_follow_up(found.id, note.as_deref(), &person.actor).await;
    done.map_err(|error| again(Problem::of_store(&state, error)))?;
    Ok(back_with_notice(form.next.as_deref(), HOME, Notice::FollowUpDone))
}
