//! The registry of prompts and tool definitions. Written once; each database
//! compiles it as a module of its own, with its transaction and clock.

use super::{Db, TheStore};
use crate::store::fault::{Fault, Tried};
use crate::store::time::At;
use app::model::artifact::{Artifact, ArtifactHash};
use app::store::{ArtifactStore, Stored};
use async_trait::async_trait;
use sqlx::QueryBuilder;

#[async_trait]
impl ArtifactStore for TheStore {
    async fn put_artifact(&self, sha256: &ArtifactHash, content: &str) -> Stored<()> {
        self.pages_answer(put(self, sha256, content)).await
    }

    async fn find_artifact(&self, sha256: &ArtifactHash) -> Stored<Option<Artifact>> {
        self.pages_answer(find(self, sha256)).await
    }

    async fn known_artifacts(&self, hashes: &[ArtifactHash]) -> Stored<Vec<ArtifactHash>> {
        self.pages_answer(known(self, hashes)).await
    }
}

/// Every worker puts its prompts whenever it starts: what is there already
/// takes no write lock.
async fn put(store: &TheStore, sha256: &ArtifactHash, content: &str) -> Tried<()> {
    if !known(store, std::slice::from_ref(sha256)).await?.is_empty() {
        return Ok(());
    }
    let (mut tx, now) = store.write_page().await?;
    sqlx::query("INSERT INTO artifacts (sha256, content, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
        .bind(sha256.as_str())
        .bind(content)
        .bind(At(now))
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(())
}

async fn find(store: &TheStore, sha256: &ArtifactHash) -> Tried<Option<Artifact>> {
    let (mut tx, _) = store.read_page().await?;
    let found: Option<(String, At)> = sqlx::query_as("SELECT content, at FROM artifacts WHERE sha256 = $1")
        .bind(sha256.as_str())
        .fetch_optional(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(found.map(|(content, At(at))| Artifact { sha256: sha256.clone(), content, at }))
}

async fn known(store: &TheStore, hashes: &[ArtifactHash]) -> Tried<Vec<ArtifactHash>> {
    if hashes.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = QueryBuilder::<Db>::new("SELECT sha256 FROM artifacts WHERE sha256 IN (");
    let mut list = query.separated(", ");
    for hash in hashes {
        list.push_bind(hash.as_str());
    }
    query.push(")");
    let (mut tx, _) = store.read_page().await?;
    let found: Vec<String> = query.build_query_scalar().fetch_all(&mut *tx).await?;
    tx.commit().await?;
    found.iter().map(|hash| hash.parse().map_err(|_| Fault::corrupt("hash of an artifact", hash))).collect()
}
