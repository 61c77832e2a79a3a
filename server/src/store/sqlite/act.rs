//! What a person does to a dead letter: once, on the version they saw.

use super::audit::audit;
use super::{SqliteStore, Tx, letters};
use crate::store::acting::{check_note, other_request};
use crate::store::audit::Entry;
use crate::store::conflict::letter_conflict;
use crate::store::fault::Tried;
use crate::store::time::At;
use app::error::StoreError;
use app::model::ids::JobId;
use app::model::job::ReplayMode;
use app::model::letter::{Acted, IdempotencyKey, LetterAct, RecoveryAction};
use app::model::people::Actor;

impl SqliteStore {
    pub(super) async fn act_once(&self, act: &LetterAct, actor: &Actor) -> Tried<Acted> {
        let mut tx = self.write().await?;
        if let Some(key) = &act.idempotency
            && let Some(replay_job_ids) = find_answer(&mut tx, key).await?
        {
            let letter = letters::find(&mut tx, act.id).await?.ok_or(StoreError::NotFound("dead letter"))?;
            return Ok(Acted { letter, replay_job_ids });
        }
        check_note(act)?;
        resolve(&mut tx, act, actor).await?;
        release_unique_key(&mut tx, act).await?;
        let replay_job_ids = match act.action {
            RecoveryAction::ApproveAndReplay => vec![insert_replay(&mut tx, act).await?],
            RecoveryAction::RejectAndClose => Vec::new(),
        };
        audit(&mut tx, actor, Entry::letter_act(act, &replay_job_ids)).await?;
        if let Some(key) = &act.idempotency {
            keep_answer(&mut tx, act, key, &replay_job_ids).await?;
        }
        let letter = letters::find(&mut tx, act.id).await?.ok_or(StoreError::NotFound("dead letter"))?;
        tx.commit().await?;
        Ok(Acted { letter, replay_job_ids })
    }
}

/// The answer that an earlier act with this key got.
async fn find_answer(tx: &mut Tx, key: &IdempotencyKey) -> Tried<Option<Vec<JobId>>> {
    let row: Option<(String, String)> =
        sqlx::query_as("SELECT body_sha256, replay_job_ids FROM action_keys WHERE key = ?1")
            .bind(&key.key)
            .fetch_optional(&mut **tx)
            .await?;
    match row {
        None => Ok(None),
        Some((body, ids)) if body == key.body_sha256 => Ok(Some(serde_json::from_str(&ids)?)),
        Some(_) => Err(other_request().into()),
    }
}

async fn keep_answer(tx: &mut Tx, act: &LetterAct, key: &IdempotencyKey, replays: &[JobId]) -> Tried<()> {
    let now = At(tx.now);
    sqlx::query(
        "INSERT INTO action_keys (key, dead_letter_id, body_sha256, replay_job_ids, at) VALUES (?1, ?2, ?3, ?4, ?5)",
    )
    .bind(&key.key)
    .bind(act.id.0)
    .bind(&key.body_sha256)
    .bind(serde_json::to_string(replays)?)
    .bind(now)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// One guarded statement; whoever comes second is told what happened.
async fn resolve(tx: &mut Tx, act: &LetterAct, actor: &Actor) -> Tried<()> {
    let now = At(tx.now);
    let resolved = sqlx::query(
        "UPDATE dead_letters SET status = 'resolved', version = version + 1, resolution = ?3, resolved_by = ?4,
           resolved_at = ?5, note = ?6
         WHERE id = ?1 AND version = ?2 AND status <> 'resolved'",
    )
    .bind(act.id.0)
    .bind(act.version)
    .bind(act.action.as_str())
    .bind(&actor.name)
    .bind(now)
    .bind(act.note.as_deref())
    .execute(&mut **tx)
    .await?;
    if resolved.rows_affected() == 1 {
        return Ok(());
    }
    let letter = letters::find(tx, act.id).await?.ok_or(StoreError::NotFound("dead letter"))?;
    Err(letter_conflict(&letter, act.version, tx.now).into())
}

async fn release_unique_key(tx: &mut Tx, act: &LetterAct) -> Tried<()> {
    sqlx::query("UPDATE jobs SET holds_unique_key = 0 WHERE id = (SELECT job_id FROM dead_letters WHERE id = ?1)")
        .bind(act.id.0)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// A new job like the parked one, with fresh attempts and a fresh anchor. It
/// takes over the unique key that the parked one has just let go.
async fn insert_replay(tx: &mut Tx, act: &LetterAct) -> Tried<JobId> {
    let now = At(tx.now);
    let pinned = act.mode == ReplayMode::Pinned;
    let id = sqlx::query_scalar(
        "INSERT INTO jobs (kind, source, tenant, state, enqueued_at, run_at, due_at, anchor_at, unique_key,
           holds_unique_key, canary_reason_code, canary_field, replay_of, replay_mode, needs_accept, trace_id, payload,
           payload_ref, payload_sha256, received_at, upstream_handoffs)
         SELECT j.kind, j.source, j.tenant, 'waiting', ?2, ?2, ?2, ?2, j.unique_key,
           j.unique_key IS NOT NULL, j.canary_reason_code, j.canary_field, l.id, ?3,
           CASE WHEN j.canary_reason_code IS NOT NULL THEN 'canary' WHEN ?4 THEN 'pinned' END,
           j.trace_id, j.payload, j.payload_ref, j.payload_sha256, j.received_at, j.upstream_handoffs
         FROM dead_letters l JOIN jobs j ON j.id = l.job_id WHERE l.id = ?1
         RETURNING id",
    )
    .bind(act.id.0)
    .bind(now)
    .bind(act.mode.as_str())
    .bind(pinned)
    .fetch_one(&mut **tx)
    .await?;
    Ok(JobId(id))
}
