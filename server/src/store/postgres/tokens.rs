//! Bearer tokens.

use super::audit::audit;
use super::users::taken_or;
use crate::store::audit::Entry;
use crate::store::fault::Tried;
use crate::store::rows::{StoredListedToken, StoredToken, scope_list};
use app::error::StoreError;
use app::model::ids::TokenId;
use app::model::people::{Actor, ListedToken, Scope, Token};
use sqlx::PgPool;

pub(super) async fn add(
    pool: &PgPool,
    name: &str,
    scopes: &[Scope],
    token_sha256: &str,
    actor: &Actor,
) -> Tried<TokenId> {
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

/// The token of that hash, if it works.
pub(super) async fn find(pool: &PgPool, token_sha256: &str) -> Tried<Option<Token>> {
    let row: Option<StoredToken> = sqlx::query_as(
        "SELECT id, name, scopes, \
             coalesce(last_used_at <= statement_timestamp() - interval '5 minutes', true) AS is_use_stale \
         FROM tokens WHERE token_sha256 = $1 AND revoked_at IS NULL",
    )
    .bind(token_sha256)
    .fetch_optional(&mut *super::acquire(pool).await?)
    .await?;
    Ok(row.map(StoredToken::token))
}

/// Tokens by name.
pub(super) async fn list(pool: &PgPool, after: Option<&str>, limit: u32) -> Tried<Vec<ListedToken>> {
    let rows: Vec<StoredListedToken> = sqlx::query_as(
        "SELECT id, name, scopes, created_at, last_used_at, revoked_at FROM tokens \
         WHERE name > $1 ORDER BY name LIMIT $2",
    )
    .bind(after.unwrap_or_default())
    .bind(i64::from(limit))
    .fetch_all(&mut *super::acquire(pool).await?)
    .await?;
    Ok(rows.into_iter().map(StoredListedToken::token).collect())
}

/// Ends a token for good.
pub(super) async fn revoke(pool: &PgPool, id: TokenId, actor: &Actor) -> Tried<()> {
    let mut tx = super::begin(pool).await?;
    let name: Option<String> = sqlx::query_scalar(
        "UPDATE tokens SET revoked_at = clock_timestamp() WHERE id = $1 AND revoked_at IS NULL RETURNING name",
    )
    .bind(id.0)
    .fetch_optional(&mut *tx)
    .await?;
    let name = name.ok_or(StoreError::NotFound("token"))?;
    audit(&mut tx, actor, Entry::token_revoke(&name)).await?;
    tx.commit().await?;
    Ok(())
}

/// Whoever meets another writer leaves it to them: nobody waits for this row.
pub(super) async fn record_use(pool: &PgPool, id: TokenId) -> Tried<()> {
    sqlx::query(
        "UPDATE tokens SET last_used_at = clock_timestamp() WHERE id IN ( \
             SELECT id FROM tokens WHERE id = $1 \
                 AND (last_used_at IS NULL OR last_used_at <= statement_timestamp() - interval '5 minutes') \
             FOR NO KEY UPDATE SKIP LOCKED)",
    )
    .bind(id.0)
    .execute(&mut *super::acquire(pool).await?)
    .await?;
    Ok(())
}
