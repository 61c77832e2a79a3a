//! Sessions: who is signed in, judged by the database's clock.

use super::{SqliteStore, people};
use crate::store::audit::Entry;
use crate::store::fault::Tried;
use crate::store::rows::role;
use crate::store::time::At;
use app::error::StoreError;
use app::model::ids::UserId;
use app::model::people::{Actor, Viewer};
use chrono::TimeDelta;
use sqlx::FromRow;

/// A session without activity ends after this.
const IDLE: TimeDelta = TimeDelta::minutes(30);
/// A session ends after this, whatever happens.
const ABSOLUTE: TimeDelta = TimeDelta::hours(12);
/// Activity is written down at most so often, so that reading pages rarely writes.
const TOUCH_EVERY: TimeDelta = TimeDelta::seconds(15);

#[derive(FromRow)]
struct SignedIn {
    user_id: i64,
    name: String,
    role: String,
    last_active_at: At,
}

impl SqliteStore {
    pub(super) async fn insert_session(&self, user: UserId, session_sha256: &str, actor: &Actor) -> Tried<()> {
        let mut tx = self.write().await?;
        let now = At(tx.now);
        let name: Option<String> = sqlx::query_scalar("SELECT name FROM users WHERE id = ?1 AND disabled = 0")
            .bind(user.0)
            .fetch_optional(&mut *tx)
            .await?;
        let name = name.ok_or(StoreError::NotFound("user"))?;
        sqlx::query(
            "INSERT INTO sessions (session_sha256, user_id, created_at, last_active_at, address, user_agent)
             VALUES (?1, ?2, ?3, ?3, ?4, ?5)",
        )
        .bind(session_sha256)
        .bind(user.0)
        .bind(now)
        .bind(actor.address.as_deref())
        .bind(actor.user_agent.as_deref())
        .execute(&mut *tx)
        .await?;
        people::audit(&mut tx, actor, Entry::sign_in(&name)).await?;
        tx.commit().await
    }

    pub(super) async fn read_session(&self, session_sha256: &str, touch: bool) -> Tried<Option<Viewer>> {
        let mut tx = self.read().await?;
        let now = tx.now;
        let found: Option<SignedIn> = sqlx::query_as(
            "SELECT s.user_id, u.name, u.role, s.last_active_at FROM sessions s JOIN users u ON u.id = s.user_id
             WHERE s.session_sha256 = ?1 AND s.last_active_at > ?2 AND s.created_at > ?3 AND u.disabled = 0",
        )
        .bind(session_sha256)
        .bind(At(now - IDLE))
        .bind(At(now - ABSOLUTE))
        .fetch_optional(&mut *tx)
        .await?;
        tx.commit().await?;
        let Some(row) = found else {
            return Ok(None);
        };
        if touch && now - row.last_active_at.0 >= TOUCH_EVERY {
            self.touch_session(session_sha256).await?;
        }
        Ok(Some(Viewer { user_id: UserId(row.user_id), role: role(&row.role)?, name: row.name }))
    }

    async fn touch_session(&self, session_sha256: &str) -> Tried<()> {
        let mut tx = self.write().await?;
        let now = At(tx.now);
        sqlx::query("UPDATE sessions SET last_active_at = ?2 WHERE session_sha256 = ?1")
            .bind(session_sha256)
            .bind(now)
            .execute(&mut *tx)
            .await?;
        tx.commit().await
    }

    pub(super) async fn delete_session(&self, session_sha256: &str) -> Tried<()> {
        let mut tx = self.write().await?;
        sqlx::query("DELETE FROM sessions WHERE session_sha256 = ?1").bind(session_sha256).execute(&mut *tx).await?;
        tx.commit().await
    }
}
