//! Many dead letters at once: drafted, steered, worked on. Written once; each
//! database compiles it as a module of its own, with its transaction and clock.

use super::audit::audit;
use super::{Db, TheStore, Tx};
use crate::store::audit::Entry;
use crate::store::bulk_rows::{BULK, ITEM, StoredBulk, StoredChosen, StoredItem};
use crate::store::fault::{Fault, Tried};
use crate::store::letter_lists::push_conditions;
use crate::store::time::At;
use app::error::StoreError;
use app::model::FieldError;
use app::model::bulk::{
    Bulk, BulkCounts, BulkDetail, BulkItem, BulkSelection, BulkState, ItemOutcome, Leave, MAX_BULK_LETTERS, NewBulk,
    Steer,
};
use app::model::ids::{BulkId, DeadLetterId};
use app::model::letter_filter::LetterFilter;
use app::model::people::{Actor, Role};
use app::store::{BulkStore, Stored};
use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::QueryBuilder;

/// A server that took a bulk has it for so long, in seconds; then another may.
const HELD_SECONDS: i64 = 10;
/// Until the replays of a trial are looked at again, in seconds.
const LOOK_AGAIN_SECONDS: i64 = 2;
/// Letters of a selection that go into one statement.
const CHUNK: usize = 500;
/// Letters that a draft shows.
const SAMPLE: i64 = 20;

#[async_trait]
impl BulkStore for TheStore {
    async fn draft_bulk(&self, bulk: &NewBulk, actor: &Actor) -> Stored<BulkId> {
        self.pages_answer(draft(self, bulk, actor)).await
    }

    async fn find_bulk(&self, id: BulkId, after: Option<DeadLetterId>, limit: u32) -> Stored<Option<BulkDetail>> {
        self.pages_answer(find(self, id, after, limit)).await
    }

    async fn list_bulks(&self, limit: u32) -> Stored<Vec<Bulk>> {
        self.pages_answer(list(self, limit)).await
    }

    async fn steer_bulk(&self, id: BulkId, steer: &Steer, actor: &Actor, role: Role) -> Stored<()> {
        self.pages_answer(steer_once(self, id, steer, actor, role)).await
    }

    async fn take_bulk(&self) -> Stored<Option<BulkDetail>> {
        self.pages_answer(take(self)).await
    }

    async fn list_outstanding(&self, id: BulkId, limit: u32) -> Stored<Vec<BulkItem>> {
        self.pages_answer(outstanding(self, id, limit)).await
    }

    async fn find_bulk_role(&self, id: BulkId) -> Stored<Option<Option<Role>>> {
        self.pages_answer(role_of(self, id)).await
    }

    async fn keep_outcome(&self, id: BulkId, item: &BulkItem) -> Stored<()> {
        self.pages_answer(keep(self, id, item)).await
    }

    async fn leave_bulk(&self, id: BulkId, leave: &Leave) -> Stored<()> {
        self.pages_answer(leave_at(self, id, leave)).await
    }
}

async fn draft(store: &TheStore, bulk: &NewBulk, actor: &Actor) -> Tried<BulkId> {
    let (mut tx, now) = store.write_page().await?;
    let id: i64 = sqlx::query_scalar(
        "INSERT INTO bulks (scope, state, made_by, made_at, total, look_at) VALUES ($1, 'draft', $2, $3, 0, $3) \
         RETURNING id",
    )
    .bind(&bulk.scope)
    .bind(&actor.name)
    .bind(At(now))
    .fetch_one(&mut *tx)
    .await?;
    let found = match &bulk.selection {
        BulkSelection::Ids(letters) => fix_letters(&mut tx, id, letters).await?,
        BulkSelection::Filter(filter) => fix_found(&mut tx, id, filter, now).await?,
    };
    let most = u64::try_from(MAX_BULK_LETTERS).unwrap_or(u64::MAX);
    if found == 0 {
        return Err(FieldError::new("ids", "must name at least one dead letter that nobody has resolved yet").into());
    }
    if found > most {
        let rule = format!("must be at most {most} dead letters at once; narrow the filter");
        return Err(FieldError::new("ids", rule).into());
    }
    sqlx::query("UPDATE bulks SET total = $2 WHERE id = $1")
        .bind(id)
        .bind(i64::try_from(found).unwrap_or(i64::MAX))
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(BulkId(id))
}

/// Letters that were named; those that do not exist are left out.
async fn fix_letters(tx: &mut Tx, id: i64, letters: &[(DeadLetterId, i64)]) -> Tried<u64> {
    if letters.len() > MAX_BULK_LETTERS {
        return Ok(letters.len() as u64);
    }
    let mut letters = letters.to_vec();
    letters.sort_unstable();
    letters.dedup_by_key(|(id, _)| *id);
    let mut found = 0;
    for chunk in letters.chunks(CHUNK) {
        let mut query = QueryBuilder::<Db>::new("INSERT INTO bulk_items (bulk_id, dead_letter_id, version) ");
        query.push_values(chunk, |mut row, (letter, version)| {
            row.push_bind(id).push_bind(letter.0).push_bind(*version);
        });
        query.build().execute(&mut **tx).await?;
    }
    let gone = sqlx::query(
        "DELETE FROM bulk_items WHERE bulk_id = $1 \
             AND NOT EXISTS (SELECT 1 FROM dead_letters l WHERE l.id = bulk_items.dead_letter_id)",
    )
    .bind(id)
    .execute(&mut **tx)
    .await?;
    found += letters.len() as u64 - gone.rows_affected();
    Ok(found)
}

/// What a filter finds, one more than a bulk may have.
async fn fix_found(tx: &mut Tx, id: i64, filter: &LetterFilter, now: DateTime<Utc>) -> Tried<u64> {
    let Some(filter) = filter.unresolved() else { return Ok(0) };
    let mut query = QueryBuilder::<Db>::new("INSERT INTO bulk_items (bulk_id, dead_letter_id, version) SELECT ");
    query.push_bind(id).push(", l.id, l.version FROM dead_letters l WHERE ");
    push_conditions(&mut query, &filter, now);
    query.push(" AND l.status <> 'resolved' ORDER BY l.id LIMIT ").push(MAX_BULK_LETTERS + 1);
    Ok(query.build().execute(&mut **tx).await?.rows_affected())
}

async fn find(store: &TheStore, id: BulkId, after: Option<DeadLetterId>, limit: u32) -> Tried<Option<BulkDetail>> {
    let (mut tx, as_of) = store.read_page().await?;
    let Some(bulk) = find_row(&mut tx, id).await? else { return Ok(None) };
    let counts = count(&mut tx, id).await?;
    let (mut changed, mut sample) = (0, Vec::new());
    if bulk.state == BulkState::Draft {
        changed = sqlx::query_scalar(
            "SELECT count(*) FROM bulk_items i JOIN dead_letters l ON l.id = i.dead_letter_id \
             WHERE i.bulk_id = $1 AND (l.version <> i.version OR l.status = 'resolved')",
        )
        .bind(id.0)
        .fetch_one(&mut *tx)
        .await?;
        // Those that changed come first, as what they will be skipped for.
        let rows: Vec<StoredChosen> = sqlx::query_as(
            "SELECT i.dead_letter_id, l.kind, l.route, \
                 coalesce(l.reason_code, substr(l.error, 1, 200), l.failure_reason, '') AS reason, \
                 CASE WHEN l.status = 'resolved' THEN 'already_resolved' \
                     WHEN l.version <> i.version THEN 'changed' END AS changed, \
                 coalesce(l.resolved_by, l.taken_by) AS changed_by \
             FROM bulk_items i JOIN dead_letters l ON l.id = i.dead_letter_id WHERE i.bulk_id = $1 \
             ORDER BY CASE WHEN l.status = 'resolved' OR l.version <> i.version THEN 0 ELSE 1 END, i.dead_letter_id \
             LIMIT $2",
        )
        .bind(id.0)
        .bind(SAMPLE)
        .fetch_all(&mut *tx)
        .await?;
        sample = rows.into_iter().map(StoredChosen::chosen).collect::<Tried<_>>()?;
    }
    let rows: Vec<StoredItem> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "{ITEM} WHERE i.bulk_id = $1 AND i.dead_letter_id > $2 AND i.outcome IS NOT NULL \
             AND (i.outcome <> 'acted' OR d.id IS NOT NULL) ORDER BY i.dead_letter_id LIMIT $3"
    )))
    .bind(id.0)
    .bind(after.map_or(0, |after| after.0))
    .bind(i64::from(limit) + 1)
    .fetch_all(&mut *tx)
    .await?;
    tx.commit().await?;
    let mut trouble = rows.into_iter().map(StoredItem::item).collect::<Tried<Vec<_>>>()?;
    let has_more = trouble.len() > limit as usize;
    trouble.truncate(limit as usize);
    let next = trouble.last().map(|item| item.dead_letter_id).filter(|_| has_more);
    Ok(Some(BulkDetail { bulk, counts, changed, sample, trouble, next, as_of }))
}

async fn find_row(tx: &mut Tx, id: BulkId) -> Tried<Option<Bulk>> {
    let row: Option<StoredBulk> = sqlx::query_as(sqlx::AssertSqlSafe(format!("{BULK} WHERE id = $1")))
        .bind(id.0)
        .fetch_optional(&mut **tx)
        .await?;
    row.map(StoredBulk::bulk).transpose()
}

/// A replay that was purged had ended well: what is parked is kept.
async fn count(tx: &mut Tx, id: BulkId) -> Tried<BulkCounts> {
    let rows: Vec<(Option<String>, String, i64)> = sqlx::query_as(
        "SELECT i.outcome, CASE WHEN i.replay_job_id IS NULL THEN 'none' \
                 WHEN j.state IN ('waiting', 'in_progress') THEN 'running' \
                 WHEN j.state IN ('dead', 'dropped', 'cancelled') THEN 'parked' ELSE 'done' END AS replay, count(*) \
         FROM bulk_items i LEFT JOIN jobs j ON j.id = i.replay_job_id WHERE i.bulk_id = $1 GROUP BY 1, 2",
    )
    .bind(id.0)
    .fetch_all(&mut **tx)
    .await?;
    let mut counts = BulkCounts::default();
    for (outcome, replay, n) in rows {
        match outcome {
            None => counts.outstanding += n,
            Some(word) => {
                let at = ItemOutcome::ALL.iter().position(|outcome| outcome.as_str() == word);
                counts.outcomes[at.ok_or_else(|| Fault::corrupt("outcome", &word))?] += n;
            }
        }
        match replay.as_str() {
            "running" => counts.replays_running += n,
            "parked" => counts.replays_parked += n,
            "done" => counts.replays_done += n,
            _ => {}
        }
    }
    Ok(counts)
}

async fn list(store: &TheStore, limit: u32) -> Tried<Vec<Bulk>> {
    let (mut tx, _) = store.read_page().await?;
    let rows: Vec<StoredBulk> = sqlx::query_as(sqlx::AssertSqlSafe(format!("{BULK} ORDER BY id DESC LIMIT $1")))
        .bind(i64::from(limit))
        .fetch_all(&mut *tx)
        .await?;
    tx.commit().await?;
    rows.into_iter().map(StoredBulk::bulk).collect()
}

async fn steer_once(store: &TheStore, id: BulkId, steer: &Steer, actor: &Actor, role: Role) -> Tried<()> {
    let (mut tx, now) = store.write_page().await?;
    let bulk = find_row(&mut tx, id).await?.ok_or(StoreError::NotFound("bulk"))?;
    if role < Role::Reviewer || (role < Role::Admin && bulk.made_by != actor.name) {
        return Err(StoreError::Forbidden("only whoever drafted it, or an admin, may do that".to_owned()).into());
    }
    let changed = match steer {
        Steer::Confirm(act) => {
            act.check()?;
            sqlx::query(
                "UPDATE bulks SET state = 'running', action = $2, mode = $3, note = $4, started_by = $5, \
                     started_at = $6, address = $7, user_agent = $8, look_at = $6 WHERE id = $1 AND state = 'draft'",
            )
            .bind(id.0)
            .bind(act.action.as_str())
            .bind(act.mode.as_str())
            .bind(act.note.as_deref())
            .bind(&actor.name)
            .bind(At(now))
            .bind(actor.address.as_deref())
            .bind(actor.user_agent.as_deref())
            .execute(&mut *tx)
            .await?
            .rows_affected()
        }
        Steer::Stop => sqlx::query(
            "UPDATE bulks SET state = 'stopped', ended_at = $2, said = $3 \
                 WHERE id = $1 AND state IN ('draft', 'running', 'halted')",
        )
        .bind(id.0)
        .bind(At(now))
        .bind(format!("{} stopped it", actor.name))
        .execute(&mut *tx)
        .await?
        .rows_affected(),
        Steer::GoOn => sqlx::query(
            "UPDATE bulks SET state = 'running', is_trial = 0, started_by = $2, address = $3, user_agent = $4, \
                     look_at = $5, ended_at = NULL, said = NULL \
                 WHERE id = $1 AND action IS NOT NULL \
                     AND (state IN ('halted', 'stopped') OR (state = 'running' AND is_trial = 1))",
        )
        .bind(id.0)
        .bind(&actor.name)
        .bind(actor.address.as_deref())
        .bind(actor.user_agent.as_deref())
        .bind(At(now))
        .execute(&mut *tx)
        .await?
        .rows_affected(),
    };
    if changed == 0 {
        let state = bulk.state.label();
        let confirmed = bulk.started_by.filter(|_| matches!(steer, Steer::Confirm(_)));
        let said = match confirmed {
            Some(by) => format!("{} confirmed it before; it is {state} now", by.name),
            None => format!("it is {state}"),
        };
        return Err(StoreError::Conflict(said).into());
    }
    audit(&mut tx, actor, Entry::bulk(id, bulk.total, steer)).await?;
    tx.commit().await?;
    Ok(())
}

async fn take(store: &TheStore) -> Tried<Option<BulkDetail>> {
    let (mut tx, now) = store.write_page().await?;
    let row: Option<i64> = sqlx::query_scalar(
        "UPDATE bulks SET look_at = $2 WHERE state = 'running' AND look_at <= $1 \
             AND id = (SELECT id FROM bulks WHERE state = 'running' AND look_at <= $1 ORDER BY look_at, id LIMIT 1) \
         RETURNING id",
    )
    .bind(At(now))
    .bind(At(now + TimeDelta::seconds(HELD_SECONDS)))
    .fetch_optional(&mut *tx)
    .await?;
    let Some(id) = row.map(BulkId) else { return Ok(None) };
    let Some(bulk) = find_row(&mut tx, id).await? else { return Ok(None) };
    let counts = if bulk.is_trial { count(&mut tx, id).await? } else { BulkCounts::default() };
    tx.commit().await?;
    Ok(Some(BulkDetail { bulk, counts, changed: 0, sample: Vec::new(), trouble: Vec::new(), next: None, as_of: now }))
}

async fn outstanding(store: &TheStore, id: BulkId, limit: u32) -> Tried<Vec<BulkItem>> {
    let (mut tx, _) = store.read_page().await?;
    let rows: Vec<StoredItem> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "{ITEM} WHERE i.bulk_id = $1 AND i.outcome IS NULL ORDER BY i.dead_letter_id LIMIT $2"
    )))
    .bind(id.0)
    .bind(i64::from(limit))
    .fetch_all(&mut *tx)
    .await?;
    tx.commit().await?;
    rows.into_iter().map(StoredItem::item).collect()
}

async fn role_of(store: &TheStore, id: BulkId) -> Tried<Option<Option<Role>>> {
    let (mut tx, _) = store.read_page().await?;
    let row: Option<Option<String>> = sqlx::query_scalar(
        "SELECT u.role FROM bulks b LEFT JOIN users u ON u.name = b.started_by AND NOT u.disabled \
         WHERE b.id = $1 AND b.state = 'running'",
    )
    .bind(id.0)
    .fetch_optional(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(row.map(|role| role.as_deref().and_then(Role::from_word)))
}

async fn keep(store: &TheStore, id: BulkId, item: &BulkItem) -> Tried<()> {
    let (mut tx, now) = store.write_page().await?;
    sqlx::query(
        "UPDATE bulk_items SET outcome = $3, said = $4, replay_job_id = $5, at = $6 \
         WHERE bulk_id = $1 AND dead_letter_id = $2 AND outcome IS NULL",
    )
    .bind(id.0)
    .bind(item.dead_letter_id.0)
    .bind(item.outcome.map(ItemOutcome::as_str))
    .bind(item.said.as_deref())
    .bind(item.replay_job_id.map(|job| job.0))
    .bind(At(now))
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(())
}

async fn leave_at(store: &TheStore, id: BulkId, leave: &Leave) -> Tried<()> {
    let (mut tx, now) = store.write_page().await?;
    let (state, said) = match leave {
        Leave::Again | Leave::Waiting | Leave::TrialOver => (BulkState::Running, None),
        Leave::Halted(said) => (BulkState::Halted, Some(said)),
        Leave::Stopped(said) => (BulkState::Stopped, Some(said)),
        Leave::Done => (BulkState::Done, None),
    };
    let look_at = if *leave == Leave::Waiting { now + TimeDelta::seconds(LOOK_AGAIN_SECONDS) } else { now };
    sqlx::query(
        "UPDATE bulks SET state = $2, said = $3, look_at = $4, ended_at = $5, \
             is_trial = CASE WHEN $6 = 1 THEN 0 ELSE is_trial END \
         WHERE id = $1 AND state = 'running'",
    )
    .bind(id.0)
    .bind(state.as_str())
    .bind(said)
    .bind(At(look_at))
    .bind((state != BulkState::Running).then_some(At(now)))
    .bind(i64::from(*leave == Leave::TrialOver))
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(())
}
