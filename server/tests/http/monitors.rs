//! What monitors ask: the verdict as text and status, the pipeline as JSON,
//! health and readiness.

use crate::client::{Client, secret_of};
use crate::support::TestDatabase;
use app::model::people::Scope;
use axum::http::Method;
use serde_json::{Value, json};
use std::sync::Arc;

each_database![
    the_verdict_tells_well_from_unwell_by_its_status,
    a_public_verdict_needs_no_token,
    the_pipeline_and_the_verdict_agree,
    the_pipeline_lists_failures_and_workers,
    a_missing_tick_is_reported,
    health_and_readiness_are_open,
];

async fn the_verdict_tells_well_from_unwell_by_its_status(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let idle = client.call(Method::GET, "/verdict").token(&secret_of(Scope::Read)).send().await;
    assert_eq!((idle.status, idle.text()), (200, "Idle · nothing waiting, never worked\n"));
    assert_eq!(idle.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(idle.header("cache-control"), Some("no-store"));

    let (path, lease_token) = client.claimed("k").await;
    let running = client.get("/verdict").await;
    assert_eq!(running.status, 200);
    assert!(running.text().starts_with("Running · nothing waiting, 1 in progress"), "{}", running.text());
    client.post(format!("{path}/done"), json!({"lease_token": lease_token})).await;

    client.enqueue("k").await;
    db.let_time_pass(240).await;
    let stopped = client.get("/verdict").await;
    assert_eq!(stopped.status, 503);
    assert_eq!(stopped.text(), "Not running? · 1 waiting, oldest 4 min, nothing claimed for 4 min\n");
    let head = client.call(Method::HEAD, "/verdict").token(&secret_of(Scope::Read)).send().await;
    assert_eq!((head.status, head.body.len()), (503, 0));
}

async fn a_public_verdict_needs_no_token(db: Arc<TestDatabase>) {
    let client = Client::configured(&db, |config| config.public_verdict = true).await;
    assert_eq!(client.call(Method::GET, "/verdict").send().await.status, 200);
    client.call(Method::GET, "/api/v1/pipeline").send().await.is(401, "unauthenticated");
}

async fn the_pipeline_and_the_verdict_agree(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.parked("a").await;
    client.refused("a").await;
    client.enqueue("b").await;
    client.claimed("c").await;
    let future = json!({"kind": "d", "source": "s", "run_at": "2126-01-01T00:00:00Z"});
    client.post("/api/v1/jobs", json!({"jobs": [future]})).await;
    let pipeline = client.get("/api/v1/pipeline").await.json();
    let verdict = client.get("/verdict").await;
    assert_eq!(format!("{}\n", pipeline["verdict"]["text"].as_str().unwrap()), verdict.text());
    assert_eq!(pipeline["verdict"]["state"], "running");
    let kinds = pipeline["kinds"].as_array().unwrap();
    let names: Vec<&Value> = kinds.iter().map(|kind| &kind["kind"]).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    for (row, field, value) in [
        (0, "failed_last_day", 1),
        (0, "refused_last_day", 1),
        (0, "evidence_failed_last_day", 0),
        (0, "due", 0),
        (1, "due", 1),
        (1, "held", 0),
        (2, "in_progress", 1),
        (2, "lease_expired", 0),
        (3, "scheduled", 1),
        (3, "retrying", 0),
        (3, "done_last_hour", 0),
        (3, "dropped_last_day", 0),
    ] {
        assert_eq!(kinds[row][field], value, "{field} of {}", kinds[row]["kind"]);
    }
    assert_eq!(kinds[0]["oldest_due_seconds"], Value::Null);
    assert_eq!(kinds[3]["last_worked_at"], Value::Null);
    assert_eq!(kinds[1]["verdict"]["state"], "running");
    assert!(pipeline["as_of"].as_str().unwrap().ends_with('Z'));
}

async fn the_pipeline_lists_failures_and_workers(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for _ in 0..12 {
        client.parked("k").await;
    }
    let pipeline = client.get("/api/v1/pipeline").await.json();
    let failures = pipeline["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 10);
    assert_eq!((&failures[0]["error"], &failures[0]["is_final"]), (&json!("400 no such customer"), &json!(true)));
    assert!(failures[0]["job_id"].is_string() && failures[0]["dead_letter_id"].is_string());
    assert!(failures[0]["at"].as_str() >= failures[9]["at"].as_str(), "newest first");
    assert_eq!(pipeline["workers"][0]["worker"], "w1");
}

async fn a_missing_tick_is_reported(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let reply = client.post("/api/v1/ticks", json!({"trigger": "cron", "every_seconds": 60})).await;
    assert_eq!((reply.status, reply.json()), (200, json!({})));
    client.enqueue("k").await;
    db.let_time_pass(600).await;
    let pipeline = client.get("/api/v1/pipeline").await.json();
    assert_eq!(
        (&pipeline["ticks"][0]["trigger"], &pipeline["ticks"][0]["every_seconds"]),
        (&json!("cron"), &json!(60))
    );
    let why = pipeline["verdict"]["why"].to_string();
    assert!(why.contains("cron"), "the missing tick is named: {why}");
}

async fn health_and_readiness_are_open(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let health = client.call(Method::GET, "/healthz").send().await;
    assert_eq!((health.status, health.text()), (200, "ok\n"));
    let ready = client.call(Method::GET, "/readyz").send().await;
    assert_eq!((ready.status, ready.text()), (200, "ready\n"));
}
