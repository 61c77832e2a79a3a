//! The registry of prompts and tool definitions.

use crate::support::TestDatabase;
use app::model::artifact::ArtifactHash;
use std::sync::Arc;

each_database![a_text_is_kept_once_and_found_by_its_hash, many_workers_put_the_same_at_once];

/// Any hash: that it is the text's is checked before.
fn hash(digit: char) -> ArtifactHash {
    digit.to_string().repeat(64).parse().unwrap()
}

async fn a_text_is_kept_once_and_found_by_its_hash(db: Arc<TestDatabase>) {
    let before = db.now().await;
    db.store.put_artifact(&hash('a'), "Extract.\r\né😀").await.unwrap();
    let kept = db.store.find_artifact(&hash('a')).await.unwrap().unwrap();
    assert_eq!((kept.content.as_str(), kept.sha256 == hash('a')), ("Extract.\r\né😀", true));
    assert!(kept.at >= before, "by the database's clock");
    db.let_time_pass(60).await;
    let earlier = db.store.find_artifact(&hash('a')).await.unwrap().unwrap().at;
    db.store.put_artifact(&hash('a'), "Extract.\r\né😀").await.unwrap();
    assert_eq!(db.store.find_artifact(&hash('a')).await.unwrap().unwrap().at, earlier, "the first time stays");
    assert_eq!(db.store.find_artifact(&hash('b')).await.unwrap(), None);
    assert_eq!(db.store.known_artifacts(&[hash('b'), hash('a')]).await.unwrap(), [hash('a')]);
    assert!(db.store.known_artifacts(&[]).await.unwrap().is_empty());
}

async fn many_workers_put_the_same_at_once(db: Arc<TestDatabase>) {
    let put = || async { db.store.put_artifact(&hash('c'), "the prompt").await };
    let puts = futures::future::join_all((0..20).map(|_| put())).await;
    assert!(puts.into_iter().all(|put| put.is_ok()));
    assert_eq!(db.door.count("artifacts").await, 1);
}
