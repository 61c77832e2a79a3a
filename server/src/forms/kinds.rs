//! Pausing a kind and letting it go on; masking fields of its payloads.

use super::{back_with_notice, way_back};
use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::Problem;
use app::model::FieldError;
use app::model::name::Name;
use app::model::people::Role;
use app::model::policy::{Change, checked_change};
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
    let change = Change::from([("paused".to_owned(), Some(paused.into()))]);
    change_known(&state, &kind, &change, &person).await.map_err(on_page)?;
    Ok(back_with_notice(form.next.as_deref(), home, notice))
}

/// What the form of masked fields posts: paths, with commas between.
#[derive(Deserialize)]
pub struct MaskForm {
    kind: String,
    fields: String,
}

/// `POST /kinds/masked-fields`.
///
/// # Errors
/// 401, 403; 404 no such kind; 422 naming the field.
pub async fn mask(
    State(state): State<AppState>,
    person: SignedIn,
    form: Result<Form<MaskForm>, FormRejection>,
) -> Result<Redirect, Problem> {
    let page = "/policies";
    let on_page = |problem: Problem| problem.back_to(page, "Back").shown_with_fitting_notice(page);
    person.must_be(Role::Admin).map_err(on_page)?;
    let Form(form) = form.map_err(|e| on_page(Problem::bad_form(&e)))?;
    let kind = Name::new("kind", &form.kind).map_err(|e| on_page(Problem::invalid(&e)))?;
    let fields: Vec<&str> = form.fields.split(',').map(str::trim).filter(|field| !field.is_empty()).collect();
    let settings = serde_json::Map::from_iter([("masked_fields".to_owned(), serde_json::json!(fields))]);
    // Said in words: which path is wrong is not in any notice.
    let change = checked_change(&settings).map_err(|e| Problem::invalid(&e).back_to(page, "Back"))?;
    change_known(&state, &kind, &change, &person).await.map_err(on_page)?;
    Ok(back_with_notice(None, page, Notice::MasksChanged))
}

/// A change makes a new kind; a button is for one that is there.
async fn change_known(state: &AppState, kind: &Name, change: &Change, person: &SignedIn) -> Result<(), Problem> {
    let of_store = |error| Problem::of_store(state, error);
    if state.store.find_policy(kind.as_str()).await.map_err(of_store)?.is_none() {
        return Err(Problem::not_found("There is no such kind."));
    }
    state.store.change_policy(kind, change, &person.actor).await.map_err(of_store)?;
    Ok(())
}
