//! Who calls: the bearer token of a program, and what it may do.
//!
//! A token has exactly the scopes it lists; none implies another. A browser's
//! session cookie is never looked at here.

use super::error::ApiError;
use crate::state::AppState;
use app::model::people::{Actor, Scope, Token};
use app::model::text;
use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::net::SocketAddr;

/// Most bytes of a user agent that the audit keeps.
const MAX_USER_AGENT_BYTES: usize = 500;

/// A caller whose token is known. Extracting it answers 401 otherwise.
#[derive(Debug, Clone)]
pub struct Caller {
    token: Token,
    address: Option<String>,
    user_agent: Option<String>,
}

impl Caller {
    /// Demands a scope.
    ///
    /// # Errors
    /// 403 naming the scope, if the token does not list it.
    pub fn require(&self, scope: Scope) -> Result<(), ApiError> {
        if self.token.scopes.contains(&scope) { Ok(()) } else { Err(ApiError::Forbidden(scope)) }
    }

    /// The caller as the audit names it.
    pub fn into_actor(self) -> Actor {
        Actor { name: format!("token {}", self.token.name), address: self.address, user_agent: self.user_agent }
    }
}

impl FromRequestParts<AppState> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let secret = bearer_secret(&parts.headers).ok_or(ApiError::Unauthenticated)?;
        let found = state.store.find_token(&sha256_hex(secret.as_bytes())).await?;
        Ok(Self {
            token: found.ok_or(ApiError::Unauthenticated)?,
            address: parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip().to_string()),
            user_agent: user_agent(&parts.headers),
        })
    }
}

/// The secret of an `Authorization: Bearer` header; the scheme in any case.
fn bearer_secret(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (scheme, secret) = values.next()?.to_str().ok()?.split_once(' ')?;
    let is_only_one = values.next().is_none();
    (is_only_one && scheme.eq_ignore_ascii_case("bearer")).then(|| secret.trim()).filter(|secret| !secret.is_empty())
}

fn user_agent(headers: &HeaderMap) -> Option<String> {
    let agent = String::from_utf8_lossy(headers.get(header::USER_AGENT)?.as_bytes()).into_owned();
    Some(text::cut(&text::clean(&agent), MAX_USER_AGENT_BYTES).to_owned())
}

/// SHA-256 in lower-case hex.
pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
        hex
    })
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

    #[test]
    fn the_hash_is_the_known_one() {
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
