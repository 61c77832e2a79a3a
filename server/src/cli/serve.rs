//! `drainboard serve`.

use super::Database;
use crate::auth::set_up;
use crate::config::Config;
use crate::state::AppState;
use crate::webhook::Target;
use crate::{duties, site, web};
use anyhow::{Context as _, anyhow, bail};
use app::model::FieldError;
use app::model::trace_url::TraceUrl;
use clap::builder::FalseyValueParser;
use secrecy::SecretString;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpListener;

/// Requests under way get this long to end; the whole stays below 10 seconds.
const GRACE: Duration = Duration::from_secs(7);
/// Then the database's connections get this long to close.
const CLOSING: Duration = Duration::from_secs(2);

/// Options of `serve`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to listen.
    #[arg(long, value_name = "ADDRESS:PORT", env = "DRAINBOARD_LISTEN", default_value = "127.0.0.1:3000")]
    listen: SocketAddr,
    /// Answer GET /verdict without a token.
    #[arg(long)]
    public_verdict: bool,
    /// The pages are reached over TLS (through a proxy): hand out cookies that a browser sends only there.
    #[arg(long)]
    secure_cookies: bool,
    /// Send customer notices to this address, each as a signed POST of JSON.
    ///
    /// The secret that they are signed with is read from the environment variable
    /// DRAINBOARD_WEBHOOK_SECRET. Without an address, people mark notices as sent by hand.
    #[arg(long, value_name = "URL", env = "DRAINBOARD_NOTICE_WEBHOOK")]
    notice_webhook: Option<String>,
    /// Tell this address when an alert opens, becomes critical or closes, each as a signed POST of JSON.
    ///
    /// Signed as notices are, with DRAINBOARD_WEBHOOK_SECRET.
    #[arg(long, value_name = "URL", env = "DRAINBOARD_ALERT_WEBHOOK")]
    alert_webhook: Option<String>,
    /// Let webhooks reach loopback and private networks.
    #[arg(long, env = "DRAINBOARD_ALLOW_PRIVATE_WEBHOOKS", value_parser = FalseyValueParser::new())]
    allow_private_webhooks: bool,
    /// Where a trace can be looked at; pages link there. Holds {trace_id} where the id belongs.
    #[arg(long, value_name = "URL", env = "DRAINBOARD_TRACE_URL", value_parser = trace_url)]
    trace_url: Option<TraceUrl>,
}

/// Where the secret comes from: a command line can be read by others on the machine.
const WEBHOOK_SECRET: &str = "DRAINBOARD_WEBHOOK_SECRET";

impl Args {
    /// Where notices, or alerts, go: the address that the setting `name` gave.
    ///
    /// # Errors
    /// A sentence that says which setting breaks which rule.
    fn webhook(&self, name: &str, url: Option<&str>) -> anyhow::Result<Option<Target>> {
        let Some(url) = url.filter(|url| !url.trim().is_empty()) else { return Ok(None) };
        let secret = match std::env::var(WEBHOOK_SECRET) {
            Ok(secret) => SecretString::from(secret),
            Err(std::env::VarError::NotPresent) => {
                bail!("{WEBHOOK_SECRET} is not set: what goes to {name} is signed with it")
            }
            Err(std::env::VarError::NotUnicode(_)) => bail!("{WEBHOOK_SECRET} is no text"),
        };
        let target = Target::new(name, url, secret, self.allow_private_webhooks)
            .map_err(|error| anyhow!("{} {}", error.field, error.rule))?;
        if !target.is_encrypted() {
            tracing::warn!(to = target.origin(), name, "messages travel unencrypted: the webhook is not https");
        }
        Ok(Some(target))
    }
}

/// What is wrong with the address, in words.
fn trace_url(template: &str) -> Result<TraceUrl, String> {
    template.parse().map_err(|error: FieldError| error.rule)
}

/// Serves until it is told to stop.
pub async fn run(args: Args, database: &Database) -> anyhow::Result<()> {
    let notice_webhook = args.webhook("notice-webhook", args.notice_webhook.as_deref())?;
    let alert_webhook = args.webhook("alert-webhook", args.alert_webhook.as_deref())?;
    let config = Config {
        listen: args.listen,
        database_url: database.url().to_owned(),
        public_verdict: args.public_verdict,
        secure_cookies: args.secure_cookies,
        notice_webhook,
        alert_webhook,
        trace_url: args.trace_url,
    };
    let listener = listen(config.listen).await?;
    let store = database.open_or_make().await?;
    let address = listener.local_addr()?;
    let link = set_up::prepare(&*store).await?;
    let state = AppState::new(store, config);
    eprintln!("Drainboard listens on {}", web_address(address));
    if let Some(link) = link {
        eprintln!("Nobody can sign in yet. This link makes the first admin, once: {}{link}", web_address(address));
    }
    serve(listener, state).await
}

/// Binds the address.
///
/// # Errors
/// A sentence that says what to do.
pub async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address} (does another program? choose another address with --listen)")
    })
}

/// Serves `state` on `listener`, duties included, until SIGTERM or SIGINT; then
/// ends streams at once and everything within 10 seconds.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener, state: AppState) -> anyhow::Result<()> {
    if site::is_missing() {
        tracing::warn!(
            "this build has no site files: pages come without style and script (make site, then build again)"
        );
    }
    let duties =
        duties::spawn(state.store.clone(), state.config.notice_webhook.clone(), state.config.alert_webhook.clone());
    let (store, live) = (state.store.clone(), state.live.clone());
    let (stopping, mut stopped) = tokio::sync::watch::channel(false);
    let service = web::router(state).into_make_service_with_connect_info::<SocketAddr>();
    let server = axum::serve(listener, service).with_graceful_shutdown(async move {
        told_to_stop().await;
        tracing::info!("stopping");
        live.shut_down();
        stopping.send_replace(true);
    });
    let grace_is_over = async move {
        // An error means that the server ended by itself, which the other branch reports.
        if stopped.wait_for(|is_stopping| *is_stopping).await.is_err() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(GRACE).await;
    };
    let served = tokio::select! {
        served = server => served.context("the server failed"),
        () = grace_is_over => {
            tracing::warn!("some requests did not end in time");
            Ok(())
        }
    };
    duties.abort();
    if tokio::time::timeout(CLOSING, store.close()).await.is_err() {
        tracing::warn!("the database did not close in time");
    }
    served
}

async fn told_to_stop() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate()).expect("a process may handle SIGTERM");
        tokio::select! { _ = interrupted => {}, _ = terminate.recv() => {} }
    }
    #[cfg(not(unix))]
    {
        // An error means that the signal cannot be had; then only a kill ends the server.
        let _ = interrupted.await;
    }
}

/// The address as a browser on this machine takes it.
pub fn web_address(address: SocketAddr) -> String {
    let mut address = address;
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    format!("http://{address}")
}
