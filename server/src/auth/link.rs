//! A user chooses a password by the one-time link that an admin made for them.

use super::password;
use super::secret::sha256_hex;
use super::session::Sender;
use super::sign_in::start_session;
use super::throttle::Throttle;
use crate::state::AppState;
use crate::web::problem::Problem;
use app::error::StoreError;
use app::pages::notice::Notice;
use axum::extract::rejection::FormRejection;
use axum::extract::{Extension, Form, State};
use axum::response::Response;
use http::HeaderMap;
use serde::Deserialize;

/// What the form posts.
#[derive(Deserialize)]
pub struct PasswordForm {
    token: String,
    password: String,
}

/// `POST /password`: uses up the link, and signs in.
///
/// # Errors
/// 409 when the link is wrong, used or too old, 422 when the password breaks
/// the rule, 429 after too many tries from one address.
pub async fn set_password(
    State(state): State<AppState>,
    Extension(throttle): Extension<Throttle>,
    sender: Sender,
    headers: HeaderMap,
    form: Result<Form<PasswordForm>, FormRejection>,
) -> Result<Response, Problem> {
    let Form(form) = form.map_err(|e| Problem::bad_form(&e))?;
    let token: String = url::form_urlencoded::byte_serialize(form.token.as_bytes()).collect();
    let page = format!("/password?token={token}");
    let link_sha256 = sha256_hex(&form.token);
    password::check_rule(&form.password)
        .map_err(|e| Problem::invalid(&e).back_to(&page, "Try again").shown_on(&page, Notice::PasswordRefused))?;
    throttle.attempt(&link_sha256, sender.address).map_err(|slow| {
        Problem::too_many_sign_ins("/", slow.retry_after_seconds).shown_on(&page, Notice::SignInSlowedDown)
    })?;
    let hash = password::hash(form.password).await.map_err(|e| {
        tracing::error!("{e}");
        Problem::internal()
    })?;
    let nobody_yet = sender.actor("set-up link");
    match state.store.use_set_up_link(&link_sha256, &hash, &nobody_yet).await {
        Ok(viewer) => {
            throttle.succeeded(&link_sha256, sender.address);
            start_session(&state, viewer.user_id, &viewer.name, &sender, &headers, "/").await
        }
        Err(StoreError::Conflict(sentence)) => {
            Err(Problem::conflict(format!("{sentence}. Ask an admin for a new one."))
                .back_to("/login", "Sign in")
                .shown_on("/password", Notice::LinkRefused))
        }
        Err(error) => Err(Problem::of_store(&state, error)),
    }
}
