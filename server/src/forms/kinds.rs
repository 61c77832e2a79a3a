//! Pausing a kind and letting it go on.

use super::back_with_notice;
use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::Problem;
use app::model::FieldError;
use app::model::name::Name;
use app::model::people::Role;
use app::model::policy::Change;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::response::Redirect;
use serde::Deserialize;

/// What the pause button posts.
#[derive(Deserialize)]
pub struct PauseForm {
    kind: String,
    paused: String,
    next: Option<String>,
}

/// `POST /kinds/pause`.
///
/// # Errors
/// 401, 403; 404 no such kind; 422 naming the field.
pub async fn pause(
    State(state): State<AppState>,
    person: SignedIn,
    form: Result<Form<PauseForm>, FormRejection>,
) -> Result<Redirect, Problem> {
    person.must_be(Role::Admin)?;
    let Form(form) = form.map_err(|e| Problem::bad_form(&e))?;
    let kind = Name::new("kind", &form.kind).map_err(|e| Problem::invalid(&e))?;
    let (paused, notice) = match form.paused.as_str() {
        "true" => (true, "paused"),
        "false" => (false, "resumed"),
        _ => return Err(Problem::invalid(&FieldError::new("paused", "must be true or false"))),
    };
    // A change makes a new kind; a button is for one that is there.
    let policies = state.store.list_policies().await.map_err(|e| Problem::of_store(&state, e))?;
    if !policies.iter().any(|policy| policy.kind == kind.as_str()) {
        return Err(Problem::not_found("There is no such kind."));
    }
    let change = Change::from([("paused".to_owned(), Some(paused.into()))]);
    state.store.change_policy(&kind, &change, &person.actor).await.map_err(|e| Problem::of_store(&state, e))?;
    Ok(back_with_notice(form.next.as_deref(), "/", notice))
}
