//! Everything the server answers: worker API, site files, pages, forms, stream.
//!
//! One place lists the parts and what stands in front of them; what a part does
//! is in the part.

pub mod detach;
pub mod headers;
pub mod pages;
pub mod problem;
pub mod same_origin;

use crate::state::AppState;
use crate::{auth, export, forms, live, site, worker_api};
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use tower_http::compression::CompressionLayer;

/// The whole server as a router.
pub fn router(state: AppState) -> Router {
    // Streams stay outside of compression: a compressor holds events back.
    let streams = live::router().with_state(state.clone());
    let programs = worker_api::router().with_state(state.clone()).layer(CompressionLayer::new());
    let pages = pages::router(&state);
    let people = Router::new()
        .merge(auth::router())
        .merge(forms::router())
        .merge(export::router())
        .with_state(state.clone())
        .merge(pages.clone())
        .method_not_allowed_fallback(move |request| pages::wrong_method(state.clone(), request))
        .layer(from_fn_with_state(pages, pages::show_problem))
        .layer(CompressionLayer::new())
        .merge(streams)
        .layer(same_origin::layer())
        .layer(from_fn(detach::detach));
    Router::new().merge(people).merge(programs).merge(site::router()).layer(from_fn(headers::add))
}
