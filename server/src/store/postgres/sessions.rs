//! Sessions: who is signed in, judged by the database's clock.

use super::audit::audit;
use crate::store::audit::Entry;
use crate::store::fault::Tried;
use crate::store::rows::role;
use app::error::StoreError;
use app::model::ids::UserId;
use app::model::people::{Actor, Viewer};
use sqlx::PgPool;

/// Starts a session of a user who is not disabled.
pub(super) async fn start(pool: &PgPool, user: UserId, session_sha256: &str, actor: &Actor) -> Tried<()> {
    let mut tx = super::begin(pool).await?;
    // Locked, so that no session slips in beside a change that ends them all.
    let name: Option<String> = sqlx::query_scalar("SELECT name FROM users WHERE id = $1 AND NOT disabled FOR SHARE")
        .bind(user.0)
        .fetch_optional(&mut *tx)
        .await?;
    let name = name.ok_or(StoreError::NotFound("user"))?;
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
    audit(&mut tx, actor, Entry::sign_in(&name)).await?;
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
pub(super) async fn end(pool: &PgPool, session_sha256: &str) -> Tried<()> {
    sqlx::query("DELETE FROM sessions WHERE session_sha256 = $1")
        .bind(session_sha256)
        .execute(&mut *super::acquire(pool).await?)
        .await?;
    Ok(())
}
