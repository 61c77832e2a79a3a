//! Lists, groups, counts and exports of dead letters: the statements, written
//! once for both databases. A store runs them and owns the transaction.
//!
//! Words of ours stand in a statement as they are, so that an index with a
//! condition is found; everything from outside is bound.

mod conditions;
mod counts;
mod groups;

pub use conditions::push_conditions;
pub use counts::{StoredCounts, StoredReason, by_reason, can_count, counts, failures, letter_counts};
pub use groups::{GroupRows, StoredGroup, StoredGroupPart, group_parts, group_rows, groups};

use super::fault::Tried;
use super::letter_rows::StoredLetter;
use super::rows::json;
use app::model::cover::{Cover, mask_payload};
use app::model::ids::DeadLetterId;
use app::model::letter::DeadLetter;
use app::model::letter_export::ExportedLetter;
use app::model::letter_filter::LetterFilter;
use chrono::{DateTime, Utc};
use sqlx::{Database, FromRow, QueryBuilder};

/// Characters of error and evidence in a list, one more than anybody shows, so
/// that a cut can be seen.
const LISTED_CHARACTERS: u32 = 2_001;
/// Bytes of text after which a batch of an export ends early: payloads of 1 MiB
/// must not fill the memory.
const BATCH_BYTES: i64 = 8 * 1024 * 1024;

/// What the databases write differently.
pub trait Dialect: Database {
    /// Around a column, then around a text in lower case: whether the column
    /// holds the text, whatever the case of its ASCII letters.
    const HOLDS: [&'static str; 3];
    /// Around a time column: its UTC day, counted from 1970.
    const DAY: [&'static str; 2];

    /// Binds a text.
    fn push_text(query: &mut QueryBuilder<Self>, text: &str);
    /// Binds a time.
    fn push_time(query: &mut QueryBuilder<Self>, at: DateTime<Utc>);
    /// Binds a number.
    fn push_number(query: &mut QueryBuilder<Self>, number: i64);
}

/// What tells which values are masked, where the kind of a letter `l` masks any.
macro_rules! masking_payload {
    () => {
        concat!(
            "(SELECT ",
            crate::store::rows::masking_payloads!("p"),
            " FROM jobs p JOIN kinds h ON h.kind = p.kind \
             WHERE p.id = l.job_id AND h.overrides LIKE '%\"masked_fields\"%')"
        )
    };
}
pub(crate) use masking_payload;

/// The columns of a [`StoredLetter`], with evidence and error as given, and what
/// tells which values are masked.
macro_rules! letter_columns {
    ($evidence:expr, $error:expr, $masking:expr) => {
        format_args!(
            "l.id, l.job_id, l.kind, l.source, l.tenant, l.route, l.reason_code, l.failure_reason, l.field, \
             {} AS evidence, {} AS error, l.category, l.http_status, l.error_code, l.group_key, l.status, l.version, \
             l.dead_lettered_at, l.resolution, l.resolved_by, l.resolved_at, l.note, l.taken_by, l.taken_until, \
             (SELECT overrides FROM kinds k WHERE k.kind = l.kind) AS overrides, {} AS masking",
            $evidence, $error, $masking
        )
    };
}

/// A page of letters, newest first, as [`StoredLetter`] rows; one more than
/// asked for tells whether there is a next page.
pub fn page<DB: Dialect>(filter: &LetterFilter, now: DateTime<Utc>) -> QueryBuilder<DB> {
    let mut query = QueryBuilder::new("SELECT ");
    let cut = |column| format!("substr({column}, 1, {LISTED_CHARACTERS})");
    query
        .push(letter_columns!(cut("l.evidence"), cut("l.error"), masking_payload!()))
        .push(" FROM dead_letters l WHERE ");
    push_conditions(&mut query, filter, now);
    query.push(" ORDER BY l.id DESC LIMIT ");
    DB::push_number(&mut query, i64::from(filter.limit) + 1);
    query
}

/// The letters of a page that was read at `as_of`, and where the next one starts.
pub fn letters_and_next(
    rows: Vec<StoredLetter>,
    filter: &LetterFilter,
    as_of: DateTime<Utc>,
) -> Tried<(Vec<DeadLetter>, Option<DeadLetterId>)> {
    let mut letters = rows.into_iter().map(|row| row.letter(as_of)).collect::<Tried<Vec<_>>>()?;
    let has_more = letters.len() > filter.limit as usize;
    letters.truncate(filter.limit as usize);
    let next = letters.last().map(|letter| letter.id).filter(|_| has_more);
    Ok((letters, next))
}

/// A batch of an export, newest first, as [`StoredExport`] rows: at least one
/// letter if there is any, and no more than `filter.limit`.
pub fn export_batch<DB: Dialect>(filter: &LetterFilter, now: DateTime<Utc>) -> QueryBuilder<DB> {
    let mut query = QueryBuilder::new(
        "WITH batch AS (
           SELECT l.id, coalesce(octet_length(l.error), 0) + coalesce(octet_length(l.evidence), 0)
             + coalesce(octet_length(l.envelope), 0) + coalesce(octet_length(j.payload), 0)
             + coalesce(octet_length(j.upstream_handoffs), 0) AS bytes
           FROM dead_letters l JOIN jobs j ON j.id = l.job_id WHERE ",
    );
    push_conditions(&mut query, filter, now);
    query.push(" ORDER BY l.id DESC LIMIT ");
    DB::push_number(&mut query, i64::from(filter.limit));
    query
        .push("), sized AS (SELECT id, sum(bytes) OVER (ORDER BY id DESC) - bytes AS bytes_before FROM batch) SELECT ");
    query.push(letter_columns!("l.evidence", "l.error", "CAST(NULL AS text)"));
    query.push(
        ", l.envelope, j.payload, j.payload_ref, j.upstream_handoffs,
           (SELECT g.payload FROM dead_letters gl JOIN jobs g ON g.id = gl.job_id JOIN kinds h ON h.kind = g.kind
            WHERE gl.id = j.replay_of AND h.overrides LIKE '%\"masked_fields\"%') AS replayed_payload
         FROM sized JOIN dead_letters l ON l.id = sized.id JOIN jobs j ON j.id = l.job_id WHERE sized.bytes_before < ",
    );
    query.push(BATCH_BYTES).push(" ORDER BY l.id DESC");
    query
}

/// A letter with all that an export carries.
#[derive(Debug, FromRow)]
pub struct StoredExport {
    #[sqlx(flatten)]
    letter: StoredLetter,
    payload: Option<String>,
    payload_ref: Option<String>,
    upstream_handoffs: Option<String>,
    envelope: Option<String>,
    /// Of what the job replays, where the kind masks fields.
    replayed_payload: Option<String>,
}

impl StoredExport {
    /// The record, read at `as_of`.
    /// The kind's masks are on, whoever asks: what is hidden is revealed one by
    /// one, and never by the file.
    pub fn exported(self, as_of: DateTime<Utc>) -> Tried<ExportedLetter> {
        let hidden = self.letter.policy()?.masked_fields;
        let mut payload = json(self.payload);
        let mut cover = Cover::of(payload.as_ref(), &hidden);
        cover.add(json(self.replayed_payload).as_ref(), &hidden);
        mask_payload(&mut payload, &hidden);
        let mut exported = ExportedLetter {
            letter: self.letter.letter(as_of)?,
            payload_ref: self.payload_ref,
            payload,
            upstream_handoffs: json(self.upstream_handoffs),
            envelope: json(self.envelope),
        };
        cover.put_on_masked(&mut exported.payload);
        cover.put_on_letter(&mut exported.letter);
        cover.put_on(&mut exported.payload_ref);
        cover.put_on_json(&mut exported.upstream_handoffs);
        cover.put_on_json(&mut exported.envelope);
        Ok(exported)
    }
}
