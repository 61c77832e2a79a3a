//! Jobs come in: all or none, each unique key once.

use super::Transaction;
use crate::store::fault::{Fault, Tried};
use crate::store::rows::job_state;
use crate::store::schedule::schedule;
use app::error::StoreError;
use app::model::FieldError;
use app::model::ids::JobId;
use app::model::job::{EnqueuedJob, JobState, NewJob};
use app::model::policy::{Overrides, Policy};
use chrono::{DateTime, Utc};
use sqlx::PgPool;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A key's holder may end between losing to it and looking it up; then it is
/// worth trying again, but not for ever.
const ROUNDS: usize = 5;

/// Stores all jobs or none; answers in the order asked.
pub(super) async fn enqueue(pool: &PgPool, jobs: &[NewJob]) -> Tried<Vec<EnqueuedJob>> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let mut tx = super::begin(pool).await?;
    let spreads = spread_by_kind(&mut tx, jobs).await?;
    let now = super::now(&mut *tx).await?;
    let mut answers: Vec<Option<EnqueuedJob>> = vec![None; jobs.len()];
    for _ in 0..ROUNDS {
        let open: Vec<usize> = (0..jobs.len()).filter(|&i| answers[i].is_none()).collect();
        let columns = Columns::of(jobs, &open, &spreads, now);
        for (position, job) in columns.insert(&mut tx).await? {
            answers[position] = Some(job);
        }
        find_holders(&mut tx, jobs, &mut answers).await?;
        if answers.iter().all(Option::is_some) {
            tx.commit().await?;
            return Ok(answers.into_iter().flatten().collect());
        }
    }
    Err(Fault::from(StoreError::Unavailable("the holders of unique keys keep changing".to_owned())))
}

/// Each kind's own spread; a kind that is new comes into being.
async fn spread_by_kind<'j>(tx: &mut Transaction, jobs: &'j [NewJob]) -> Tried<BTreeMap<&'j str, u32>> {
    let mut spreads: BTreeMap<&str, u32> = jobs.iter().map(|job| (job.kind.as_str(), 0)).collect();
    let kinds: Vec<&str> = spreads.keys().copied().collect();
    let known: Vec<(String, String)> = sqlx::query_as("SELECT kind, overrides FROM kinds WHERE kind = ANY($1)")
        .bind(&kinds)
        .fetch_all(&mut **tx)
        .await?;
    let mut missing: BTreeSet<&str> = kinds.into_iter().collect();
    for (kind, overrides) in known {
        missing.remove(kind.as_str());
        let overrides: Overrides = serde_json::from_str(&overrides)?;
        if let Some(spread) = spreads.get_mut(kind.as_str()) {
            *spread = Policy::effective(&overrides).spread_seconds;
        }
    }
    if !missing.is_empty() {
        // In order, so that two enqueues of the same new kinds don't wait for each other.
        sqlx::query(
            "INSERT INTO kinds (kind, created_at) SELECT kind, clock_timestamp() \
             FROM unnest($1::text[]) WITH ORDINALITY AS asked (kind, position) ORDER BY position \
             ON CONFLICT (kind) DO NOTHING",
        )
        .bind(missing.into_iter().collect::<Vec<_>>())
        .execute(&mut **tx)
        .await?;
    }
    Ok(spreads)
}

/// The jobs column by column, as one statement takes them.
#[derive(Default)]
struct Columns<'j> {
    positions: Vec<i64>,
    kind: Vec<&'j str>,
    source: Vec<&'j str>,
    tenant: Vec<Option<&'j str>>,
    run_at: Vec<DateTime<Utc>>,
    due_at: Vec<DateTime<Utc>>,
    anchor_at: Vec<DateTime<Utc>>,
    unique_key: Vec<Option<&'j str>>,
    canary_reason_code: Vec<Option<&'j str>>,
    canary_field: Vec<Option<&'j str>>,
    trace_id: Vec<Option<&'j str>>,
    payload: Vec<Option<&'j str>>,
    payload_ref: Vec<Option<&'j str>>,
    payload_sha256: Vec<Option<&'j str>>,
    received_at: Vec<Option<DateTime<Utc>>>,
    upstream_handoffs: Vec<Option<&'j str>>,
    now: DateTime<Utc>,
}

impl<'j> Columns<'j> {
    fn of(jobs: &'j [NewJob], open: &[usize], spreads: &BTreeMap<&str, u32>, now: DateTime<Utc>) -> Self {
        let mut columns = Self { now, ..Self::default() };
        for &position in open {
            let job = &jobs[position];
            let spread = spreads.get(job.kind.as_str()).copied().unwrap_or_default();
            let times = schedule(job, spread, now, rand::random());
            columns.positions.push(i64::try_from(position).expect("a batch is short"));
            columns.kind.push(job.kind.as_str());
            columns.source.push(job.source.as_str());
            columns.tenant.push(job.tenant.as_ref().map(|name| name.as_str()));
            columns.run_at.push(times.run_at);
            columns.due_at.push(times.due_at);
            columns.anchor_at.push(times.anchor_at);
            columns.unique_key.push(job.unique_key.as_deref());
            columns.canary_reason_code.push(job.canary.as_ref().map(|canary| canary.reason_code.as_str()));
            columns.canary_field.push(job.canary.as_ref().and_then(|canary| canary.field.as_deref()));
            columns.trace_id.push(job.trace_id.as_deref());
            columns.payload.push(job.payload.as_ref().map(|json| json.as_str()));
            columns.payload_ref.push(job.payload_ref.as_deref());
            columns.payload_sha256.push(job.payload_sha256.as_deref());
            columns.received_at.push(job.received_at);
            columns.upstream_handoffs.push(job.upstream_handoffs.as_ref().map(|json| json.as_str()));
        }
        columns
    }

    /// Inserts what no unique key keeps out; answers by position.
    async fn insert(&self, tx: &mut Transaction) -> Tried<Vec<(usize, EnqueuedJob)>> {
        // Ids are drawn in the order asked; rows go in by key, so that two
        // enqueues of the same keys don't wait for each other in a circle.
        let rows: Vec<(i64, i64, DateTime<Utc>)> = sqlx::query_as(
            "WITH asked AS MATERIALIZED ( \
                 SELECT nextval('jobs_id_seq') AS id, a.* FROM unnest( \
                     $1::bigint[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], \
                     $7::timestamptz[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], \
                     $14::text[], $15::timestamptz[], $16::text[]) \
                 AS a (position, kind, source, tenant, run_at, due_at, anchor_at, unique_key, canary_reason_code, \
                       canary_field, trace_id, payload, payload_ref, payload_sha256, received_at, upstream_handoffs) \
             ), stored AS ( \
                 INSERT INTO jobs (id, kind, source, tenant, state, enqueued_at, run_at, due_at, anchor_at, \
                     unique_key, holds_unique_key, canary_reason_code, canary_field, needs_accept, trace_id, \
                     payload, payload_ref, payload_sha256, received_at, upstream_handoffs) \
                 SELECT id, kind, source, tenant, 'waiting', $17, run_at, due_at, anchor_at, \
                     unique_key, unique_key IS NOT NULL, canary_reason_code, canary_field, \
                     CASE WHEN canary_reason_code IS NOT NULL THEN 'canary' END, trace_id, \
                     payload, payload_ref, payload_sha256, received_at, upstream_handoffs \
                 FROM asked ORDER BY kind COLLATE \"C\", unique_key COLLATE \"C\", position \
                 ON CONFLICT (kind, unique_key) WHERE holds_unique_key DO NOTHING \
                 RETURNING id, run_at \
             ) SELECT asked.position, stored.id, stored.run_at FROM stored JOIN asked USING (id)",
        )
        .bind(&self.positions)
        .bind(&self.kind)
        .bind(&self.source)
        .bind(&self.tenant)
        .bind(&self.run_at)
        .bind(&self.due_at)
        .bind(&self.anchor_at)
        .bind(&self.unique_key)
        .bind(&self.canary_reason_code)
        .bind(&self.canary_field)
        .bind(&self.trace_id)
        .bind(&self.payload)
        .bind(&self.payload_ref)
        .bind(&self.payload_sha256)
        .bind(&self.received_at)
        .bind(&self.upstream_handoffs)
        .bind(self.now)
        .fetch_all(&mut **tx)
        .await
        .map_err(too_long)?;
        Ok(rows
            .into_iter()
            .map(|(position, id, run_at)| {
                let position = usize::try_from(position).expect("positions come back as they went");
                (position, EnqueuedJob { id: JobId(id), state: JobState::Waiting, run_at, duplicate: false })
            })
            .collect())
    }
}

/// Answers what was kept out with the job that holds its key.
async fn find_holders(tx: &mut Transaction, jobs: &[NewJob], answers: &mut [Option<EnqueuedJob>]) -> Tried<()> {
    let kept_out: BTreeSet<(&str, &str)> = (0..jobs.len())
        .filter(|&i| answers[i].is_none())
        .filter_map(|i| Some((jobs[i].kind.as_str(), jobs[i].unique_key.as_deref()?)))
        .collect();
    if kept_out.is_empty() {
        return Ok(());
    }
    let (kinds, keys): (Vec<&str>, Vec<&str>) = kept_out.into_iter().unzip();
    let rows: Vec<(String, String, i64, String, DateTime<Utc>)> = sqlx::query_as(
        "SELECT j.kind, j.unique_key, j.id, j.state, j.run_at FROM jobs j \
         JOIN unnest($1::text[], $2::text[]) AS a (kind, unique_key) \
         ON j.kind = a.kind AND j.unique_key = a.unique_key WHERE j.holds_unique_key",
    )
    .bind(&kinds)
    .bind(&keys)
    .fetch_all(&mut **tx)
    .await?;
    let mut holders = HashMap::new();
    for (kind, key, id, state, run_at) in rows {
        let holder = EnqueuedJob { id: JobId(id), state: job_state(&state)?, run_at, duplicate: true };
        holders.insert((kind, key), holder);
    }
    for (job, answer) in jobs.iter().zip(answers.iter_mut()).filter(|(_, answer)| answer.is_none()) {
        if let Some(key) = &job.unique_key {
            *answer = holders.get(&(job.kind.as_str().to_owned(), key.clone())).cloned();
        }
    }
    Ok(())
}

/// A key that does not fit into an index entry is the caller's to shorten.
fn too_long(error: sqlx::Error) -> Fault {
    match error.as_database_error().and_then(|error| error.code()) {
        Some(code) if code == "54000" => FieldError::new("unique_key", "is too long").into(),
        _ => error.into(),
    }
}
