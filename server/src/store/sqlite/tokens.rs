//! Bearer tokens.

use super::SqliteStore;
use super::audit::audit;
use super::users::taken_or;
use crate::store::audit::Entry;
use crate::store::fault::Tried;
use crate::store::rows::{StoredListedToken, StoredToken, scope_list};
use crate::store::time::At;
use app::error::StoreError;
use app::model::ids::TokenId;
use app::model::people::{Actor, ListedToken, Scope, Token};
use chrono::TimeDelta;

/// A token's use is written down at most so often.
const USE_EVERY: TimeDelta = TimeDelta::minutes(5);

impl SqliteStore {
    pub(super) async fn insert_token(
        &self,
        name: &str,
        scopes: &[Scope],
        token_sha256: &str,
        actor: &Actor,
    ) -> Tried<TokenId> {
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

    pub(super) async fn read_token(&self, token_sha256: &str) -> Tried<Option<Token>> {
        let row: Option<StoredToken> = sqlx::query_as(
            "SELECT id, name, scopes,
               coalesce(last_used_at <= unixepoch('subsec') * 1000000 - ?2, 1) AS is_use_stale
             FROM tokens WHERE token_sha256 = ?1 AND revoked_at IS NULL",
        )
        .bind(token_sha256)
        .bind(USE_EVERY.num_microseconds())
        .fetch_optional(self.readers()?)
        .await?;
        Ok(row.map(StoredToken::token))
    }

    pub(super) async fn read_tokens(&self, after: Option<&str>, limit: u32) -> Tried<Vec<ListedToken>> {
        let rows: Vec<StoredListedToken> = sqlx::query_as(
            "SELECT id, name, scopes, created_at, last_used_at, revoked_at FROM tokens
             WHERE name > ?1 ORDER BY name LIMIT ?2",
        )
        .bind(after.unwrap_or_default())
        .bind(limit)
        .fetch_all(self.readers()?)
        .await?;
        Ok(rows.into_iter().map(StoredListedToken::token).collect())
    }

    pub(super) async fn end_token(&self, id: TokenId, actor: &Actor) -> Tried<()> {
        let mut tx = self.write().await?;
        let now = At(tx.now);
        let name: Option<String> =
            sqlx::query_scalar("UPDATE tokens SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL RETURNING name")
                .bind(id.0)
                .bind(now)
                .fetch_optional(&mut *tx)
                .await?;
        let name = name.ok_or(StoreError::NotFound("token"))?;
        audit(&mut tx, actor, Entry::token_revoke(&name)).await?;
        tx.commit().await
    }

    pub(super) async fn note_token_use(&self, id: TokenId) -> Tried<()> {
        let mut tx = self.write().await?;
        let now = tx.now;
        sqlx::query(
            "UPDATE tokens SET last_used_at = ?2 WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at <= ?3)",
        )
        .bind(id.0)
        .bind(At(now))
        .bind(At(now - USE_EVERY))
        .execute(&mut *tx)
        .await?;
        tx.commit().await
    }
}
