//! Who sends a request: the session cookie, the person behind it, and where
//! the request comes from.
//!
//! Sessions live in the database; nothing here remembers one, so that a log-out
//! or a demotion counts at the next request on every server.

use crate::auth::secret::{Secret, sha256_hex};
use crate::config::Config;
use crate::state::AppState;
use crate::web::problem::{Problem, sign_in_page};
use app::error::StoreError;
use app::model::people::{Actor, Role, Viewer};
use axum::extract::{ConnectInfo, FromRef, FromRequestParts};
use axum::response::Redirect;
use http::header::{COOKIE, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// How long a look-up of a session may take before the database counts as away.
pub const LOOK_UP: Duration = Duration::from_secs(2);
/// The cookie outlives no session: 12 hours.
const MAX_AGE_SECONDS: u32 = 12 * 3600;

/// The name of the session cookie. With `__Host-` a browser takes it only over
/// TLS, for this host alone and for all paths.
fn cookie_name(config: &Config) -> &'static str {
    if config.secure_cookies { "__Host-drainboard" } else { "drainboard" }
}

/// The `Set-Cookie` that hands out a session.
pub fn session_cookie(config: &Config, session: &Secret) -> HeaderValue {
    cookie(config, session.expose(), MAX_AGE_SECONDS)
}

/// The `Set-Cookie` that takes the session back.
pub fn cleared_cookie(config: &Config) -> HeaderValue {
    cookie(config, "", 0)
}

fn cookie(config: &Config, value: &str, max_age_seconds: u32) -> HeaderValue {
    let name = cookie_name(config);
    let secure = if config.secure_cookies { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={max_age_seconds}{secure}");
    HeaderValue::from_str(&text).expect("base64url and fixed words are header text")
}

/// SHA-256 of the session id that the request carries, if it carries one.
pub fn session_sha256(headers: &HeaderMap, config: &Config) -> Option<String> {
    let name = cookie_name(config);
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, value)| *key == name && !value.is_empty())
        .map(|(_, value)| sha256_hex(value))
}

/// The person behind the request's session, if it is a live one; counts as
/// activity.
///
/// # Errors
/// `Unavailable` when the database does not answer in time.
pub async fn find_viewer(state: &AppState, headers: &HeaderMap) -> Result<Option<Viewer>, StoreError> {
    match session_sha256(headers, &state.config) {
        None => Ok(None),
        Some(sha256) => look_up(state, &sha256, true).await,
    }
}

/// The person behind a session id's hash; `touch` counts as activity.
///
/// # Errors
/// `Unavailable` when the database does not answer in time.
pub async fn look_up(state: &AppState, sha256: &str, touch: bool) -> Result<Option<Viewer>, StoreError> {
    let asked = sha256.to_owned();
    let viewer = state.ask(LOOK_UP, async move |store| store.find_session(&asked, touch).await).await?;
    state.sessions.confirmed(sha256, viewer.as_ref());
    Ok(viewer)
}

/// The person whose session this was a moment ago; for when the database is
/// away, and for the last reading alone.
pub fn recall_viewer(state: &AppState, headers: &HeaderMap) -> Option<Viewer> {
    state.sessions.recall(&session_sha256(headers, &state.config)?)
}

/// Where a request comes from, for the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// The peer's address; a proxy's, behind one.
    pub address: Option<IpAddr>,
    /// What it says it is, cut to 300 characters.
    pub user_agent: Option<String>,
}

impl Sender {
    /// Out of a request's head.
    pub fn of(parts: &Parts) -> Self {
        let address = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| address.ip());
        let user_agent = parts.headers.get(USER_AGENT).map(|value| {
            let text = String::from_utf8_lossy(value.as_bytes());
            app::model::text::clean(&text).chars().take(300).collect()
        });
        Self { address, user_agent }
    }

    /// The audit's actor for a signed-in person.
    pub fn actor_of(&self, viewer: &Viewer) -> Actor {
        Actor { role: Some(viewer.role), ..self.actor(&viewer.name) }
    }

    /// The audit's actor of that name.
    pub fn actor(&self, name: &str) -> Actor {
        Actor {
            name: name.to_owned(),
            address: self.address.map(|address| address.to_string()),
            user_agent: self.user_agent.clone(),
            role: None,
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Sender {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self::of(parts))
    }
}

/// A request by a signed-in person. Asks the database at each request; its
/// absence is a 401 that says how to go on.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// Who.
    pub viewer: Viewer,
    /// Who, for the audit.
    pub actor: Actor,
}

impl SignedIn {
    /// Whether the person may do what `role` may.
    ///
    /// # Errors
    /// 403 with a sentence; the refusal is logged.
    #[expect(clippy::result_large_err, reason = "the error is the answer, made once per refused request")]
    pub fn must_be(&self, role: Role) -> Result<(), Problem> {
        if self.viewer.may(role) {
            return Ok(());
        }
        tracing::warn!(user = %self.viewer.name, has = self.viewer.role.as_str(), needs = role.as_str(), "refused for the role");
        Err(Problem::forbidden(format!(
            "Your role is {}; this needs {}. Nothing was changed.",
            self.viewer.role.as_str(),
            role.as_str()
        )))
    }
}

impl<S> FromRequestParts<S> for SignedIn
where
    S: Send + Sync,
    AppState: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let state = AppState::from_ref(state);
        match find_viewer(&state, &parts.headers).await {
            Ok(Some(viewer)) => {
                let actor = Sender::of(parts).actor_of(&viewer);
                Ok(Self { viewer, actor })
            }
            Ok(None) => Err(Problem::session_ended()),
            Err(error) => Err(Problem::of_store(&state, error)),
        }
    }
}

/// The answer to an anonymous request for a page: first sign in, then come
/// back here.
pub fn to_sign_in(method: &Method, path_and_query: &str) -> Redirect {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    Redirect::to(&sign_in_page(if is_read { path_and_query } else { "/" }))
}

/// `next` if it is a path on this very site, else `/`. Checked the way a
/// browser will read it: `//host`, `/\host` and tabs inside lead elsewhere.
pub fn local_path(next: Option<&str>) -> String {
    let home = || "/".to_owned();
    let Some(next) = next.filter(|next| next.starts_with('/') && !next.contains(['\\', '\t', '\r', '\n'])) else {
        return home();
    };
    let base = url::Url::parse("http://drainboard.invalid/").expect("a constant URL");
    match base.join(next) {
        Ok(url) if url.origin() == base.origin() => {
            let mut path = url.path().to_owned();
            if path.starts_with("//") {
                return home();
            }
            for (mark, part) in [('?', url.query()), ('#', url.fragment())] {
                if let Some(part) = part {
                    path.push(mark);
                    path.push_str(part);
                }
            }
            path
        }
        _ => home(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_site_are_followed() {
        for (next, followed) in [
            (Some("/dead-letters?kind=a%20b&status=open"), "/dead-letters?kind=a%20b&status=open"),
            (Some("/jobs/7#attempts"), "/jobs/7#attempts"),
            (Some("/"), "/"),
            (Some("//evil.example/x"), "/"),
            (Some("/\\evil.example"), "/"),
            (Some("/\t/evil.example"), "/"),
            (Some("/..//evil.example"), "/"),
            (Some("/x\r\nSet-Cookie: a=b"), "/"),
            (Some("https://evil.example/"), "/"),
            (Some("javascript:alert(1)"), "/"),
            (Some(""), "/"),
            (None, "/"),
        ] {
            assert_eq!(local_path(next), followed, "{next:?}");
        }
    }

    #[test]
    fn the_cookie_is_host_bound_and_secure_behind_tls() {
        let mut config = Config::loopback("sqlite:x");
        let session = Secret::random();
        let plain = session_cookie(&config, &session);
        assert!(plain.to_str().unwrap().starts_with("drainboard="));
        assert!(plain.to_str().unwrap().contains("HttpOnly; SameSite=Lax"));
        config.secure_cookies = true;
        let secure = session_cookie(&config, &session);
        assert!(secure.to_str().unwrap().starts_with("__Host-drainboard="));
        assert!(secure.to_str().unwrap().ends_with("; Secure"));
    }

    #[test]
    fn the_cookie_is_found_among_others_and_only_by_its_hash() {
        let config = Config::loopback("sqlite:x");
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("a=b; drainboard=abc; c=d"));
        assert_eq!(session_sha256(&headers, &config), Some(sha256_hex("abc")));
        assert_eq!(session_sha256(&HeaderMap::new(), &config), None);
    }
}
