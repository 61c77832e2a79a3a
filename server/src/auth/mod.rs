//! Sign-in: secrets, passwords, sessions, the first admin, and bounds on guessing.
//!
//! Decides who somebody is. What they may do is decided where it is done, by
//! [`session::SignedIn::must_be`].

pub mod password;
pub mod remembered;
pub mod secret;
pub mod session;
pub mod set_up;
pub mod sign_in;
pub mod throttle;

use crate::state::AppState;
use axum::Router;
use axum::routing::post;
use throttle::Throttle;

/// `POST /login`, `POST /logout`, `POST /setup`.
pub fn router() -> Router<AppState> {
    let throttle = Throttle::default();
    Router::new()
        .route("/login", post(sign_in::sign_in))
        .route("/logout", post(sign_in::sign_out))
        .route("/setup", post(set_up::set_up))
        .layer(axum::Extension(throttle))
}
