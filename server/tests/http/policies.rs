//! Policies over HTTP: partial changes merge, every setting says where it comes from.

use crate::client::{Client, stored};
use crate::support::TestDatabase;
use serde_json::json;
use std::sync::Arc;

each_database![
    a_change_merges_and_is_shown_with_its_origin,
    a_setting_back_at_null_is_the_default,
    a_bad_setting_changes_nothing,
    a_pause_holds_and_says_by_whom,
];

async fn a_change_merges_and_is_shown_with_its_origin(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.enqueue("k").await;
    let listed = client.get("/api/v1/policies").await.json();
    assert_eq!(listed["policies"][0]["kind"], "k");
    assert_eq!(listed["policies"][0]["settings"]["max_attempts"], json!({"value": 3, "origin": "default"}));

    let reply = client.put("/api/v1/policies/k", json!({"max_attempts": 7})).await;
    assert_eq!(reply.status, 200);
    let second = client.put("/api/v1/policies/k", json!({"jitter": "none"})).await.json();
    let attempts = &second["settings"]["max_attempts"];
    assert_eq!((&attempts["value"], &attempts["origin"]["by"]), (&json!(7), &json!("token all")));
    assert!(attempts["origin"]["at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(second["settings"]["jitter"]["value"], "none");
    assert_eq!(client.get("/api/v1/policies").await.json()["policies"], json!([second]));
    assert_eq!(client.claim("k").await["max_attempts"], 7);
    let audited: Vec<String> = db.audit().await.into_iter().map(|entry| entry.actor).collect();
    assert_eq!(audited.iter().filter(|actor| *actor == "token all").count(), 2);
}

async fn a_setting_back_at_null_is_the_default(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.put("/api/v1/policies/new-kind", json!({"lease_seconds": 10, "cutoff_seconds": 60})).await;
    let reply = client.put("/api/v1/policies/new-kind", json!({"lease_seconds": null})).await.json();
    assert_eq!(reply["settings"]["lease_seconds"], json!({"value": 300, "origin": "default"}));
    assert_eq!(reply["settings"]["cutoff_seconds"]["value"], 60);
    let unchanged = client.put("/api/v1/policies/new-kind", json!({})).await.json();
    assert_eq!(unchanged, reply, "an empty change changes nothing");
}

async fn a_bad_setting_changes_nothing(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.put("/api/v1/policies/k", json!({"max_attempts": 4})).await;
    let (before, audited) = (stored(&db).await, db.audit().await.len());
    for (body, field) in [
        (json!({"lease_seconds": 5, "max_attempts": 0}), "max_attempts"),
        (json!({"max_attempts": "3"}), "max_attempts"),
        (json!({"max_attempts": 1.5}), "max_attempts"),
        (json!({"lease_seconds": -1}), "lease_seconds"),
        (json!({"multiplier": 0}), "multiplier"),
        (json!({"multiplier": 0.5}), "multiplier"),
        (json!({"jitter": "wild"}), "jitter"),
        (json!({"jitter": ["none"]}), "jitter"),
        (json!({"paused": "yes"}), "paused"),
        (json!({"reason_codes": []}), "reason_codes"),
        (json!({"reason_codes": ["A", "A"]}), "reason_codes"),
        (json!({"budgett": "gpt"}), "budgett"),
        (json!({"start_seconds": 315_360_001}), "start_seconds"),
    ] {
        client.put("/api/v1/policies/k", body).await.is_invalid(field);
    }
    let twice = client.call(axum::http::Method::PUT, "/api/v1/policies/k").token(crate::client::ALL_SCOPES);
    twice.bytes(r#"{"max_attempts":5,"max_attempts":6}"#).send().await.is_invalid("max_attempts");
    let huge = client.call(axum::http::Method::PUT, "/api/v1/policies/k").token(crate::client::ALL_SCOPES);
    huge.bytes(r#"{"multiplier":1e400}"#).send().await.is_invalid("multiplier");
    assert_eq!((stored(&db).await, db.audit().await.len()), (before, audited));
}

async fn a_pause_holds_and_says_by_whom(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.enqueue("k").await;
    client.put("/api/v1/policies/k", json!({"paused": true})).await;
    assert!(client.claim("k").await.is_null());
    let verdict = client.get("/verdict").await;
    assert_eq!(verdict.status, 200, "a person's pause is no alarm");
    assert!(verdict.text().starts_with("Paused · 1 waiting, oldest "), "{}", verdict.text());
    assert!(verdict.text().contains("paused by token all"), "{}", verdict.text());
    client.put("/api/v1/policies/k", json!({"paused": false})).await;
    assert!(!client.claim("k").await.is_null());
}
