//! One reading a second per server, sent to every open page.
//!
//! The panel is read and rendered once; every watcher gets the same bytes. A
//! watcher that is slow skips readings, it never queues them. Nobody watching,
//! nothing read. When the database is away the stream goes on and says so: the
//! last numbers, with the verdict *Unknown*.

use crate::auth::session::{SignedIn, look_up, session_sha256};
use crate::state::AppState;
use crate::web::endpoint::Endpoint;
use crate::web::pages::panel_html;
use crate::web::problem::Problem;
use app::error::StoreError;
use app::model::people::Role;
use app::model::reading::Snapshot;
use app::store::Stored;
use axum::body::Body;
use axum::extract::State;
use axum::response::{Html, IntoResponse as _, Response};
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at, sleep_until, timeout};
use tokio_stream::wrappers::ReceiverStream;

const EVERY: Duration = Duration::from_secs(1);
/// A reading that takes longer counts as none.
const READING: Duration = Duration::from_secs(2);
/// A comment so often keeps proxies from closing a silent stream.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// A watcher that takes nothing for so long is gone.
const STUCK: Duration = Duration::from_secs(60);
/// How soon a log-out or demotion ends an open stream.
///
/// Asked of the database, so that it holds on every server: within a second.
const SESSION_CHECK: Duration = Duration::from_millis(700);
/// An open page is activity; told to the database this often, since it lets a
/// session live 30 minutes without.
const ACTIVITY: Duration = Duration::from_secs(60);

const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The stream of readings. Cheap to clone; one per server.
#[derive(Clone, Default)]
pub struct Live(Arc<Inner>);

#[derive(Default)]
struct Inner {
    event: watch::Sender<Option<Bytes>>,
    is_shut_down: watch::Sender<bool>,
    /// Whether the sampler runs; locked while that changes, so that a watcher
    /// never joins a sampler that is about to end.
    is_sampling: Mutex<bool>,
}

impl Live {
    /// Ends all streams, now and later.
    pub fn shut_down(&self) {
        self.0.is_shut_down.send_replace(true);
    }

    fn watch(&self, state: &AppState) -> watch::Receiver<Option<Bytes>> {
        let mut is_sampling = self.0.is_sampling.lock().unwrap_or_else(PoisonError::into_inner);
        let watcher = self.0.event.subscribe();
        if !*is_sampling {
            *is_sampling = true;
            tokio::spawn(sample(state.clone()));
        }
        watcher
    }

    /// Whether the sampler should end; if so, it counts as ended.
    fn nobody_watches(&self) -> bool {
        let mut is_sampling = self.0.is_sampling.lock().unwrap_or_else(PoisonError::into_inner);
        if self.0.event.receiver_count() > 0 {
            return false;
        }
        *is_sampling = false;
        // The next watcher must not begin with an old reading.
        self.0.event.send_replace(None);
        true
    }
}

/// The stream, and its panel once.
pub fn endpoints() -> Vec<Endpoint> {
    vec![Endpoint::get("/live", stream), Endpoint::get("/live/panel", panel_once)]
}

async fn sample(state: AppState) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut late = None;
    loop {
        ticks.tick().await;
        if state.live.nobody_watches() {
            return;
        }
        let html = panel_html(&state.panel.view_of(reading(&state, &mut late).await));
        state.live.0.event.send_replace(Some(panel_event(&html)));
    }
}

type Reading = JoinHandle<Stored<Snapshot>>;

/// The panel's numbers now. A reading that is late counts as none, and its
/// numbers are not shown as new ones when it ends. Until it does, no other is
/// begun: readings that hang on a lock must not use up the connections.
async fn reading(state: &AppState, late: &mut Option<Reading>) -> Stored<Snapshot> {
    if late.as_ref().is_some_and(|reading| !reading.is_finished()) {
        return Err(StoreError::Unavailable("the last reading has not ended yet".to_owned()));
    }
    let store = state.store.clone();
    let mut reading = tokio::spawn(async move { store.snapshot().await });
    match timeout(READING, &mut reading).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => Err(StoreError::Internal(format!("a reading ended early: {error}"))),
        Err(_) => {
            *late = Some(reading);
            Err(StoreError::Unavailable(format!("a reading took longer than {READING:?}")))
        }
    }
}

/// Server-sent event `panel`; every line end of the fragment becomes a line of data.
fn panel_event(html: &str) -> Bytes {
    let mut event = String::with_capacity(html.len() + 64);
    event.push_str("event: panel\n");
    for line in html.replace("\r\n", "\n").split(['\n', '\r']) {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    Bytes::from(event)
}

/// The fragment once, for tabs that are hidden and ask now and then. Not
/// activity: a page that nobody sees must not keep a session alive.
async fn panel_once(State(state): State<AppState>, headers: HeaderMap) -> Result<Response, Problem> {
    let session = session_sha256(&headers, &state.config).ok_or_else(Problem::session_ended)?;
    match look_up(&state, &session, false).await {
        Ok(Some(_)) => Ok(Html(panel_html(&state.panel_now(READING).await)).into_response()),
        Ok(None) => Err(Problem::session_ended()),
        Err(error) => Err(Problem::of_store(&state, error)),
    }
}

async fn stream(State(state): State<AppState>, headers: HeaderMap, person: SignedIn) -> Result<Response, Problem> {
    let session = session_sha256(&headers, &state.config).ok_or_else(Problem::session_ended)?;
    let (sender, receiver) = mpsc::channel(1);
    let watcher = state.live.watch(&state);
    tokio::spawn(feed(state, session, person.viewer.role, watcher, sender));
    let mut response = Response::new(Body::from_stream(ReceiverStream::new(receiver)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    Ok(response)
}

type Chunk = Result<Bytes, Infallible>;

/// Sends events to one watcher until they leave, lose their session or change
/// their role, or the server stops.
async fn feed(
    state: AppState,
    session: String,
    role: Role,
    mut watcher: watch::Receiver<Option<Bytes>>,
    sender: mpsc::Sender<Chunk>,
) {
    let mut shut_down = state.live.0.is_shut_down.subscribe();
    let mut checks = interval_at(Instant::now() + SESSION_CHECK, SESSION_CHECK);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut active_at = Instant::now();
    let mut sent_at = Instant::now();
    // The reading that is there already; the sampler brings the first otherwise.
    watcher.mark_changed();
    loop {
        let chunk = tokio::select! {
            biased;
            () = told(&mut shut_down) => return,
            () = sender.closed() => return,
            _ = checks.tick() => {
                let is_activity = active_at.elapsed() >= ACTIVITY;
                match look_up(&state, &session, is_activity).await {
                    Ok(Some(viewer)) if viewer.role == role => {}
                    Ok(_) => return,
                    // Away is not signed out: the stream says that it is away.
                    Err(_) => continue,
                }
                if is_activity {
                    active_at = Instant::now();
                }
                continue;
            }
            changed = watcher.changed() => match changed {
                Ok(()) => watcher.borrow_and_update().clone(),
                Err(_) => return,
            },
            () = sleep_until(sent_at + KEEP_ALIVE) => Some(Bytes::from_static(b": still here\n\n")),
        };
        if let Some(chunk) = chunk {
            if !send(&sender, &mut shut_down, chunk).await {
                return;
            }
            sent_at = Instant::now();
        }
    }
}

/// Waits until the server stops.
async fn told(shut_down: &mut watch::Receiver<bool>) {
    // Fails only if nobody is left to tell, which is as good as being told.
    drop(shut_down.wait_for(|is_shut_down| *is_shut_down).await);
}

/// Waits for room, so that a slow watcher gets the newest reading and not all;
/// one that takes nothing at all is given up.
async fn send(sender: &mpsc::Sender<Chunk>, shut_down: &mut watch::Receiver<bool>, chunk: Bytes) -> bool {
    tokio::select! {
        () = told(shut_down) => false,
        sent = timeout(STUCK, sender.send(Ok(chunk))) => matches!(sent, Ok(Ok(()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_fragment_is_a_line_of_data() {
        assert_eq!(panel_event("<p>a\r\nb\rc</p>\n"), "event: panel\ndata: <p>a\ndata: b\ndata: c</p>\ndata: \n\n");
    }
}
