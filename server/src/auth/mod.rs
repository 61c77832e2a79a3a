//! Sign-in: secrets, passwords, sessions, the first admin, and bounds on guessing.
//!
//! Decides who somebody is. What they may do is decided where it is done, by
//! [`session::SignedIn::must_be`].

pub mod link;
pub mod password;
pub mod remembered;
pub mod secret;
pub mod session;
pub mod set_up;
pub mod sign_in;
pub mod throttle;

use crate::web::endpoint::Endpoint;

/// What needs no session. Wants a [`throttle::Throttle`] among the extensions.
pub fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::post("/login", sign_in::sign_in),
        Endpoint::post("/logout", sign_in::sign_out),
        Endpoint::post("/setup", set_up::set_up),
        Endpoint::post("/password", link::set_password),
    ]
}
