//! A job's life over HTTP: in, claimed, kept, ended each way, called off.

use crate::client::{ALL_SCOPES, Client, stored};
use crate::support::TestDatabase;
use axum::http::Method;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

each_database![
    a_job_is_enqueued_claimed_and_done,
    everything_a_job_may_carry_comes_back,
    a_unique_key_makes_a_duplicate,
    a_failure_waits_and_then_parks,
    retry_after_is_a_floor_in_any_form,
    a_refusal_parks_with_its_code,
    an_unknown_reason_code_lists_the_set,
    a_late_worker_changes_nothing,
    a_waiting_job_is_called_off,
    a_shorter_lease_may_be_asked_for,
    special_work_goes_to_those_who_accept_it,
    a_caller_who_hangs_up_loses_nothing,
    a_burst_is_enqueued_in_one_call,
];

async fn a_job_is_enqueued_claimed_and_done(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let reply = client
        .post("/api/v1/jobs", json!({"jobs": [{"kind": "extract-invoice", "source": "portal", "payload": {"n": 1}}]}))
        .await;
    assert_eq!(reply.status, 200);
    let answer = reply.json();
    let id = answer["jobs"][0]["id"].as_str().expect("an id is a string").to_owned();
    let run_at = answer["jobs"][0]["run_at"].as_str().unwrap();
    assert!(run_at.ends_with('Z') && run_at.contains('T'), "{run_at}");
    assert_eq!(
        answer,
        json!({"jobs": [{"id": id, "state": "waiting", "run_at": run_at, "duplicate": false}], "warnings": []})
    );

    let claimed = client.claim("extract-invoice").await;
    assert_eq!(
        claimed,
        json!({"id": id, "kind": "extract-invoice", "source": "portal", "tenant": null, "payload": {"n": 1},
            "payload_ref": null, "attempt": 1, "max_attempts": 3, "lease_token": 1,
            "lease_expires_at": claimed["lease_expires_at"], "canary": false})
    );
    let kept = client.post(format!("/api/v1/jobs/{id}/heartbeat"), json!({"lease_token": 1})).await;
    assert_eq!(kept.status, 200);
    assert!(kept.json()["lease_expires_at"].as_str() >= claimed["lease_expires_at"].as_str());

    let done = client
        .post(
            format!("/api/v1/jobs/{id}/done"),
            json!({"lease_token": 1, "verdict": "approved", "reason": "all there", "result": {"total": 12},
                "evidence": {"total": "12.00"}, "values": {"total": 12}, "source_text": "total 12.00",
                "envelope": {"model": {"id": "m-1"}, "own": true}, "cost_micro_usd": 1200, "value_minor": 1200,
                "currency": "EUR", "shadow": {"rule": "r", "decision": "d"}}),
        )
        .await;
    assert_eq!((done.status, done.json()), (200, json!({"state": "done"})));

    let job = client.get(format!("/api/v1/jobs/{id}")).await.json();
    assert_eq!(job["id"], id.as_str());
    assert_eq!(
        (&job["state"], &job["verdict"], &job["reason"]),
        (&json!("done"), &json!("approved"), &json!("all there"))
    );
    assert_eq!((&job["result"], &job["evidence"]), (&json!({"total": 12}), &json!({"total": "12.00"})));
    assert_eq!(job["attempts"][0]["outcome"], "done");
    assert_eq!(job["attempts"][0]["worker"], "w1");
}

async fn everything_a_job_may_carry_comes_back(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let sent = json!({"kind": "k", "source": "s", "tenant": "acme", "payload": [1, "two"],
        "payload_ref": "s3://bucket/key", "payload_sha256": "AB".repeat(32), "received_at": "2026-02-01T10:00:00+02:00",
        "upstream_handoffs": [{"agent": "pdf-splitter", "version": "1.4.2", "note": "pages_emitted=1 of 2"}],
        "run_at": "2126-01-01T00:00:00.25Z", "spread_seconds": 0, "unique_key": "u1",
        "anchor_at": "2026-02-01T00:00:00Z", "trace_id": "t1"});
    let reply = client.post("/api/v1/jobs", json!({"jobs": [sent]})).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let id = reply.json()["jobs"][0]["id"].as_str().unwrap().to_owned();
    let job = client.get(format!("/api/v1/jobs/{id}")).await.json();
    for (field, value) in [
        ("kind", json!("k")),
        ("source", json!("s")),
        ("tenant", json!("acme")),
        ("state", json!("waiting")),
        ("payload", json!([1, "two"])),
        ("payload_ref", json!("s3://bucket/key")),
        ("payload_sha256", json!("ab".repeat(32))),
        ("received_at", json!("2026-02-01T08:00:00Z")),
        ("upstream_handoffs", sent["upstream_handoffs"].clone()),
        ("run_at", json!("2126-01-01T00:00:00.250Z")),
        ("anchor_at", json!("2026-02-01T00:00:00Z")),
        ("unique_key", json!("u1")),
        ("trace_id", json!("t1")),
        ("canary", json!(false)),
    ] {
        assert_eq!(job[field], value, "{field}");
    }
    assert_eq!(client.claim("k").await, Value::Null, "not before run_at");
}

async fn a_unique_key_makes_a_duplicate(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let job = json!({"kind": "k", "source": "s", "unique_key": "u"});
    let other = json!({"kind": "k2", "source": "s", "unique_key": "u"});
    let answer = client.post("/api/v1/jobs", json!({"jobs": [job, job, other]})).await.json();
    let duplicates: Vec<&Value> = answer["jobs"].as_array().unwrap().iter().map(|job| &job["duplicate"]).collect();
    assert_eq!(duplicates, [false, true, false]);
    assert_eq!(answer["jobs"][0]["id"], answer["jobs"][1]["id"]);
    assert_eq!(db.door.count("jobs").await, 2);
}

async fn a_failure_waits_and_then_parks(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.put("/api/v1/policies/k", json!({"start_seconds": 0, "max_attempts": 2})).await;
    let (path, lease_token) = client.claimed("k").await;
    let report = json!({"lease_token": lease_token, "error": "429 rate limit exceeded", "http_status": 429,
        "error_code": "rate_limit_exceeded", "envelope": {"model": {"id": "m-1"}}, "cost_micro_usd": 5});
    let ended = client.post(format!("{path}/fail"), report).await;
    assert_eq!(ended.status, 200);
    let run_at = ended.json()["run_at"].clone();
    assert_eq!(ended.json(), json!({"state": "waiting", "run_at": run_at, "category": "transient"}));

    let again = client.claim("k").await;
    assert_eq!((&again["attempt"], &again["lease_token"]), (&json!(2), &json!(2)));
    let ended = client.post(format!("{path}/fail"), json!({"lease_token": 2, "error": "boom"})).await.json();
    let letter = ended["dead_letter_id"].as_str().expect("an id is a string");
    assert_eq!(ended, json!({"state": "dead", "dead_letter_id": letter, "route": "exception", "category": "unknown"}));
    let job = client.get(&path).await.json();
    assert_eq!((&job["state"], &job["dead_letter_id"]), (&json!("dead"), &json!(letter)));
    let errors: Vec<&Value> = job["attempts"].as_array().unwrap().iter().map(|a| &a["error"]).collect();
    assert_eq!(errors, ["429 rate limit exceeded", "boom"]);
}

async fn retry_after_is_a_floor_in_any_form(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let http_date = (db.now().await + chrono::TimeDelta::seconds(45)).format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let past = "Wed, 21 Oct 2015 07:28:00 GMT";
    client.put("/api/v1/policies/k", json!({"start_seconds": 0, "max_delay_seconds": 600})).await;
    for (retry_after, least, most) in [
        (json!("30"), 30, 32),
        (json!(30), 30, 32),
        (json!(29.5), 30, 32),
        (json!(http_date), 30, 46),
        (json!(past), 0, 2),
        (json!("-5"), 0, 2),
        (json!(["30", "60"]), 0, 2),
        (json!(-5), 0, 2),
        (json!("0"), 0, 2),
        (json!("1e9"), 0, 2),
        (json!("99999999999"), 600, 602),
        (json!(18_446_744_073_709_551_615_u64), 600, 602),
        (json!("soon"), 0, 2),
        (json!("120, 60"), 0, 2),
        (json!("9".repeat(5_000)), 600, 602),
        (Value::Null, 0, 2),
    ] {
        let (path, lease_token) = client.claimed("k").await;
        let before = db.now().await;
        let report =
            json!({"lease_token": lease_token, "error": "429", "http_status": 429, "retry_after": retry_after});
        let ended = client.post(format!("{path}/fail"), report).await;
        assert_eq!(ended.status, 200, "{retry_after}: {ended:?}");
        let run_at: chrono::DateTime<chrono::Utc> = ended.json()["run_at"].as_str().unwrap().parse().unwrap();
        let waits = (run_at - before).num_seconds();
        assert!((least..=most).contains(&waits), "{retry_after}: waits {waits} s");
        db.door
            .execute("UPDATE jobs SET state = 'cancelled', due_at = NULL, finished_at = run_at WHERE state = 'waiting'")
            .await;
    }
}

async fn a_refusal_parks_with_its_code(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let (path, lease_token) = client.claimed("k").await;
    let ended = client
        .post(
            format!("{path}/refuse"),
            json!({"lease_token": lease_token, "reason_code": "CONFLICTING_EVIDENCE", "field": null,
                "evidence": "Total 10 / Total 12", "envelope": {"model": {"id": "m-1"}}, "cost_micro_usd": 0}),
        )
        .await
        .json();
    let letter = ended["dead_letter_id"].as_str().unwrap();
    assert_eq!(
        ended,
        json!({"state": "dead", "dead_letter_id": letter, "route": "refused_by_agent",
            "reason_code": "CONFLICTING_EVIDENCE"})
    );
    let shown = client.get(format!("/api/v1/dead-letters/{letter}")).await.json();
    assert_eq!(shown["evidence"], "Total 10 / Total 12");
    assert_eq!(shown["envelope"]["model"]["id"], "m-1");
}

async fn an_unknown_reason_code_lists_the_set(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let (path, lease_token) = client.claimed("k").await;
    let before = stored(&db).await;
    let refusal = |code: &str| json!({"lease_token": lease_token, "reason_code": code, "evidence": "q"});
    let reply = client.post(format!("{path}/refuse"), refusal("NO_MOOD")).await;
    reply.is_invalid("reason_code");
    assert!(reply.message().contains("MISSING_REQUIRED_FIELD") && reply.message().contains("UNSUPPORTED_DOCUMENT"));
    assert_eq!(stored(&db).await, before, "the lease is untouched");
    assert_eq!(client.post(format!("{path}/refuse"), refusal("AMBIGUOUS_VALUE")).await.status, 200);
}

async fn a_late_worker_changes_nothing(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let (path, old) = client.claimed("k").await;
    let id = path.rsplit('/').next().unwrap().parse().unwrap();
    db.expire_lease(id).await;
    // The same worker name claims again: only the token tells the two apart.
    let new = client.claim("k").await["lease_token"].as_i64().unwrap();
    assert_eq!(new, old + 1);
    let before = (db.job(id).await.summary, db.job(id).await.attempt_history);
    for (call, body) in [
        ("heartbeat", json!({"lease_token": old})),
        ("fail", json!({"lease_token": old, "error": "OLD"})),
        ("refuse", json!({"lease_token": old, "reason_code": "AMBIGUOUS_VALUE", "evidence": "OLD"})),
        ("done", json!({"lease_token": old, "verdict": "OLD"})),
        ("done", json!({"lease_token": old - 1})),
        ("done", json!({"lease_token": i64::MAX})),
        ("done", json!({"lease_token": -1})),
    ] {
        client.post(format!("{path}/{call}"), body).await.is(409, "lease_lost");
        assert_eq!((db.job(id).await.summary, db.job(id).await.attempt_history), before, "{call}");
    }
    assert!(db.snapshot().await.late_answers_last_day >= 4, "late answers are counted");
    let done = client.post(format!("{path}/done"), json!({"lease_token": new, "verdict": "NEW"})).await;
    assert_eq!(done.status, 200);
    assert_eq!(client.get(&path).await.json()["verdict"], "NEW");
    client.post(format!("{path}/done"), json!({"lease_token": new, "verdict": "AGAIN"})).await.is(409, "lease_lost");
    assert_eq!(client.get(&path).await.json()["verdict"], "NEW");
}

async fn a_waiting_job_is_called_off(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let path = format!("/api/v1/jobs/{}", client.enqueue("k").await);
    let reply = client.call(Method::POST, format!("{path}/cancel")).token(ALL_SCOPES).send().await;
    assert_eq!((reply.status, reply.json()), (200, json!({"state": "cancelled"})));
    client.post(format!("{path}/cancel"), json!({})).await.is(409, "conflict");
    assert_eq!(client.get(&path).await.json()["state"], "cancelled");

    let (path, _) = client.claimed("k").await;
    client.post(format!("{path}/cancel"), json!({})).await.is(409, "conflict");
    assert_eq!(client.get(&path).await.json()["state"], "in_progress");
}

async fn a_shorter_lease_may_be_asked_for(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let seconds_left = async |answer: &Value| {
        let ends: chrono::DateTime<chrono::Utc> = answer["lease_expires_at"].as_str().unwrap().parse().unwrap();
        (ends - db.now().await).num_milliseconds() as f64 / 1000.0
    };
    client.enqueue("k").await;
    let claim = json!({"worker": "w", "kinds": ["k", "k"], "lease_seconds": 20});
    let claimed = client.post("/api/v1/claim", claim).await.json()["jobs"][0].take();
    let left = seconds_left(&claimed).await;
    assert!((10.0..=20.0).contains(&left), "{left}");
    let path = format!("/api/v1/jobs/{}/heartbeat", claimed["id"].as_str().unwrap());
    let kept = client.post(&path, json!({"lease_token": 1, "lease_seconds": 4_294_967_295_u32})).await.json();
    let left = seconds_left(&kept).await;
    assert!((280.0..=300.0).contains(&left), "never more than the policy's: {left}");
}

async fn special_work_goes_to_those_who_accept_it(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let canary = json!({"kind": "k", "source": "s", "canary": {"reason_code": "AMBIGUOUS_VALUE", "field": "date"}});
    client.post("/api/v1/jobs", json!({"jobs": [canary]})).await;
    assert_eq!(client.claim("k").await, Value::Null);
    let unaware = client.post("/api/v1/claim", json!({"worker": "w", "accepts": ["pinned"]})).await.json();
    assert_eq!(unaware, json!({"jobs": []}));
    let aware = client.post("/api/v1/claim", json!({"worker": "w", "accepts": ["canary", "pinned"]})).await.json();
    assert_eq!(aware["jobs"][0]["canary"], true);
}

async fn a_caller_who_hangs_up_loses_nothing(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let body = json!({"jobs": [{"kind": "k", "source": "s"}]});
    for _ in 0..20 {
        client.call(Method::POST, "/api/v1/jobs").token(ALL_SCOPES).json(&body).send_and_hang_up().await;
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while db.door.count("jobs").await < 20 {
        assert!(Instant::now() < deadline, "{} of 20 jobs", db.door.count("jobs").await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(client.claim("k").await["attempt"], 1, "the store is as usable as before");
}

async fn a_burst_is_enqueued_in_one_call(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let job = |n: usize| {
        let kind = if n < 356 { "moderate-content" } else { "moderate-image" };
        json!({"kind": kind, "source": "reports", "payload": {"report": n, "text": "x".repeat(500)}})
    };
    let body = json!({"jobs": (0..821).map(job).collect::<Vec<_>>()});
    let before = processor_time();
    let reply = client.post("/api/v1/jobs", body).await;
    let took = processor_time() - before;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["jobs"].as_array().unwrap().len(), 821);
    assert!(took < Duration::from_secs(1), "{took:?} of processor time, in an unoptimised build");
    assert_eq!(db.door.count("jobs WHERE state = 'waiting'").await, 821);
}

/// What this process has used of the processors: other than by the clock on the
/// wall, a busy machine makes no test fail. Zero where the system does not tell.
fn processor_time() -> Duration {
    const TICKS_A_SECOND: u64 = 100;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1_000 / TICKS_A_SECOND)
}
