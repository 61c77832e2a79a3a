//! Routes as data: what a router is made of, and what the permission table is
//! held against. A route that is in no list does not exist.

use crate::state::AppState;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};

/// One call: how it is reached and what answers.
pub struct Endpoint {
    /// Method.
    pub method: Method,
    /// Path, as the router reads it.
    pub path: &'static str,
    route: MethodRouter<AppState>,
}

impl Endpoint {
    /// Answers GET.
    pub fn get<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self { method: Method::GET, path, route: on(MethodFilter::GET, handler) }
    }

    /// Answers POST.
    pub fn post<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self { method: Method::POST, path, route: on(MethodFilter::POST, handler) }
    }

    /// Answers PUT.
    pub fn put<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self { method: Method::PUT, path, route: on(MethodFilter::PUT, handler) }
    }
}

impl Endpoint {
    /// The same for bodies of up to so many bytes.
    #[must_use]
    pub fn taking(self, max_bytes: usize) -> Self {
        Self { route: self.route.layer(DefaultBodyLimit::max(max_bytes)), ..self }
    }
}

/// The router of a list.
pub fn routed(endpoints: Vec<Endpoint>) -> Router<AppState> {
    endpoints.into_iter().fold(Router::new(), |router, endpoint| router.route(endpoint.path, endpoint.route))
}
