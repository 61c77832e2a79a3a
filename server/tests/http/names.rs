//! Kinds that break links, filters and patterns elsewhere: each claims, lists
//! and pauses exactly its own jobs.

use crate::client::{Client, stored};
use crate::support::TestDatabase;
use axum::http::Method;
use serde_json::{Value, json};
use std::sync::Arc;

each_database![every_kind_keeps_to_itself, an_unacceptable_name_is_refused];

const KINDS: [&str; 14] =
    ["a/b.c", "..", ".", "a%2Fb", "a/b", "a b", "a+b", "ä😀", " a", "A", "a", "x?y=1#z", "100%_done", "a\\'\"<b>"];

/// Percent-encodes everything but letters and digits.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

async fn every_kind_keeps_to_itself(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let longest = "k".repeat(200);
    let kinds: Vec<&str> = KINDS.into_iter().chain([longest.as_str()]).collect();
    for kind in &kinds {
        client.parked(kind).await;
        client.enqueue(kind).await;
    }
    for kind in &kinds {
        let letters = client.get(format!("/api/v1/dead-letters?kind={}", encoded(kind))).await.json();
        let found: Vec<&Value> = letters["dead_letters"].as_array().unwrap().iter().map(|l| &l["kind"]).collect();
        assert_eq!(found, [kind], "the filter finds its own letters only");

        let policy = client.put(format!("/api/v1/policies/{}", encoded(kind)), json!({"paused": true})).await;
        assert_eq!(policy.status, 200, "{policy:?}");
        assert_eq!(policy.json()["kind"], *kind);
        let pipeline = client.get("/api/v1/pipeline").await.json();
        let paused: Vec<&Value> = pipeline["kinds"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| !row["paused"].is_null())
            .map(|row| &row["kind"])
            .collect();
        assert_eq!(paused, [kind], "the pause holds its own kind only");
        assert_eq!(client.claim(kind).await, Value::Null);
        client.put(format!("/api/v1/policies/{}", encoded(kind)), json!({"paused": null})).await;

        let claimed = client.claim(kind).await;
        assert_eq!(claimed["kind"], *kind);
        assert_eq!(client.claim(kind).await, Value::Null, "the claim finds its own jobs only");
        let path = format!("/api/v1/jobs/{}/done", claimed["id"].as_str().unwrap());
        assert_eq!(client.post(path, json!({"lease_token": 1})).await.status, 200);
    }
}

async fn an_unacceptable_name_is_refused(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let before = stored(&db).await;
    for bad in [String::new(), "k".repeat(201), "k".repeat(1_000), "é".repeat(201)] {
        let good = json!({"kind": "k", "source": "s"});
        for field in ["kind", "source", "tenant"] {
            let mut job = json!({"kind": "k", "source": "s"});
            job[field] = json!(bad);
            let reply = client.post("/api/v1/jobs", json!({"jobs": [good, job]})).await;
            reply.is_invalid(&format!("jobs[1].{field}"));
        }
        client.post("/api/v1/claim", json!({"worker": bad})).await.is_invalid("worker");
        client.post("/api/v1/claim", json!({"worker": "w", "kinds": ["k", bad]})).await.is_invalid("kinds[1]");
        client.post("/api/v1/ticks", json!({"trigger": bad, "every_seconds": 1})).await.is_invalid("trigger");
        client.get(format!("/api/v1/dead-letters?kind={}", encoded(&bad))).await.is_invalid("kind");
    }
    client.put(format!("/api/v1/policies/{}", "k".repeat(201)), json!({})).await.is_invalid("kind");
    client.put("/api/v1/policies/%FF", json!({})).await.is_invalid("kind");
    client.call(Method::PUT, "/api/v1/policies/").send().await.is(404, "not_found");
    assert_eq!(stored(&db).await, before, "all or nothing");
}
