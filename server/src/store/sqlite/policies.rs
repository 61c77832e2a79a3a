//! Settings of kinds.

use super::SqliteStore;
use super::audit::audit;
use crate::store::audit::Entry;
use crate::store::fault::Tried;
use crate::store::time::At;
use app::error::StoreError;
use app::model::name::Name;
use app::model::people::Actor;
use app::model::policy::{Change, KindPolicy, Overrides, Policy, merged};
use app::model::policy_edit::{PolicyEdit, check_seen};
use app::store::{PolicyStore, Stored};
use async_trait::async_trait;

#[async_trait]
impl PolicyStore for SqliteStore {
    async fn list_policies(&self) -> Stored<Vec<KindPolicy>> {
        Ok(self.read_policies().await?)
    }

    async fn find_policy(&self, kind: &str) -> Stored<Option<KindPolicy>> {
        Ok(self.read_policy(kind).await?)
    }

    async fn change_policy(&self, kind: &Name, change: &Change, actor: &Actor) -> Stored<KindPolicy> {
        Ok(self.write_policy(kind.as_str(), change, None, actor).await?)
    }

    async fn edit_policy(&self, kind: &Name, edit: &PolicyEdit, actor: &Actor) -> Stored<KindPolicy> {
        Ok(self.write_policy(kind.as_str(), &edit.change, Some(edit), actor).await?)
    }
}

impl SqliteStore {
    async fn read_policies(&self) -> Tried<Vec<KindPolicy>> {
        let rows: Vec<(String, String)> =
            sqlx::query_as("SELECT kind, overrides FROM kinds ORDER BY kind").fetch_all(self.readers()?).await?;
        rows.into_iter().map(|(kind, overrides)| Ok(Policy::shown(&kind, &serde_json::from_str(&overrides)?))).collect()
    }

    async fn read_policy(&self, kind: &str) -> Tried<Option<KindPolicy>> {
        let overrides: Option<String> = sqlx::query_scalar("SELECT overrides FROM kinds WHERE kind = ?1")
            .bind(kind)
            .fetch_optional(self.readers()?)
            .await?;
        overrides.map(|overrides| Ok(Policy::shown(kind, &serde_json::from_str(&overrides)?))).transpose()
    }

    /// An edit is of what somebody saw: it makes no kind, and overwrites nothing else.
    async fn write_policy(
        &self,
        kind: &str,
        change: &Change,
        edit: Option<&PolicyEdit>,
        actor: &Actor,
    ) -> Tried<KindPolicy> {
        let mut tx = self.write().await?;
        let now = At(tx.now);
        if edit.is_none() {
            sqlx::query("INSERT INTO kinds (kind, created_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING")
                .bind(kind)
                .bind(now)
                .execute(&mut *tx)
                .await?;
        }
        let before: Option<String> = sqlx::query_scalar("SELECT overrides FROM kinds WHERE kind = ?1")
            .bind(kind)
            .fetch_optional(&mut *tx)
            .await?;
        let before: Overrides = serde_json::from_str(&before.ok_or(StoreError::NotFound("kind"))?)?;
        if let Some(edit) = edit {
            check_seen(&before, edit).map_err(StoreError::Conflict)?;
        }
        let overrides = merged(before, change, &actor.name, tx.now);
        let policy = Policy::effective(&overrides);
        // Pausing what is paused keeps who paused it first; resuming starts the kind's clock.
        sqlx::query(
            "UPDATE kinds SET overrides = ?2, lease_seconds = ?3, max_attempt_seconds = ?4, max_attempts = ?5,
               not_running_after_seconds = ?6,
               paused_at = CASE WHEN ?7 THEN coalesce(paused_at, ?8) END,
               paused_by = CASE WHEN NOT ?7 THEN NULL WHEN paused_at IS NULL THEN ?9 ELSE paused_by END,
               hold_ended_at = CASE WHEN NOT ?7 AND paused_at IS NOT NULL THEN ?8 ELSE hold_ended_at END
             WHERE kind = ?1",
        )
        .bind(kind)
        .bind(serde_json::to_string(&overrides)?)
        .bind(policy.lease_seconds)
        .bind(policy.max_attempt_seconds)
        .bind(policy.max_attempts)
        .bind(policy.not_running_after_seconds)
        .bind(policy.paused)
        .bind(now)
        .bind(&actor.name)
        .execute(&mut *tx)
        .await?;
        audit(&mut tx, actor, Entry::policy_change(kind, change)).await?;
        tx.commit().await?;
        Ok(Policy::shown(kind, &overrides))
    }
}
