//! One request and its answer, over a connection that is made for it alone: the
//! address that was judged is the very one that is connected to, whatever the
//! name says a moment later.

use super::address::is_public;
use super::target::Target;
use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::fmt;
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use url::Host;

/// Most bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// One of several addresses has so long, that the next one gets its turn.
const CONNECTING: Duration = Duration::from_secs(3);

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) retry_after: Option<String>,
}

/// What is needed to speak TLS, made once.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Trusts the roots that browsers trust.
    pub(super) fn new() -> Self {
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider knows TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self(Arc::new(config))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

/// Sends the request and reads the answer, within `patience`.
///
/// # Errors
/// Why there was no answer, in a sentence for people.
pub(super) async fn exchange(
    target: &Target,
    tls: &Tls,
    request: Request<Full<Bytes>>,
    patience: Duration,
) -> Result<Answer, String> {
    let deadline = Instant::now() + patience;
    let answering = async {
        let stream = connect(&addresses(target).await?).await?;
        if !target.is_encrypted() {
            return ask(stream, request).await;
        }
        let name = ServerName::try_from(target.host().to_string()).or_else(|_| match target.host() {
            Host::Ipv6(address) => Ok(ServerName::from(std::net::IpAddr::V6(address))),
            _ => Err("the receiver's name cannot be in a certificate".to_owned()),
        })?;
        let stream = TlsConnector::from(tls.0.clone()).connect(name, stream).await;
        ask(stream.map_err(|error| format!("no secure connection to the receiver: {error}"))?, request).await
    };
    let (answer, body, _connection) = timeout_at(deadline, answering)
        .await
        .map_err(|_| format!("the receiver did not answer within {} s", patience.as_secs_f32()))??;
    // The answer stands; what else the receiver says is read for its sake alone.
    let _ = timeout_at(deadline, drain(body)).await;
    Ok(answer)
}

/// Where the target's name leads now, as far as it may be gone to.
async fn addresses(target: &Target) -> Result<Vec<SocketAddr>, String> {
    let found: Vec<SocketAddr> = match target.host() {
        Host::Ipv4(address) => vec![(address, target.port()).into()],
        Host::Ipv6(address) => vec![(address, target.port()).into()],
        Host::Domain(name) => lookup_host((name, target.port()))
            .await
            .map_err(|error| format!("the receiver's name is not found: {error}"))?
            .collect(),
    };
    let allowed: Vec<SocketAddr> =
        found.iter().copied().filter(|address| target.allows_private() || is_public(address.ip())).collect();
    match (found.first(), allowed.is_empty()) {
        (None, _) => Err("the receiver's name leads to no address".to_owned()),
        (Some(address), true) => Err(format!(
            "the receiver's address {} is not a public one: refused unless the server runs with \
             --allow-private-webhooks",
            address.ip()
        )),
        (Some(_), false) => Ok(allowed),
    }
}

/// The first address that answers.
async fn connect(addresses: &[SocketAddr]) -> Result<TcpStream, String> {
    let mut last = Error::from(ErrorKind::AddrNotAvailable);
    for address in addresses {
        match timeout(CONNECTING, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(_) => last = Error::from(ErrorKind::TimedOut),
        }
    }
    Err(format!("no connection to the receiver: {last}"))
}

/// The head of the answer, its body, and what keeps the connection going: dropped, it ends.
async fn ask(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<(Answer, Incoming, JoinSet<()>), String> {
    let broken = |error: hyper::Error| format!("the connection to the receiver broke: {error}");
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(MAX_ANSWER_BYTES).handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let mut driver = JoinSet::new();
    driver.spawn(async move {
        // Whoever waits for the answer is told, too.
        let _ = connection.await;
    });
    let (head, body) = sender.send_request(request).await.map_err(broken)?.into_parts();
    let retry_after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Ok((Answer { status: head.status, retry_after }, body, driver))
}

/// Reads what fits; the rest is left unread.
async fn drain(mut body: Incoming) {
    let mut read = 0;
    while let Some(Ok(frame)) = body.frame().await {
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > MAX_ANSWER_BYTES {
            return;
        }
    }
}
