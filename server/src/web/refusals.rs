//! Keeps in the audit what a signed-in person was refused for their role,
//! whichever page or form refused it.

use crate::auth::session::{Sender, look_up, session_sha256};
use crate::state::AppState;
use app::error::StoreError;
use app::model::audit::Noted;
use app::model::text::clean;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::StatusCode;

/// Around pages and forms. The path is kept without its query, which may hold a secret.
pub async fn keep(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let session = session_sha256(request.headers(), &state.config);
    let (parts, body) = request.into_parts();
    let sender = Sender::of(&parts);
    let noted = Noted::Refused { method: parts.method.to_string(), path: clean(parts.uri.path()).into_owned() };
    let response = next.run(Request::from_parts(parts, body)).await;
    if response.status() == StatusCode::FORBIDDEN
        && let Some(session) = session
        && let Err(error) = note(&state, &session, &sender, &noted).await
    {
        // Nothing was done, so there is nothing to take back.
        tracing::warn!(%error, "a refusal could not be audited");
    }
    response
}

async fn note(state: &AppState, session: &str, sender: &Sender, noted: &Noted) -> Result<(), StoreError> {
    match look_up(state, session, false).await? {
        Some(viewer) => state.store.note(noted, &sender.actor_of(&viewer)).await,
        None => Ok(()),
    }
}
