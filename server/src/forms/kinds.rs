//! Pausing a kind and letting it go on.

use super::{back_with_notice, way_back};
use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::Problem;
use app::model::FieldError;
use app::model::name::Name;
use app::model::people::Role;
use app::model::policy::Change;
use app::pages::notice::Notice;
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
    let home = "/";
    person.must_be(Role::Admin).map_err(|problem| problem.shown_with_fitting_notice(home))?;
    let Form(form) = form.map_err(|e| Problem::bad_form(&e).shown_with_fitting_notice(home))?;
    let page = way_back(form.next.as_deref(), home);
    let on_page = |problem: Problem| problem.back_to(&page, "Back").shown_with_fitting_notice(&page);
    let kind = Name::new("kind", &form.kind).map_err(|e| on_page(Problem::invalid(&e)))?;
    let (paused, notice) = match form.paused.as_str() {
        "true" => (true, Notice::Paused),
        "false" => (false, Notice::Resumed),
        _ => return Err(on_page(Problem::invalid(&FieldError::new("paused", "must be true or false")))),
    };
    let of_store = |error| on_page(Problem::of_store(&state, error));
    // A change makes a new kind; a button is for one that is there.
    let policies = state.store.list_policies().await.map_err(of_store)?;
    if !policies.iter().any(|policy| policy.kind == kind.as_str()) {
        return Err(Problem::not_found("There is no such kind."));
    }
    let change = Change::from([("paused".to_owned(), Some(paused.into()))]);
    state.store.change_policy(&kind, &change, &person.actor).await.map_err(of_store)?;
    Ok(back_with_notice(form.next.as_deref(), home, notice))
}
