//! `GET /dead-letters`: a page of letters, newest first.

use crate::state::AppState;
use crate::worker_api::caller::Caller;
use crate::worker_api::error::Answer;
use crate::worker_api::query::Query;
use app::model::ids::DeadLetterId;
use app::model::letter::DeadLetter;
use app::model::letter_filter::LetterFilter;
use app::model::people::Scope;
use app::model::text::preview;
use axum::Json;
use axum::extract::{RawQuery, State};
use chrono::{DateTime, Utc};
use serde::Serialize;

/// Longest evidence and error in a list, in characters; the letter itself has all.
const MAX_LISTED_CHARACTERS: usize = 2_000;

/// A page of letters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeadLettersAnswer {
    /// The letters, newest first; long texts cut.
    pub dead_letters: Vec<DeadLetter>,
    /// To be sent as `cursor` for the next page; `null` at the end.
    pub next_cursor: Option<DeadLetterId>,
    /// The database's clock at this reading.
    pub as_of: DateTime<Utc>,
}

pub(in crate::worker_api) async fn list_dead_letters(
    State(state): State<AppState>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Answer<DeadLettersAnswer> {
    caller.require(Scope::Read)?;
    let known = [LetterFilter::PARAMETERS.as_slice(), &["cursor", "limit"]].concat();
    let query = Query::parse(query.as_deref(), &known)?;
    let filter = LetterFilter { before: query.cursor()?, limit: query.limit()?, ..query.letter_filter()? };
    let page = state.store.list_letters(&filter).await?;
    Ok(Json(DeadLettersAnswer {
        dead_letters: page.letters.into_iter().map(listed).collect(),
        next_cursor: page.next,
        as_of: page.as_of,
    }))
}

fn listed(mut letter: DeadLetter) -> DeadLetter {
    for text in [&mut letter.evidence, &mut letter.error].into_iter().flatten() {
        *text = preview(text, MAX_LISTED_CHARACTERS);
    }
    letter
}
