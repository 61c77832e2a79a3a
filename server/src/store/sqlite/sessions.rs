//! Sessions: who is signed in, judged by the database's clock.

use super::SqliteStore;
use super::audit::audit;
use crate::store::audit::Entry;
use crate::store::fault::Tried;
use crate::store::rows::{StoredSession, role};
use crate::store::time::At;
use app::error::StoreError;
use app::model::ids::UserId;
use app::model::people::{Actor, Session, Viewer};
use chrono::TimeDelta;
use sqlx::FromRow;

/// A session without activity ends after this.
pub(super) const IDLE: TimeDelta = TimeDelta::minutes(30);
/// A session ends after this, whatever happens.
pub(super) const ABSOLUTE: TimeDelta = TimeDelta::hours(12);
/// Activity is written down at most so often, so that reading pages rarely writes.
const TOUCH_EVERY: TimeDelta = TimeDelta::seconds(15);

/// Most sessions that a list shows.
const SESSIONS_SHOWN: i64 = 200;

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
        let found: Option<(String, String)> =
            sqlx::query_as("SELECT name, role FROM users WHERE id = ?1 AND disabled = 0")
                .bind(user.0)
                .fetch_optional(&mut *tx)
                .await?;
        let (name, word) = found.ok_or(StoreError::NotFound("user"))?;
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
        let actor = Actor { role: Some(role(&word)?), ..actor.clone() };
        audit(&mut tx, &actor, Entry::sign_in(&name)).await?;
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

    pub(super) async fn delete_session(&self, session_sha256: &str, actor: &Actor) -> Tried<()> {
        let mut tx = self.write().await?;
        let name: Option<String> = sqlx::query_scalar(
            "SELECT u.name FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.session_sha256 = ?1",
        )
        .bind(session_sha256)
        .fetch_optional(&mut *tx)
        .await?;
        let Some(name) = name else {
            return Ok(());
        };
        sqlx::query("DELETE FROM sessions WHERE session_sha256 = ?1").bind(session_sha256).execute(&mut *tx).await?;
        audit(&mut tx, actor, Entry::sign_out(&name)).await?;
        tx.commit().await
    }

    pub(super) async fn read_sessions(&self, user: &str) -> Tried<Vec<Session>> {
        let mut tx = self.read().await?;
        let now = tx.now;
        let rows: Vec<StoredSession> = sqlx::query_as(
            "SELECT s.session_sha256, s.created_at, s.last_active_at, s.address, s.user_agent
             FROM sessions s JOIN users u ON u.id = s.user_id
             WHERE u.name = ?1 AND s.last_active_at > ?2 AND s.created_at > ?3
             ORDER BY s.last_active_at DESC, s.session_sha256 LIMIT ?4",
        )
        .bind(user)
        .bind(At(now - IDLE))
        .bind(At(now - ABSOLUTE))
        .bind(SESSIONS_SHOWN)
        .fetch_all(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(rows.into_iter().map(StoredSession::session).collect())
    }

    pub(super) async fn delete_sessions(&self, user: &str, session_id: Option<&str>, actor: &Actor) -> Tried<u64> {
        let mut tx = self.write().await?;
        let ended = sqlx::query(
            "DELETE FROM sessions WHERE user_id = (SELECT id FROM users WHERE name = ?1)
               AND (?2 IS NULL OR substr(session_sha256, 1, 16) = ?2)",
        )
        .bind(user)
        .bind(session_id)
        .execute(&mut *tx)
        .await?
        .rows_affected();
        if ended > 0 {
            audit(&mut tx, actor, Entry::session_revoke(user, session_id, ended)).await?;
        }
        tx.commit().await?;
        Ok(ended)
    }
}
