//! Changing a kind's settings on its page. Whatever comes of it, what was typed
//! comes back.

use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::{Problem, with_notice};
use app::api::Posted;
use app::components::link;
use app::error::StoreError;
use app::model::FieldError;
use app::model::name::Name;
use app::model::people::Role;
use app::model::policy::{Change, KindPolicy};
use app::model::policy_edit::{LIST_SETTINGS, PLAIN_SETTINGS, PolicyEdit, Seen, list_change, plain_change};
use app::pages::notice::Notice;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use std::sync::Arc;

/// Largest form: a list as it is typed, encoded.
pub const MAX_FORM_BYTES: usize = 2 * 1024 * 1024;

/// `POST /policies/kind`.
///
/// # Errors
/// 401, 403; 404 no such kind; 409 who changed it meanwhile; 413; 422 naming the
/// setting and the line.
pub async fn edit(
    State(state): State<AppState>,
    person: SignedIn,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Response, Problem> {
    person.must_be(Role::Admin).map_err(|problem| problem.shown_with_fitting_notice("/policies"))?;
    let Form(fields) = form.map_err(|e| Problem::bad_form(&e).shown_with_fitting_notice("/policies"))?;
    let posted = Posted { fields: Arc::new(fields), sentence: None };
    let kind = Name::new("kind", posted.get("kind").unwrap_or_default())
        .map_err(|e| Problem::invalid(&e).back_to("/policies", "To the policies"))?;
    let page = link::policy(kind.as_str());
    let again = |problem: Problem| problem.back_to(&page, "Back to the form").shown_with(&page, posted.fields.clone());
    let found = state.store.find_policy(kind.as_str()).await.map_err(|e| again(Problem::of_store(&state, e)))?;
    let Some(policy) = found else {
        return Err(Problem::not_found("There is no such kind.").back_to("/policies", "To the policies"));
    };
    let change = change_of(&policy, &posted).map_err(|error| again(Problem::invalid(&error)))?;
    if posted.get("preview").is_some() {
        return Ok(Problem::preview(&page, posted.fields.clone()).into_response());
    }
    let seen: Seen = serde_json::from_str(posted.get("seen").unwrap_or_default())
        .map_err(|_| again(Problem::invalid(&FieldError::new("seen", "must come from the page"))))?;
    match state.store.edit_policy(&kind, &PolicyEdit { change, seen }, &person.actor).await {
        Ok(_) => Ok(Redirect::to(&with_notice(&page, Notice::PolicyChanged)).into_response()),
        // Shown with what is in force now: a second press is one that has seen it.
        Err(error @ StoreError::Conflict(_)) => {
            let fields = posted.fields.iter().filter(|(name, _)| name != "seen").cloned().collect();
            Err(Problem::of_store(&state, error).back_to(&page, "Back to the form").shown_with(&page, Arc::new(fields)))
        }
        Err(error) => Err(again(Problem::of_store(&state, error))),
    }
}

/// What a form of the page changes, checked as every change is.
fn change_of(policy: &KindPolicy, posted: &Posted) -> Result<Change, FieldError> {
    let unknown = |name: &str| FieldError::new(name, "must be one of the forms of this page");
    match posted.get("form") {
        Some("plain") => plain_change(policy, |name| posted.get(name)),
        Some("reset") => {
            let name = posted.get("reset").unwrap_or_default();
            if !PLAIN_SETTINGS.contains(&name) && !LIST_SETTINGS.contains(&name) {
                return Err(unknown("reset"));
            }
            Ok(Change::from([(name.to_owned(), None)]))
        }
        Some(name) if LIST_SETTINGS.contains(&name) => list_change(name, posted.get("text").unwrap_or_default()),
        _ => Err(unknown("form")),
    }
}
