//! Bad input on every endpoint: the status, the code, the field, and nothing
//! stored or lost.

use crate::client::{ALL_SCOPES, Client, stored};
use crate::support::TestDatabase;
use axum::http::Method;
use drainboard::worker_api;
use serde_json::{Value, json};
use std::sync::Arc;

each_database![
    what_is_no_json_object_is_malformed_everywhere,
    another_content_type_is_malformed_everywhere,
    unknown_fields_are_named_everywhere,
    wrong_types_and_broken_rules_name_the_field,
    ids_that_are_no_ids_are_not_found,
    an_id_above_two_to_the_53_is_an_id,
    other_methods_list_those_there_are,
    unknown_calls_answer_in_the_one_shape,
    bodies_have_documented_limits,
    payloads_have_a_documented_limit,
    a_report_over_a_limit_does_not_lose_the_failure,
    however_long_a_failure_is_told_it_is_recorded,
    bad_advice_does_not_lose_the_failure,
    bad_query_parameters_are_named,
];

/// Every call that takes a body, with a body that would be accepted, on a job
/// that waits, one that is in progress, and an open letter.
async fn calls_with_bodies(client: &Client) -> Vec<(Method, String, Value)> {
    let (path, lease_token) = client.claimed("busy").await;
    let letter = client.parked("parked").await;
    let waiting = client.enqueue("waiting").await;
    vec![
        (Method::POST, "/api/v1/jobs".into(), json!({"jobs": [{"kind": "k", "source": "s"}]})),
        (Method::POST, "/api/v1/claim".into(), json!({"worker": "w", "kinds": ["waiting"]})),
        (Method::POST, format!("{path}/heartbeat"), json!({"lease_token": lease_token})),
        (Method::POST, format!("{path}/done"), json!({"lease_token": lease_token})),
        (
            Method::POST,
            format!("{path}/refuse"),
            json!({"lease_token": lease_token, "reason_code": "AMBIGUOUS_VALUE", "evidence": "q"}),
        ),
        (Method::POST, format!("{path}/fail"), json!({"lease_token": lease_token, "error": "e"})),
        (Method::POST, "/api/v1/ticks".into(), json!({"trigger": "cron", "every_seconds": 60})),
        (
            Method::POST,
            format!("/api/v1/dead-letters/{}/actions", letter["id"].as_str().unwrap()),
            json!({"action": "approve_and_replay", "version": 1}),
        ),
        (Method::PUT, "/api/v1/policies/busy".into(), json!({"max_attempts": 3})),
        (Method::POST, format!("/api/v1/jobs/{waiting}/cancel"), json!({})),
    ]
}

async fn what_is_no_json_object_is_malformed_everywhere(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let calls = calls_with_bodies(&client).await;
    // An artifact is a text, whatever it looks like.
    let takes_json = |path: &str| !path.contains("/artifacts/");
    let endpoints = worker_api::endpoints();
    let changing = endpoints.iter().filter(|one| one.method != Method::GET && takes_json(one.path)).count();
    assert_eq!(calls.len(), changing, "every call with a body is tried");
    let before = stored(&db).await;
    for (method, path, body) in &calls {
        let text = body.to_string();
        let cut = &text[..text.len() - 1];
        let bodies: [&[u8]; 9] =
            [cut.as_bytes(), b"[]", b"null", b"7", b"\"text\"", b"{\"a\":}", b"{} {}", b"\xff\xfe", b"{'a':1}"];
        for bad in bodies {
            let reply = client.call(method.clone(), path).token(ALL_SCOPES).bytes(bad.to_vec()).send().await;
            assert_eq!(reply.fault(), (400, "malformed".to_owned(), None), "{method} {path} {bad:?}");
        }
        if !path.ends_with("/cancel") {
            client.call(method.clone(), path).token(ALL_SCOPES).send().await.is(400, "malformed");
        }
    }
    assert_eq!(stored(&db).await, before);
    for (method, path, body) in &calls {
        let reply = client.call(method.clone(), path).token(ALL_SCOPES).json(body).send().await;
        let is_ended = ["/refuse", "/fail"].iter().any(|end| path.ends_with(end));
        let is_claimed = path.ends_with("/cancel");
        assert_eq!(
            reply.status,
            if is_ended || is_claimed { 409 } else { 200 },
            "{path} works with a good body: {reply:?}"
        );
    }
}

async fn another_content_type_is_malformed_everywhere(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let calls = calls_with_bodies(&client).await;
    let before = stored(&db).await;
    for (method, path, body) in calls.iter().filter(|call| !call.1.ends_with("/cancel")) {
        for other in ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x", "json"] {
            let call = client.call(method.clone(), path).token(ALL_SCOPES).header("content-type", other);
            let reply = call.json(body).send().await;
            reply.is(400, "malformed");
            assert!(reply.message().contains("application/json"), "it says what to send");
        }
    }
    assert_eq!(stored(&db).await, before);
    for good in ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"] {
        let tick = json!({"trigger": "cron", "every_seconds": 1});
        let call = client.call(Method::POST, "/api/v1/ticks").token(ALL_SCOPES).header("content-type", good);
        assert_eq!(call.json(&tick).send().await.status, 200, "{good}");
    }
}

async fn unknown_fields_are_named_everywhere(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let calls = calls_with_bodies(&client).await;
    let before = stored(&db).await;
    for (method, path, mut body) in calls {
        body["surprise"] = json!(1);
        client.call(method, path).token(ALL_SCOPES).json(&body).send().await.is_invalid("surprise");
    }
    assert_eq!(stored(&db).await, before);
}

async fn wrong_types_and_broken_rules_name_the_field(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let calls = calls_with_bodies(&client).await;
    let before = stored(&db).await;
    let job = |field: &str, value: Value| {
        let mut job = json!({"kind": "k", "source": "s"});
        job[field] = value;
        json!({"jobs": [{"kind": "k", "source": "s"}, job]})
    };
    for (field, value) in [
        ("kind", json!(7)),
        ("kind", json!(null)),
        ("kind", json!("k".repeat(1_000))),
        ("source", json!(["s"])),
        ("tenant", json!(1)),
        ("payload_ref", json!("")),
        ("payload_ref", json!("r".repeat(2_001))),
        ("payload_sha256", json!("xyz")),
        ("received_at", json!("01.02.2026")),
        ("run_at", json!("2026-02-30T00:00:00Z")),
        ("run_at", json!("2026-02-01T00:00:00")),
        ("run_at", json!(1_700_000_000)),
        ("anchor_at", json!("")),
        ("spread_seconds", json!(-1)),
        ("spread_seconds", json!(315_360_001)),
        ("spread_seconds", json!("60")),
        ("spread_seconds", json!(0.5)),
        ("unique_key", json!("")),
        ("unique_key", json!("u".repeat(201))),
        ("upstream_handoffs", json!("text")),
        ("canary", json!("C")),
        ("canary", json!(true)),
        ("trace_id", json!(5)),
        ("priority", json!(1)),
        ("id", json!("7")),
    ] {
        let reply = client.post("/api/v1/jobs", job(field, value.clone())).await;
        assert_eq!(reply.fault().2, Some(format!("jobs[1].{field}")), "{field} = {value}");
        assert_eq!(reply.status, 422);
    }
    client
        .post("/api/v1/jobs", job("canary", json!({"reason_code": ""})))
        .await
        .is_invalid("jobs[1].canary.reason_code");
    client
        .post("/api/v1/jobs", job("canary", json!({"reason_code": "C", "x": 1})))
        .await
        .is_invalid("jobs[1].canary.x");
    client.post("/api/v1/jobs", json!({"jobs": []})).await.is_invalid("jobs");
    client.post("/api/v1/jobs", json!({"jobs": {}})).await.is_invalid("jobs");
    client.post("/api/v1/jobs", json!({})).await.is_invalid("jobs");
    let many = json!({"jobs": vec![json!({"kind": "k", "source": "s"}); 10_001]});
    client.post("/api/v1/jobs", many).await.is_invalid("jobs");

    // Of every other call: its path's end, a field, a value that breaks its rule.
    for (end, field, values) in [
        ("/claim", "worker", vec![json!(1), json!(null), json!(""), json!("w".repeat(201))]),
        ("/claim", "kinds", vec![json!("k"), json!([])]),
        ("/claim", "limit", vec![json!(0), json!(-1), json!(501), json!("5"), json!(1.5), json!(true)]),
        ("/claim", "lease_seconds", vec![json!(0), json!(-30), json!(4_294_967_296_u64), json!("30")]),
        ("/claim", "accepts", vec![json!("canary"), json!({})]),
        ("/heartbeat", "lease_token", vec![json!("1"), json!(null), json!(1.5), json!(1e30)]),
        ("/heartbeat", "lease_seconds", vec![json!(0), json!(-1), json!("300")]),
        ("/done", "lease_token", vec![json!("1"), json!(null), json!([1])]),
        ("/done", "verdict", vec![json!(1), json!(""), json!("v".repeat(201))]),
        ("/done", "evidence", vec![json!("q"), json!(["q"])]),
        ("/done", "values", vec![json!(1)]),
        ("/done", "source_text", vec![json!({}), json!("t".repeat(1_048_577))]),
        ("/done", "envelope", vec![json!("e"), json!([1]), json!({"p": "x".repeat(1_048_576)})]),
        ("/done", "result", vec![json!("x".repeat(1_048_576))]),
        ("/done", "cost_micro_usd", vec![json!(-1), json!(0.5), json!("1")]),
        ("/done", "value_minor", vec![json!("1"), json!(1.5)]),
        ("/done", "currency", vec![json!("eur"), json!("EURO"), json!("€"), json!(978)]),
        ("/done", "shadow", vec![json!("s")]),
        ("/refuse", "reason_code", vec![json!(""), json!(1), json!(null), json!("C".repeat(201)), json!("NO_SUCH")]),
        ("/refuse", "evidence", vec![json!(""), json!(null), json!({"a": 1})]),
        ("/refuse", "field", vec![json!(""), json!(1), json!("f".repeat(201))]),
        ("/refuse", "envelope", vec![json!(1), json!({"p": "x".repeat(1_048_576)})]),
        ("/fail", "error", vec![json!(null), json!(500), json!({"message": "m"})]),
        ("/fail", "lease_token", vec![json!("1"), json!(null), json!(1.5)]),
        ("/ticks", "trigger", vec![json!(""), json!(1), json!(null)]),
        ("/ticks", "every_seconds", vec![json!(0), json!(-60), json!("60"), json!(null), json!(315_360_001)]),
    ] {
        let (method, path, good) = calls.iter().find(|call| call.1.ends_with(end)).unwrap();
        for value in values {
            let mut body = good.clone();
            body[field] = value.clone();
            if field == "value_minor" {
                body["currency"] = json!("EUR");
            }
            let reply = client.call(method.clone(), path).token(ALL_SCOPES).json(&body).send().await;
            let shown = value.to_string().chars().take(50).collect::<String>();
            assert_eq!(reply.fault(), (422, "invalid".into(), Some(field.into())), "{end}: {field} = {shown}");
        }
    }
    let done = &calls.iter().find(|call| call.1.ends_with("/done")).unwrap().1;
    client.post(done, json!({"lease_token": 1, "value_minor": 5})).await.is_invalid("currency");
    client.post(done, json!({"lease_token": 1, "currency": "EUR"})).await.is_invalid("value_minor");
    assert_eq!(stored(&db).await, before, "nothing of all that was stored");
}

/// What stands where an id belongs and is none.
const NO_IDS: [&str; 12] = [
    "0",
    "-1",
    "+1",
    "01",
    "1.0",
    "1e3",
    "abc",
    "%00",
    "%FF",
    "9223372036854775808",
    "99999999999999999999999",
    "1%202",
];

async fn ids_that_are_no_ids_are_not_found(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let calls = calls_with_bodies(&client).await;
    let before = stored(&db).await;
    for id in NO_IDS.iter().copied().chain(["9223372036854775807", "4611686018427387904"]) {
        for (end, body) in [
            ("heartbeat", json!({"lease_token": 1})),
            ("done", json!({"lease_token": 1})),
            ("refuse", json!({"lease_token": 1, "reason_code": "AMBIGUOUS_VALUE", "evidence": "q"})),
            ("fail", json!({"lease_token": 1, "error": "e"})),
            ("cancel", json!({})),
        ] {
            client.post(format!("/api/v1/jobs/{id}/{end}"), body).await.is(404, "not_found");
        }
        client.get(format!("/api/v1/jobs/{id}")).await.is(404, "not_found");
        client.get(format!("/api/v1/dead-letters/{id}")).await.is(404, "not_found");
        let act = json!({"action": "approve_and_replay", "version": 1});
        client.post(format!("/api/v1/dead-letters/{id}/actions"), act).await.is(404, "not_found");
    }
    assert_eq!(stored(&db).await, before);
    assert!(!calls.is_empty());
}

async fn an_id_above_two_to_the_53_is_an_id(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let id = client.enqueue("k").await;
    db.door.execute(&format!("UPDATE jobs SET id = 9007199254740993 WHERE id = {id}")).await;
    client.get("/api/v1/jobs/9007199254740992").await.is(404, "not_found");
    let job = client.get("/api/v1/jobs/9007199254740993").await;
    assert_eq!(job.json()["id"], "9007199254740993");
    assert_eq!(client.claim("k").await["id"], "9007199254740993");
    let done = client.post("/api/v1/jobs/9007199254740993/done", json!({"lease_token": 1})).await;
    assert_eq!(done.status, 200);
}

async fn other_methods_list_those_there_are(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let calls = calls_with_bodies(&client).await;
    let before = stored(&db).await;
    for endpoint in worker_api::endpoints() {
        let path = endpoint.path.replace("{id}", "1").replace("{*kind}", "k");
        for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS] {
            if worker_api::endpoints().iter().any(|other| other.path == endpoint.path && other.method == method) {
                continue;
            }
            let reply = client.call(method.clone(), &path).token(ALL_SCOPES).json(&json!({})).send().await;
            assert_eq!(reply.fault(), (405, "method_not_allowed".to_owned(), None), "{method} {path}");
            let allowed = reply.header("allow").unwrap_or_default();
            assert!(allowed.split(',').any(|one| one == endpoint.method.as_str()), "{path}: Allow: {allowed}");
        }
    }
    assert_eq!(stored(&db).await, before);
    assert!(!calls.is_empty());
}

async fn unknown_calls_answer_in_the_one_shape(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for path in
        ["/api", "/api/", "/api/v1", "/api/v2/jobs", "/api/v1/jobs/1/explode", "/api/v1/jobs/1/done/x", "/api/v1/Jobs"]
    {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let reply = client.call(method, path).token(ALL_SCOPES).send().await;
            reply.is(404, "not_found");
            assert_eq!(
                reply.json(),
                json!({"error": {"code": "not_found",
                "message": "There is no such call; calls are under /api/v1."}})
            );
        }
    }
}

async fn bodies_have_documented_limits(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let calls = calls_with_bodies(&client).await;
    let before = stored(&db).await;
    for (method, path, body) in &calls {
        let limit = match path.rsplit('/').next().unwrap() {
            "jobs" => worker_api::body::MAX_ENQUEUE_BYTES,
            "done" | "refuse" => worker_api::body::MAX_REPORT_BYTES,
            // Shortened while it comes in; its own test.
            "fail" => continue,
            "actions" => worker_api::body::MAX_ACTION_BYTES,
            _ => worker_api::body::MAX_SMALL_BYTES,
        };
        let mut text = body.to_string();
        text.push_str(&" ".repeat(limit + 1 - text.len()));
        let reply = client.call(method.clone(), path).token(ALL_SCOPES).bytes(text).send().await;
        reply.is(413, "too_large");
        assert!(reply.message().contains(&limit.to_string()), "{path} names its limit: {}", reply.message());
    }
    assert_eq!(stored(&db).await, before);
}

async fn payloads_have_a_documented_limit(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let batch = |bytes: usize| {
        let payload = "x".repeat(bytes - 2);
        format!(r#"{{"jobs":[{{"kind":"k","source":"s"}},{{"kind":"k","source":"s","payload":"{payload}"}}]}}"#)
    };
    for bytes in [1_048_577, 1_900_000, 2_097_152, 20_000_000] {
        let reply = client.post_bytes("/api/v1/jobs", batch(bytes)).await;
        reply.is_invalid("jobs[1].payload");
        assert!(reply.message().contains("1048576") && reply.message().contains("payload_ref"), "{}", reply.message());
    }
    assert_eq!(db.door.count("jobs").await, 0, "all or nothing");
    assert_eq!(client.post_bytes("/api/v1/jobs", batch(1_048_576)).await.status, 200);
}

async fn a_report_over_a_limit_does_not_lose_the_failure(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let (path, lease_token) = client.claimed("k").await;
    let report = json!({"lease_token": lease_token, "error": "e".repeat(5_000_000), "http_status": 400,
        "error_code": "c".repeat(10_000), "envelope": {"prompt": "p".repeat(2_000_000)}});
    let ended = client.post(format!("{path}/fail"), report).await;
    assert_eq!(ended.status, 200, "{ended:?}");
    let job = client.get(&path).await.json();
    assert_eq!(job["attempts"][0]["error"].as_str().unwrap().len(), 65_536);
    assert_eq!(job["attempts"][0]["error_code"].as_str().unwrap().len(), 200);
    let letter = ended.json()["dead_letter_id"].as_str().unwrap().to_owned();
    let letter = client.get(format!("/api/v1/dead-letters/{letter}")).await.json();
    assert!(
        letter["envelope"]["left_out"].as_str().unwrap().contains("more than the 1048576"),
        "{}",
        letter["envelope"]
    );

    // A refusal's evidence is cut; a reason too.
    let (path, lease_token) = client.claimed("k").await;
    let refusal = json!({"lease_token": lease_token, "reason_code": "AMBIGUOUS_VALUE", "evidence": "q".repeat(70_000)});
    let ended = client.post(format!("{path}/refuse"), refusal).await.json();
    let letter = client.get(format!("/api/v1/dead-letters/{}", ended["dead_letter_id"].as_str().unwrap())).await.json();
    assert_eq!(letter["evidence"].as_str().unwrap().len(), 65_536);
    let (path, lease_token) = client.claimed("k").await;
    client.post(format!("{path}/done"), json!({"lease_token": lease_token, "reason": "r".repeat(70_000)})).await;
    assert_eq!(client.get(&path).await.json()["reason"].as_str().unwrap().len(), 65_536);
}

/// In an error text, in an envelope, in spaces: each longer than any other call takes.
async fn however_long_a_failure_is_told_it_is_recorded(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let long = 20 * 1024 * 1024;
    for (told, filler) in [
        ("an error", format!(r#""error":"{}","http_status":400"#, "ä".repeat(long / 2))),
        (
            "an envelope",
            format!(r#""error":"e","envelope":{{"calls":[{}1]}},"http_status":400"#, "1,".repeat(long / 2)),
        ),
        ("spaces", format!(r#""error":"e",{}"http_status":400"#, " ".repeat(long))),
    ] {
        let (path, lease_token) = client.claimed("k").await;
        let reply =
            client.post_bytes(format!("{path}/fail"), format!(r#"{{{filler},"lease_token":{lease_token}}}"#)).await;
        assert_eq!((reply.status, &reply.json()["state"]), (200, &json!("dead")), "{told}: {reply:?}");
        let job = client.get(&path).await.json();
        let error = job["attempts"][0]["error"].as_str().unwrap();
        assert_eq!(error.len(), if told == "an error" { 65_536 } else { 1 }, "{told}");
        assert_eq!(job["attempts"][0]["http_status"], 400, "{told}");
    }
    let letters = client.get("/api/v1/dead-letters").await.json();
    let id = letters["dead_letters"][1]["id"].as_str().unwrap();
    let letter = client.get(format!("/api/v1/dead-letters/{id}")).await.json();
    assert!(letter["envelope"]["left_out"].as_str().unwrap().contains("1048576"), "{}", letter["envelope"]);

    // What cannot be shortened is refused by name, and the lease goes on.
    let (path, lease_token) = client.claimed("k").await;
    let digits = format!(r#"{{"lease_token":{lease_token}{},"error":"e"}}"#, "0".repeat(long));
    let reply = client.post_bytes(format!("{path}/fail"), digits).await;
    reply.is(413, "too_large");
    assert!(reply.message().contains("16777216"), "{}", reply.message());
    let again = client.post(format!("{path}/fail"), json!({"lease_token": lease_token, "error": "e"})).await;
    assert_eq!(again.status, 200, "{again:?}");
}

async fn bad_advice_does_not_lose_the_failure(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.put("/api/v1/policies/k", json!({"jitter": "none", "start_seconds": 3_000})).await;
    let odd = [json!(null), json!(""), json!("fatal"), json!("429"), json!(true), json!([429]), json!({"a": 1})];
    let numbers = [json!(0), json!(99), json!(600), json!(-1), json!(429.5), json!(1e300), json!(u64::MAX)];
    for field in ["category", "http_status", "error_code", "retry_after", "envelope", "cost_micro_usd"] {
        for value in odd.iter().chain(&numbers) {
            let (path, lease_token) = client.claimed("k").await;
            let mut report = json!({"lease_token": lease_token, "error": "it broke"});
            report[field] = value.clone();
            let reply = client.post(format!("{path}/fail"), report).await;
            assert_eq!(reply.status, 200, "{field} = {value}: {reply:?}");
            assert_eq!(reply.json()["category"], "unknown", "{field} = {value} decides nothing");
            let attempt = client.get(&path).await.json()["attempts"][0].clone();
            assert_eq!((&attempt["outcome"], &attempt["error"]), (&json!("failed"), &json!("it broke")));
            if field == "http_status" {
                assert_eq!(attempt["http_status"], Value::Null, "{value} is no status");
            }
        }
    }
    let (path, lease_token) = client.claimed("k").await;
    let report = json!({"lease_token": lease_token, "error": "it broke", "error_code": 40001, "category": "nonsense"});
    assert_eq!(client.post(format!("{path}/fail"), report).await.status, 200);
    assert_eq!(client.get(&path).await.json()["attempts"][0]["error_code"], "40001", "many codes are numbers");
}

async fn bad_query_parameters_are_named(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.parked("k").await;
    for (path, field) in [
        ("/api/v1/dead-letters?limit=0", "limit"),
        ("/api/v1/dead-letters?limit=201", "limit"),
        ("/api/v1/dead-letters?limit=-1", "limit"),
        ("/api/v1/dead-letters?limit=%2B5", "limit"),
        ("/api/v1/dead-letters?limit=ten", "limit"),
        ("/api/v1/dead-letters?limit=1&limit=2", "limit"),
        ("/api/v1/dead-letters?cursor=", "cursor"),
        ("/api/v1/dead-letters?cursor=abc", "cursor"),
        ("/api/v1/dead-letters?cursor=9223372036854775808", "cursor"),
        ("/api/v1/dead-letters?status=new", "status"),
        ("/api/v1/dead-letters?route=unknown", "route"),
        ("/api/v1/dead-letters?kind=", "kind"),
        ("/api/v1/dead-letters?day=today", "day"),
        ("/api/v1/dead-letters?sort=age", "sort"),
        ("/api/v1/dead-letters?statsu=open", "statsu"),
        ("/api/v1/dead-letters?Kind=k", "Kind"),
        ("/api/v1/park-rate?sources=s", "sources"),
        ("/api/v1/dead-letters?age=1h", "age"),
        ("/api/v1/dead-letters?older_than=24", "older_than"),
        ("/api/v1/dead-letters?canary=yes", "canary"),
        ("/api/v1/dead-letters?q=", "q"),
        ("/api/v1/dead-letters?reason=", "reason"),
        ("/api/v1/dead-letters?before=7", "before"),
        ("/api/v1/export/dead-letters.csv?status=new", "status"),
        ("/api/v1/export/dead-letters.json?limit=5", "limit"),
        ("/api/v1/dead-letters/1?verbose=1", "verbose"),
        ("/api/v1/jobs/1?verbose=1", "verbose"),
        ("/api/v1/pipeline?kind=k", "kind"),
        ("/api/v1/policies?kind=k", "kind"),
        ("/api/v1/artifacts/1?verbose=1", "verbose"),
        ("/api/v1/park-rate?by=tenant", "by"),
        ("/api/v1/park-rate?by=", "by"),
        ("/api/v1/park-rate?from=2026-13-01", "from"),
        ("/api/v1/park-rate?from=2026-1-1", "from"),
        ("/api/v1/park-rate?to=+2026-01-01", "to"),
        ("/api/v1/park-rate?from=2026-03-02&to=2026-03-01", "from"),
        ("/api/v1/park-rate?days=7", "days"),
    ] {
        let reply = client.get(path).await;
        assert_eq!(reply.fault(), (422, "invalid".to_owned(), Some(field.to_owned())), "{path}");
    }
    let message = client.get("/api/v1/dead-letters?sort=age").await.message();
    assert!(message.contains("status, kind, source"), "it lists what there is: {message}");
}
