//! Users, tokens and the audit's list. Hashes only: no secret is stored.

use super::audit::audit;
use super::{PostgresStore, Transaction, sessions};
use crate::store::audit::Entry;
use crate::store::conflict::{name_conflict, setup_conflict};
use crate::store::fault::{Fault, Tried, is_duplicate};
use crate::store::rows::{StoredAudit, StoredToken, StoredUser, scope_list};
use app::error::StoreError;
use app::model::ids::{TokenId, UserId};
use app::model::name::Name;
use app::model::people::{Actor, AuditEntry, Role, Scope, Token, User, Viewer};
use app::store::{PeopleStore, Stored};
use async_trait::async_trait;
use sqlx::PgPool;

#[async_trait]
impl PeopleStore for PostgresStore {
    async fn count_users(&self) -> Stored<i64> {
        self.pages_answer(count_users(&self.pages)).await
    }

    async fn find_user(&self, name: &str) -> Stored<Option<User>> {
        self.pages_answer(find_user(&self.pages, name)).await
    }

    async fn add_user(&self, name: &Name, role: Role, password_hash: &str, actor: &Actor) -> Stored<UserId> {
        self.pages_answer(add_user(&self.pages, name.as_str(), role, password_hash, actor)).await
    }

    async fn change_user(&self, name: &str, role: Option<Role>, disabled: Option<bool>, actor: &Actor) -> Stored<()> {
        self.pages_answer(change_user(&self.pages, name, role, disabled, actor)).await
    }

    async fn put_setup_secret(&self, secret_sha256: &str) -> Stored<()> {
        self.pages_answer(put_setup_secret(&self.pages, secret_sha256)).await
    }

    async fn is_setup_secret(&self, secret_sha256: &str) -> Stored<bool> {
        self.pages_answer(is_setup_secret(&self.pages, secret_sha256)).await
    }

    async fn use_setup_secret(
        &self,
        secret_sha256: &str,
        name: &Name,
        password_hash: &str,
        actor: &Actor,
    ) -> Stored<UserId> {
        self.pages_answer(set_up(&self.pages, secret_sha256, name.as_str(), password_hash, actor)).await
    }

    async fn start_session(&self, user: UserId, session_sha256: &str, actor: &Actor) -> Stored<()> {
        self.pages_answer(sessions::start(&self.pages, user, session_sha256, actor)).await
    }

    async fn find_session(&self, session_sha256: &str, touch: bool) -> Stored<Option<Viewer>> {
        self.pages_answer(sessions::find(&self.pages, session_sha256, touch)).await
    }

    async fn end_session(&self, session_sha256: &str) -> Stored<()> {
        self.pages_answer(sessions::end(&self.pages, session_sha256)).await
    }

    async fn add_token(&self, name: &Name, scopes: &[Scope], token_sha256: &str, actor: &Actor) -> Stored<TokenId> {
        self.pages_answer(add_token(&self.pages, name.as_str(), scopes, token_sha256, actor)).await
    }

    /// Every call of a worker begins here, so it goes over the workers' connections.
    async fn find_token(&self, token_sha256: &str) -> Stored<Option<Token>> {
        self.workers_answer(find_token(&self.workers, token_sha256)).await
    }

    async fn list_audit(&self, before: Option<i64>, limit: u32) -> Stored<Vec<AuditEntry>> {
        self.pages_answer(list_audit(&self.pages, before, limit)).await
    }
}

async fn count_users(pool: &PgPool) -> Tried<i64> {
    Ok(sqlx::query_scalar("SELECT count(*) FROM users").fetch_one(&mut *super::acquire(pool).await?).await?)
}

async fn find_user(pool: &PgPool, name: &str) -> Tried<Option<User>> {
    let row: Option<StoredUser> =
        sqlx::query_as("SELECT id, name, role, password_hash, disabled FROM users WHERE name = $1")
            .bind(name)
            .fetch_optional(&mut *super::acquire(pool).await?)
            .await?;
    row.map(StoredUser::user).transpose()
}

async fn add_user(pool: &PgPool, name: &str, role: Role, password_hash: &str, actor: &Actor) -> Tried<UserId> {
    let mut tx = super::begin(pool).await?;
    let id = insert_user(&mut tx, name, role, password_hash).await?;
    audit(&mut tx, actor, Entry::user_add(name, role)).await?;
    tx.commit().await?;
    Ok(id)
}

async fn change_user(
    pool: &PgPool,
    name: &str,
    role: Option<Role>,
    disabled: Option<bool>,
    actor: &Actor,
) -> Tried<()> {
    let mut tx = super::begin(pool).await?;
    let id: Option<i64> = sqlx::query_scalar(
        "UPDATE users SET role = coalesce($2, role), disabled = coalesce($3, disabled) WHERE name = $1 RETURNING id",
    )
    .bind(name)
    .bind(role.map(Role::as_str))
    .bind(disabled)
    .fetch_optional(&mut *tx)
    .await?;
    let id = id.ok_or(StoreError::NotFound("user"))?;
    sqlx::query("DELETE FROM sessions WHERE user_id = $1").bind(id).execute(&mut *tx).await?;
    audit(&mut tx, actor, Entry::user_change(name, role, disabled)).await?;
    tx.commit().await?;
    Ok(())
}

async fn put_setup_secret(pool: &PgPool, secret_sha256: &str) -> Tried<()> {
    sqlx::query(
        "INSERT INTO setup_secret (one, secret_sha256) VALUES (1, $1) \
         ON CONFLICT (one) DO UPDATE SET secret_sha256 = excluded.secret_sha256",
    )
    .bind(secret_sha256)
    .execute(&mut *super::acquire(pool).await?)
    .await?;
    Ok(())
}

async fn is_setup_secret(pool: &PgPool, secret_sha256: &str) -> Tried<bool> {
    let is_live = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM setup_secret WHERE secret_sha256 = $1) AND NOT EXISTS (SELECT 1 FROM users)",
    )
    .bind(secret_sha256)
    .fetch_one(&mut *super::acquire(pool).await?)
    .await?;
    Ok(is_live)
}

async fn set_up(pool: &PgPool, secret_sha256: &str, name: &str, password_hash: &str, actor: &Actor) -> Tried<UserId> {
    let mut tx = super::begin(pool).await?;
    // Whoever deletes the secret first has used it; the other waits here and finds nothing.
    let used = sqlx::query("DELETE FROM setup_secret WHERE secret_sha256 = $1").bind(secret_sha256);
    let was_right = used.execute(&mut *tx).await?.rows_affected() == 1;
    let users: i64 = sqlx::query_scalar("SELECT count(*) FROM users").fetch_one(&mut *tx).await?;
    if !was_right || users > 0 {
        return Err(setup_conflict().into());
    }
    let id = insert_user(&mut tx, name, Role::Admin, password_hash).await?;
    audit(&mut tx, actor, Entry::set_up(name)).await?;
    tx.commit().await?;
    Ok(id)
}

async fn insert_user(tx: &mut Transaction, name: &str, role: Role, password_hash: &str) -> Tried<UserId> {
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

async fn add_token(pool: &PgPool, name: &str, scopes: &[Scope], token_sha256: &str, actor: &Actor) -> Tried<TokenId> {
    let mut tx = super::begin(pool).await?;
    let id = sqlx::query_scalar(
        "INSERT INTO tokens (name, scopes, token_sha256, created_at) VALUES ($1, $2, $3, clock_timestamp()) RETURNING id",
    )
    .bind(name)
    .bind(scope_list(scopes))
    .bind(token_sha256)
    .fetch_one(&mut *tx)
    .await
    .map_err(|error| taken_or(error, "token", name))?;
    audit(&mut tx, actor, Entry::token_add(name, scopes)).await?;
    tx.commit().await?;
    Ok(TokenId(id))
}

async fn find_token(pool: &PgPool, token_sha256: &str) -> Tried<Option<Token>> {
    let row: Option<StoredToken> =
        sqlx::query_as("SELECT id, name, scopes FROM tokens WHERE token_sha256 = $1 AND revoked_at IS NULL")
            .bind(token_sha256)
            .fetch_optional(&mut *super::acquire(pool).await?)
            .await?;
    Ok(row.map(StoredToken::token))
}

async fn list_audit(pool: &PgPool, before: Option<i64>, limit: u32) -> Tried<Vec<AuditEntry>> {
    let rows: Vec<StoredAudit> = sqlx::query_as(
        "SELECT seq, at, actor, action, subject, details, address FROM audit \
         WHERE seq < $1 ORDER BY seq DESC LIMIT $2",
    )
    .bind(before.unwrap_or(i64::MAX))
    .bind(i64::from(limit))
    .fetch_all(&mut *super::acquire(pool).await?)
    .await?;
    Ok(rows.into_iter().map(StoredAudit::entry).collect())
}

fn taken_or(error: sqlx::Error, what: &str, name: &str) -> Fault {
    if is_duplicate(&error) { name_conflict(what, name).into() } else { error.into() }
}
