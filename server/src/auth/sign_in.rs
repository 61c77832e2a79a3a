//! Signing in and out.

use super::password;
use super::secret::Secret;
use super::session::{Sender, cleared_cookie, local_path, look_up, session_cookie, session_sha256};
use super::throttle::Throttle;
use crate::state::AppState;
use crate::web::problem::{Problem, with_notice};
use app::model::audit::Noted;
use app::model::ids::UserId;
use app::model::name::MAX_NAME_CHARACTERS;
use app::model::people::MAX_PASSWORD_CHARACTERS;
use app::model::text::clean;
use app::pages::notice::Notice;
use app::store::Stored;
use axum::extract::rejection::FormRejection;
use axum::extract::{Extension, Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use http::HeaderMap;
use http::header::SET_COOKIE;
use serde::Deserialize;

/// What the sign-in form posts.
#[derive(Deserialize)]
pub struct SignInForm {
    username: String,
    password: String,
    next: Option<String>,
}

/// `POST /login`. A wrong name, a wrong password and a disabled user take the
/// same time and get the same answer.
///
/// # Errors
/// 401 when they do not fit, 422 when a field is missing, 429 after too many tries.
pub async fn sign_in(
    State(state): State<AppState>,
    Extension(throttle): Extension<Throttle>,
    sender: Sender,
    headers: HeaderMap,
    form: Result<Form<SignInForm>, FormRejection>,
) -> Result<Response, Problem> {
    let Form(form) = form.map_err(|e| Problem::bad_form(&e))?;
    let next = local_path(form.next.as_deref());
    throttle.attempt(&form.username, sender.address).map_err(|too_many| {
        tracing::warn!(user = ?form.username, address = ?sender.address, "too many sign-ins");
        Problem::too_many_sign_ins(&next, too_many.retry_after_seconds)
    })?;
    let user = state.store.find_user(&form.username).await.map_err(|e| Problem::of_store(&state, e))?;
    let user = user.filter(|_| form.password.len() <= 4 * MAX_PASSWORD_CHARACTERS);
    let hash = user.as_ref().map(|user| user.password_hash.clone()).filter(|hash| !hash.is_empty());
    let fits = password::verify(form.password, hash).await;
    let Some(user) = user.filter(|user| fits && !user.disabled) else {
        tracing::warn!(user = ?form.username, address = ?sender.address, "sign-in refused");
        note_failed(&state, &form.username, &sender).await.map_err(|e| Problem::of_store(&state, e))?;
        return Err(Problem::sign_in_refused(&next));
    };
    throttle.succeeded(&form.username, sender.address);
    start_session(&state, user.id, &user.name, &sender, &headers, &next).await
}

/// Keeps a failed sign-in in the audit. Only those that the throttle let
/// through come here, so that a stranger cannot fill the table.
async fn note_failed(state: &AppState, typed: &str, sender: &Sender) -> Stored<()> {
    let user: String = clean(typed).chars().take(MAX_NAME_CHARACTERS).collect();
    state.store.note(&Noted::SignInFailed { user: user.clone() }, &sender.actor(&user)).await
}

/// Starts a session under a new id, ends the one that the browser had before,
/// and leads to `next`.
///
/// # Errors
/// 503 when the database is away.
pub async fn start_session(
    state: &AppState,
    user: UserId,
    name: &str,
    sender: &Sender,
    headers: &HeaderMap,
    next: &str,
) -> Result<Response, Problem> {
    let session = Secret::random();
    let started = state.store.start_session(user, &session.sha256(), &sender.actor(name)).await;
    started.map_err(|e| Problem::of_store(state, e))?;
    if let Some(old) = session_sha256(headers, &state.config) {
        state.store.end_session(&old, &sender.actor(name)).await.map_err(|e| Problem::of_store(state, e))?;
        state.sessions.confirmed(&old, None);
    }
    let mut response = Redirect::to(next).into_response();
    response.headers_mut().append(SET_COOKIE, session_cookie(&state.config, &session));
    Ok(response)
}

/// `POST /logout`: ends the session, everywhere and at once. Without one there
/// is nothing to end, which is what was wanted.
///
/// # Errors
/// 503 when the database is away: the session would live on.
pub async fn sign_out(State(state): State<AppState>, sender: Sender, headers: HeaderMap) -> Result<Response, Problem> {
    if let Some(session) = session_sha256(&headers, &state.config) {
        let of_store = |error| Problem::of_store(&state, error);
        // One that ran out by itself is nobody's act; its row goes with the purge.
        if let Some(viewer) = look_up(&state, &session, false).await.map_err(of_store)? {
            state.store.end_session(&session, &sender.actor_of(&viewer)).await.map_err(of_store)?;
        }
        state.sessions.confirmed(&session, None);
    }
    let mut response = Redirect::to(&with_notice("/login", Notice::SignedOut)).into_response();
    response.headers_mut().append(SET_COOKIE, cleared_cookie(&state.config));
    Ok(response)
}
