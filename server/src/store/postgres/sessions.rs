//! Sessions: who is signed in, judged by the database's clock.

use super::audit::audit;
use crate::store::audit::Entry;
use crate::store::fault::Tried;
use crate::store::rows::{StoredSession, role};
use app::error::StoreError;
use app::model::ids::UserId;
use app::model::people::{Actor, Session, Viewer};
use sqlx::PgPool;

/// Most sessions that a list shows.
const SESSIONS_SHOWN: i64 = 200;

/// Starts a session of a user who is not disabled.
pub(super) async fn start(pool: &PgPool, user: UserId, session_sha256: &str, actor: &Actor) -> Tried<()> {
    let mut tx = super::begin(pool).await?;
    // Locked, so that no session slips in beside a change that ends them all.
    let found: Option<(String, String)> =
        sqlx::query_as("SELECT name, role FROM users WHERE id = $1 AND NOT disabled FOR SHARE")
            .bind(user.0)
            .fetch_optional(&mut *tx)
            .await?;
    let (name, word) = found.ok_or(StoreError::NotFound("user"))?;
    let now = super::now(&mut *tx).await?;
    sqlx::query(
        "INSERT INTO sessions (session_sha256, user_id, created_at, last_active_at, address, user_agent) \
         VALUES ($1, $2, $3, $3, $4, $5)",
    )
    .bind(session_sha256)
    .bind(user.0)
    .bind(now)
    .bind(&actor.address)
    .bind(&actor.user_agent)
    .execute(&mut *tx)
    .await?;
    let actor = Actor { role: Some(role(&word)?), ..actor.clone() };
    audit(&mut tx, &actor, Entry::sign_in(&name)).await?;
    tx.commit().await?;
    Ok(())
}

/// Who the session belongs to, while it lasts: 30 minutes after the last
/// activity, 12 hours at most. Activity is written down every 15 seconds at
/// most, so that reading pages rarely writes.
pub(super) async fn find(pool: &PgPool, session_sha256: &str, touch: bool) -> Tried<Option<Viewer>> {
    let row: Option<(i64, String, String)> = sqlx::query_as(
        "WITH found AS ( \
             SELECT s.user_id, u.name, u.role FROM sessions s JOIN users u ON u.id = s.user_id \
             WHERE s.session_sha256 = $1 AND s.last_active_at > statement_timestamp() - interval '30 minutes' \
                 AND s.created_at > statement_timestamp() - interval '12 hours' AND NOT u.disabled \
         ), touched AS ( \
             UPDATE sessions SET last_active_at = statement_timestamp() \
             WHERE $2 AND session_sha256 = $1 AND EXISTS (SELECT FROM found) \
                 AND last_active_at <= statement_timestamp() - interval '15 seconds' \
         ) SELECT user_id, name, role FROM found",
    )
    .bind(session_sha256)
    .bind(touch)
    .fetch_optional(&mut *super::acquire(pool).await?)
    .await?;
    row.map(|(id, name, word)| Ok(Viewer { user_id: UserId(id), name, role: role(&word)? })).transpose()
}

/// Ends a session.
pub(super) async fn end(pool: &PgPool, session_sha256: &str, actor: &Actor) -> Tried<()> {
    let mut tx = super::begin(pool).await?;
    let name: Option<String> = sqlx::query_scalar(
        "DELETE FROM sessions s USING users u WHERE s.session_sha256 = $1 AND u.id = s.user_id RETURNING u.name",
    )
    .bind(session_sha256)
    .fetch_optional(&mut *tx)
    .await?;
    if let Some(name) = name {
        audit(&mut tx, actor, Entry::sign_out(&name)).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// A user's live sessions, the last used first.
pub(super) async fn list(pool: &PgPool, user: &str) -> Tried<Vec<Session>> {
    let rows: Vec<StoredSession> = sqlx::query_as(
        "SELECT s.session_sha256, s.created_at, s.last_active_at, s.address, s.user_agent \
         FROM sessions s JOIN users u ON u.id = s.user_id \
         WHERE u.name = $1 AND s.last_active_at > statement_timestamp() - interval '30 minutes' \
             AND s.created_at > statement_timestamp() - interval '12 hours' \
         ORDER BY s.last_active_at DESC, s.session_sha256 LIMIT $2",
    )
    .bind(user)
    .bind(SESSIONS_SHOWN)
    .fetch_all(&mut *super::acquire(pool).await?)
    .await?;
    Ok(rows.into_iter().map(StoredSession::session).collect())
}

/// Ends one session of a user, or all of them.
pub(super) async fn revoke(pool: &PgPool, user: &str, session_id: Option<&str>, actor: &Actor) -> Tried<u64> {
    let mut tx = super::begin(pool).await?;
    let ended = sqlx::query(
        "DELETE FROM sessions WHERE user_id = (SELECT id FROM users WHERE name = $1) \
             AND ($2::text IS NULL OR left(session_sha256, 16) = $2)",
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
