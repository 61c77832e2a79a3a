//! What a person does about a notice: marks it as sent, or lets it be tried again.

use super::letters::note;
use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::{Problem, with_notice};
use app::model::FieldError;
use app::model::ids::NoticeId;
use app::model::people::Role;
use app::pages::notice::Notice;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::response::Redirect;
use serde::Deserialize;
use std::sync::Arc;

/// What the buttons of a notice post.
#[derive(Deserialize)]
pub struct NoticeForm {
    action: String,
    note: Option<String>,
}

/// `POST /outbox/{id}`, the page's own address.
///
/// # Errors
/// 401, 403; 404 no such notice; 409 it is sent, or being sent; 422 naming the
/// field. All but 401 and 404 show the page again with what was typed.
pub async fn post(
    State(state): State<AppState>,
    Path(id): Path<String>,
    person: SignedIn,
    form: Result<Form<NoticeForm>, FormRejection>,
) -> Result<Redirect, Problem> {
    let Ok(id) = id.parse::<NoticeId>() else { return Err(Problem::not_found("There is no such notice.")) };
    let page = format!("/outbox/{id}");
    let back = |problem: Problem| problem.back_to(&page, "To the notice as it stands now");
    person.must_be(Role::Reviewer).map_err(|problem| back(problem).shown_with_fitting_notice(&page))?;
    let Form(form) = form.map_err(|error| back(Problem::bad_form(&error)).shown_with_fitting_notice(&page))?;
    let typed = Arc::new(vec![("note".to_owned(), form.note.clone().unwrap_or_default())]);
    let again = |problem: Problem| back(problem).shown_with(&page, typed.clone());
    let done = match form.action.as_str() {
        "sent" => {
            let note = note(form.note.as_deref()).map_err(|error| again(Problem::invalid(&error)))?;
            state.store.mark_notice_sent(id, note.as_deref(), &person.actor).await.map(|()| Notice::NoticeSent)
        }
        "hurry" => state.store.hurry_notice(id, &person.actor).await.map(|()| Notice::NoticeHurried),
        _ => return Err(again(Problem::invalid(&FieldError::new("action", "must be sent or hurry")))),
    };
    let notice = done.map_err(|error| again(Problem::of_store(&state, error)))?;
    Ok(Redirect::to(&with_notice(&page, notice)))
}
