//! What is left to somebody by a date: listed and finished. Written once; each
//! database compiles it as a module of its own, with its transaction and clock.

use super::audit::audit;
use super::masking::covers;
use super::{Db, TheStore, Tx};
use crate::store::audit::Entry;
use crate::store::conflict::follow_up_conflict;
use crate::store::fault::Tried;
use crate::store::promises::{StoredFollowUp, follow_up_columns};
use crate::store::time::At;
use app::error::StoreError;
use app::model::follow_up::{FollowUp, FollowUpCursor, FollowUpFilter, FollowUpPage, FollowUpShare};
use app::model::ids::FollowUpId;
use app::model::people::Actor;
use app::store::{FollowUpStore, Stored};
use async_trait::async_trait;
use sqlx::QueryBuilder;

const FOLLOW_UP: &str = concat!("SELECT ", follow_up_columns!(), " FROM follow_ups WHERE ");

#[async_trait]
impl FollowUpStore for TheStore {
    async fn list_follow_ups(&self, filter: &FollowUpFilter) -> Stored<FollowUpPage> {
        self.pages_answer(list(self, filter)).await
    }

    async fn find_follow_up(&self, id: FollowUpId) -> Stored<Option<FollowUp>> {
        self.pages_answer(find(self, id)).await
    }

    async fn finish_follow_up(&self, id: FollowUpId, note: Option<&str>, actor: &Actor) -> Stored<()> {
        self.pages_answer(finish(self, id, note, actor)).await
    }
}

/// Two ranges of two indexes, the second only where the first leaves room.
async fn list(store: &TheStore, filter: &FollowUpFilter) -> Tried<FollowUpPage> {
    let (mut tx, as_of) = store.read_page().await?;
    let wanted = filter.limit as usize + 1;
    let mut found = Vec::new();
    if filter.share != FollowUpShare::Done && !matches!(filter.after, Some(FollowUpCursor::Done { .. })) {
        found = list_open(&mut tx, filter, wanted).await?;
    }
    if matches!(filter.share, FollowUpShare::Done | FollowUpShare::All) && found.len() < wanted {
        found.extend(list_done(&mut tx, filter, wanted - found.len()).await?);
    }
    tx.commit().await?;
    let has_more = found.len() == wanted;
    found.truncate(filter.limit as usize);
    let next = found.last().filter(|_| has_more).map(|last| match last.done_at {
        None => FollowUpCursor::Open { due: last.due, id: last.id },
        Some(_) => FollowUpCursor::Done { id: last.id },
    });
    Ok(FollowUpPage { follow_ups: found, next, as_of })
}

async fn list_open(tx: &mut Tx, filter: &FollowUpFilter, limit: usize) -> Tried<Vec<FollowUp>> {
    let mut query = QueryBuilder::<Db>::new(FOLLOW_UP);
    query.push("done_at IS NULL");
    if filter.share == FollowUpShare::Mine {
        query.push(" AND owner = ").push_bind(filter.viewer.clone());
    }
    if let Some(FollowUpCursor::Open { due, id }) = filter.after {
        query.push(" AND (due, id) > (").push_bind(due).push(", ").push_bind(id.0).push(")");
    }
    query.push(" ORDER BY due, id LIMIT ").push(limit);
    rows(query, tx).await
}

async fn list_done(tx: &mut Tx, filter: &FollowUpFilter, limit: usize) -> Tried<Vec<FollowUp>> {
    let mut query = QueryBuilder::<Db>::new(FOLLOW_UP);
    query.push("done_at IS NOT NULL");
    if let Some(FollowUpCursor::Done { id }) = filter.after {
        query.push(" AND id < ").push_bind(id.0);
    }
    query.push(" ORDER BY id DESC LIMIT ").push(limit);
    rows(query, tx).await
}

async fn rows(mut query: QueryBuilder<Db>, tx: &mut Tx) -> Tried<Vec<FollowUp>> {
    let rows: Vec<StoredFollowUp> = query.build_query_as().fetch_all(&mut **tx).await?;
    let mut found: Vec<FollowUp> = rows.into_iter().map(StoredFollowUp::follow_up).collect();
    cover(tx, &mut found).await?;
    Ok(found)
}

/// A person may have written a masked value of the letter into it.
async fn cover(tx: &mut Tx, follow_ups: &mut [FollowUp]) -> Tried<()> {
    let covers = covers(tx, follow_ups.iter().map(|one| one.dead_letter_id)).await?;
    for one in follow_ups {
        if let Some(cover) = covers.get(&one.dead_letter_id) {
            for text in [&mut one.text, &mut one.owner] {
                *text = cover.text(text);
            }
            cover.put_on(&mut one.done_note);
        }
    }
    Ok(())
}

async fn find(store: &TheStore, id: FollowUpId) -> Tried<Option<FollowUp>> {
    let (mut tx, _) = store.read_page().await?;
    let found = find_row(&mut tx, id).await?;
    tx.commit().await?;
    Ok(found)
}

async fn find_row(tx: &mut Tx, id: FollowUpId) -> Tried<Option<FollowUp>> {
    let row: Option<StoredFollowUp> =
        sqlx::query_as(concat!("SELECT ", follow_up_columns!(), " FROM follow_ups WHERE id = $1"))
            .bind(id.0)
            .fetch_optional(&mut **tx)
            .await?;
    let mut found = row.map(StoredFollowUp::follow_up);
    cover(tx, found.as_mut_slice()).await?;
    Ok(found)
}

async fn finish(store: &TheStore, id: FollowUpId, note: Option<&str>, actor: &Actor) -> Tried<()> {
    let (mut tx, now) = store.write_page().await?;
    let changed = sqlx::query(
        "UPDATE follow_ups SET done_at = $2, done_by = $3, done_note = $4 WHERE id = $1 AND done_at IS NULL",
    )
    .bind(id.0)
    .bind(At(now))
    .bind(&actor.name)
    .bind(note)
    .execute(&mut *tx)
    .await?;
    if changed.rows_affected() == 0 {
        let Some(found) = find_row(&mut tx, id).await? else { return Err(StoreError::NotFound("follow-up").into()) };
        return Err(follow_up_conflict(&found, now).into());
    }
    audit(&mut tx, actor, Entry::follow_up_done(id, note)).await?;
    tx.commit().await?;
    Ok(())
}
