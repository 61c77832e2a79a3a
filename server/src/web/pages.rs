//! The pages, served: who may see one at all, and what a page finds in its
//! context. What a page shows is the app's business.

use super::problem::Problem;
use crate::auth::session::{find_viewer, to_sign_in};
use crate::state::AppState;
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};

/// Pages that a person needs before they are signed in. They show no data.
const OPEN_PAGES: [&str; 2] = ["/login", "/setup"];

/// All pages, and the page for addresses that do not exist.
pub fn router(state: &AppState) -> Router {
    Router::new()
        .fallback(|| async { Problem::not_found("There is no such page.") })
        .layer(from_fn_with_state(state.clone(), gate))
}

/// Lets nobody see a page before they signed in; puts the viewer into the
/// request's extensions. Also in front of addresses that do not exist, so that
/// the anonymous cannot tell which do.
async fn gate(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let is_open = OPEN_PAGES.contains(&request.uri().path());
    match find_viewer(&state, request.headers()).await {
        Ok(Some(viewer)) => {
            request.extensions_mut().insert(viewer);
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

/// The panel as a fragment of HTML: the same bytes for the page and the stream.
pub fn panel_html(view: &app::panel::PanelView) -> String {
    format!("<section>{}</section>", super::problem::escaped(&view.verdict.text))
}
