//! Users, their passwords and set-up links.

use super::audit::audit;
use super::names::refuse_look_alike;
use super::{SqliteStore, Tx};
use crate::store::audit::Entry;
use crate::store::conflict::{last_admin_conflict, link_conflict, name_conflict, password_conflict};
use crate::store::fault::{Fault, Tried, is_duplicate};
use crate::store::rows::{StoredPerson, StoredUser, role};
use crate::store::time::At;
use app::error::StoreError;
use app::model::ids::UserId;
use app::model::people::{Actor, Person, Role, SET_UP_LINK_HOURS, User, Viewer};
use chrono::TimeDelta;

/// Users with what a [`StoredPerson`] says about each.
macro_rules! person_query {
    () => {
        "SELECT u.name, u.role, u.disabled, u.password_hash <> '' AS has_password, u.created_at,
           (SELECT l.expires_at FROM set_up_links l WHERE l.user_id = u.id AND l.expires_at > ?1) AS link_expires_at,
           (SELECT count(*) FROM sessions s WHERE s.user_id = u.id AND s.last_active_at > ?2 AND s.created_at > ?3)
             AS sessions
         FROM users u"
    };
}

impl SqliteStore {
    pub(super) async fn read_user_count(&self) -> Tried<i64> {
        Ok(sqlx::query_scalar("SELECT count(*) FROM users").fetch_one(self.readers()?).await?)
    }

    pub(super) async fn read_user(&self, name: &str) -> Tried<Option<User>> {
        let row: Option<StoredUser> =
            sqlx::query_as("SELECT id, name, role, password_hash, disabled FROM users WHERE name = ?1")
                .bind(name)
                .fetch_optional(self.readers()?)
                .await?;
        row.map(StoredUser::user).transpose()
    }

    pub(super) async fn insert_user(
        &self,
        name: &str,
        role: Role,
        password_hash: &str,
        actor: &Actor,
    ) -> Tried<UserId> {
        let mut tx = self.write().await?;
        let id = add_user(&mut tx, name, role, password_hash).await?;
        audit(&mut tx, actor, Entry::user_add(name, role)).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Users with what a list says about each.
    pub(super) async fn read_users(&self, after: Option<&str>, limit: u32) -> Tried<Vec<Person>> {
        self.read_people(concat!(person_query!(), " WHERE u.name > ?4 ORDER BY u.name LIMIT ?5"), after, limit).await
    }

    pub(super) async fn read_person(&self, name: &str) -> Tried<Option<Person>> {
        Ok(self.read_people(concat!(person_query!(), " WHERE u.name = ?4 LIMIT ?5"), Some(name), 1).await?.pop())
    }

    async fn read_people(&self, sql: &'static str, name: Option<&str>, limit: u32) -> Tried<Vec<Person>> {
        let mut tx = self.read().await?;
        let now = tx.now;
        let rows: Vec<StoredPerson> = sqlx::query_as(sql)
            .bind(At(now))
            .bind(At(now - super::sessions::IDLE))
            .bind(At(now - super::sessions::ABSOLUTE))
            .bind(name.unwrap_or_default())
            .bind(limit)
            .fetch_all(&mut *tx)
            .await?;
        tx.commit().await?;
        rows.into_iter().map(StoredPerson::person).collect()
    }

    pub(super) async fn update_user(
        &self,
        name: &str,
        role: Option<Role>,
        disabled: Option<bool>,
        actor: &Actor,
    ) -> Tried<()> {
        let mut tx = self.write().await?;
        let changed = sqlx::query(
            "UPDATE users SET role = coalesce(?2, role), disabled = coalesce(?3, disabled) WHERE name = ?1",
        )
        .bind(name)
        .bind(role.map(Role::as_str))
        .bind(disabled)
        .execute(&mut *tx)
        .await?;
        if changed.rows_affected() == 0 {
            return Err(StoreError::NotFound("user").into());
        }
        if actor.role.is_some() && !has_admin(&mut tx).await? {
            return Err(last_admin_conflict(name).into());
        }
        sqlx::query("DELETE FROM sessions WHERE user_id = (SELECT id FROM users WHERE name = ?1)")
            .bind(name)
            .execute(&mut *tx)
            .await?;
        audit(&mut tx, actor, Entry::user_change(name, role, disabled)).await?;
        tx.commit().await
    }

    pub(super) async fn insert_invited(
        &self,
        name: &str,
        role: Role,
        link_sha256: &str,
        actor: &Actor,
    ) -> Tried<UserId> {
        let mut tx = self.write().await?;
        let id = add_user(&mut tx, name, role, "").await?;
        put_link(&mut tx, id, link_sha256).await?;
        audit(&mut tx, actor, Entry::user_invite(name, role)).await?;
        tx.commit().await?;
        Ok(id)
    }

    pub(super) async fn replace_link(&self, name: &str, link_sha256: &str, actor: &Actor) -> Tried<()> {
        let mut tx = self.write().await?;
        let id: Option<i64> =
            sqlx::query_scalar("SELECT id FROM users WHERE name = ?1").bind(name).fetch_optional(&mut *tx).await?;
        let id = id.ok_or(StoreError::NotFound("user"))?;
        put_link(&mut tx, UserId(id), link_sha256).await?;
        audit(&mut tx, actor, Entry::set_up_link(name)).await?;
        tx.commit().await
    }

    pub(super) async fn use_link(&self, link_sha256: &str, password_hash: &str, sender: &Actor) -> Tried<Viewer> {
        let mut tx = self.write().await?;
        let now = At(tx.now);
        let used: Option<(i64, String, String)> = sqlx::query_as(
            "UPDATE users SET password_hash = ?3
             WHERE disabled = 0
               AND id = (SELECT user_id FROM set_up_links WHERE secret_sha256 = ?1 AND expires_at > ?2)
             RETURNING id, name, role",
        )
        .bind(link_sha256)
        .bind(now)
        .bind(password_hash)
        .fetch_optional(&mut *tx)
        .await?;
        let (id, name, word) = used.ok_or_else(link_conflict)?;
        for sql in ["DELETE FROM set_up_links WHERE user_id = ?1", "DELETE FROM sessions WHERE user_id = ?1"] {
            sqlx::query(sql).bind(id).execute(&mut *tx).await?;
        }
        let viewer = Viewer { user_id: UserId(id), name, role: role(&word)? };
        let actor = Actor { name: viewer.name.clone(), role: Some(viewer.role), ..sender.clone() };
        audit(&mut tx, &actor, Entry::password_set(&viewer.name)).await?;
        tx.commit().await?;
        Ok(viewer)
    }

    pub(super) async fn replace_password(
        &self,
        user: UserId,
        seen_hash: &str,
        password_hash: &str,
        kept_session_sha256: &str,
        actor: &Actor,
    ) -> Tried<()> {
        let mut tx = self.write().await?;
        let name: Option<String> = sqlx::query_scalar(
            "UPDATE users SET password_hash = ?3 WHERE id = ?1 AND password_hash = ?2 AND disabled = 0 RETURNING name",
        )
        .bind(user.0)
        .bind(seen_hash)
        .bind(password_hash)
        .fetch_optional(&mut *tx)
        .await?;
        let name = name.ok_or_else(password_conflict)?;
        let ended = sqlx::query("DELETE FROM sessions WHERE user_id = ?1 AND session_sha256 <> ?2")
            .bind(user.0)
            .bind(kept_session_sha256)
            .execute(&mut *tx)
            .await?;
        // A link that somebody else made must not undo what its owner just did.
        sqlx::query("DELETE FROM set_up_links WHERE user_id = ?1").bind(user.0).execute(&mut *tx).await?;
        audit(&mut tx, actor, Entry::password_change(&name, ended.rows_affected())).await?;
        tx.commit().await
    }
}

async fn has_admin(tx: &mut Tx) -> Tried<bool> {
    let has_one = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM users WHERE role = 'admin' AND disabled = 0 AND password_hash <> '')",
    );
    Ok(has_one.fetch_one(&mut **tx).await?)
}

async fn put_link(tx: &mut Tx, user: UserId, link_sha256: &str) -> Tried<()> {
    let expires_at = At(tx.now + TimeDelta::hours(SET_UP_LINK_HOURS.into()));
    sqlx::query(
        "INSERT INTO set_up_links (user_id, secret_sha256, expires_at) VALUES (?1, ?2, ?3)
         ON CONFLICT (user_id) DO UPDATE SET secret_sha256 = excluded.secret_sha256, expires_at = excluded.expires_at",
    )
    .bind(user.0)
    .bind(link_sha256)
    .bind(expires_at)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

pub(super) async fn add_user(tx: &mut Tx, name: &str, role: Role, password_hash: &str) -> Tried<UserId> {
    refuse_look_alike(tx, name).await?;
    let now = At(tx.now);
    let id = sqlx::query_scalar(
        "INSERT INTO users (name, role, password_hash, created_at) VALUES (?1, ?2, ?3, ?4) RETURNING id",
    )
    .bind(name)
    .bind(role.as_str())
    .bind(password_hash)
    .bind(now)
    .fetch_one(&mut **tx)
    .await
    .map_err(|error| taken_or(error, "user", name))?;
    Ok(UserId(id))
}

/// The name is taken, or the database failed.
pub(super) fn taken_or(error: sqlx::Error, what: &str, name: &str) -> Fault {
    if is_duplicate(&error) { name_conflict(what, name).into() } else { error.into() }
}
