//! What people decided about a dead letter and what came of it: written with the
//! act, read with the letter.

use super::Tx;
use super::jobs::list_attempts;
use super::masking::list_related_payloads;
use crate::store::acting::ActPlan;
use crate::store::fault::Tried;
use crate::store::letter_rows::{LetterHistory, StoredDecision, StoredReplay};
use crate::store::promises::{StoredFollowUp, StoredNotice, follow_up_columns, notice_columns};
use crate::store::time::At;
use app::model::ids::{DeadLetterId, JobId};
use app::model::job::RawJson;
use app::model::people::Actor;
use app::model::recovery::LetterAct;

/// Most replays that a letter shows: the parts of the largest split.
const REPLAYS_SHOWN: i64 = 100;
/// Most decisions that a letter shows.
const DECISIONS_SHOWN: i64 = 200;

/// The decision, and the notice and the follow-up if the plan has them.
pub(super) async fn write_decision(
    tx: &mut Tx,
    act: &LetterAct,
    plan: &ActPlan,
    actor: &Actor,
    replays: &[JobId],
) -> Tried<()> {
    let now = At(tx.now);
    sqlx::query(
        "INSERT INTO decisions (dead_letter_id, action, decided_by, at, note, difference, replay_job_ids) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )
    .bind(act.id.0)
    .bind(act.action.as_str())
    .bind(&actor.name)
    .bind(now)
    .bind(act.note.as_deref())
    .bind(plan.difference.as_ref().map(RawJson::as_str))
    .bind(serde_json::to_string(replays)?)
    .execute(&mut **tx)
    .await?;
    if let Some(notice) = &plan.notice {
        sqlx::query(
            "INSERT INTO notices (dead_letter_id, recipient, subject, body, next_action, when_text, made_by, at, \
                 next_try_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
        )
        .bind(act.id.0)
        .bind(&notice.recipient)
        .bind(&notice.subject)
        .bind(&notice.body)
        .bind(&notice.next_action)
        .bind(&notice.when)
        .bind(&actor.name)
        .bind(now)
        .execute(&mut **tx)
        .await?;
    }
    if let Some(follow_up) = &plan.follow_up {
        sqlx::query(
            "INSERT INTO follow_ups (dead_letter_id, kind, what, owner, due, made_by, at) \
             SELECT id, kind, ?2, ?3, ?4, ?5, ?6 FROM dead_letters WHERE id = ?1",
        )
        .bind(act.id.0)
        .bind(act.note.as_deref().unwrap_or_default())
        .bind(&follow_up.owner)
        .bind(follow_up.due)
        .bind(&actor.name)
        .bind(now)
        .execute(&mut **tx)
        .await?;
    }
    Ok(())
}

/// All that hangs on a letter; six statements whatever its length.
pub(super) async fn find_history(tx: &mut Tx, id: DeadLetterId, job: JobId) -> Tried<LetterHistory> {
    let attempts = list_attempts(tx, job).await?;
    let replays: Vec<StoredReplay> = sqlx::query_as(
        "SELECT j.id, j.replay_mode, j.state, j.verdict, d.id AS dead_letter_id, d.status AS dead_letter_status \
         FROM jobs j LEFT JOIN dead_letters d ON d.job_id = j.id \
         WHERE j.replay_of = ?1 AND j.replay_mode IS NOT NULL ORDER BY j.id LIMIT ?2",
    )
    .bind(id.0)
    .bind(REPLAYS_SHOWN)
    .fetch_all(&mut **tx)
    .await?;
    let decisions: Vec<StoredDecision> = sqlx::query_as(
        "SELECT action, decided_by, at, note, difference, replay_job_ids FROM decisions \
         WHERE dead_letter_id = ?1 ORDER BY id LIMIT ?2",
    )
    .bind(id.0)
    .bind(DECISIONS_SHOWN)
    .fetch_all(&mut **tx)
    .await?;
    let notice: Option<StoredNotice> = sqlx::query_as(concat!(
        "SELECT ",
        notice_columns!(),
        " FROM notices WHERE dead_letter_id = ?1 ORDER BY id DESC LIMIT 1"
    ))
    .bind(id.0)
    .fetch_optional(&mut **tx)
    .await?;
    let follow_up: Option<StoredFollowUp> = sqlx::query_as(concat!(
        "SELECT ",
        follow_up_columns!(),
        " FROM follow_ups WHERE dead_letter_id = ?1 ORDER BY id DESC LIMIT 1"
    ))
    .bind(id.0)
    .fetch_optional(&mut **tx)
    .await?;
    let related_payloads = list_related_payloads(tx, job).await?;
    Ok(LetterHistory { attempts, replays, decisions, notice, follow_up, related_payloads })
}
