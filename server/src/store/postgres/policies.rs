//! Settings of kinds.

use super::PostgresStore;
use super::audit::audit;
use crate::store::audit::Entry;
use crate::store::fault::Tried;
use app::error::StoreError;
use app::model::name::Name;
use app::model::people::Actor;
use app::model::policy::{Change, KindPolicy, Overrides, Policy, merged};
use app::model::policy_edit::{PolicyEdit, check_seen};
use app::store::{PolicyStore, Stored};
use async_trait::async_trait;
use sqlx::PgPool;

#[async_trait]
impl PolicyStore for PostgresStore {
    async fn list_policies(&self) -> Stored<Vec<KindPolicy>> {
        self.pages_answer(list_policies(&self.pages)).await
    }

    async fn find_policy(&self, kind: &str) -> Stored<Option<KindPolicy>> {
        self.pages_answer(find_policy(&self.pages, kind)).await
    }

    async fn change_policy(&self, kind: &Name, change: &Change, actor: &Actor) -> Stored<KindPolicy> {
        self.pages_answer(change_policy(&self.pages, kind.as_str(), change, None, actor)).await
    }

    async fn edit_policy(&self, kind: &Name, edit: &PolicyEdit, actor: &Actor) -> Stored<KindPolicy> {
        self.pages_answer(change_policy(&self.pages, kind.as_str(), &edit.change, Some(edit), actor)).await
    }
}

async fn list_policies(pool: &PgPool) -> Tried<Vec<KindPolicy>> {
    let rows: Vec<(String, String)> = sqlx::query_as("SELECT kind, overrides FROM kinds ORDER BY kind")
        .fetch_all(&mut *super::acquire(pool).await?)
        .await?;
    rows.into_iter().map(|(kind, overrides)| Ok(Policy::shown(&kind, &serde_json::from_str(&overrides)?))).collect()
}

async fn find_policy(pool: &PgPool, kind: &str) -> Tried<Option<KindPolicy>> {
    let overrides: Option<String> = sqlx::query_scalar("SELECT overrides FROM kinds WHERE kind = $1")
        .bind(kind)
        .fetch_optional(&mut *super::acquire(pool).await?)
        .await?;
    overrides.map(|overrides| Ok(Policy::shown(kind, &serde_json::from_str(&overrides)?))).transpose()
}

/// An edit is of what somebody saw: it makes no kind, and overwrites nothing else.
async fn change_policy(
    pool: &PgPool,
    kind: &str,
    change: &Change,
    edit: Option<&PolicyEdit>,
    actor: &Actor,
) -> Tried<KindPolicy> {
    let mut tx = super::begin(pool).await?;
    if edit.is_none() {
        sqlx::query("INSERT INTO kinds (kind, created_at) VALUES ($1, clock_timestamp()) ON CONFLICT DO NOTHING")
            .bind(kind)
            .execute(&mut *tx)
            .await?;
    }
    // The weaker lock keeps out other changes, but not jobs that come in meanwhile.
    let before: Option<String> = sqlx::query_scalar("SELECT overrides FROM kinds WHERE kind = $1 FOR NO KEY UPDATE")
        .bind(kind)
        .fetch_optional(&mut *tx)
        .await?;
    let before: Overrides = serde_json::from_str(&before.ok_or(StoreError::NotFound("kind"))?)?;
    if let Some(edit) = edit {
        check_seen(&before, edit).map_err(StoreError::Conflict)?;
    }
    let now = super::now(&mut *tx).await?;
    let overrides = merged(before, change, &actor.name, now);
    let policy = Policy::effective(&overrides);
    // Pausing what is paused keeps who paused it first; resuming starts the kind's clock.
    sqlx::query(
        "UPDATE kinds SET overrides = $2, lease_seconds = $3, max_attempt_seconds = $4, max_attempts = $5, \
             not_running_after_seconds = $6, \
             paused_at = CASE WHEN $7 THEN coalesce(paused_at, $8) END, \
             paused_by = CASE WHEN NOT $7 THEN NULL WHEN paused_at IS NULL THEN $9 ELSE paused_by END, \
             hold_ended_at = CASE WHEN NOT $7 AND paused_at IS NOT NULL THEN $8 ELSE hold_ended_at END \
         WHERE kind = $1",
    )
    .bind(kind)
    .bind(serde_json::to_string(&overrides)?)
    .bind(i64::from(policy.lease_seconds))
    .bind(i64::from(policy.max_attempt_seconds))
    .bind(i64::from(policy.max_attempts))
    .bind(i64::from(policy.not_running_after_seconds))
    .bind(policy.paused)
    .bind(now)
    .bind(&actor.name)
    .execute(&mut *tx)
    .await?;
    audit(&mut tx, actor, Entry::policy_change(kind, change)).await?;
    tx.commit().await?;
    Ok(Policy::shown(kind, &overrides))
}
