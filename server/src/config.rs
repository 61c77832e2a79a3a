//! What can be set from outside, checked once at start.

use crate::webhook::Target;
use app::model::trace_url::TraceUrl;
use std::net::SocketAddr;

/// Settings of a running server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// `sqlite:PATH` or `postgres://…`.
    pub database_url: String,
    /// Whether `/verdict` answers without a token.
    pub public_verdict: bool,
    /// Whether pages are served over TLS (by a proxy): cookies are `__Host-` and `Secure`.
    pub secure_cookies: bool,
    /// Where customer notices are sent, if that is not done by hand.
    pub notice_webhook: Option<Target>,
    /// Where changes of alerts are sent, if anywhere.
    pub alert_webhook: Option<Target>,
    /// Where traces can be looked at.
    pub trace_url: Option<TraceUrl>,
}

impl Config {
    /// Settings for tests and the demo: loopback, any free port, private.
    pub fn loopback(database_url: impl Into<String>) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            database_url: database_url.into(),
            public_verdict: false,
            secure_cookies: false,
            notice_webhook: None,
            alert_webhook: None,
            trace_url: None,
        }
    }
}
