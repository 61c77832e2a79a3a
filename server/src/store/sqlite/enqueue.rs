//! Enqueueing: all jobs of a call or none, in a handful of statements.

use super::{SqliteStore, Tx, json_list};
use crate::store::fault::Tried;
use crate::store::rows::job_state;
use crate::store::schedule::{Schedule, schedule};
use crate::store::time::At;
use app::model::ids::JobId;
use app::model::job::{EnqueuedJob, JobState, NewJob, RawJson};
use app::model::policy::Policy;
use sqlx::{FromRow, QueryBuilder};
use std::collections::{BTreeSet, HashMap};

/// Rows of one insert: below SQLite's limit of 32,766 parameters, and few
/// enough that the statement is found in the cache.
const ROWS_PER_INSERT: usize = 200;

/// A unique key, per kind.
type Key<'a> = (&'a str, &'a str);

#[derive(FromRow)]
struct Holder {
    id: i64,
    kind: String,
    unique_key: String,
    state: String,
    run_at: At,
}

impl SqliteStore {
    pub(super) async fn enqueue_all(&self, jobs: &[NewJob]) -> Tried<Vec<EnqueuedJob>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let mut tx = self.write().await?;
        let spreads = register_kinds(&mut tx, jobs).await?;
        let mut holders = find_holders(&mut tx, jobs).await?;
        let mut next_id = next_job_id(&mut tx).await?;
        let mut fresh = Vec::new();
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            let key = job.unique_key.as_deref().map(|key| (job.kind.as_str(), key));
            if let Some(holder) = key.and_then(|key| holders.get(&key)) {
                answers.push(EnqueuedJob { duplicate: true, ..holder.clone() });
                continue;
            }
            let spread = spreads.get(job.kind.as_str()).copied().unwrap_or_default();
            let times = schedule(job, spread, tx.now, rand::random());
            let answer =
                EnqueuedJob { id: JobId(next_id), state: JobState::Waiting, run_at: times.run_at, duplicate: false };
            if let Some(key) = key {
                holders.insert(key, answer.clone());
            }
            fresh.push((next_id, job, times));
            answers.push(answer);
            next_id += 1;
        }
        for rows in fresh.chunks(ROWS_PER_INSERT) {
            insert(&mut tx, rows).await?;
        }
        tx.commit().await?;
        Ok(answers)
    }
}

/// Makes sure that every kind has its row; answers their spreads.
async fn register_kinds(tx: &mut Tx, jobs: &[NewJob]) -> Tried<HashMap<String, u32>> {
    let names: BTreeSet<&str> = jobs.iter().map(|job| job.kind.as_str()).collect();
    let names = json_list(&names.into_iter().collect::<Vec<_>>())?;
    let now = At(tx.now);
    sqlx::query(
        "INSERT INTO kinds (kind, created_at) SELECT value, ?2 FROM json_each(?1) WHERE true ON CONFLICT DO NOTHING",
    )
    .bind(&names)
    .bind(now)
    .execute(&mut **tx)
    .await?;
    let policies: Vec<(String, String)> =
        sqlx::query_as("SELECT kind, overrides FROM kinds WHERE kind IN (SELECT value FROM json_each(?1))")
            .bind(&names)
            .fetch_all(&mut **tx)
            .await?;
    policies
        .into_iter()
        .map(|(kind, overrides)| Ok((kind, Policy::effective(&serde_json::from_str(&overrides)?).spread_seconds)))
        .collect()
}

/// Who holds the unique keys that these jobs ask for.
async fn find_holders<'a>(tx: &mut Tx, jobs: &'a [NewJob]) -> Tried<HashMap<Key<'a>, EnqueuedJob>> {
    let wanted: Vec<Key<'a>> =
        jobs.iter().filter_map(|job| Some((job.kind.as_str(), job.unique_key.as_deref()?))).collect();
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let rows: Vec<Holder> = sqlx::query_as(
        "SELECT j.id, j.kind, j.unique_key, j.state, j.run_at
         FROM json_each(?1) wanted CROSS JOIN jobs j
         WHERE j.kind = wanted.value ->> 0 AND j.unique_key = wanted.value ->> 1 AND j.holds_unique_key = 1",
    )
    .bind(json_list(&wanted)?)
    .fetch_all(&mut **tx)
    .await?;
    let mut held = HashMap::with_capacity(rows.len());
    for row in rows {
        let answer =
            EnqueuedJob { id: JobId(row.id), state: job_state(&row.state)?, run_at: row.run_at.0, duplicate: true };
        held.insert((row.kind, row.unique_key), answer);
    }
    Ok(wanted
        .into_iter()
        .filter_map(|key| Some((key, held.get(&(key.0.to_owned(), key.1.to_owned()))?.clone())))
        .collect())
}

/// The id that AUTOINCREMENT would give next; nobody else can take it while
/// this transaction holds the write lock.
async fn next_job_id(tx: &mut Tx) -> Tried<i64> {
    let last: Option<i64> =
        sqlx::query_scalar("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'").fetch_optional(&mut **tx).await?;
    Ok(last.unwrap_or_default() + 1)
}

async fn insert(tx: &mut Tx, rows: &[(i64, &NewJob, Schedule)]) -> Tried<()> {
    let now = At(tx.now);
    let mut query = QueryBuilder::new(
        "INSERT INTO jobs (id, kind, source, tenant, state, enqueued_at, run_at, due_at, anchor_at, unique_key, \
         holds_unique_key, canary_reason_code, canary_field, needs_accept, trace_id, payload, payload_ref, \
         payload_sha256, received_at, upstream_handoffs) ",
    );
    query.push_values(rows, |mut row, (id, job, times)| {
        let canary = job.canary.as_ref();
        row.push_bind(*id)
            .push_bind(job.kind.as_str())
            .push_bind(job.source.as_str())
            .push_bind(job.tenant.as_ref().map(AsRef::<str>::as_ref))
            .push("'waiting'")
            .push_bind(now)
            .push_bind(At(times.run_at))
            .push_bind(At(times.due_at))
            .push_bind(At(times.anchor_at))
            .push_bind(job.unique_key.as_deref())
            .push_bind(job.unique_key.is_some())
            .push_bind(canary.map(|canary| canary.reason_code.as_str()))
            .push_bind(canary.and_then(|canary| canary.field.as_deref()))
            .push_bind(canary.map(|_| "canary"))
            .push_bind(job.trace_id.as_deref())
            .push_bind(job.payload.as_ref().map(RawJson::as_str))
            .push_bind(job.payload_ref.as_deref())
            .push_bind(job.payload_sha256.as_deref())
            .push_bind(job.received_at.map(At))
            .push_bind(job.upstream_handoffs.as_ref().map(RawJson::as_str));
    });
    query.build().execute(&mut **tx).await?;
    Ok(())
}
