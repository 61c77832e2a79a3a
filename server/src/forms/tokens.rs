//! Bearer tokens of workers and scripts. For admins.

use super::back_with_notice;
use crate::auth::secret::Secret;
use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::Problem;
use crate::web::shown_once::ShownOnce;
use app::api::Once;
use app::error::StoreError;
use app::model::FieldError;
use app::model::ids::TokenId;
use app::model::name::Name;
use app::model::people::{Role, Scope};
use app::pages::notice::Notice;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::response::Redirect;
use serde::Deserialize;

const PAGE: &str = "/settings/tokens";

/// What the form for a new token posts: a name, and a box per scope.
#[derive(Deserialize)]
pub struct AddForm {
    name: String,
    enqueue: Option<String>,
    work: Option<String>,
    read: Option<String>,
    review: Option<String>,
    admin: Option<String>,
}

impl AddForm {
    fn scopes(&self) -> Vec<Scope> {
        let is_ticked = |scope: &Scope| match scope {
            Scope::Enqueue => self.enqueue.is_some(),
            Scope::Work => self.work.is_some(),
            Scope::Read => self.read.is_some(),
            Scope::Review => self.review.is_some(),
            Scope::Admin => self.admin.is_some(),
        };
        Scope::ALL.into_iter().filter(is_ticked).collect()
    }
}

/// `POST /settings/tokens/add`: the answer shows the token, once.
///
/// # Errors
/// 401, 403; 409 the name is taken; 422 naming the field.
pub async fn add(
    State(state): State<AppState>,
    person: SignedIn,
    form: Result<Form<AddForm>, FormRejection>,
) -> Result<ShownOnce, Problem> {
    let on_page = |problem: Problem| problem.back_to(PAGE, "Back").shown_with_fitting_notice(PAGE);
    person.must_be(Role::Admin).map_err(on_page)?;
    let Form(form) = form.map_err(|e| on_page(Problem::bad_form(&e)))?;
    let name = Name::new("name", form.name.trim())
        .map_err(|e| Problem::invalid(&e).back_to(PAGE, "Back").shown_on(PAGE, Notice::NameRefused))?;
    let scopes = form.scopes();
    if scopes.is_empty() {
        return Err(on_page(Problem::invalid(&FieldError::new("scopes", "must name at least one"))));
    }
    let secret = Secret::random_with_prefix("drb_");
    let sha256 = secret.sha256();
    let adding = state.store.add_token(&name, &scopes, &sha256, &person.actor);
    adding.await.map_err(|error| match error {
        StoreError::Conflict(_) => {
            Problem::of_store(&state, error).back_to(PAGE, "Back").shown_on(PAGE, Notice::NameTaken)
        }
        error => on_page(Problem::of_store(&state, error)),
    })?;
    let once = Once::Token { name: name.as_str().to_owned(), secret: secret.expose().to_owned() };
    Ok(ShownOnce { page: PAGE.to_owned(), once })
}

/// What a revoke button posts.
#[derive(Deserialize)]
pub struct RevokeForm {
    id: String,
}

/// `POST /settings/tokens/revoke`: for good, and at once.
///
/// # Errors
/// 401, 403; 404 there is none that works.
pub async fn revoke(
    State(state): State<AppState>,
    person: SignedIn,
    form: Result<Form<RevokeForm>, FormRejection>,
) -> Result<Redirect, Problem> {
    let on_page = |problem: Problem| problem.back_to(PAGE, "Back").shown_with_fitting_notice(PAGE);
    person.must_be(Role::Admin).map_err(on_page)?;
    let Form(form) = form.map_err(|e| on_page(Problem::bad_form(&e)))?;
    let Ok(id) = form.id.parse::<TokenId>() else {
        return Err(Problem::not_found("There is no such token.").back_to(PAGE, "Back"));
    };
    state.store.revoke_token(id, &person.actor).await.map_err(|e| on_page(Problem::of_store(&state, e)))?;
    Ok(back_with_notice(None, PAGE, Notice::TokenRevoked))
}
