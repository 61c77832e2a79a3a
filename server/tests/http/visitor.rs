//! A signed-in person as the pages' router meets one: no socket, one cookie.

use crate::client::sha256_hex;
use crate::support::{TestDatabase, actor, name};
use app::model::people::Role;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, header};
use drainboard::config::Config;
use drainboard::state::AppState;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tower::ServiceExt;

/// A browser with a session, on a server of its own.
pub struct Visitor {
    router: Router,
    cookie: String,
}

/// A page, or what came instead.
#[derive(Debug)]
pub struct Page {
    pub status: u16,
    pub headers: HeaderMap,
    pub html: String,
}

impl Visitor {
    /// Somebody of that role, signed in; the same person each time.
    pub async fn signed_in(db: &TestDatabase, role: Role) -> Self {
        Self::configured(db, role, |_| {}).await
    }

    /// The same with other settings.
    pub async fn configured(db: &TestDatabase, role: Role, set: impl FnOnce(&mut Config)) -> Self {
        static SESSIONS: AtomicU64 = AtomicU64::new(0);
        let n = SESSIONS.fetch_add(1, Ordering::Relaxed);
        let (user, secret) = (format!("the {}", role.as_str()), format!("session-{n}"));
        let id = match db.store.find_user(&user).await.unwrap() {
            Some(user) => user.id,
            None => db.store.add_user(&name(&user), role, "no password", &actor("mila")).await.unwrap(),
        };
        db.store.start_session(id, &sha256_hex(&secret), &actor(&user)).await.unwrap();
        let mut config = Config::loopback(&db.url);
        set(&mut config);
        let state = AppState::new(Arc::clone(&db.store), config);
        Self { router: drainboard::web::router(state), cookie: format!("drainboard={secret}") }
    }

    /// The same browser on the same server, with another cookie.
    pub fn with_cookie(&self, cookie: &str) -> Self {
        Self { router: self.router.clone(), cookie: cookie.to_owned() }
    }

    pub async fn get(&self, path: &str) -> Page {
        self.send(Method::GET, path, "").await
    }

    /// Sends a form's body, or none.
    pub async fn send(&self, method: Method, path: &str, form: impl Into<Body>) -> Page {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::COOKIE, &self.cookie)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form.into())
            .unwrap();
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let html = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
        Page { status: parts.status.as_u16(), headers: parts.headers, html }
    }
}

impl Page {
    /// Where it leads.
    pub fn location(&self) -> &str {
        self.headers.get(header::LOCATION).map_or("", |to| to.to_str().unwrap())
    }

    /// What stands in the title.
    pub fn title(&self) -> &str {
        self.html.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap_or_default()
    }

    /// What a person reads: no tags, no scripts.
    pub fn text(&self) -> String {
        let body = self.html.split("<body").nth(1).unwrap_or_default();
        let mut text = String::new();
        for piece in body.split('<').filter(|piece| !piece.starts_with("script")) {
            text.push_str(piece.split_once('>').map_or("", |(_, text)| text));
            text.push(' ');
        }
        text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
    }
}
