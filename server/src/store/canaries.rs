//! Canaries: kept, run, judged. Written once; each database compiles it as a
//! module of its own, with its transaction and clock.

use super::audit::audit;
use super::{Db, TheStore, Tx};
use crate::store::audit::Entry;
use crate::store::canary_rows::{StoredCanary, StoredRun, StoredWaiting, canary_columns, run_columns};
use crate::store::fault::{Fault, Tried, is_duplicate};
use crate::store::plan::EndPlan;
use crate::store::time::At;
use app::error::StoreError;
use app::model::canary::{
    CanaryDetail, CanaryInput, CanaryOverview, MAX_CANARIES, RunCause, RunResult, TAKE_SECONDS, check_code, judge,
    why_now,
};
use app::model::envelope::Envelope;
use app::model::ids::{CanaryId, JobId};
use app::model::job::{AttemptEnd, JobState, RawJson};
use app::model::people::Actor;
use app::model::policy::{Overrides, Policy};
use app::store::{CanaryStore, Stored};
use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use sqlx::QueryBuilder;

/// Runs that alarm and are shown.
const SHOWN_ALARMS: u32 = 50;
/// Runs that are ended in one go.
const EXPIRED_AT_ONCE: u32 = 100;
/// What a kind's model is, is written down at most so often.
const BETWEEN_NOTES: TimeDelta = TimeDelta::seconds(60);

const CANARY: &str = concat!("SELECT ", canary_columns!(), " WHERE ");
const RUN: &str = concat!("SELECT ", run_columns!(), " FROM canary_runs r WHERE ");

#[async_trait]
impl CanaryStore for TheStore {
    async fn list_canaries(&self) -> Stored<CanaryOverview> {
        self.pages_answer(list(self)).await
    }

    async fn find_canary(&self, id: CanaryId, before: Option<i64>, limit: u32) -> Stored<Option<CanaryDetail>> {
        self.pages_answer(find(self, id, before, limit)).await
    }

    async fn save_canary(&self, id: Option<CanaryId>, input: &CanaryInput, actor: &Actor) -> Stored<CanaryId> {
        self.pages_answer(async {
            let (mut tx, now) = self.write_page().await?;
            let id = save(&mut tx, now, id, input, actor).await?;
            tx.commit().await?;
            Ok(id)
        })
        .await
    }

    async fn import_canaries(&self, inputs: &[CanaryInput], actor: &Actor) -> Stored<()> {
        self.pages_answer(import(self, inputs, actor)).await
    }

    async fn run_canary(&self, id: CanaryId, cause: RunCause, actor: &Actor) -> Stored<JobId> {
        self.pages_answer(run(self, id, cause, actor)).await
    }

    async fn run_due_canaries(&self) -> Stored<u64> {
        self.pages_answer(run_due(self)).await
    }

    async fn clear_canary_run(&self, run: i64, actor: &Actor) -> Stored<()> {
        self.pages_answer(clear(self, run, actor)).await
    }
}

async fn list(store: &TheStore) -> Tried<CanaryOverview> {
    let (mut tx, as_of) = store.read_page().await?;
    let mut query = QueryBuilder::<Db>::new(CANARY);
    query.push("true ORDER BY c.kind, c.reason_code, c.name LIMIT ").push(MAX_CANARIES);
    let canaries: Vec<StoredCanary> = query.build_query_as().fetch_all(&mut *tx).await?;
    let mut query = QueryBuilder::<Db>::new(RUN);
    query.push("r.result = 'done' AND r.cleared_at IS NULL ORDER BY r.id DESC LIMIT ").push(SHOWN_ALARMS);
    let alarms: Vec<StoredRun> = query.build_query_as().fetch_all(&mut *tx).await?;
    tx.commit().await?;
    Ok(CanaryOverview {
        as_of,
        canaries: canaries.into_iter().map(StoredCanary::canary).collect::<Tried<_>>()?,
        alarms: alarms.into_iter().map(StoredRun::run).collect::<Tried<_>>()?,
    })
}

async fn find(store: &TheStore, id: CanaryId, before: Option<i64>, limit: u32) -> Tried<Option<CanaryDetail>> {
    let (mut tx, as_of) = store.read_page().await?;
    let mut query = QueryBuilder::<Db>::new(CANARY);
    query.push("c.id = ").push_bind(id.0);
    let canary: Option<StoredCanary> = query.build_query_as().fetch_optional(&mut *tx).await?;
    let mut query = QueryBuilder::<Db>::new(RUN);
    query.push("r.canary_id = ").push_bind(id.0);
    if let Some(before) = before {
        query.push(" AND r.id < ").push_bind(before);
    }
    query.push(" ORDER BY r.id DESC LIMIT ").push(limit);
    let runs: Vec<StoredRun> = query.build_query_as().fetch_all(&mut *tx).await?;
    tx.commit().await?;
    let Some(canary) = canary else { return Ok(None) };
    let runs = runs.into_iter().map(StoredRun::run).collect::<Tried<_>>()?;
    Ok(Some(CanaryDetail { as_of, canary: canary.canary()?, runs }))
}

async fn save(
    tx: &mut Tx,
    now: DateTime<Utc>,
    id: Option<CanaryId>,
    input: &CanaryInput,
    actor: &Actor,
) -> Tried<CanaryId> {
    let overrides: Option<String> = sqlx::query_scalar("SELECT overrides FROM kinds WHERE kind = $1")
        .bind(input.kind.as_str())
        .fetch_optional(&mut **tx)
        .await?;
    let policy = match overrides {
        Some(overrides) => Policy::effective(&serde_json::from_str::<Overrides>(&overrides)?),
        None => Policy::default(),
    };
    check_code(&input.reason_code, &policy.reason_codes)?;
    let there: i64 = sqlx::query_scalar("SELECT count(*) FROM canaries").fetch_one(&mut **tx).await?;
    if id.is_none() && there >= MAX_CANARIES {
        return Err(StoreError::Conflict(format!("There are {MAX_CANARIES} canaries already.")).into());
    }
    let sql = match id {
        None => {
            "INSERT INTO canaries (name, kind, source, payload, reason_code, field, every_seconds, enabled, \
                 created_at, created_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id"
        }
        Some(_) => {
            "UPDATE canaries SET name = $1, kind = $2, source = $3, payload = $4, reason_code = $5, field = $6, \
                 every_seconds = $7, enabled = $8 WHERE id = $9 RETURNING id"
        }
    };
    let query = sqlx::query_scalar(sql)
        .bind(input.name.as_str())
        .bind(input.kind.as_str())
        .bind(input.source.as_str())
        .bind(input.payload.as_str())
        .bind(&input.reason_code)
        .bind(&input.field)
        .bind(input.every_seconds.map(i64::from))
        .bind(input.enabled);
    let query = match id {
        None => query.bind(At(now)).bind(&actor.name),
        Some(id) => query.bind(id.0),
    };
    let saved: Option<i64> = query.fetch_optional(&mut **tx).await.map_err(|error| match is_duplicate(&error) {
        true => StoreError::Conflict("A canary of that name is there already.".to_owned()).into(),
        false => Fault::from(error),
    })?;
    let saved = CanaryId(saved.ok_or(StoreError::NotFound("canary"))?);
    let action = if id.is_none() { "canary_add" } else { "canary_change" };
    let details = json!({
        "name": input.name, "kind": input.kind, "reason_code": input.reason_code, "field": input.field,
        "every_seconds": input.every_seconds, "enabled": input.enabled,
    });
    audit(tx, actor, Entry::canary(action, saved, details)).await?;
    Ok(saved)
}

async fn import(store: &TheStore, inputs: &[CanaryInput], actor: &Actor) -> Tried<()> {
    let (mut tx, now) = store.write_page().await?;
    for (at, input) in inputs.iter().enumerate() {
        let id: Option<i64> = sqlx::query_scalar("SELECT id FROM canaries WHERE name = $1")
            .bind(input.name.as_str())
            .fetch_optional(&mut *tx)
            .await?;
        check_at(at, save(&mut tx, now, id.map(CanaryId), input, actor).await)?;
    }
    tx.commit().await?;
    Ok(())
}

/// Names the canary that breaks a rule.
fn check_at(at: usize, saved: Tried<CanaryId>) -> Tried<()> {
    match saved.map_err(StoreError::from) {
        Ok(_) => Ok(()),
        Err(StoreError::Invalid(error)) => Err(error.within(&format!("canaries[{at}]")).into()),
        Err(error) => Err(error.into()),
    }
}

async fn run(store: &TheStore, id: CanaryId, cause: RunCause, actor: &Actor) -> Tried<JobId> {
    let (mut tx, now) = store.write_page().await?;
    let enabled: Option<bool> =
        sqlx::query_scalar("UPDATE canaries SET last_started_at = $2 WHERE id = $1 RETURNING enabled")
            .bind(id.0)
            .bind(At(now))
            .fetch_optional(&mut *tx)
            .await?;
    match enabled {
        None => return Err(StoreError::NotFound("canary").into()),
        Some(false) => return Err(StoreError::Conflict("This canary is disabled.".to_owned()).into()),
        Some(true) => {}
    }
    let Some(job) = start(&mut tx, now, id, cause, Some(&actor.name)).await? else {
        return Err(StoreError::Conflict("A run of this canary has not ended yet.".to_owned()).into());
    };
    audit(&mut tx, actor, Entry::canary("canary_run", id, json!({ "job_id": job }))).await?;
    tx.commit().await?;
    Ok(job)
}

/// Enqueues a canary whose row is ours; `None` while a run of it is open.
async fn start(
    tx: &mut Tx,
    now: DateTime<Utc>,
    id: CanaryId,
    cause: RunCause,
    by: Option<&str>,
) -> Tried<Option<JobId>> {
    let runs: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM canary_runs WHERE canary_id = $1 AND ended_at IS NULL)")
            .bind(id.0)
            .fetch_one(&mut **tx)
            .await?;
    if runs {
        return Ok(None);
    }
    sqlx::query(
        "INSERT INTO kinds (kind, created_at) SELECT kind, $2 FROM canaries WHERE id = $1 ON CONFLICT (kind) DO NOTHING",
    )
    .bind(id.0)
    .bind(At(now))
    .execute(&mut **tx)
    .await?;
    let job: i64 = sqlx::query_scalar(
        "INSERT INTO jobs (kind, source, state, enqueued_at, run_at, due_at, anchor_at, canary_reason_code, \
             canary_field, needs_accept, payload) \
         SELECT kind, source, 'waiting', $2, $2, $2, $2, reason_code, field, 'canary', payload FROM canaries \
         WHERE id = $1 RETURNING id",
    )
    .bind(id.0)
    .bind(At(now))
    .fetch_one(&mut **tx)
    .await?;
    sqlx::query(
        "INSERT INTO canary_runs (canary_id, job_id, kind, reason_code, field, cause, started_by, started_at) \
         SELECT id, $2, kind, reason_code, field, $3, $4, $5 FROM canaries WHERE id = $1",
    )
    .bind(id.0)
    .bind(job)
    .bind(cause.as_str())
    .bind(by)
    .bind(At(now))
    .execute(&mut **tx)
    .await?;
    Ok(Some(JobId(job)))
}

/// Looks before it takes the write lock: mostly there is nothing to do.
async fn run_due(store: &TheStore) -> Tried<u64> {
    let (mut tx, now) = store.read_page().await?;
    let expired: Vec<(i64, i64, Option<String>)> = sqlx::query_as(
        "SELECT r.id, r.job_id, j.state FROM canary_runs r LEFT JOIN jobs j ON j.id = r.job_id \
         WHERE r.ended_at IS NULL AND (j.id IS NULL OR j.state = 'cancelled' \
             OR (j.state = 'waiting' AND j.attempts = 0 AND r.started_at <= $1)) ORDER BY r.id LIMIT $2",
    )
    .bind(At(now - TimeDelta::seconds(TAKE_SECONDS)))
    .bind(i64::from(EXPIRED_AT_ONCE))
    .fetch_all(&mut *tx)
    .await?;
    let waiting: Vec<StoredWaiting> = sqlx::query_as(
        "SELECT c.id, c.every_seconds, c.created_at, c.last_started_at, m.changed_at, m.change \
         FROM canaries c LEFT JOIN last_models m ON m.kind = c.kind WHERE c.enabled \
             AND NOT EXISTS (SELECT 1 FROM canary_runs r WHERE r.canary_id = c.id AND r.ended_at IS NULL) \
         ORDER BY c.id",
    )
    .fetch_all(&mut *tx)
    .await?;
    tx.commit().await?;
    for (run, job, state) in expired {
        expire(store, run, job, state.as_deref() == Some("waiting")).await?;
    }
    let mut started = 0;
    for one in waiting {
        let Some(cause) = why_now(&one.waiting()?, now) else { continue };
        let (mut tx, now) = store.write_page().await?;
        // Another server may have looked at the same moment.
        let ours = sqlx::query(
            "UPDATE canaries SET last_started_at = $2 WHERE id = $1 AND enabled \
                 AND last_started_at IS NOT DISTINCT FROM $3",
        )
        .bind(one.id)
        .bind(At(now))
        .bind(one.last_started_at)
        .execute(&mut *tx)
        .await?;
        if ours.rows_affected() == 1 && start(&mut tx, now, CanaryId(one.id), cause, None).await?.is_some() {
            tx.commit().await?;
            started += 1;
        }
    }
    Ok(started)
}

/// Ends a run whose job nobody takes, or that was called off.
async fn expire(store: &TheStore, run: i64, job: i64, waits: bool) -> Tried<()> {
    let (mut tx, now) = store.write_page().await?;
    let (result, said) = if waits {
        let cancelled = sqlx::query(
            "UPDATE jobs SET state = 'cancelled', due_at = NULL, finished_at = $2, holds_unique_key = false \
             WHERE id = $1 AND state = 'waiting' AND attempts = 0",
        )
        .bind(job)
        .bind(At(now))
        .execute(&mut *tx)
        .await?;
        if cancelled.rows_affected() == 0 {
            return Ok(());
        }
        (RunResult::NotTaken, "no worker that accepts canaries claimed it")
    } else {
        (RunResult::Failed, "the job was called off")
    };
    sqlx::query("UPDATE canary_runs SET ended_at = $2, result = $3, said = $4 WHERE id = $1 AND ended_at IS NULL")
        .bind(run)
        .bind(At(now))
        .bind(result.as_str())
        .bind(said)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(())
}

async fn clear(store: &TheStore, run: i64, actor: &Actor) -> Tried<()> {
    let (mut tx, now) = store.write_page().await?;
    let cleared = sqlx::query(
        "UPDATE canary_runs SET cleared_at = $2, cleared_by = $3 \
         WHERE id = $1 AND result = 'done' AND cleared_at IS NULL",
    )
    .bind(run)
    .bind(At(now))
    .bind(&actor.name)
    .execute(&mut *tx)
    .await?;
    if cleared.rows_affected() == 0 {
        let is_there: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM canary_runs WHERE id = $1)")
            .bind(run)
            .fetch_one(&mut *tx)
            .await?;
        return Err(match is_there {
            true => StoreError::Conflict("This run alarms nobody, or not any more.".to_owned()).into(),
            false => StoreError::NotFound("run").into(),
        });
    }
    audit(&mut tx, actor, Entry::canary_clear(run)).await?;
    tx.commit().await?;
    Ok(())
}

/// What the end of a job means here: of a canary, how its run ended; of a done
/// job, which model it was done with. In the transaction of the end itself.
pub(super) async fn after_end(
    tx: &mut Tx,
    now: DateTime<Utc>,
    kind: &str,
    job: i64,
    is_canary: bool,
    plan: &EndPlan,
    end: Option<&AttemptEnd>,
) -> Tried<()> {
    if is_canary {
        return keep_end(tx, now, job, plan, end).await;
    }
    match end {
        Some(AttemptEnd::Done(report)) if plan.state == JobState::Done => {
            note_model(tx, now, kind, report.envelope.as_ref()).await
        }
        _ => Ok(()),
    }
}

async fn keep_end(tx: &mut Tx, now: DateTime<Utc>, job: i64, plan: &EndPlan, end: Option<&AttemptEnd>) -> Tried<()> {
    let Some(end) = plan.canary_end(end) else { return Ok(()) };
    let (kind, reason_code, field): (String, String, Option<String>) =
        sqlx::query_as("SELECT kind, canary_reason_code, canary_field FROM jobs WHERE id = $1")
            .bind(job)
            .fetch_one(&mut **tx)
            .await?;
    let (result, said) = judge(&reason_code, field.as_deref(), &end);
    // One that came by the worker API has no run yet.
    let canary_id: Option<i64> = sqlx::query_scalar(
        "INSERT INTO canary_runs (job_id, kind, reason_code, field, cause, started_at, ended_at, result, said) \
         SELECT id, kind, canary_reason_code, canary_field, 'api', enqueued_at, $2, $3, $4 FROM jobs WHERE id = $1 \
         ON CONFLICT (job_id) DO UPDATE SET ended_at = excluded.ended_at, result = excluded.result, \
             said = excluded.said RETURNING canary_id",
    )
    .bind(job)
    .bind(At(now))
    .bind(result.as_str())
    .bind(said)
    .fetch_one(&mut **tx)
    .await?;
    if result != RunResult::Passed {
        return Ok(());
    }
    let mut query = QueryBuilder::<Db>::new("UPDATE canary_runs SET cleared_by = 'a run that passed', cleared_at = ");
    query.push_bind(At(now)).push(" WHERE result = 'done' AND cleared_at IS NULL AND ");
    match canary_id {
        Some(id) => query.push("canary_id = ").push_bind(id),
        None => query
            .push("canary_id IS NULL AND kind = ")
            .push_bind(kind)
            .push(" AND reason_code = ")
            .push_bind(reason_code)
            .push(" AND field IS NOT DISTINCT FROM ")
            .push_bind(field),
    };
    query.build().execute(&mut **tx).await?;
    Ok(())
}

/// Read first, and written only when something changed: all workers of a kind
/// share this row.
async fn note_model(tx: &mut Tx, now: DateTime<Utc>, kind: &str, envelope: Option<&RawJson>) -> Tried<()> {
    let Some(envelope) = envelope.map(Envelope::of) else { return Ok(()) };
    let text = |member, key| envelope.text(member, Some(key)).unwrap_or_default();
    let model = text("model", "id");
    let hashes = format!("{} {}", text("prompt", "sha256"), text("tools_offered", "sha256"));
    if model.is_empty() && hashes.trim().is_empty() {
        return Ok(());
    }
    let last: Option<(String, String, At)> =
        sqlx::query_as("SELECT model, hashes, seen_at FROM last_models WHERE kind = $1")
            .bind(kind)
            .fetch_optional(&mut **tx)
            .await?;
    let change = match &last {
        Some((last_model, last_hashes, _)) if *last_model == model && *last_hashes == hashes => return Ok(()),
        Some((_, _, At(seen_at))) if now - *seen_at < BETWEEN_NOTES => return Ok(()),
        Some((last_model, ..)) if *last_model != model => Some(RunCause::ModelChange),
        Some(_) => Some(RunCause::HashChange),
        None => None,
    };
    sqlx::query(
        "INSERT INTO last_models (kind, model, hashes, seen_at, changed_at, change) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (kind) DO UPDATE SET model = excluded.model, hashes = excluded.hashes, \
             seen_at = excluded.seen_at, changed_at = excluded.changed_at, change = excluded.change",
    )
    .bind(kind)
    .bind(model)
    .bind(hashes)
    .bind(At(now))
    .bind(change.map(|_| At(now)))
    .bind(change.map(RunCause::as_str))
    .execute(&mut **tx)
    .await?;
    Ok(())
}
