//! Users, sessions and tokens: the calls, each in its own file, and the first
//! admin's set-up secret here. Hashes only: no secret is stored.

use super::audit::audit;
use super::users::insert_user;
use super::{PostgresStore, sessions, tokens, users};
use crate::store::audit::Entry;
use crate::store::conflict::setup_conflict;
use crate::store::fault::Tried;
use app::model::ids::{TokenId, UserId};
use app::model::name::Name;
use app::model::people::{Actor, ListedToken, Person, Role, Scope, Session, Token, User, Viewer};
use app::store::{PeopleStore, Stored};
use async_trait::async_trait;
use sqlx::PgPool;

#[async_trait]
impl PeopleStore for PostgresStore {
    async fn count_users(&self) -> Stored<i64> {
        self.pages_answer(users::count_users(&self.pages)).await
    }

    async fn find_user(&self, name: &str) -> Stored<Option<User>> {
        self.pages_answer(users::find_user(&self.pages, name)).await
    }

    async fn add_user(&self, name: &Name, role: Role, password_hash: &str, actor: &Actor) -> Stored<UserId> {
        self.pages_answer(users::add_user(&self.pages, name.as_str(), role, password_hash, actor)).await
    }

    async fn change_user(&self, name: &str, role: Option<Role>, disabled: Option<bool>, actor: &Actor) -> Stored<()> {
        self.pages_answer(users::change_user(&self.pages, name, role, disabled, actor)).await
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

    async fn end_session(&self, session_sha256: &str, actor: &Actor) -> Stored<()> {
        self.pages_answer(sessions::end(&self.pages, session_sha256, actor)).await
    }

    async fn list_users(&self, after: Option<&str>, limit: u32) -> Stored<Vec<Person>> {
        self.pages_answer(users::list(&self.pages, after, limit)).await
    }

    async fn find_person(&self, name: &str) -> Stored<Option<Person>> {
        self.pages_answer(users::find_person(&self.pages, name)).await
    }

    async fn invite_user(&self, name: &Name, role: Role, link_sha256: &str, actor: &Actor) -> Stored<UserId> {
        self.pages_answer(users::invite(&self.pages, name.as_str(), role, link_sha256, actor)).await
    }

    async fn put_set_up_link(&self, name: &str, link_sha256: &str, actor: &Actor) -> Stored<()> {
        self.pages_answer(users::replace_link(&self.pages, name, link_sha256, actor)).await
    }

    async fn use_set_up_link(&self, link_sha256: &str, password_hash: &str, sender: &Actor) -> Stored<Viewer> {
        self.pages_answer(users::use_link(&self.pages, link_sha256, password_hash, sender)).await
    }

    async fn change_password(
        &self,
        user: UserId,
        seen_hash: &str,
        password_hash: &str,
        kept_session_sha256: &str,
        actor: &Actor,
    ) -> Stored<()> {
        let change = users::change_password(&self.pages, user, seen_hash, password_hash, kept_session_sha256, actor);
        self.pages_answer(change).await
    }

    async fn list_sessions(&self, user: &str) -> Stored<Vec<Session>> {
        self.pages_answer(sessions::list(&self.pages, user)).await
    }

    async fn revoke_sessions(&self, user: &str, session_id: Option<&str>, actor: &Actor) -> Stored<u64> {
        self.pages_answer(sessions::revoke(&self.pages, user, session_id, actor)).await
    }

    async fn add_token(&self, name: &Name, scopes: &[Scope], token_sha256: &str, actor: &Actor) -> Stored<TokenId> {
        self.pages_answer(tokens::add(&self.pages, name.as_str(), scopes, token_sha256, actor)).await
    }

    /// Every call of a worker begins here, so it goes over the workers' connections.
    async fn find_token(&self, token_sha256: &str) -> Stored<Option<Token>> {
        self.workers_answer(tokens::find(&self.workers, token_sha256)).await
    }

    async fn list_tokens(&self, after: Option<&str>, limit: u32) -> Stored<Vec<ListedToken>> {
        self.pages_answer(tokens::list(&self.pages, after, limit)).await
    }

    async fn revoke_token(&self, id: TokenId, actor: &Actor) -> Stored<()> {
        self.pages_answer(tokens::revoke(&self.pages, id, actor)).await
    }

    async fn record_token_use(&self, id: TokenId) -> Stored<()> {
        self.pages_answer(tokens::record_use(&self.pages, id)).await
    }
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
