//! One's own sessions and password.

use super::back_with_notice;
use crate::auth::password;
use crate::auth::session::{SignedIn, session_sha256};
use crate::auth::throttle::Throttle;
use crate::state::AppState;
use crate::web::problem::{Problem, with_notice};
use app::model::audit::Noted;
use app::model::people::MAX_PASSWORD_CHARACTERS;
use app::pages::notice::Notice;
use axum::extract::rejection::FormRejection;
use axum::extract::{Extension, Form, State};
use axum::response::Redirect;
use http::HeaderMap;
use serde::Deserialize;
use std::net::IpAddr;

const PAGE: &str = "/account";

/// What the password form posts.
#[derive(Deserialize)]
pub struct PasswordForm {
    current: String,
    password: String,
}

/// `POST /account/password`. The current password is asked for, and guesses at
/// it are bounded like sign-ins: an open browser is not yet its owner.
///
/// # Errors
/// 401; 409 the current password is wrong, or changed meanwhile; 422 the new
/// one breaks the rule; 429 after too many tries.
pub async fn change_password(
    State(state): State<AppState>,
    Extension(throttle): Extension<Throttle>,
    person: SignedIn,
    headers: HeaderMap,
    form: Result<Form<PasswordForm>, FormRejection>,
) -> Result<Redirect, Problem> {
    let on_page = |problem: Problem| problem.back_to(PAGE, "Back").shown_with_fitting_notice(PAGE);
    let of_store = |error| on_page(Problem::of_store(&state, error));
    let Form(form) = form.map_err(|e| on_page(Problem::bad_form(&e)))?;
    password::check_rule(&form.password).map_err(|e| Problem::invalid(&e).shown_on(PAGE, Notice::PasswordRefused))?;
    let name = &person.viewer.name;
    let address: Option<IpAddr> = person.actor.address.as_deref().and_then(|address| address.parse().ok());
    throttle.attempt(name, address).map_err(|slow| {
        Problem::too_many_sign_ins(PAGE, slow.retry_after_seconds).shown_on(PAGE, Notice::SignInSlowedDown)
    })?;
    let user = state.store.find_user(name).await.map_err(of_store)?.ok_or_else(Problem::session_ended)?;
    let short_enough = form.current.len() <= 4 * MAX_PASSWORD_CHARACTERS;
    let fits = password::verify(form.current, Some(user.password_hash.clone()).filter(|_| short_enough)).await;
    if !fits {
        let noted = Noted::PasswordChangeFailed { user: name.clone() };
        state.store.note(&noted, &person.actor).await.map_err(of_store)?;
        return Err(Problem::conflict("The current password is wrong, so nothing was changed.")
            .back_to(PAGE, "Back")
            .shown_on(PAGE, Notice::PasswordWrong));
    }
    throttle.succeeded(name, address);
    let hash = password::hash(form.password).await.map_err(|e| {
        tracing::error!("{e}");
        Problem::internal()
    })?;
    let kept = session_sha256(&headers, &state.config).unwrap_or_default();
    let changing = state.store.change_password(user.id, &user.password_hash, &hash, &kept, &person.actor);
    changing.await.map_err(|e| Problem::of_store(&state, e).back_to(PAGE, "Back"))?;
    Ok(back_with_notice(None, PAGE, Notice::PasswordChanged))
}

/// What the buttons beside sessions post.
#[derive(Deserialize)]
pub struct EndForm {
    session: Option<String>,
}

/// `POST /account/sessions/end`: one of one's own sessions, or all of them.
///
/// # Errors
/// 401; 404 it has ended already.
pub async fn end_sessions(
    State(state): State<AppState>,
    person: SignedIn,
    form: Result<Form<EndForm>, FormRejection>,
) -> Result<Redirect, Problem> {
    let Form(form) = form.map_err(|e| Problem::bad_form(&e).back_to(PAGE, "Back").shown_with_fitting_notice(PAGE))?;
    let ending = state.store.revoke_sessions(&person.viewer.name, form.session.as_deref(), &person.actor);
    let ended = ending.await.map_err(|e| Problem::of_store(&state, e).back_to(PAGE, "Back"))?;
    match (&form.session, ended) {
        (None, _) => Ok(Redirect::to(&with_notice("/login", Notice::SignedOut))),
        (Some(_), 0) => Err(Problem::not_found("This session has ended already.").back_to(PAGE, "Back")),
        // Whoever ended this very session is led to the sign-in from there.
        (Some(_), _) => Ok(back_with_notice(None, PAGE, Notice::SessionsEnded)),
    }
}
