//! Everything the server answers: worker API, site files, pages, forms, stream.
//!
//! One place lists the parts and what stands in front of them; what a part does
//! is in the part.

pub mod detach;
pub mod endpoint;
pub mod headers;
pub mod pages;
pub mod problem;
pub mod refusals;
pub mod same_origin;
pub mod shown_once;

use crate::auth::throttle::Throttle;
use crate::state::AppState;
use crate::{auth, export, forms, live, site, worker_api};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::{Extension, Router};
use endpoint::routed;
use http::Method;
use tower_http::compression::CompressionLayer;

/// Every route there is, as method and path: the lists that [`router`] is made
/// of. The permission table fails until it has them all.
pub fn routes() -> Vec<(Method, String)> {
    let lists =
        [auth::endpoints(), forms::endpoints(), export::endpoints(), live::endpoints(), worker_api::endpoints()];
    let listed = lists.into_iter().flatten().map(|endpoint| (endpoint.method, endpoint.path.to_owned()));
    let read = pages::paths().into_iter().chain(site::PATHS.map(str::to_owned));
    listed.chain(read.map(|path| (Method::GET, path))).collect()
}

/// The whole server as a router.
pub fn router(state: AppState) -> Router {
    // Streams stay outside of compression: a compressor holds events back.
    let streams = routed(live::endpoints()).with_state(state.clone());
    let programs = worker_api::router().with_state(state.clone()).layer(CompressionLayer::new());
    let pages = pages::router(&state);
    let asked = state.clone();
    let people = Router::new()
        .merge(routed(auth::endpoints()))
        .merge(routed(forms::endpoints()))
        .merge(routed(export::endpoints()))
        .with_state(state.clone())
        .layer(Extension(Throttle::default()))
        .merge(pages.clone())
        .method_not_allowed_fallback(move |request| pages::wrong_method(asked, request))
        .layer(from_fn_with_state(pages, pages::show_problem))
        .layer(from_fn_with_state(state.clone(), refusals::keep))
        .layer(CompressionLayer::new())
        .merge(streams)
        .layer(same_origin::layer())
        .layer(from_fn(detach::detach));
    Router::new().merge(people).merge(programs).merge(site::router()).layer(from_fn(headers::add))
}
