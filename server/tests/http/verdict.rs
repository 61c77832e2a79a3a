//! The verdict's table as a monitor and a worker meet it: set up by calls of the
//! worker API, read from `/verdict` and `/pipeline`. A short T stands for the
//! usual three minutes; time passes in the database, not in the test.

use crate::client::Client;
use crate::support::TestDatabase;
use axum::http::Method;
use serde_json::{Value, json};
use std::sync::Arc;

each_database![
    scheduled_work_is_idle_and_due_work_flips,
    one_job_after_an_idle_night,
    expired_leases_are_waiting_work,
    a_skipped_kind_is_named,
    a_kind_behind_a_burst_is_no_alarm,
    long_jobs_that_heartbeat_run,
    paused_and_resumed,
    nothing_succeeds,
    a_poller_that_gets_nothing_is_not_work,
    a_refused_worker_is_named,
];

/// T of the kinds of these tests, in seconds.
const T: u32 = 10;

async fn with_short_t(db: &TestDatabase, kinds: &[&str]) -> Client {
    let client = Client::of(db).await;
    for kind in kinds {
        let reply = client
            .put(format!("/api/v1/policies/{kind}"), json!({"not_running_after_seconds": T, "jitter": "none"}))
            .await;
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    client
}

async fn line(client: &Client) -> (u16, String) {
    let reply = client.get("/verdict").await;
    (reply.status, reply.text().trim_end().to_owned())
}

async fn kind(client: &Client, kind: &str) -> Value {
    let pipeline = client.get("/api/v1/pipeline").await.json();
    let row = pipeline["kinds"].as_array().unwrap().iter().find(|row| row["kind"] == kind);
    row.cloned().expect("the kind has a row")
}

async fn work_one(client: &Client, kind: &str) {
    let (path, lease_token) = client.claimed(kind).await;
    client.post(format!("{path}/done"), json!({"lease_token": lease_token, "verdict": "approved"})).await;
}

async fn scheduled_work_is_idle_and_due_work_flips(db: Arc<TestDatabase>) {
    let client = with_short_t(&db, &["a"]).await;
    let later = json!({"kind": "a", "source": "s", "run_at": "2126-01-01T00:00:00Z"});
    client.post("/api/v1/jobs", json!({"jobs": [later.clone(), later.clone(), later]})).await;
    db.let_time_pass(240).await;
    let (status, text) = line(&client).await;
    assert!(status == 200 && text.starts_with("Idle · nothing waiting, never worked, 3 scheduled"), "{status} {text}");
    let row = kind(&client, "a").await;
    assert_eq!((&row["due"], &row["scheduled"], &row["oldest_due_seconds"]), (&json!(0), &json!(3), &Value::Null));

    client.enqueue("a").await;
    assert_eq!(line(&client).await.0, 200);
    db.let_time_pass(i64::from(T)).await;
    let (status, text) = line(&client).await;
    assert!(status == 503 && text.starts_with("Not running? · 1 waiting"), "{status} {text}");
    assert!(text.ends_with("never worked"), "{text}");
}

async fn one_job_after_an_idle_night(db: Arc<TestDatabase>) {
    let client = with_short_t(&db, &["a"]).await;
    work_one(&client, "a").await;
    db.let_time_pass(9 * 3600).await;
    client.enqueue("a").await;
    let (status, text) = line(&client).await;
    assert!(
        status == 200 && text.starts_with("Running · 1 waiting, oldest 0 s, last worked 9 h ago"),
        "{status} {text}"
    );
    db.let_time_pass(i64::from(T)).await;
    assert_eq!(line(&client).await.0, 503);
}

async fn expired_leases_are_waiting_work(db: Arc<TestDatabase>) {
    let client = with_short_t(&db, &["a"]).await;
    client.enqueue("a").await;
    client.post("/api/v1/claim", json!({"worker": "w1", "kinds": ["a"], "lease_seconds": 5})).await;
    assert_eq!(kind(&client, "a").await["in_progress"], 1);
    db.let_time_pass(6).await;
    let row = kind(&client, "a").await;
    assert_eq!((&row["in_progress"], &row["due"], &row["lease_expired"]), (&json!(0), &json!(1), &json!(1)));
    db.let_time_pass(i64::from(T)).await;
    let (status, text) = line(&client).await;
    assert!(status == 503 && text.starts_with("Not running? · 1 waiting, oldest 11 s"), "{status} {text}");
}

async fn a_skipped_kind_is_named(db: Arc<TestDatabase>) {
    let client = with_short_t(&db, &["fine", "moderate-image"]).await;
    client.enqueue("moderate-image").await;
    db.let_time_pass(60).await;
    work_one(&client, "fine").await;
    assert_eq!(
        line(&client).await,
        (503, "Running, except moderate-image: 1 waiting, none claimed for 1 min".to_owned())
    );
    assert_eq!(kind(&client, "moderate-image").await["verdict"]["state"], "skipped");
}

async fn a_kind_behind_a_burst_is_no_alarm(db: Arc<TestDatabase>) {
    let client = with_short_t(&db, &["burst", "image"]).await;
    let burst: Vec<Value> = (0..30).map(|_| json!({"kind": "burst", "source": "s"})).collect();
    client.post("/api/v1/jobs", json!({"jobs": burst})).await;
    db.let_time_pass(60).await;
    client.enqueue("image").await;
    db.let_time_pass(60).await;
    client.post("/api/v1/claim", json!({"worker": "w1", "limit": 10})).await;
    let row = kind(&client, "image").await;
    assert_eq!(row["verdict"], json!({"state": "queued_behind", "text": "queued behind older work"}));
    let (status, text) = line(&client).await;
    assert!(status == 200 && text.starts_with("Running · 21 waiting, oldest 2 min"), "{status} {text}");
}

async fn long_jobs_that_heartbeat_run(db: Arc<TestDatabase>) {
    let client = with_short_t(&db, &["a"]).await;
    let (path, lease_token) = client.claimed("a").await;
    client.enqueue("a").await;
    db.let_time_pass(200).await;
    assert_eq!(line(&client).await.0, 503, "no heartbeat yet");
    let beat = client.post(format!("{path}/heartbeat"), json!({"lease_token": lease_token})).await;
    assert_eq!(beat.status, 200, "{beat:?}");
    let (status, text) = line(&client).await;
    assert!(status == 200 && text.starts_with("Running · 1 waiting, oldest 3 min"), "{status} {text}");
}

async fn paused_and_resumed(db: Arc<TestDatabase>) {
    let client = with_short_t(&db, &["a"]).await;
    for _ in 0..5 {
        client.enqueue("a").await;
    }
    client.put("/api/v1/policies/a", json!({"paused": true})).await;
    db.let_time_pass(240).await;
    assert_eq!(
        line(&client).await,
        (200, "Paused · 5 waiting, oldest 4 min, paused by token all 4 min ago".to_owned())
    );
    let row = kind(&client, "a").await;
    assert_eq!((&row["due"], &row["held"]), (&json!(0), &json!(5)));
    assert_eq!(client.claim("a").await, Value::Null, "what is held is not handed out");

    client.put("/api/v1/policies/a", json!({"paused": false})).await;
    assert_eq!(line(&client).await.0, 200, "the clock starts when the hold ends");
    db.let_time_pass(i64::from(T)).await;
    assert_eq!(line(&client).await.0, 503);
}

async fn nothing_succeeds(db: Arc<TestDatabase>) {
    let client = with_short_t(&db, &["a"]).await;
    work_one(&client, "a").await;
    db.let_time_pass(60).await;
    for _ in 0..20 {
        let (path, lease_token) = client.claimed("a").await;
        let report = json!({"lease_token": lease_token, "error": "429 rate limit exceeded", "http_status": 429});
        client.post(format!("{path}/fail"), report).await;
    }
    client.enqueue("a").await;
    let (status, text) = line(&client).await;
    assert!(status == 503 && text.starts_with("Running, but nothing succeeds since "), "{status} {text}");
    assert!(text.ends_with("· 1 waiting, oldest 0 s (429 rate_limit)"), "{text}");
}

async fn a_poller_that_gets_nothing_is_not_work(db: Arc<TestDatabase>) {
    let client = with_short_t(&db, &["a"]).await;
    client.enqueue("a").await;
    db.let_time_pass(60).await;
    client.post("/api/v1/claim", json!({"worker": "w1", "kinds": ["other"]})).await;
    let pipeline = client.get("/api/v1/pipeline").await.json();
    assert_eq!(pipeline["verdict"]["state"], "not_running");
    let why = pipeline["verdict"]["why"].to_string();
    assert!(why.contains("1 worker still polls and gets nothing"), "{why}");
}

async fn a_refused_worker_is_named(db: Arc<TestDatabase>) {
    let client = with_short_t(&db, &["a"]).await;
    client.enqueue("a").await;
    db.let_time_pass(60).await;
    let refused =
        client.call(Method::POST, "/api/v1/claim").token("drb_wrong").json(&json!({"worker": "w1"})).send().await;
    assert_eq!(refused.status, 401);
    let why = client.get("/api/v1/pipeline").await.json()["verdict"]["why"].to_string();
    assert!(why.contains("1 claims refused (401) in the last 5 min"), "{why}");
}
