//! Users, tokens and the audit. Hashes only: no secret is stored.

use super::{SqliteStore, Tx};
use crate::store::audit::Entry;
use crate::store::conflict::{name_conflict, setup_conflict};
use crate::store::fault::{Fault, Tried, is_duplicate};
use crate::store::rows::{StoredAudit, StoredToken, StoredUser, scope_list};
use crate::store::time::At;
use app::error::StoreError;
use app::model::ids::{TokenId, UserId};
use app::model::name::Name;
use app::model::people::{Actor, AuditEntry, Role, Scope, Token, User, Viewer};
use app::store::{PeopleStore, Stored};
use async_trait::async_trait;

#[async_trait]
impl PeopleStore for SqliteStore {
    async fn count_users(&self) -> Stored<i64> {
        Ok(self.read_user_count().await?)
    }

    async fn find_user(&self, name: &str) -> Stored<Option<User>> {
        Ok(self.read_user(name).await?)
    }

    async fn add_user(&self, name: &Name, role: Role, password_hash: &str, actor: &Actor) -> Stored<UserId> {
        Ok(self.insert_user(name.as_str(), role, password_hash, actor).await?)
    }

    async fn change_user(&self, name: &str, role: Option<Role>, disabled: Option<bool>, actor: &Actor) -> Stored<()> {
        Ok(self.update_user(name, role, disabled, actor).await?)
    }

    async fn put_setup_secret(&self, secret_sha256: &str) -> Stored<()> {
        Ok(self.replace_setup_secret(secret_sha256).await?)
    }

    async fn is_setup_secret(&self, secret_sha256: &str) -> Stored<bool> {
        Ok(self.has_setup_secret(secret_sha256).await?)
    }

    async fn use_setup_secret(
        &self,
        secret_sha256: &str,
        name: &Name,
        password_hash: &str,
        actor: &Actor,
    ) -> Stored<UserId> {
        Ok(self.set_up(secret_sha256, name.as_str(), password_hash, actor).await?)
    }

    async fn start_session(&self, user: UserId, session_sha256: &str, actor: &Actor) -> Stored<()> {
        Ok(self.insert_session(user, session_sha256, actor).await?)
    }

    async fn find_session(&self, session_sha256: &str, touch: bool) -> Stored<Option<Viewer>> {
        Ok(self.read_session(session_sha256, touch).await?)
    }

    async fn end_session(&self, session_sha256: &str) -> Stored<()> {
        Ok(self.delete_session(session_sha256).await?)
    }

    async fn add_token(&self, name: &Name, scopes: &[Scope], token_sha256: &str, actor: &Actor) -> Stored<TokenId> {
        Ok(self.insert_token(name.as_str(), scopes, token_sha256, actor).await?)
    }

    async fn find_token(&self, token_sha256: &str) -> Stored<Option<Token>> {
        Ok(self.read_token(token_sha256).await?)
    }

    async fn list_audit(&self, before: Option<i64>, limit: u32) -> Stored<Vec<AuditEntry>> {
        Ok(self.read_audit(before, limit).await?)
    }
}

impl SqliteStore {
    async fn read_user_count(&self) -> Tried<i64> {
        Ok(sqlx::query_scalar("SELECT count(*) FROM users").fetch_one(self.readers()?).await?)
    }

    async fn read_user(&self, name: &str) -> Tried<Option<User>> {
        let row: Option<StoredUser> =
            sqlx::query_as("SELECT id, name, role, password_hash, disabled FROM users WHERE name = ?1")
                .bind(name)
                .fetch_optional(self.readers()?)
                .await?;
        row.map(StoredUser::user).transpose()
    }

    async fn insert_user(&self, name: &str, role: Role, password_hash: &str, actor: &Actor) -> Tried<UserId> {
        let mut tx = self.write().await?;
        let id = add_user(&mut tx, name, role, password_hash).await?;
        audit(&mut tx, actor, Entry::user_add(name, role)).await?;
        tx.commit().await?;
        Ok(id)
    }

    async fn update_user(&self, name: &str, role: Option<Role>, disabled: Option<bool>, actor: &Actor) -> Tried<()> {
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
        sqlx::query("DELETE FROM sessions WHERE user_id = (SELECT id FROM users WHERE name = ?1)")
            .bind(name)
            .execute(&mut *tx)
            .await?;
        audit(&mut tx, actor, Entry::user_change(name, role, disabled)).await?;
        tx.commit().await
    }

    async fn replace_setup_secret(&self, secret_sha256: &str) -> Tried<()> {
        let mut tx = self.write().await?;
        sqlx::query(
            "INSERT INTO setup_secret (one, secret_sha256) VALUES (1, ?1)
             ON CONFLICT (one) DO UPDATE SET secret_sha256 = excluded.secret_sha256",
        )
        .bind(secret_sha256)
        .execute(&mut *tx)
        .await?;
        tx.commit().await
    }

    async fn has_setup_secret(&self, secret_sha256: &str) -> Tried<bool> {
        let mut tx = self.read().await?;
        let is_live = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM setup_secret WHERE secret_sha256 = ?1) AND NOT EXISTS (SELECT 1 FROM users)",
        )
        .bind(secret_sha256)
        .fetch_one(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(is_live)
    }

    async fn set_up(&self, secret_sha256: &str, name: &str, password_hash: &str, actor: &Actor) -> Tried<UserId> {
        let mut tx = self.write().await?;
        let used =
            sqlx::query("DELETE FROM setup_secret WHERE secret_sha256 = ?1 AND NOT EXISTS (SELECT 1 FROM users)")
                .bind(secret_sha256)
                .execute(&mut *tx)
                .await?;
        if used.rows_affected() == 0 {
            return Err(setup_conflict().into());
        }
        let id = add_user(&mut tx, name, Role::Admin, password_hash).await?;
        audit(&mut tx, actor, Entry::set_up(name)).await?;
        tx.commit().await?;
        Ok(id)
    }

    async fn insert_token(&self, name: &str, scopes: &[Scope], token_sha256: &str, actor: &Actor) -> Tried<TokenId> {
        let mut tx = self.write().await?;
        let now = At(tx.now);
        let id = sqlx::query_scalar(
            "INSERT INTO tokens (name, scopes, token_sha256, created_at) VALUES (?1, ?2, ?3, ?4) RETURNING id",
        )
        .bind(name)
        .bind(scope_list(scopes))
        .bind(token_sha256)
        .bind(now)
        .fetch_one(&mut *tx)
        .await
        .map_err(|error| taken_or(error, "token", name))?;
        audit(&mut tx, actor, Entry::token_add(name, scopes)).await?;
        tx.commit().await?;
        Ok(TokenId(id))
    }

    async fn read_token(&self, token_sha256: &str) -> Tried<Option<Token>> {
        let row: Option<StoredToken> =
            sqlx::query_as("SELECT id, name, scopes FROM tokens WHERE token_sha256 = ?1 AND revoked_at IS NULL")
                .bind(token_sha256)
                .fetch_optional(self.readers()?)
                .await?;
        Ok(row.map(StoredToken::token))
    }

    async fn read_audit(&self, before: Option<i64>, limit: u32) -> Tried<Vec<AuditEntry>> {
        let rows: Vec<StoredAudit> = sqlx::query_as(
            "SELECT seq, at, actor, action, subject, details, address FROM audit
             WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2",
        )
        .bind(before.unwrap_or(i64::MAX))
        .bind(limit)
        .fetch_all(self.readers()?)
        .await?;
        Ok(rows.into_iter().map(StoredAudit::entry).collect())
    }
}

async fn add_user(tx: &mut Tx, name: &str, role: Role, password_hash: &str) -> Tried<UserId> {
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

fn taken_or(error: sqlx::Error, what: &str, name: &str) -> Fault {
    if is_duplicate(&error) { name_conflict(what, name).into() } else { error.into() }
}

/// Writes an audit entry; the write lock keeps its numbers without gaps.
pub(super) async fn audit(tx: &mut Tx, actor: &Actor, entry: Entry) -> Tried<()> {
    let now = At(tx.now);
    sqlx::query(
        "INSERT INTO audit (seq, at, actor, action, subject, details, address, user_agent)
         SELECT coalesce(max(seq), 0) + 1, ?1, ?2, ?3, ?4, ?5, ?6, ?7 FROM audit",
    )
    .bind(now)
    .bind(&actor.name)
    .bind(entry.action)
    .bind(&entry.subject)
    .bind(entry.details.as_deref())
    .bind(actor.address.as_deref())
    .bind(actor.user_agent.as_deref())
    .execute(&mut **tx)
    .await?;
    Ok(())
}
