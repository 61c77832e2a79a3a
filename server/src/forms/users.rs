//! Users: added with a set-up link, changed, and their sessions ended. For admins.

use super::back_with_notice;
use crate::auth::secret::Secret;
use crate::auth::session::SignedIn;
use crate::state::AppState;
use crate::web::problem::Problem;
use crate::web::shown_once::ShownOnce;
use app::api::Once;
use app::error::StoreError;
use app::model::FieldError;
use app::model::name::Name;
use app::model::people::Role;
use app::pages::notice::Notice;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::response::Redirect;
use http::HeaderMap;
use http::header::ORIGIN;
use serde::Deserialize;

const LIST: &str = "/settings";

/// What the form for a new user posts.
#[derive(Deserialize)]
pub struct AddForm {
    name: String,
    role: String,
}

/// `POST /settings/users/add`: the answer shows the set-up link, once.
///
/// # Errors
/// 401, 403; 409 the name is taken; 422 naming the field.
pub async fn add(
    State(state): State<AppState>,
    person: SignedIn,
    headers: HeaderMap,
    form: Result<Form<AddForm>, FormRejection>,
) -> Result<ShownOnce, Problem> {
    let on_page = |problem: Problem| problem.back_to(LIST, "Back").shown_with_fitting_notice(LIST);
    person.must_be(Role::Admin).map_err(on_page)?;
    let Form(form) = form.map_err(|e| on_page(Problem::bad_form(&e)))?;
    let name = Name::new("name", form.name.trim())
        .map_err(|e| Problem::invalid(&e).back_to(LIST, "Back").shown_on(LIST, Notice::NameRefused))?;
    let role = role(&form.role).map_err(|e| on_page(Problem::invalid(&e)))?;
    let secret = Secret::random();
    let sha256 = secret.sha256();
    let adding = state.store.invite_user(&name, role, &sha256, &person.actor);
    adding.await.map_err(|error| match error {
        StoreError::Conflict(_) => {
            Problem::of_store(&state, error).back_to(LIST, "Back").shown_on(LIST, Notice::NameTaken)
        }
        error => on_page(Problem::of_store(&state, error)),
    })?;
    let once = Once::SetUpLink { user: name.as_str().to_owned(), link: link(&headers, &secret) };
    Ok(ShownOnce { page: LIST.to_owned(), once })
}

/// What the forms on a user's page post.
#[derive(Deserialize)]
pub struct ChangeForm {
    name: String,
    role: Option<String>,
    disabled: Option<String>,
}

/// `POST /settings/users/change`: the role, or whether they may sign in. Ends
/// their sessions.
///
/// # Errors
/// 401, 403; 404 no such user; 409 the last admin stays; 422 naming the field.
pub async fn change(
    State(state): State<AppState>,
    person: SignedIn,
    form: Result<Form<ChangeForm>, FormRejection>,
) -> Result<Redirect, Problem> {
    let on_list = |problem: Problem| problem.back_to(LIST, "Back").shown_with_fitting_notice(LIST);
    person.must_be(Role::Admin).map_err(on_list)?;
    let Form(form) = form.map_err(|e| on_list(Problem::bad_form(&e)))?;
    let page = user_page(&form.name);
    let on_page = |problem: Problem| problem.back_to(&page, "Back").shown_with_fitting_notice(&page);
    let role = form.role.as_deref().map(role).transpose().map_err(|e| on_page(Problem::invalid(&e)))?;
    let disabled = match form.disabled.as_deref() {
        None => None,
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(_) => return Err(on_page(Problem::invalid(&FieldError::new("disabled", "must be true or false")))),
    };
    if role.is_none() && disabled.is_none() {
        return Err(on_page(Problem::invalid(&FieldError::new("role", "or disabled must be given"))));
    }
    let changing = state.store.change_user(&form.name, role, disabled, &person.actor);
    changing.await.map_err(|error| match error {
        StoreError::Conflict(_) => {
            Problem::of_store(&state, error).back_to(&page, "Back").shown_on(&page, Notice::LastAdmin)
        }
        error => on_page(Problem::of_store(&state, error)),
    })?;
    Ok(back_with_notice(None, &page, Notice::UserChanged))
}

/// What a form that names a user posts.
#[derive(Deserialize)]
pub struct UserForm {
    name: String,
    session: Option<String>,
}

/// `POST /settings/users/link`: a new set-up link; the answer shows it, once.
///
/// # Errors
/// 401, 403; 404 no such user.
pub async fn make_link(
    State(state): State<AppState>,
    person: SignedIn,
    headers: HeaderMap,
    form: Result<Form<UserForm>, FormRejection>,
) -> Result<ShownOnce, Problem> {
    let on_list = |problem: Problem| problem.back_to(LIST, "Back").shown_with_fitting_notice(LIST);
    person.must_be(Role::Admin).map_err(on_list)?;
    let Form(form) = form.map_err(|e| on_list(Problem::bad_form(&e)))?;
    let secret = Secret::random();
    let sha256 = secret.sha256();
    let making = state.store.put_set_up_link(&form.name, &sha256, &person.actor);
    making.await.map_err(|e| on_list(Problem::of_store(&state, e)))?;
    let page = user_page(&form.name);
    Ok(ShownOnce { page, once: Once::SetUpLink { link: link(&headers, &secret), user: form.name } })
}

/// `POST /settings/users/sessions/end`: one session of a user, or all.
///
/// # Errors
/// 401, 403; 404 there is none any more.
pub async fn end_sessions(
    State(state): State<AppState>,
    person: SignedIn,
    form: Result<Form<UserForm>, FormRejection>,
) -> Result<Redirect, Problem> {
    let on_list = |problem: Problem| problem.back_to(LIST, "Back").shown_with_fitting_notice(LIST);
    person.must_be(Role::Admin).map_err(on_list)?;
    let Form(form) = form.map_err(|e| on_list(Problem::bad_form(&e)))?;
    let page = user_page(&form.name);
    let ending = state.store.revoke_sessions(&form.name, form.session.as_deref(), &person.actor);
    match ending.await.map_err(|e| on_list(Problem::of_store(&state, e)))? {
        0 => Err(Problem::not_found("There is no such session any more.").back_to(&page, "Back")),
        _ => Ok(back_with_notice(None, &page, Notice::SessionsEnded)),
    }
}

fn role(word: &str) -> Result<Role, FieldError> {
    let rule = || format!("must be one of {}", Role::ALL.map(Role::as_str).join(", "));
    Role::from_word(word).ok_or_else(|| FieldError::new("role", rule()))
}

fn user_page(name: &str) -> String {
    let name: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    format!("/settings/user?name={name}")
}

/// The whole link where the browser says which site it is on, else its path.
fn link(headers: &HeaderMap, secret: &Secret) -> String {
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    let origin = origin.filter(|origin| origin.starts_with("http://") || origin.starts_with("https://"));
    format!("{}/password?token={}", origin.unwrap_or_default(), secret.expose())
}
