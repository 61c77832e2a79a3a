//! What a person does to a dead letter: once, on the version they saw.

use super::audit::audit;
use super::{Transaction, letters};
use crate::store::acting::{check_note, other_request};
use crate::store::audit::Entry;
use crate::store::conflict::letter_conflict;
use crate::store::fault::{Fault, Tried};
use app::error::StoreError;
use app::model::ids::JobId;
use app::model::job::ReplayMode;
use app::model::letter::{Acted, IdempotencyKey, LetterAct, RecoveryAction};
use app::model::people::Actor;
use chrono::{DateTime, Utc};
use sqlx::PgPool;

/// Acts once; the same key with the same body gets the answer it got before.
pub(super) async fn act(pool: &PgPool, act: &LetterAct, actor: &Actor) -> Tried<Acted> {
    let mut tx = super::begin(pool).await?;
    if let Some(key) = &act.idempotency
        && !take_key(&mut tx, act, key).await?
    {
        let replay_job_ids = find_answer(&mut tx, key).await?;
        let letter = letters::find(&mut tx, act.id).await?.ok_or(StoreError::NotFound("dead letter"))?;
        return Ok(Acted { letter, replay_job_ids });
    }
    let now = resolve(&mut tx, act, actor).await?;
    // Whether there is such a letter, as it was seen, comes before the rules.
    check_note(act)?;
    release_unique_key(&mut tx, act).await?;
    let replay_job_ids = match act.action {
        RecoveryAction::ApproveAndReplay => vec![insert_replay(&mut tx, act, now).await?],
        RecoveryAction::RejectAndClose => Vec::new(),
    };
    if let Some(key) = &act.idempotency {
        keep_answer(&mut tx, key, &replay_job_ids).await?;
    }
    let letter = letters::find(&mut tx, act.id).await?.ok_or(StoreError::NotFound("dead letter"))?;
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

/// One guarded statement; whoever comes second is told what happened. Answers
/// the clock as it was once the letter was ours.
async fn resolve(tx: &mut Transaction, act: &LetterAct, actor: &Actor) -> Tried<DateTime<Utc>> {
    let resolved: Option<DateTime<Utc>> = sqlx::query_scalar(
        "WITH letter AS MATERIALIZED ( \
             SELECT id FROM dead_letters WHERE id = $1 AND version = $2 AND status IN ('open', 'taken') FOR UPDATE \
         ), locked AS MATERIALIZED (SELECT id, clock_timestamp() AS now FROM letter) \
         UPDATE dead_letters d SET status = 'resolved', version = d.version + 1, resolution = $3, resolved_by = $4, \
             resolved_at = locked.now, note = $5 \
         FROM locked WHERE d.id = locked.id RETURNING d.resolved_at",
    )
    .bind(act.id.0)
    .bind(act.version)
    .bind(act.action.as_str())
    .bind(&actor.name)
    .bind(&act.note)
    .fetch_optional(&mut **tx)
    .await?;
    if let Some(now) = resolved {
        return Ok(now);
    }
    let letter = letters::find(tx, act.id).await?.ok_or(StoreError::NotFound("dead letter"))?;
    let now = super::now(&mut **tx).await?;
    Err(letter_conflict(&letter, act.version, now).into())
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
/// takes over the unique key that the parked one has just let go.
async fn insert_replay(tx: &mut Transaction, act: &LetterAct, now: DateTime<Utc>) -> Tried<JobId> {
    let id = sqlx::query_scalar(
        "INSERT INTO jobs (kind, source, tenant, state, enqueued_at, run_at, due_at, anchor_at, unique_key, \
             holds_unique_key, canary_reason_code, canary_field, replay_of, replay_mode, needs_accept, trace_id, \
             payload, payload_ref, payload_sha256, received_at, upstream_handoffs) \
         SELECT j.kind, j.source, j.tenant, 'waiting', $2, $2, $2, $2, j.unique_key, \
             j.unique_key IS NOT NULL, j.canary_reason_code, j.canary_field, d.id, $3, \
             CASE WHEN j.canary_reason_code IS NOT NULL THEN 'canary' WHEN $4 THEN 'pinned' END, \
             j.trace_id, j.payload, j.payload_ref, j.payload_sha256, j.received_at, j.upstream_handoffs \
         FROM dead_letters d JOIN jobs j ON j.id = d.job_id WHERE d.id = $1 RETURNING id",
    )
    .bind(act.id.0)
    .bind(now)
    .bind(act.mode.as_str())
    .bind(act.mode == ReplayMode::Pinned)
    .fetch_one(&mut **tx)
    .await?;
    Ok(JobId(id))
}
