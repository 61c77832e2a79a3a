//! The database goes away: calls say so and when to ask again, monitors get
//! their answer, no cause leaks.

use crate::client::{ALL_SCOPES, Client};
use crate::support::TestDatabase;
use axum::http::Method;
use serde_json::json;
use std::sync::Arc;

each_database![
    every_call_says_that_the_database_is_away,
    the_verdict_is_unknown_while_it_is_away,
    a_fault_of_ours_is_not_shown
];

async fn every_call_says_that_the_database_is_away(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    db.store.close().await;
    for (method, path) in [
        (Method::POST, "/api/v1/jobs"),
        (Method::POST, "/api/v1/claim"),
        (Method::POST, "/api/v1/jobs/1/fail"),
        (Method::GET, "/api/v1/pipeline"),
        (Method::GET, "/readyz"),
    ] {
        let reply = client.call(method, path).token(ALL_SCOPES).json(&json!({})).send().await;
        reply.is(503, "unavailable");
        assert_eq!(reply.header("retry-after"), Some("2"), "{path}");
        assert_eq!(reply.message(), "The database cannot be reached; nothing was changed. Try again.");
    }
    assert_eq!(client.call(Method::GET, "/healthz").send().await.status, 200, "the process is well");
}

async fn the_verdict_is_unknown_while_it_is_away(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    assert_eq!(client.get("/verdict").await.status, 200);
    db.store.close().await;
    for token in [ALL_SCOPES, "drb_cannot_be_looked_up"] {
        let reply = client.call(Method::GET, "/verdict").token(token).send().await;
        assert_eq!(reply.status, 503);
        assert!(reply.text().starts_with("Unknown · database unreachable since "), "{}", reply.text());
    }
}

async fn a_fault_of_ours_is_not_shown(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let (path, lease_token) = client.claimed("k").await;
    db.door.forbid("endings", "outcome", "done").await;
    let reply = client.post(format!("{path}/done"), json!({"lease_token": lease_token})).await;
    reply.is(500, "internal");
    assert!(!reply.text().contains("forbidden"), "the cause is for the log: {}", reply.text());
    db.door.allow("endings").await;
    assert_eq!(client.get(&path).await.json()["state"], "in_progress", "nothing of it was kept");
    assert_eq!(client.post(format!("{path}/done"), json!({"lease_token": lease_token})).await.status, 200);
}
