//! Users, sessions and tokens: the calls, each in its own file, and the first
//! admin's set-up secret here. Hashes only: no secret is stored.

use super::SqliteStore;
use super::audit::audit;
use super::users::add_user;
use crate::store::audit::Entry;
use crate::store::conflict::setup_conflict;
use crate::store::fault::Tried;
use app::model::ids::{TokenId, UserId};
use app::model::name::Name;
use app::model::people::{Actor, ListedToken, Person, Role, Scope, Session, Token, User, Viewer};
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

    async fn end_session(&self, session_sha256: &str, actor: &Actor) -> Stored<()> {
        Ok(self.delete_session(session_sha256, actor).await?)
    }

    async fn list_users(&self, after: Option<&str>, limit: u32) -> Stored<Vec<Person>> {
        Ok(self.read_users(after, limit).await?)
    }

    async fn find_person(&self, name: &str) -> Stored<Option<Person>> {
        Ok(self.read_person(name).await?)
    }

    async fn invite_user(&self, name: &Name, role: Role, link_sha256: &str, actor: &Actor) -> Stored<UserId> {
        Ok(self.insert_invited(name.as_str(), role, link_sha256, actor).await?)
    }

    async fn put_set_up_link(&self, name: &str, link_sha256: &str, actor: &Actor) -> Stored<()> {
        Ok(self.replace_link(name, link_sha256, actor).await?)
    }

    async fn use_set_up_link(&self, link_sha256: &str, password_hash: &str, sender: &Actor) -> Stored<Viewer> {
        Ok(self.use_link(link_sha256, password_hash, sender).await?)
    }

    async fn change_password(
        &self,
        user: UserId,
        seen_hash: &str,
        password_hash: &str,
        kept_session_sha256: &str,
        actor: &Actor,
    ) -> Stored<()> {
        Ok(self.replace_password(user, seen_hash, password_hash, kept_session_sha256, actor).await?)
    }

    async fn list_sessions(&self, user: &str) -> Stored<Vec<Session>> {
        Ok(self.read_sessions(user).await?)
    }

    async fn revoke_sessions(&self, user: &str, session_id: Option<&str>, actor: &Actor) -> Stored<u64> {
        Ok(self.delete_sessions(user, session_id, actor).await?)
    }

    async fn add_token(&self, name: &Name, scopes: &[Scope], token_sha256: &str, actor: &Actor) -> Stored<TokenId> {
        Ok(self.insert_token(name.as_str(), scopes, token_sha256, actor).await?)
    }

    async fn find_token(&self, token_sha256: &str) -> Stored<Option<Token>> {
        Ok(self.read_token(token_sha256).await?)
    }

    async fn list_tokens(&self, after: Option<&str>, limit: u32) -> Stored<Vec<ListedToken>> {
        Ok(self.read_tokens(after, limit).await?)
    }

    async fn revoke_token(&self, id: TokenId, actor: &Actor) -> Stored<()> {
        Ok(self.end_token(id, actor).await?)
    }

    async fn record_token_use(&self, id: TokenId) -> Stored<()> {
        Ok(self.note_token_use(id).await?)
    }
}

impl SqliteStore {
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
}
