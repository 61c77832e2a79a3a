//! The pages, served: who may see one at all, and what a page finds in its
//! context. What a page shows is the app's business.

use super::headers::CspNonce;
use super::problem::{Problem, ShownOn};
use crate::auth::secret::Secret;
use crate::auth::session::{find_viewer, session_sha256, to_sign_in};
use crate::site;
use crate::state::AppState;
use crate::worker_api::layers::RequestId;
use app::App;
use app::api::{CurrentSession, FailureReport, FormKeys, Once, status_of};
use app::error::{AppError, StoreError};
use app::model::people::{Viewer, session_id};
use app::shell::{SiteAssets, shell};
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use http::header::{COOKIE, RETRY_AFTER};
use http::request::Parts;
use http::{Method, StatusCode, Uri};
use leptos::config::LeptosOptions;
use leptos::nonce::Nonce;
use leptos::prelude::{provide_context, use_context};
use leptos_axum::{LeptosRoutes as _, ResponseOptions, generate_route_list, render_app_async_with_context};
use std::net::SocketAddr;
use std::sync::Arc;
use tower::ServiceExt as _;

pub use app::islands::panel_html;

/// Pages that a person needs before they are signed in. They show no data.
const OPEN_PAGES: [&str; 3] = ["/login", "/setup", "/password"];

/// The addresses of all pages, as the router writes them (`/jobs/{id}`).
pub fn paths() -> Vec<String> {
    generate_route_list(App).iter().map(|route| route.path().to_owned()).collect()
}

/// All pages, and the page for addresses that do not exist.
pub fn router(state: &AppState) -> Router {
    let assets = SiteAssets { css: site::asset("main.css"), js: site::asset("main.js") };
    let document = move || shell(assets);
    let context = {
        let state = state.clone();
        move || provide(&state)
    };
    // Site files are not served from a directory, so none of these is ever read.
    let options = LeptosOptions::builder().output_name("drainboard").build();
    Router::new()
        .leptos_routes_with_context(&options, generate_route_list(App), context.clone(), document)
        .fallback(render_app_async_with_context(context, document))
        .with_state(options)
        .layer(from_fn_with_state(state.clone(), gate))
}

/// What a page finds in its context.
fn provide(state: &AppState) {
    let extensions = use_context::<Parts>().map(|parts| parts.extensions).unwrap_or_default();
    provide_context(state.store.clone());
    provide_context(state.panel.clone());
    provide_context(extensions.get::<Viewer>().cloned());
    provide_context(extensions.get::<Once>().cloned());
    provide_context(extensions.get::<CurrentSession>().cloned());
    provide_context(FormKeys(Arc::new(|| Secret::random().expose().to_owned())));
    provide_context(failure_report());
    if let Some(CspNonce(nonce)) = extensions.get() {
        provide_context(Nonce::from_value(nonce.clone()));
    }
}

/// Gives an error page its status, and the log the cause, once.
fn failure_report() -> FailureReport {
    let answer = use_context::<ResponseOptions>();
    FailureReport(Arc::new(move |shown: &AppError, cause: Option<&StoreError>| {
        if let Some(answer) = &answer {
            answer.set_status(status_of(shown));
        }
        match cause {
            Some(StoreError::Internal(cause)) => tracing::error!(cause, "a page failed"),
            Some(StoreError::Unavailable(cause)) => tracing::warn!(cause, "the database is away"),
            _ => {}
        }
    }))
}

/// Lets nobody see a page before they signed in; puts the viewer into the
/// request's extensions. Also in front of addresses that do not exist, so that
/// the anonymous cannot tell which do.
async fn gate(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let is_open = OPEN_PAGES.contains(&request.uri().path());
    match find_viewer(&state, request.headers()).await {
        Ok(Some(viewer)) => {
            request.extensions_mut().insert(viewer);
            if let Some(session) = session_sha256(request.headers(), &state.config) {
                request.extensions_mut().insert(CurrentSession(session_id(&session).to_owned()));
            }
            next.run(request).await
        }
        Ok(None) if is_open => next.run(request).await,
        Ok(None) => {
            let asked = request.uri().path_and_query().map_or("/", |asked| asked.as_str());
            to_sign_in(request.method(), asked).into_response()
        }
        Err(error) => Problem::of_store(&state, error).reloading().into_response(),
    }
}

/// Around forms: an answer that is to be shown on a page becomes that page,
/// with the answer's status. Where the page cannot be shown either, the answer
/// stays as it is.
pub async fn show_problem(State(pages): State<Router>, request: Request, next: Next) -> Response {
    let page_request = as_page_request(&request);
    let answer = next.run(request).await;
    let Some(uri) = answer.extensions().get::<ShownOn>().and_then(|ShownOn(page)| page.parse::<Uri>().ok()) else {
        return answer;
    };
    let mut page_request = page_request;
    *page_request.uri_mut() = uri;
    if let Some(once) = answer.extensions().get::<Once>() {
        page_request.extensions_mut().insert(once.clone());
    }
    let Ok(mut page) = pages.oneshot(page_request).await;
    if page.status() != StatusCode::OK {
        return answer;
    }
    *page.status_mut() = answer.status();
    if let Some(seconds) = answer.headers().get(RETRY_AFTER) {
        page.headers_mut().insert(RETRY_AFTER, seconds.clone());
    }
    page
}

/// A GET by the same person, without what belongs to the form.
fn as_page_request(request: &Request) -> Request {
    let mut page_request = Request::new(Body::empty());
    *page_request.method_mut() = Method::GET;
    for cookie in request.headers().get_all(COOKIE) {
        page_request.headers_mut().append(COOKIE, cookie.clone());
    }
    let (from, to) = (request.extensions(), page_request.extensions_mut());
    from.get::<CspNonce>().cloned().map(|nonce| to.insert(nonce));
    from.get::<RequestId>().cloned().map(|id| to.insert(id));
    from.get::<ConnectInfo<SocketAddr>>().copied().map(|address| to.insert(address));
    page_request
}
