//! What a person does to a dead letter: once, on the version they saw.

use super::audit::audit;
use super::history::write_decision;
use super::masking::list_related_payloads;
use super::{Transaction, letters};
use crate::store::acting::{ActPlan, Held, LetterChange, NewReplay, other_request, plan_act, written};
use crate::store::audit::Entry;
use crate::store::fault::{Fault, Tried};
use app::error::StoreError;
use app::model::ids::JobId;
use app::model::job::{RawJson, ReplayMode};
use app::model::people::Actor;
use app::model::recovery::{Acted, IdempotencyKey, LetterAct};
use chrono::{DateTime, Utc};
use sqlx::PgPool;

/// Acts once; the same key with the same body gets the answer it got before.
pub(super) async fn act(pool: &PgPool, act: &LetterAct, actor: &Actor) -> Tried<Acted> {
    let mut tx = super::begin(pool).await?;
    if let Some(key) = &act.idempotency
        && !take_key(&mut tx, act, key).await?
    {
        let replay_job_ids = find_answer(&mut tx, key).await?;
        let now = super::now(&mut *tx).await?;
        let (letter, _) = letters::find(&mut tx, act.id, now).await?.ok_or(StoreError::NotFound("dead letter"))?;
        return Ok(Acted { letter, replay_job_ids });
    }
    let now = lock(&mut tx, act).await?;
    let (letter, policy) = letters::find(&mut tx, act.id, now).await?.ok_or(StoreError::NotFound("dead letter"))?;
    let payload = find_payload(&mut tx, act).await?;
    let related = match policy.masked_fields.as_slice() {
        [] => Vec::new(),
        _ => list_related_payloads(&mut tx, letter.job_id).await?,
    };
    let held =
        Held { letter: &letter, payload: payload.as_ref(), related: &related, policy: &policy, now, by: &actor.name };
    let mut plan = plan_act(&held, act)?;
    let act = &*written(&held, act, &mut plan);
    change_letter(&mut tx, act, &plan, actor, now).await?;
    let mut replay_job_ids = Vec::with_capacity(plan.replays.len());
    if act.action.resolves() {
        release_unique_key(&mut tx, act).await?;
    }
    for replay in &plan.replays {
        replay_job_ids.push(insert_replay(&mut tx, act, replay, now).await?);
    }
    write_decision(&mut tx, act, &plan, actor, &replay_job_ids, now).await?;
    if let Some(key) = &act.idempotency {
        keep_answer(&mut tx, key, &replay_job_ids).await?;
    }
    let (letter, _) = letters::find(&mut tx, act.id, now).await?.ok_or(StoreError::NotFound("dead letter"))?;
    audit(&mut tx, actor, Entry::letter_act(act, &replay_job_ids)).await?;
    tx.commit().await?;
    Ok(Acted { letter, replay_job_ids })
}

/// Whether the key is ours to use. A request with the same key that is still
/// under way is waited for; if it comes to nothing, the key is ours.
async fn take_key(tx: &mut Transaction, act: &LetterAct, key: &IdempotencyKey) -> Tried<bool> {
    let taken = sqlx::query(
        "INSERT INTO action_keys (key, dead_letter_id, body_sha256, replay_job_ids, at) \
         VALUES ($1, $2, $3, '[]', clock_timestamp()) ON CONFLICT (key) DO NOTHING",
    )
    .bind(&key.key)
    .bind(act.id.0)
    .bind(&key.body_sha256)
    .execute(&mut **tx)
    .await?;
    Ok(taken.rows_affected() == 1)
}

/// The answer that an earlier act with this key got.
async fn find_answer(tx: &mut Transaction, key: &IdempotencyKey) -> Tried<Vec<JobId>> {
    let row: Option<(String, String)> =
        sqlx::query_as("SELECT body_sha256, replay_job_ids FROM action_keys WHERE key = $1")
            .bind(&key.key)
            .fetch_optional(&mut **tx)
            .await?;
    match row {
        Some((body, ids)) if body == key.body_sha256 => Ok(serde_json::from_str(&ids)?),
        Some(_) => Err(other_request().into()),
        // The letter was purged between the two statements, and its keys with it.
        None => Err(Fault::from(StoreError::NotFound("dead letter"))),
    }
}

async fn keep_answer(tx: &mut Transaction, key: &IdempotencyKey, replays: &[JobId]) -> Tried<()> {
    sqlx::query("UPDATE action_keys SET replay_job_ids = $2 WHERE key = $1")
        .bind(&key.key)
        .bind(serde_json::to_string(replays)?)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Waits until the letter is ours; answers the clock as it is then.
async fn lock(tx: &mut Transaction, act: &LetterAct) -> Tried<DateTime<Utc>> {
    let now: Option<DateTime<Utc>> = sqlx::query_scalar(
        "WITH letter AS MATERIALIZED (SELECT id FROM dead_letters WHERE id = $1 FOR UPDATE) \
         SELECT clock_timestamp() FROM letter",
    )
    .bind(act.id.0)
    .fetch_optional(&mut **tx)
    .await?;
    now.ok_or_else(|| StoreError::NotFound("dead letter").into())
}

async fn find_payload(tx: &mut Transaction, act: &LetterAct) -> Tried<Option<RawJson>> {
    let payload: Option<String> =
        sqlx::query_scalar("SELECT j.payload FROM dead_letters d JOIN jobs j ON j.id = d.job_id WHERE d.id = $1")
            .bind(act.id.0)
            .fetch_one(&mut **tx)
            .await?;
    Ok(payload.map(RawJson::stored))
}

/// Guarded although the row is locked: a letter is resolved once, whatever else is wrong.
async fn change_letter(
    tx: &mut Transaction,
    act: &LetterAct,
    plan: &ActPlan,
    actor: &Actor,
    now: DateTime<Utc>,
) -> Tried<()> {
    let (taken_by, taken_until) = match plan.change {
        LetterChange::Taken { until } => (Some(&actor.name), Some(until)),
        LetterChange::Released | LetterChange::Resolved => (None, None),
    };
    let changed = sqlx::query(
        "UPDATE dead_letters SET version = version + 1, taken_by = $3, taken_until = $4, \
             status = CASE WHEN $5 THEN 'resolved' ELSE status END, \
             resolution = CASE WHEN $5 THEN $6 END, resolved_by = CASE WHEN $5 THEN $7 END, \
             resolved_at = CASE WHEN $5 THEN $8 END, note = CASE WHEN $5 THEN $9 END \
         WHERE id = $1 AND version = $2 AND status = 'open'",
    )
    .bind(act.id.0)
    .bind(act.version)
    .bind(taken_by)
    .bind(taken_until)
    .bind(plan.change == LetterChange::Resolved)
    .bind(act.action.as_str())
    .bind(&actor.name)
    .bind(now)
    .bind(&act.note)
    .execute(&mut **tx)
    .await?;
    match changed.rows_affected() {
        1 => Ok(()),
        n => Err(StoreError::Internal(format!("an act on letter {} changed {n} rows", act.id)).into()),
    }
}

async fn release_unique_key(tx: &mut Transaction, act: &LetterAct) -> Tried<()> {
    sqlx::query(
        "UPDATE jobs SET holds_unique_key = false \
         WHERE id = (SELECT job_id FROM dead_letters WHERE id = $1) AND holds_unique_key",
    )
    .bind(act.id.0)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A new job like the parked one, with fresh attempts and a fresh anchor. It
/// takes over the unique key that the parked one has just let go, unless it is
/// one part of several. A hash of an inline payload does not outlive its change.
async fn insert_replay(tx: &mut Transaction, act: &LetterAct, replay: &NewReplay, now: DateTime<Utc>) -> Tried<JobId> {
    let id = sqlx::query_scalar(
        "INSERT INTO jobs (kind, source, tenant, state, enqueued_at, run_at, due_at, anchor_at, unique_key, \
             holds_unique_key, canary_reason_code, canary_field, replay_of, replay_mode, needs_accept, trace_id, \
             payload, payload_ref, payload_sha256, received_at, upstream_handoffs) \
         SELECT j.kind, j.source, j.tenant, 'waiting', $2, $2, $2, $2, CASE WHEN $6 THEN j.unique_key END, \
             $6 AND j.unique_key IS NOT NULL, j.canary_reason_code, j.canary_field, d.id, $3, \
             CASE WHEN j.canary_reason_code IS NOT NULL THEN 'canary' WHEN $4 THEN 'pinned' END, \
             j.trace_id, coalesce($5, j.payload), j.payload_ref, \
             CASE WHEN $5::text IS NULL OR j.payload_ref IS NOT NULL THEN j.payload_sha256 END, j.received_at, \
             j.upstream_handoffs \
         FROM dead_letters d JOIN jobs j ON j.id = d.job_id WHERE d.id = $1 RETURNING id",
    )
    .bind(act.id.0)
    .bind(now)
    .bind(act.mode.as_str())
    .bind(act.mode == ReplayMode::Pinned)
    .bind(replay.payload.as_ref().map(RawJson::as_str))
    .bind(replay.inherits_key)
    .fetch_one(&mut **tx)
    .await?;
    Ok(JobId(id))
}
