//! What people do, posted by plain forms: works without scripts.
//!
//! Every handler checks the role itself, whatever the page showed. Success
//! leads back to a page (303) with a notice; anything else is a
//! [`Problem`](crate::web::problem::Problem) with its status, and changes nothing.

pub mod kinds;
pub mod letter_work;
pub mod letters;

use crate::auth::session::local_path;
use crate::state::AppState;
use crate::web::problem::with_notice;
use app::pages::notice::Notice;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::response::Redirect;
use axum::routing::post;

/// All forms.
pub fn router() -> Router<AppState> {
    // A page that a form's answer became stands on the form's address: loaded
    // again, that address leads to where the form is.
    Router::new()
        .route("/dead-letters/{id}/actions", post(letters::act).get(letters::lead_back))
        .merge(work())
        .route("/kinds/pause", post(kinds::pause).get(async || Redirect::to("/policies")))
}

/// The pages that prepare a way out; they take a whole payload.
fn work() -> Router<AppState> {
    ["correct", "split", "notify", "follow-up"]
        .into_iter()
        .fold(Router::new(), |router, page| {
            router.route(&format!("/dead-letters/{{id}}/{page}"), post(letter_work::post))
        })
        .layer(DefaultBodyLimit::max(letter_work::MAX_FORM_BYTES))
}

/// Back to `next`, if it is a page of this site, else to `home`; the page
/// shows the notice.
fn back_with_notice(next: Option<&str>, home: &str, notice: Notice) -> Redirect {
    Redirect::to(&with_notice(&way_back(next, home), notice))
}

/// `next`, if it is a page of this site, else `home`.
fn way_back(next: Option<&str>, home: &str) -> String {
    local_path(next.filter(|next| !next.is_empty()).or(Some(home)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse as _;

    #[test]
    fn the_way_back_keeps_the_filters_and_stays_on_this_site() {
        for (next, leads_to) in [
            (Some("/dead-letters?kind=a+b&notice=closed"), "/dead-letters?kind=a+b&notice=replayed"),
            (Some("/dead-letters/7#history"), "/dead-letters/7?notice=replayed#history"),
            (Some("//evil.example"), "/?notice=replayed"),
            (Some(""), "/home?notice=replayed"),
            (None, "/home?notice=replayed"),
        ] {
            let response = back_with_notice(next, "/home", Notice::Replayed).into_response();
            assert_eq!(response.headers()["location"], leads_to, "{next:?}");
            assert_eq!(response.status(), 303);
        }
    }
}
