//! The first admin: a link that works once, printed where the operator looks.

use super::password;
use super::secret::{Secret, sha256_hex};
use super::session::Sender;
use super::sign_in::start_session;
use crate::state::AppState;
use crate::web::problem::Problem;
use app::error::StoreError;
use app::model::FieldError;
use app::model::name::Name;
use app::pages::notice::Notice;
use app::store::{Store, Stored};
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::response::Response;
use http::HeaderMap;
use serde::Deserialize;

/// Path and query of a new set-up link, if nobody can sign in yet. Only the
/// secret's hash is stored; an older link stops working.
///
/// # Errors
/// As the store.
pub async fn prepare(store: &dyn Store) -> Stored<Option<String>> {
    if store.count_users().await? > 0 {
        return Ok(None);
    }
    let secret = Secret::random();
    store.put_setup_secret(&secret.sha256()).await?;
    Ok(Some(format!("/setup?token={}", secret.expose())))
}

/// What the set-up form posts.
#[derive(Deserialize)]
pub struct SetUpForm {
    token: String,
    username: String,
    password: String,
}

/// `POST /setup`: uses up the link to make the first admin, and signs in.
///
/// # Errors
/// 409 when the link is wrong or used, 422 when name or password break a rule.
pub async fn set_up(
    State(state): State<AppState>,
    sender: Sender,
    headers: HeaderMap,
    form: Result<Form<SetUpForm>, FormRejection>,
) -> Result<Response, Problem> {
    let Form(form) = form.map_err(|e| Problem::bad_form(&e))?;
    let token: String = url::form_urlencoded::byte_serialize(form.token.as_bytes()).collect();
    let page = format!("/setup?token={token}");
    let refused =
        |error: FieldError, notice| Problem::invalid(&error).back_to(&page, "Try again").shown_on(&page, notice);
    let name = Name::of_user("username", form.username.trim()).map_err(|e| refused(e, Notice::NameRefused))?;
    password::check_rule(&form.password).map_err(|e| refused(e, Notice::PasswordRefused))?;
    // Cheap look first, so that guessing links does not buy expensive hashing.
    if state.store.count_users().await.map_err(|e| Problem::of_store(&state, e))? > 0 {
        return Err(link_is_used());
    }
    let hash = password::hash(form.password).await.map_err(|e| {
        tracing::error!("{e}");
        Problem::internal()
    })?;
    let actor = sender.actor(name.as_str());
    match state.store.use_setup_secret(&sha256_hex(&form.token), &name, &hash, &actor).await {
        Ok(user) => start_session(&state, user, name.as_str(), &sender, &headers, "/").await,
        Err(StoreError::Conflict(_)) => Err(link_is_used()),
        Err(error) => Err(Problem::of_store(&state, error)),
    }
}

fn link_is_used() -> Problem {
    Problem::conflict(
        "This set-up link is wrong or was used already. If nobody can sign in, restart the server: it prints a new one.",
    )
    .back_to("/login", "Sign in")
    .shown_on("/setup", Notice::SetUpRefused)
}
