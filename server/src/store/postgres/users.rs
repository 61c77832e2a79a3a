//! Users, their passwords and set-up links.

use super::Transaction;
use super::audit::audit;
use super::names::refuse_look_alike;
use crate::store::audit::Entry;
use crate::store::conflict::{last_admin_conflict, link_conflict, name_conflict, password_conflict};
use crate::store::fault::{Fault, Tried, is_duplicate};
use crate::store::rows::{StoredPerson, StoredUser, role};
use app::error::StoreError;
use app::model::ids::UserId;
use app::model::people::{Actor, Person, Role, SET_UP_LINK_HOURS, User, Viewer};
use sqlx::PgPool;

pub(super) async fn count_users(pool: &PgPool) -> Tried<i64> {
    Ok(sqlx::query_scalar("SELECT count(*) FROM users").fetch_one(&mut *super::acquire(pool).await?).await?)
}

pub(super) async fn find_user(pool: &PgPool, name: &str) -> Tried<Option<User>> {
    let row: Option<StoredUser> =
        sqlx::query_as("SELECT id, name, role, password_hash, disabled FROM users WHERE name = $1")
            .bind(name)
            .fetch_optional(&mut *super::acquire(pool).await?)
            .await?;
    row.map(StoredUser::user).transpose()
}

pub(super) async fn add_user(
    pool: &PgPool,
    name: &str,
    role: Role,
    password_hash: &str,
    actor: &Actor,
) -> Tried<UserId> {
    let mut tx = super::begin(pool).await?;
    let id = insert_user(&mut tx, name, role, password_hash).await?;
    audit(&mut tx, actor, Entry::user_add(name, role)).await?;
    tx.commit().await?;
    Ok(id)
}

/// Users with what a [`StoredPerson`] says about each.
macro_rules! person_query {
    () => {
        "SELECT u.name, u.role, u.disabled, u.password_hash <> '' AS has_password, u.created_at, \
             (SELECT l.expires_at FROM set_up_links l WHERE l.user_id = u.id \
                  AND l.expires_at > statement_timestamp()) AS link_expires_at, \
             (SELECT count(*) FROM sessions s WHERE s.user_id = u.id \
                  AND s.last_active_at > statement_timestamp() - interval '30 minutes' \
                  AND s.created_at > statement_timestamp() - interval '12 hours') AS sessions \
         FROM users u"
    };
}

/// Users by name.
pub(super) async fn list(pool: &PgPool, after: Option<&str>, limit: u32) -> Tried<Vec<Person>> {
    let rows: Vec<StoredPerson> =
        sqlx::query_as(concat!(person_query!(), " WHERE u.name > $1 ORDER BY u.name LIMIT $2"))
            .bind(after.unwrap_or_default())
            .bind(i64::from(limit))
            .fetch_all(&mut *super::acquire(pool).await?)
            .await?;
    rows.into_iter().map(StoredPerson::person).collect()
}

/// One user.
pub(super) async fn find_person(pool: &PgPool, name: &str) -> Tried<Option<Person>> {
    let row: Option<StoredPerson> = sqlx::query_as(concat!(person_query!(), " WHERE u.name = $1"))
        .bind(name)
        .fetch_optional(&mut *super::acquire(pool).await?)
        .await?;
    row.map(StoredPerson::person).transpose()
}

pub(super) async fn change_user(
    pool: &PgPool,
    name: &str,
    role: Option<Role>,
    disabled: Option<bool>,
    actor: &Actor,
) -> Tried<()> {
    let mut tx = super::begin(pool).await?;
    if actor.role.is_some() {
        // Locked, so that two admins who demote each other do not both succeed.
        sqlx::query("SELECT id FROM users WHERE role = 'admin' AND NOT disabled ORDER BY id FOR UPDATE")
            .execute(&mut *tx)
            .await?;
    }
    let id: Option<i64> = sqlx::query_scalar(
        "UPDATE users SET role = coalesce($2, role), disabled = coalesce($3, disabled) WHERE name = $1 RETURNING id",
    )
    .bind(name)
    .bind(role.map(Role::as_str))
    .bind(disabled)
    .fetch_optional(&mut *tx)
    .await?;
    let id = id.ok_or(StoreError::NotFound("user"))?;
    if actor.role.is_some() && !has_admin(&mut tx).await? {
        return Err(last_admin_conflict(name).into());
    }
    sqlx::query("DELETE FROM sessions WHERE user_id = $1").bind(id).execute(&mut *tx).await?;
    audit(&mut tx, actor, Entry::user_change(name, role, disabled)).await?;
    tx.commit().await?;
    Ok(())
}

async fn has_admin(tx: &mut Transaction) -> Tried<bool> {
    let has_one = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM users WHERE role = 'admin' AND NOT disabled AND password_hash <> '')",
    );
    Ok(has_one.fetch_one(&mut **tx).await?)
}

/// Adds a user without a password, and a link to choose one.
pub(super) async fn invite(pool: &PgPool, name: &str, role: Role, link_sha256: &str, actor: &Actor) -> Tried<UserId> {
    let mut tx = super::begin(pool).await?;
    let id = insert_user(&mut tx, name, role, "").await?;
    put_link(&mut tx, id, link_sha256).await?;
    audit(&mut tx, actor, Entry::user_invite(name, role)).await?;
    tx.commit().await?;
    Ok(id)
}

/// Replaces a user's link.
pub(super) async fn replace_link(pool: &PgPool, name: &str, link_sha256: &str, actor: &Actor) -> Tried<()> {
    let mut tx = super::begin(pool).await?;
    let id: Option<i64> = sqlx::query_scalar("SELECT id FROM users WHERE name = $1 FOR NO KEY UPDATE")
        .bind(name)
        .fetch_optional(&mut *tx)
        .await?;
    let id = id.ok_or(StoreError::NotFound("user"))?;
    put_link(&mut tx, UserId(id), link_sha256).await?;
    audit(&mut tx, actor, Entry::set_up_link(name)).await?;
    tx.commit().await?;
    Ok(())
}

async fn put_link(tx: &mut Transaction, user: UserId, link_sha256: &str) -> Tried<()> {
    sqlx::query(
        "INSERT INTO set_up_links (user_id, secret_sha256, expires_at) \
         VALUES ($1, $2, clock_timestamp() + make_interval(hours => $3)) \
         ON CONFLICT (user_id) DO UPDATE SET secret_sha256 = excluded.secret_sha256, expires_at = excluded.expires_at",
    )
    .bind(user.0)
    .bind(link_sha256)
    .bind(i32::try_from(SET_UP_LINK_HOURS).expect("a number of hours"))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Uses up a link. Locks the user before the link, as all else here does;
/// whoever comes second waits for that lock and then finds no link.
pub(super) async fn use_link(pool: &PgPool, link_sha256: &str, password_hash: &str, sender: &Actor) -> Tried<Viewer> {
    let mut tx = super::begin(pool).await?;
    let user: Option<(i64, String, String)> = sqlx::query_as(
        "UPDATE users SET password_hash = $2 \
         WHERE id = (SELECT user_id FROM set_up_links WHERE secret_sha256 = $1) AND NOT disabled \
         RETURNING id, name, role",
    )
    .bind(link_sha256)
    .bind(password_hash)
    .fetch_optional(&mut *tx)
    .await?;
    let (id, name, word) = user.ok_or_else(link_conflict)?;
    let used = sqlx::query(
        "DELETE FROM set_up_links WHERE user_id = $1 AND secret_sha256 = $2 AND expires_at > statement_timestamp()",
    )
    .bind(id)
    .bind(link_sha256)
    .execute(&mut *tx)
    .await?;
    if used.rows_affected() == 0 {
        return Err(link_conflict().into());
    }
    sqlx::query("DELETE FROM sessions WHERE user_id = $1").bind(id).execute(&mut *tx).await?;
    let viewer = Viewer { user_id: UserId(id), name, role: role(&word)? };
    let actor = Actor { name: viewer.name.clone(), role: Some(viewer.role), ..sender.clone() };
    audit(&mut tx, &actor, Entry::password_set(&viewer.name)).await?;
    tx.commit().await?;
    Ok(viewer)
}

/// Replaces the password that was checked, and ends the other sessions.
pub(super) async fn change_password(
    pool: &PgPool,
    user: UserId,
    seen_hash: &str,
    password_hash: &str,
    kept_session_sha256: &str,
    actor: &Actor,
) -> Tried<()> {
    let mut tx = super::begin(pool).await?;
    let name: Option<String> = sqlx::query_scalar(
        "UPDATE users SET password_hash = $3 WHERE id = $1 AND password_hash = $2 AND NOT disabled RETURNING name",
    )
    .bind(user.0)
    .bind(seen_hash)
    .bind(password_hash)
    .fetch_optional(&mut *tx)
    .await?;
    let name = name.ok_or_else(password_conflict)?;
    let ended = sqlx::query("DELETE FROM sessions WHERE user_id = $1 AND session_sha256 <> $2")
        .bind(user.0)
        .bind(kept_session_sha256)
        .execute(&mut *tx)
        .await?;
    // A link that somebody else made must not undo what its owner just did.
    sqlx::query("DELETE FROM set_up_links WHERE user_id = $1").bind(user.0).execute(&mut *tx).await?;
    audit(&mut tx, actor, Entry::password_change(&name, ended.rows_affected())).await?;
    tx.commit().await?;
    Ok(())
}

pub(super) async fn insert_user(tx: &mut Transaction, name: &str, role: Role, password_hash: &str) -> Tried<UserId> {
    sqlx::query("LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE").execute(&mut **tx).await?;
    refuse_look_alike(tx, name).await?;
    let id = sqlx::query_scalar(
        "INSERT INTO users (name, role, password_hash, created_at) VALUES ($1, $2, $3, clock_timestamp()) RETURNING id",
    )
    .bind(name)
    .bind(role.as_str())
    .bind(password_hash)
    .fetch_one(&mut **tx)
    .await
    .map_err(|error| taken_or(error, "user", name))?;
    Ok(UserId(id))
}

/// The name is taken, or the database failed.
pub(super) fn taken_or(error: sqlx::Error, what: &str, name: &str) -> Fault {
    if is_duplicate(&error) { name_conflict(what, name).into() } else { error.into() }
}
