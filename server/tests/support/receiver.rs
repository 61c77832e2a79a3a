//! A receiver of webhooks in the test's own process, on loopback: keeps what it
//! got, answers as it was told, then with 200.
#![allow(dead_code, reason = "each test binary uses its own part of this")]

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response, StatusCode};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// What it signs with in every test.
pub const SECRET: &str = "a secret of the test";

/// One request that came.
#[derive(Debug, Clone)]
pub struct Got {
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
}

/// How it answers one request.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub status: u16,
    pub header: Option<(&'static str, String)>,
    pub delay: Duration,
    pub body: Vec<u8>,
}

/// An answer of that status.
pub fn status(status: u16) -> Reply {
    Reply { status, ..Reply::default() }
}

/// One that listens until it is dropped.
pub struct Receiver {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    shared: Shared,
    _server: JoinSet<()>,
}

#[derive(Clone, Default)]
struct Shared {
    got: Arc<Mutex<Vec<Got>>>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
}

impl Receiver {
    /// Answers with these in turn, then with 200.
    pub async fn answering(replies: impl IntoIterator<Item = Reply>) -> Self {
        let shared = Shared::default();
        shared.replies.lock().unwrap().extend(replies);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(take).with_state(shared.clone());
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, _server: server }
    }

    /// What came so far.
    pub fn got(&self) -> Vec<Got> {
        self.shared.got.lock().unwrap().clone()
    }

    /// Answers the next requests so.
    pub fn then(&self, reply: Reply) {
        self.shared.replies.lock().unwrap().push_back(reply);
    }
}

async fn take(State(shared): State<Shared>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let got =
        Got { path: head.uri.to_string(), headers: head.headers, body: String::from_utf8(body.to_vec()).unwrap() };
    shared.got.lock().unwrap().push(got);
    let reply = shared.replies.lock().unwrap().pop_front().unwrap_or_else(|| status(200));
    tokio::time::sleep(reply.delay).await;
    let mut response = Response::new(Body::from(reply.body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap();
    if let Some((name, value)) = reply.header {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

impl Got {
    /// A header's text; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The time in the signature, if it was made with this secret over this body.
    pub fn verified(&self, secret: &str) -> Option<i64> {
        let (time, hex) = self.header("drainboard-signature").strip_prefix("t=")?.split_once(",v1=")?;
        let mac = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
        let mut expected = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        expected.update(format!("{time}.{}", self.body).as_bytes());
        expected.verify_slice(&mac.collect::<Vec<u8>>()).ok()?;
        time.parse().ok()
    }
}
