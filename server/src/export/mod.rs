//! Exports of dead letters: exactly what a filter finds, as CSV or JSON, for
//! people here and for programs under `/api/v1`.
//!
//! The letters come in batches, each read by itself, so a reader may be as slow
//! as it likes: between two batches no transaction and no connection is held.
//! The right to read is asked for again before each batch. A complete JSON file
//! ends with `]`; when an export cannot go on, the connection is cut, so that
//! the client sees an error and never takes a part for the whole.

mod format;

pub use format::Format;

use crate::auth::session::{SignedIn, look_up, session_sha256};
use crate::state::AppState;
use crate::web::endpoint::Endpoint;
use crate::web::problem::Problem;
use app::api::Request;
use app::model::audit::Noted;
use app::model::letter_export::ExportedLetter;
use app::model::letter_filter::LetterFilter;
use app::model::people::Role;
use app::store::{Store, Stored};
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use futures::stream::{Stream, unfold};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Uri};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use url::form_urlencoded;

/// Letters of one batch, at most.
const BATCH: u32 = 500;
/// Bytes handed over at once.
const SLICE: usize = 16 * 1024;
/// A reader that takes nothing for so long is gone.
const STUCK: Duration = Duration::from_secs(300);

/// Whether the reader may go on.
pub type StillAllowed = Box<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

/// `GET /export/dead-letters.csv` and `.json`, for people.
pub fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/export/dead-letters.csv", csv_for_people),
        Endpoint::get("/export/dead-letters.json", json_for_people),
    ]
}

async fn csv_for_people(
    State(state): State<AppState>,
    person: SignedIn,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    for_people(state, person, &headers, &uri, Format::Csv).await
}

async fn json_for_people(
    State(state): State<AppState>,
    person: SignedIn,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    for_people(state, person, &headers, &uri, Format::Json).await
}

async fn for_people(
    state: AppState,
    person: SignedIn,
    headers: &HeaderMap,
    uri: &Uri,
    format: Format,
) -> Result<Response, Problem> {
    person.must_be(Role::OnCall)?;
    let role = person.viewer.role;
    let request = Request::parse(&uri.to_string());
    let filter = LetterFilter::parse(|name| request.get(name)).map_err(|error| Problem::invalid(&error))?;
    let filter = LetterFilter { searches_private: person.viewer.may(Role::Reviewer), ..filter };
    let session = session_sha256(headers, &state.config).unwrap_or_default();
    let asking = state.clone();
    let still_allowed = move || {
        let (state, session) = (asking.clone(), session.clone());
        // The same role, too: what is hidden was decided by it.
        async move { matches!(look_up(&state, &session, true).await, Ok(Some(viewer)) if viewer.role == role) }.boxed()
    };
    // Before the first byte: what was taken away is never without its trace.
    let asked = form_urlencoded::Serializer::new(String::new()).extend_pairs(filter.pairs()).finish();
    let noted = Noted::Exported { format: format.extension(), filter: asked };
    state.store.note(&noted, &person.actor).await.map_err(|error| Problem::of_store(&state, error))?;
    export(state.store.clone(), filter, format, role, Box::new(still_allowed))
        .await
        .map_err(|error| Problem::of_store(&state, error))
}

/// Answers with all letters that `filter` finds, as `role` may see them.
///
/// # Errors
/// As the store's first batch; a later one cuts the connection.
pub async fn export(
    store: Arc<dyn Store>,
    filter: LetterFilter,
    format: Format,
    role: Role,
    still_allowed: StillAllowed,
) -> Stored<Response> {
    let filter = LetterFilter { limit: BATCH, before: None, ..filter };
    let first = store.export_letters(&filter).await?;
    let as_of = first.as_of;
    let (slices, receiver) = mpsc::channel::<Slice>(1);
    // An age stays what it was when the export began, however long it takes.
    let filter = LetterFilter { ages_at: Some(as_of), ..filter };
    let export = Export { store, filter, format, role, still_allowed, slices };
    tokio::spawn(export.run(first.letters));
    let mut response = Body::from_stream(until_the_end(receiver)).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
    headers.insert(CONTENT_DISPOSITION, file_name(format, as_of));
    Ok(response)
}

fn file_name(format: Format, as_of: DateTime<Utc>) -> HeaderValue {
    let name = format!("dead-letters-{}.{}", as_of.format("%Y-%m-%d-%H%M%S"), format.extension());
    HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")).expect("digits and fixed words are header text")
}

/// A piece of the file, or `None`: it is complete.
type Slice = Option<Bytes>;

/// What the writer sends. If it goes away before it said that the file is
/// complete, for whatever reason, the stream ends in an error and the
/// connection without its last chunk, which a client reports.
fn until_the_end(slices: mpsc::Receiver<Slice>) -> impl Stream<Item = io::Result<Bytes>> {
    unfold(Some(slices), async |slices| {
        let mut slices = slices?;
        match slices.recv().await {
            Some(Some(bytes)) => Some((Ok(bytes), Some(slices))),
            Some(None) => None,
            None => Some((Err(io::Error::other("the export was cut")), None)),
        }
    })
}

/// Why an export ends before its end.
enum Cut {
    /// Nobody reads any more.
    ReaderGone,
    /// A fault.
    Failed(String),
}

struct Export {
    store: Arc<dyn Store>,
    filter: LetterFilter,
    format: Format,
    role: Role,
    still_allowed: StillAllowed,
    slices: mpsc::Sender<Slice>,
}

impl Export {
    async fn run(mut self, first: Vec<ExportedLetter>) {
        if let Err(Cut::Failed(why)) = self.write(first).await {
            tracing::warn!(why, "an export was cut");
        }
    }

    async fn write(&mut self, first: Vec<ExportedLetter>) -> Result<(), Cut> {
        self.send(self.format.head()).await?;
        let mut batch = first;
        let mut is_first = true;
        while let Some(last) = batch.last() {
            self.filter.before = Some(last.letter.id);
            let role = self.role;
            let seen = batch.into_iter().map(|letter| letter.as_seen_by(role));
            let records = self.format.records(seen, is_first).map_err(|error| Cut::Failed(error.to_string()))?;
            self.send(records).await?;
            is_first = false;
            if !(self.still_allowed)().await {
                return Err(Cut::Failed("the reader may not read any more, or that cannot be told".to_owned()));
            }
            let next = self.store.export_letters(&self.filter).await;
            batch = next.map_err(|error| Cut::Failed(format!("{error:?}")))?.letters;
        }
        self.send(self.format.tail()).await?;
        self.send_slice(None).await
    }

    async fn send(&self, bytes: Vec<u8>) -> Result<(), Cut> {
        let mut rest = Bytes::from(bytes);
        while !rest.is_empty() {
            self.send_slice(Some(rest.split_to(SLICE.min(rest.len())))).await?;
        }
        Ok(())
    }

    async fn send_slice(&self, slice: Slice) -> Result<(), Cut> {
        match timeout(STUCK, self.slices.send(slice)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Cut::ReaderGone),
            Err(_) => Err(Cut::Failed(format!("the reader took nothing for {} s", STUCK.as_secs()))),
        }
    }
}
