//! The pages, served: who may see one at all, and what a page finds in its
//! context. What a page shows is the app's business.

use super::headers::CspNonce;
use super::problem::{Problem, ShownOn};
use crate::auth::secret::{Secret, sha256_hex};
use crate::auth::session::{LOOK_UP, find_viewer, recall_viewer, session_sha256, to_sign_in};
use crate::forms::letter_work::MAX_FORM_BYTES;
use crate::site;
use crate::state::AppState;
use crate::worker_api::layers::RequestId;
use app::App;
use app::api::{
    CurrentSession, DatabaseAway, FailureReport, FormKeys, Once, PanelSource, Posted, SendsNotices, SetUpLink,
    TraceLinks, status_of,
};
use app::error::{AppError, StoreError};
use app::model::people::{Viewer, session_id};
use app::pages::told::{Again, Told};
use app::shell::{SiteAssets, shell};
use axum::Router;
use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use http::header::{ALLOW, COOKIE, RETRY_AFTER};
use http::request::Parts;
use http::{Method, StatusCode, Uri};
use leptos::config::LeptosOptions;
use leptos::nonce::Nonce;
use leptos::prelude::{provide_context, use_context};
use leptos_axum::{LeptosRoutes as _, ResponseOptions, generate_route_list, render_app_async_with_context};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tower::ServiceExt as _;
use tracing::Instrument as _;

pub use app::islands::panel_html;

/// Pages that a person needs before they are signed in. They show no data.
const OPEN_PAGES: [&str; 3] = ["/login", SET_UP_PAGE, "/password"];
const SET_UP_PAGE: &str = "/setup";
/// An address that no page has: its page tells what the server wants told.
const NO_PAGE: &str = "/told";

/// A page's panel that takes longer shows the last numbers, as old ones.
const READING: Duration = Duration::from_secs(2);
/// A page that takes longer, the look-up of its reader included, is given up:
/// the database counts as away, and that is what its reader has to see.
const PAGE: Duration = Duration::from_millis(3_500);

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
    provide_context(panel_source(state, extensions.get().copied()));
    provide_context(extensions.get::<Viewer>().cloned());
    provide_context(extensions.get::<Once>().cloned());
    provide_context(extensions.get::<CurrentSession>().cloned());
    provide_context(FormKeys(Arc::new(|| Secret::random().expose().to_owned())));
    provide_context(TraceLinks(state.config.trace_url.clone()));
    provide_context(failure_report());
    if state.config.notice_webhook.is_some() {
        provide_context(SendsNotices);
    }
    if let Some(told) = extensions.get::<Told>() {
        provide_context(told.clone());
    }
    if let Some(posted) = extensions.get::<Posted>() {
        provide_context(posted.clone());
    }
    if let Some(&away) = extensions.get::<DatabaseAway>() {
        provide_context(away);
    }
    if let Some(&link) = extensions.get::<SetUpLink>() {
        provide_context(link);
    }
    if let Some(CspNonce(nonce)) = extensions.get() {
        provide_context(Nonce::from_value(nonce.clone()));
    }
}

/// The panel, read in time for the page to be shown in time; the last one that
/// was read, if the database is known to be away.
fn panel_source(state: &AppState, away: Option<DatabaseAway>) -> PanelSource {
    let state = state.clone();
    PanelSource(Arc::new(move || {
        let state = state.clone();
        Box::pin(async move {
            match away {
                None => state.panel_now(READING).await,
                Some(DatabaseAway) => state.panel.view_of(Err(StoreError::Unavailable("known to be away".to_owned()))),
            }
        })
    }))
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
            Some(StoreError::DatabaseError(cause)) => tracing::error!(cause, "the database answers with an error"),
            Some(StoreError::Unavailable(cause)) => tracing::warn!(cause, "the database is away"),
            _ => {}
        }
    }))
}

/// Lets nobody see a page before they signed in; puts the viewer into the
/// request's extensions. Also in front of addresses that do not exist, so that
/// the anonymous cannot tell which do.
///
/// While the database cannot say who somebody is, those whose session was good a
/// moment ago see the last reading.
async fn gate(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let came_at = Instant::now();
    let path = request.uri().path();
    let is_open = OPEN_PAGES.contains(&path);
    if path == SET_UP_PAGE {
        return set_up_page(&state, request, next).await;
    }
    match find_viewer(&state, request.headers()).await {
        Ok(Some(viewer)) => {
            request.extensions_mut().insert(viewer);
            if let Some(session) = session_sha256(request.headers(), &state.config) {
                request.extensions_mut().insert(CurrentSession(session_id(&session).to_owned()));
            }
            let page = tokio::spawn(next.run(request).in_current_span());
            match timeout(PAGE.saturating_sub(came_at.elapsed()), page).await {
                Ok(Ok(page)) => page,
                Ok(Err(error)) => {
                    tracing::error!(%error, "a page ended before its answer");
                    Problem::internal().into_response()
                }
                // The page is left to end in its own time: it may hold a transaction.
                Err(_) => away(&state, StoreError::Unavailable(format!("a page took longer than {PAGE:?}"))),
            }
        }
        Ok(None) if is_open => next.run(request).await,
        Ok(None) => {
            let asked = request.uri().path_and_query().map_or("/", |asked| asked.as_str());
            to_sign_in(request.method(), asked).into_response()
        }
        Err(error) => match recall_viewer(&state, request.headers()) {
            Some(viewer) if matches!(error, StoreError::Unavailable(_)) && !is_open => {
                request.extensions_mut().insert(viewer);
                request.extensions_mut().insert(DatabaseAway);
                next.run(request).await
            }
            _ => away(&state, error),
        },
    }
}

/// The set-up page, which needs nobody signed in but a link that still works;
/// 410 when it does not.
async fn set_up_page(state: &AppState, mut request: Request, next: Next) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let token = url::form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "token");
    let Some((_, token)) = token.filter(|(_, token)| !token.is_empty()) else {
        return next.run(request).await;
    };
    let sha256 = sha256_hex(&token);
    let is_live = match state.ask(LOOK_UP, async move |store| store.is_setup_secret(&sha256).await).await {
        Ok(is_live) => is_live,
        Err(error) => return away(state, error),
    };
    request.extensions_mut().insert(if is_live { SetUpLink::Live } else { SetUpLink::Used });
    let mut page = next.run(request).await;
    if !is_live && page.status() == StatusCode::OK {
        *page.status_mut() = StatusCode::GONE;
    }
    page
}

/// Without the frame of a page: nobody knows for whom it would be.
fn away(state: &AppState, error: StoreError) -> Response {
    let mut answer = Problem::of_store(state, error).reloading().into_response();
    answer.extensions_mut().remove::<Told>();
    answer
}

/// The answer to a method that an address does not take. The anonymous cannot
/// tell by it which addresses there are.
pub async fn wrong_method(state: AppState, request: Request) -> Response {
    match find_viewer(&state, request.headers()).await {
        Ok(None) => to_sign_in(request.method(), "/").into_response(),
        _ => Problem::method_not_allowed().into_response(),
    }
}

/// Around all that people ask for: an answer that is to be shown on a page
/// becomes that page, and any other that tells a person something gets the frame
/// of the pages; both keep the answer's status. Where neither can be shown, the
/// answer stays as it is.
pub async fn show_problem(State(pages): State<Router>, request: Request, next: Next) -> Response {
    let asking = as_page_request(&request);
    let (request, again) = kept(request).await;
    let answer = next.run(request).await;
    let extensions = answer.extensions();
    let shown_on = extensions.get::<ShownOn>().and_then(|ShownOn(page)| page.parse::<Uri>().ok());
    let once = extensions.get::<Once>().cloned();
    let is_lost = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::UNAUTHORIZED].contains(&answer.status());
    let again = again.filter(|_| is_lost).and_then(Typed::form);
    if let Some(again) = again.as_ref().filter(|_| answer.status() == StatusCode::UNAUTHORIZED) {
        // No page of the app: whoever asks is signed in no more.
        return Problem::session_ended().keeping(again);
    }
    let told = extensions.get::<Told>().cloned().map(|told| Told { again, ..told });
    let posted = extensions.get::<Posted>().cloned();
    let mut attempts = Vec::with_capacity(2);
    if let Some(uri) = shown_on {
        attempts.push((uri, None));
    }
    if let Some(told) = told {
        attempts.push((Uri::from_static(NO_PAGE), Some(told)));
    }
    for (uri, told) in attempts {
        let mut page_request = Request::from_parts(asking.clone(), Body::empty());
        *page_request.uri_mut() = uri;
        match told {
            Some(told) => drop(page_request.extensions_mut().insert(told)),
            None => drop(posted.clone().map(|posted| page_request.extensions_mut().insert(posted))),
        }
        once.clone().map(|once| page_request.extensions_mut().insert(once));
        let Ok(mut page) = pages.clone().oneshot(page_request).await;
        if page.status() == StatusCode::OK {
            *page.status_mut() = answer.status();
            for name in [RETRY_AFTER, ALLOW] {
                if let Some(value) = answer.headers().get(&name) {
                    page.headers_mut().insert(name, value.clone());
                }
            }
            return page;
        }
    }
    answer
}

/// A form that somebody typed, before anybody looked at it: while the database is
/// away, or its sender signed out, nothing does, and what was typed must not be
/// lost over that.
struct Typed {
    action: String,
    body: Bytes,
}

impl Typed {
    fn form(self) -> Option<Again> {
        let fields = url::form_urlencoded::parse(&self.body).into_owned().take(MOST_FIELDS).collect();
        Some(Again { action: self.action, fields }).filter(|again: &Again| !again.fields.is_empty())
    }
}

/// Fields of a form that are kept: a correction has the most.
const MOST_FIELDS: usize = 2_000;

/// The request, and its form if it is one on a letter or a policy, posted by
/// somebody with a cookie. Passwords are typed elsewhere.
async fn kept(request: Request) -> (Request, Option<Typed>) {
    let path = request.uri().path();
    let is_kept = ["/dead-letters/", "/policies/"].iter().any(|start| path.starts_with(start));
    let is_short = request.body().size_hint().upper().is_some_and(|bytes| bytes <= MAX_FORM_BYTES as u64);
    if request.method() != Method::POST || !is_kept || !is_short || !request.headers().contains_key(COOKIE) {
        return (request, None);
    }
    let action = path.to_owned();
    let (parts, body) = request.into_parts();
    // An error is a sender who went away: the handler finds no form, and nobody reads its answer.
    let body = to_bytes(body, MAX_FORM_BYTES).await.unwrap_or_default();
    (Request::from_parts(parts, Body::from(body.clone())), Some(Typed { action, body }))
}

/// A GET by the same person, without what belongs to the form.
fn as_page_request(request: &Request) -> Parts {
    let (mut asking, ()) = http::Request::new(()).into_parts();
    asking.method = Method::GET;
    for cookie in request.headers().get_all(COOKIE) {
        asking.headers.append(COOKIE, cookie.clone());
    }
    let (from, to) = (request.extensions(), &mut asking.extensions);
    from.get::<CspNonce>().cloned().map(|nonce| to.insert(nonce));
    from.get::<RequestId>().cloned().map(|id| to.insert(id));
    from.get::<ConnectInfo<SocketAddr>>().copied().map(|address| to.insert(address));
    asking
}
