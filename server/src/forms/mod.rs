//! What people do, posted by plain forms: works without scripts.
//!
//! Every handler checks the role itself, whatever the page showed. Success
//! leads back to a page (303) with a notice; anything else is a
//! [`Problem`](crate::web::problem::Problem) with its status, and changes nothing.

pub mod account;
pub mod alerts;
pub mod bulk;
pub mod canaries;
pub mod follow_ups;
pub mod kinds;
pub mod letter_work;
pub mod letters;
pub mod outbox;
pub mod policies;
pub mod reveal;
pub mod tokens;
pub mod users;

use crate::auth::session::local_path;
use crate::web::endpoint::Endpoint;
use crate::web::problem::with_notice;
use app::pages::notice::Notice;
use axum::response::Redirect;

/// All forms. A page that a form's answer became stands on the form's address:
/// loaded again, that address leads to where the form is.
/// They want a [`Throttle`](crate::auth::throttle::Throttle) among the extensions.
pub fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::post("/dead-letters/{id}/actions", letters::act),
        Endpoint::get("/dead-letters/{id}/actions", letters::lead_back),
        Endpoint::post("/dead-letters/bulk", bulk::draft),
        Endpoint::get("/dead-letters/bulk", bulk::lead_back),
        Endpoint::post("/bulk/{id}", bulk::steer),
        Endpoint::post("/dead-letters/{id}/correct", letter_work::post).taking(letter_work::MAX_FORM_BYTES),
        Endpoint::post("/dead-letters/{id}/split", letter_work::post).taking(letter_work::MAX_FORM_BYTES),
        Endpoint::post("/dead-letters/{id}/notify", letter_work::post),
        Endpoint::post("/dead-letters/{id}/follow-up", letter_work::post),
        Endpoint::post("/dead-letters/{id}/reveal", reveal::of_letter),
        Endpoint::post("/jobs/{id}/reveal", reveal::of_job),
        Endpoint::post("/outbox/{id}", outbox::post),
        Endpoint::post("/follow-ups", follow_ups::post),
        Endpoint::post("/alerts", alerts::post),
        Endpoint::post("/canaries", canaries::add).taking(canaries::MAX_FORM_BYTES),
        Endpoint::post("/canaries/{id}", canaries::act).taking(canaries::MAX_FORM_BYTES),
        Endpoint::get("/canaries/{id}/export", canaries::export),
        Endpoint::post("/kinds/pause", kinds::pause),
        Endpoint::get("/kinds/pause", async || Redirect::to("/policies")),
        Endpoint::post("/kinds/masked-fields", kinds::mask),
        Endpoint::post("/policies/kind", policies::edit).taking(policies::MAX_FORM_BYTES),
        Endpoint::post("/account/password", account::change_password),
        Endpoint::post("/account/sessions/end", account::end_sessions),
        Endpoint::post("/settings/users/add", users::add),
        Endpoint::post("/settings/users/change", users::change),
        Endpoint::post("/settings/users/link", users::make_link),
        Endpoint::post("/settings/users/sessions/end", users::end_sessions),
        Endpoint::post("/settings/tokens/add", tokens::add),
        Endpoint::post("/settings/tokens/revoke", tokens::revoke),
    ]
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
