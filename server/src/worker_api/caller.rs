//! Who calls: the bearer token of a program, and what it may do.
//!
//! A token has exactly the scopes it lists; none implies another. A browser's
//! session cookie is never looked at here.

use super::PATIENCE;
use super::error::ApiError;
use crate::auth::secret::sha256_hex;
use crate::auth::session::Sender;
use crate::state::AppState;
use app::model::people::{Actor, Role, Scope, Token};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use std::time::Duration;
use tokio::time::Instant;

/// A caller whose token is known. Extracting it answers 401 otherwise.
#[derive(Debug, Clone)]
pub struct Caller {
    token: Token,
    token_sha256: String,
    sender: Sender,
    came_at: Instant,
}

impl Caller {
    /// Demands a scope.
    ///
    /// # Errors
    /// 403 naming the scope, if the token does not list it.
    pub fn require(&self, scope: Scope) -> Result<(), ApiError> {
        if self.token.scopes.contains(&scope) {
            return Ok(());
        }
        tracing::warn!(token = %self.token.name, needs = scope.as_str(), "refused for the scope");
        Err(ApiError::Forbidden(scope))
    }

    /// Demands one of several scopes.
    ///
    /// # Errors
    /// 403 naming them, if the token lists none of them.
    pub fn require_any(&self, scopes: &[Scope]) -> Result<(), ApiError> {
        if scopes.iter().any(|scope| self.token.scopes.contains(scope)) {
            return Ok(());
        }
        let words: Vec<String> = scopes.iter().map(|scope| format!("`{}`", scope.as_str())).collect();
        let words = words.join(" or ");
        tracing::warn!(token = %self.token.name, needs = words, "refused for the scope");
        Err(ApiError::NotAllowed(format!("This token lacks the scope {words}.")))
    }

    /// The role that the token's scopes stand for where people have roles.
    pub fn review_role(&self) -> Role {
        if self.token.scopes.contains(&Scope::Admin) { Role::Admin } else { Role::Reviewer }
    }

    /// What is left of the time in which a question must be answered.
    pub fn patience(&self) -> Duration {
        PATIENCE.saturating_sub(self.came_at.elapsed())
    }

    /// Whether the token still exists and lists a scope: a long answer asks again.
    pub async fn still_has(&self, state: &AppState, scope: Scope) -> bool {
        let sha256 = self.token_sha256.clone();
        let found = state.ask(PATIENCE, async move |store| store.find_token(&sha256).await).await;
        matches!(found, Ok(Some(token)) if token.scopes.contains(&scope))
    }

    /// The caller as the audit names it.
    pub fn into_actor(self) -> Actor {
        self.sender.actor(&format!("token {}", self.token.name))
    }
}

impl FromRequestParts<AppState> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let came_at = Instant::now();
        let secret = bearer_secret(&parts.headers).ok_or(ApiError::Unauthenticated)?;
        let sha256 = sha256_hex(secret);
        let token_sha256 = sha256.clone();
        let found = state.ask(PATIENCE, async move |store| store.find_token(&sha256).await).await?;
        let token = found.ok_or(ApiError::Unauthenticated)?;
        if token.is_use_stale {
            // Beside the call: when a token was last used must not slow it or stop it.
            let (store, id) = (state.store.clone(), token.id);
            tokio::spawn(async move { store.record_token_use(id).await });
        }
        Ok(Self { token, token_sha256, sender: Sender::of(parts), came_at })
    }
}

/// The secret of an `Authorization: Bearer` header; the scheme in any case.
fn bearer_secret(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (scheme, secret) = values.next()?.to_str().ok()?.split_once(' ')?;
    let is_only_one = values.next().is_none();
    (is_only_one && scheme.eq_ignore_ascii_case("bearer")).then(|| secret.trim()).filter(|secret| !secret.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(&["Bearer drb_x"], Some("drb_x"))]
    #[case(&["bEARER  drb_x "], Some("drb_x"))]
    #[case(&["Basic drb_x"], None)]
    #[case(&["drb_x"], None)]
    #[case(&["Bearer "], None)]
    #[case(&["Bearer drb_x", "Bearer drb_y"], None)]
    #[case(&[], None)]
    fn one_bearer_header_is_a_secret(#[case] values: &[&str], #[case] secret: Option<&str>) {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, value.parse().unwrap());
        }
        assert_eq!(bearer_secret(&headers), secret);
    }
}
