//! A caller of the router: sends bytes, reads status, headers and body.

use crate::support::{TestDatabase, actor, name};
use app::model::people::Scope;
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, Request, header};
use drainboard::config::Config;
use drainboard::state::AppState;
use drainboard::worker_api;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use tower::ServiceExt;

/// The router with a token of each scope, and one of all.
pub struct Client {
    router: Router,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A request before it is sent.
pub struct Call<'a> {
    client: &'a Client,
    method: Method,
    path: String,
    headers: Vec<(String, String)>,
    body: Bytes,
}

/// The secret of a token that lists one scope.
pub fn secret_of(scope: Scope) -> String {
    format!("drb_test_{}", scope.as_str())
}

/// The secret of a token that lists all scopes.
pub const ALL_SCOPES: &str = "drb_test_all";

pub fn sha256_hex(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Client {
    /// A server on that database, with its tokens.
    pub async fn of(db: &TestDatabase) -> Self {
        Self::configured(db, |_| {}).await
    }

    /// The same with other settings.
    pub async fn configured(db: &TestDatabase, set: impl FnOnce(&mut Config)) -> Self {
        let state = state_of(db, set).await;
        Self { router: worker_api::router().with_state(state) }
    }

    /// The whole server on that database, pages and forms included.
    pub async fn of_everything(db: &TestDatabase) -> Self {
        Self { router: drainboard::web::router(state_of(db, |_| {}).await) }
    }
    /// A request without token and body.
    pub fn call(&self, method: Method, path: impl Into<String>) -> Call<'_> {
        Call { client: self, method, path: path.into(), headers: Vec::new(), body: Bytes::new() }
    }

    /// `GET` with all scopes.
    pub async fn get(&self, path: impl Into<String>) -> Reply {
        self.call(Method::GET, path).token(ALL_SCOPES).send().await
    }

    /// `POST` of JSON with all scopes.
    pub async fn post(&self, path: impl Into<String>, body: Value) -> Reply {
        self.call(Method::POST, path).token(ALL_SCOPES).json(&body).send().await
    }

    /// `POST` of bytes with all scopes.
    pub async fn post_bytes(&self, path: impl Into<String>, body: impl Into<Bytes>) -> Reply {
        self.call(Method::POST, path).token(ALL_SCOPES).bytes(body).send().await
    }

    /// `PUT` of JSON with all scopes.
    pub async fn put(&self, path: impl Into<String>, body: Value) -> Reply {
        self.call(Method::PUT, path).token(ALL_SCOPES).json(&body).send().await
    }

    /// Enqueues one job of `kind` from `supplier-email-ingest`; its id.
    pub async fn enqueue(&self, kind: &str) -> String {
        let job = json!({"kind": kind, "source": "supplier-email-ingest", "payload": {"n": 1}});
        let reply = self.post("/api/v1/jobs", json!({"jobs": [job]})).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["jobs"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Claims one job of `kind` as `w1`.
    pub async fn claim(&self, kind: &str) -> Value {
        let reply = self.post("/api/v1/claim", json!({"worker": "w1", "kinds": [kind], "limit": 1})).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["jobs"].get_mut(0).map(Value::take).unwrap_or_default()
    }

    /// Enqueues and claims one job of `kind`; its path and its lease token.
    pub async fn claimed(&self, kind: &str) -> (String, i64) {
        let id = self.enqueue(kind).await;
        let claimed = self.claim(kind).await;
        assert_eq!(claimed["id"], id.as_str());
        (format!("/api/v1/jobs/{id}"), claimed["lease_token"].as_i64().unwrap())
    }

    /// A letter of `kind`, by exception.
    pub async fn parked(&self, kind: &str) -> Value {
        let (path, lease_token) = self.claimed(kind).await;
        let report = json!({"lease_token": lease_token, "error": "400 no such customer", "http_status": 400});
        let ended = self.post(format!("{path}/fail"), report).await.json();
        self.get(format!("/api/v1/dead-letters/{}", ended["dead_letter_id"].as_str().unwrap())).await.json()
    }

    /// A letter of `kind`, refused by the agent.
    pub async fn refused(&self, kind: &str) -> Value {
        let (path, lease_token) = self.claimed(kind).await;
        let report = json!({"lease_token": lease_token, "reason_code": "MISSING_REQUIRED_FIELD", "field": "currency",
            "evidence": "NOT FOUND"});
        let ended = self.post(format!("{path}/refuse"), report).await.json();
        self.get(format!("/api/v1/dead-letters/{}", ended["dead_letter_id"].as_str().unwrap())).await.json()
    }
}

async fn state_of(db: &TestDatabase, set: impl FnOnce(&mut Config)) -> AppState {
    for scope in Scope::ALL {
        add_token(db, scope.as_str(), &[scope], &secret_of(scope)).await;
    }
    add_token(db, "all", &Scope::ALL, ALL_SCOPES).await;
    let mut config = Config::loopback(&db.url);
    set(&mut config);
    AppState::new(Arc::clone(&db.store), config)
}

async fn add_token(db: &TestDatabase, token: &str, scopes: &[Scope], secret: &str) {
    db.store.add_token(&name(token), scopes, &sha256_hex(secret), &actor("mila")).await.unwrap();
}

impl Call<'_> {
    pub fn token(self, secret: &str) -> Self {
        self.header(header::AUTHORIZATION.as_str(), &format!("Bearer {secret}"))
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn json(self, body: &Value) -> Self {
        self.bytes(body.to_string())
    }

    pub fn bytes(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    pub fn form(self, fields: &[(&str, &str)]) -> Self {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.header("content-type", "application/x-www-form-urlencoded").bytes(body)
    }

    /// Sends it and leaves the body unread: a stream has no end.
    pub async fn status_and_location(self) -> (u16, String) {
        let router = self.client.router.clone();
        let response = router.oneshot(self.request()).await.unwrap();
        let location = response.headers().get(header::LOCATION).map(|to| to.to_str().unwrap().to_owned());
        (response.status().as_u16(), location.unwrap_or_default())
    }

    /// The request as it goes out.
    pub fn request(self) -> Request<Body> {
        let mut request = Request::builder().method(self.method).uri(self.path);
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        request.body(Body::from(self.body)).unwrap()
    }

    pub async fn send(self) -> Reply {
        let router = self.client.router.clone();
        let response = router.oneshot(self.request()).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        let reply = Reply { status: parts.status.as_u16(), headers: parts.headers, body };
        assert!(reply.header("x-request-id").is_some_and(|id| id.len() == 16), "every answer has an id: {reply:?}");
        reply
    }

    /// Sends it, and leaves the body to be read by the caller.
    pub async fn answer(self) -> axum::response::Response {
        let router = self.client.router.clone();
        router.oneshot(self.request()).await.unwrap()
    }

    /// Sends it, and hangs up as soon as it is on its way.
    pub async fn send_and_hang_up(self) {
        let router = self.client.router.clone();
        let mut answer = Box::pin(router.oneshot(self.request()));
        std::future::poll_fn(|context| {
            let _ = answer.as_mut().poll(context);
            std::task::Poll::Ready(())
        })
        .await;
    }
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Status, code and field of an error; checks that it has the one shape.
    pub fn fault(&self) -> (u16, String, Option<String>) {
        let json = self.json();
        let error = json["error"].as_object().unwrap_or_else(|| panic!("no error: {self:?}"));
        assert_eq!(json.as_object().unwrap().len(), 1, "nothing beside the error: {json}");
        assert!(error.keys().all(|key| ["code", "message", "field"].contains(&key.as_str())), "{json}");
        assert!(!error["message"].as_str().unwrap().is_empty(), "{json}");
        assert_eq!(self.header("content-type"), Some("application/json"));
        let field = error.get("field").map(|field| field.as_str().unwrap().to_owned());
        (self.status, error["code"].as_str().unwrap().to_owned(), field)
    }

    /// Asserts an error without field.
    #[track_caller]
    pub fn is(&self, status: u16, code: &str) {
        assert_eq!(self.fault(), (status, code.to_owned(), None), "{self:?}");
    }

    /// Asserts 422 for a field.
    #[track_caller]
    pub fn is_invalid(&self, field: &str) {
        assert_eq!(self.fault(), (422, "invalid".to_owned(), Some(field.to_owned())), "{self:?}");
    }

    /// The error's sentence.
    pub fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap().to_owned()
    }
}

/// Everything that calls could have stored, in rows; tokens and refused polls aside.
pub async fn stored(db: &TestDatabase) -> Vec<Vec<Vec<Option<String>>>> {
    let mut tables = Vec::new();
    for (table, columns) in [
        ("jobs", ["id", "state", "due_at", "attempts", "lease_token", "payload"].as_slice()),
        ("attempts", &["job_id", "attempt", "ended_at", "error"]),
        ("results", &["job_id", "result"]),
        ("endings", &["id", "outcome"]),
        ("dead_letters", &["id", "status", "version", "note"]),
        ("action_keys", &["key"]),
        ("kinds", &["kind", "overrides"]),
        ("workers", &["worker"]),
        ("ticks", &["trigger_name"]),
        ("late_answers", &["id"]),
    ] {
        tables.push(
            db.door.rows(columns, &format!("{table} ORDER BY {}", columns[..columns.len().min(2)].join(", "))).await,
        );
    }
    tables
}
