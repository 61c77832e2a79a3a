//! Dead letters over HTTP: listed in pages, filtered, acted on exactly once.

use crate::client::{ALL_SCOPES, Client, secret_of, stored};
use crate::support::TestDatabase;
use app::model::people::Scope;
use axum::http::Method;
use serde_json::{Value, json};
use std::sync::Arc;

each_database![
    a_list_shows_why_and_what_can_be_done,
    filters_are_a_conjunction,
    pages_neither_skip_nor_repeat,
    approving_makes_one_replay,
    rejecting_needs_a_note,
    a_letter_that_is_not_there_comes_before_the_rules,
    the_second_of_two_is_told_what_happened,
    a_repeated_key_gives_the_same_answer_once,
    every_action_is_done_by_a_call,
    a_bad_action_changes_nothing,
    the_park_rate_counts_days,
];

/// Acts on a letter, with an idempotency key if there is one.
async fn act(client: &Client, letter: &Value, key: Option<&str>, body: Value) -> crate::client::Reply {
    let path = format!("/api/v1/dead-letters/{}/actions", letter["id"].as_str().unwrap());
    let call = client.call(Method::POST, path).token(ALL_SCOPES).json(&body);
    match key {
        None => call.send().await,
        Some(key) => call.header("Idempotency-Key", key).send().await,
    }
}

fn ids(list: &Value) -> Vec<String> {
    list["dead_letters"].as_array().unwrap().iter().map(|l| l["id"].as_str().unwrap().to_owned()).collect()
}

async fn a_list_shows_why_and_what_can_be_done(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let refused = client.refused("k").await;
    let list = client.get("/api/v1/dead-letters").await.json();
    assert_eq!(list["next_cursor"], Value::Null);
    let listed = &list["dead_letters"][0];
    assert_eq!(
        listed,
        &json!({"id": refused["id"], "job_id": refused["job_id"], "kind": "k", "source": "supplier-email-ingest",
            "tenant": null, "route": "refused_by_agent", "reason_code": "MISSING_REQUIRED_FIELD",
            "failure_reason": null, "field": "currency", "evidence": "NOT FOUND", "error": null, "category": null,
            "http_status": null, "error_code": null, "status": "open", "taken": null, "resolution": null,
            "dead_lettered_at": listed["dead_lettered_at"], "group": listed["group"], "version": 1,
            "recovery_options": listed["recovery_options"]})
    );
    let options = listed["recovery_options"].as_array().expect("a list");
    let offered: Vec<&str> = options.iter().map(|option| option["action"].as_str().unwrap()).collect();
    assert_eq!(
        offered,
        [
            "approve_and_replay",
            "correct_and_replay",
            "split_and_replay",
            "close_and_notify",
            "policy_update",
            "reject_and_close"
        ]
    );
    assert_eq!((&options[0]["label"], &options[0]["role"]), (&json!("Approve & replay"), &json!("reviewer")));
    assert_eq!((&refused["payload"], &refused["replays"]), (&json!({"n": 1}), &json!([])));
    assert_eq!(refused["attempts"][0]["outcome"], "refused");
}

async fn filters_are_a_conjunction(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let exception = client.parked("k").await;
    let refused = client.refused("k").await;
    let other = client.refused("k2").await;
    act(&client, &other, None, json!({"action": "reject_and_close", "version": 1, "note": "junk"})).await;
    let today = db.now().await.format("%Y-%m-%d").to_string();
    let group = exception["group"].as_str().unwrap();
    for (query, found) in [
        ("kind=k".to_owned(), vec![&refused, &exception]),
        ("route=exception".to_owned(), vec![&exception]),
        ("status=resolved".to_owned(), vec![&other]),
        ("status=open&kind=k2".to_owned(), vec![]),
        ("reason_code=MISSING_REQUIRED_FIELD&status=open".to_owned(), vec![&refused]),
        ("source=supplier-email-ingest".to_owned(), vec![&other, &refused, &exception]),
        ("source=supplier%25".to_owned(), vec![]),
        ("tenant=acme".to_owned(), vec![]),
        (format!("group={group}"), vec![&exception]),
        (format!("day={today}&kind=k"), vec![&refused, &exception]),
        ("day=2001-01-01".to_owned(), vec![]),
        ("status=unresolved".to_owned(), vec![&refused, &exception]),
        ("status=all".to_owned(), vec![&other, &refused, &exception]),
        ("reason=MISSING_REQUIRED_FIELD&kind=k".to_owned(), vec![&refused]),
        ("age=under_1h&kind=k".to_owned(), vec![&refused, &exception]),
        ("older_than=1h".to_owned(), vec![]),
        ("q=NO+SUCH".to_owned(), vec![&exception]),
        ("q=not%20found&status=unresolved".to_owned(), vec![&refused]),
        ("q=no%25such".to_owned(), vec![]),
        ("canary=only".to_owned(), vec![]),
    ] {
        let expected: Vec<&str> = found.iter().map(|letter| letter["id"].as_str().unwrap()).collect();
        assert_eq!(ids(&client.get(format!("/api/v1/dead-letters?{query}")).await.json()), expected, "{query}");
    }
}

async fn pages_neither_skip_nor_repeat(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for _ in 0..5 {
        client.parked("k").await;
    }
    let whole = ids(&client.get("/api/v1/dead-letters").await.json());
    let mut seen = Vec::new();
    let mut next = String::new();
    loop {
        let page = client.get(format!("/api/v1/dead-letters?limit=2{next}")).await.json();
        seen.extend(ids(&page));
        // The queue moves meanwhile.
        client.parked("k").await;
        match page["next_cursor"].as_str() {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen, whole);
}

async fn approving_makes_one_replay(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let letter = client.parked("k").await;
    let reply =
        act(&client, &letter, None, json!({"action": "approve_and_replay", "version": 1, "note": "fixed"})).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let answer = reply.json();
    let replay = answer["replay_job_ids"][0].as_str().expect("an id is a string");
    assert_eq!(answer["replay_job_ids"].as_array().unwrap().len(), 1);
    let resolution = &answer["dead_letter"]["resolution"];
    assert_eq!((&resolution["action"], &resolution["by"]), (&json!("approve_and_replay"), &json!("token all")));
    assert_eq!(resolution["note"], "fixed");
    assert_eq!(answer["dead_letter"]["recovery_options"], json!([]));
    let claimed = client.claim("k").await;
    assert_eq!(claimed["id"], replay);
    assert_eq!((&claimed["replay"]["mode"], &claimed["replay"]["dead_letter_id"]), (&json!("current"), &letter["id"]));
    let shown = client.get(format!("/api/v1/dead-letters/{}", letter["id"].as_str().unwrap())).await.json();
    assert_eq!(
        shown["replays"],
        json!([{"job_id": replay, "mode": "current", "state": "in_progress", "verdict": null,
            "dead_letter_id": null, "dead_letter_status": null}])
    );
    let entry = db.audit().await.into_iter().find(|entry| entry.action == "approve_and_replay").unwrap();
    assert_eq!(entry.actor, "token all");
}

async fn a_letter_that_is_not_there_comes_before_the_rules(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let letter = client.parked("k").await;
    for (body, field) in [
        (json!({"action": "reject_and_close", "version": 1}), "note"),
        (json!({"action": "reject_and_close", "version": 1, "note": " "}), "note"),
        (json!({"action": "reject_and_close", "version": 1, "note": "n", "mode": "pinned"}), "mode"),
    ] {
        let missing = json!({"id": "999"});
        for key in [None, Some("once")] {
            act(&client, &missing, key, body.clone()).await.is(404, "not_found");
        }
        let call = client.call(Method::POST, "/api/v1/dead-letters/999/actions").token(&secret_of(Scope::Read));
        call.json(&body).send().await.is(403, "forbidden");
        act(&client, &letter, None, body).await.is_invalid(field);
    }
    assert_eq!(db.door.count("action_keys").await, 0, "a refused action keeps no key");
}

async fn rejecting_needs_a_note(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let letter = client.refused("k").await;
    for note in [Value::Null, json!(""), json!("  ")] {
        let body = json!({"action": "reject_and_close", "version": 1, "note": note});
        act(&client, &letter, None, body).await.is_invalid("note");
    }
    let body = json!({"action": "reject_and_close", "version": 1, "note": "no invoice at all"});
    let answer = act(&client, &letter, None, body).await.json();
    assert_eq!((&answer["dead_letter"]["status"], &answer["replay_job_ids"]), (&json!("resolved"), &json!([])));
    assert!(client.claim("k").await.is_null(), "nothing is run again");
}

async fn the_second_of_two_is_told_what_happened(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let letter = client.parked("k").await;
    let first = act(&client, &letter, None, json!({"action": "approve_and_replay", "version": 1})).await;
    assert_eq!(first.status, 200);
    let second = act(&client, &letter, None, json!({"action": "reject_and_close", "version": 1, "note": "no"})).await;
    second.is(409, "conflict");
    assert!(second.message().contains("token all"), "it says who was first: {}", second.message());
    assert_eq!(db.door.count("jobs").await, 2, "one approval is one replay");
}

async fn a_repeated_key_gives_the_same_answer_once(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let letter = client.parked("k").await;
    let body = json!({"action": "approve_and_replay", "version": 1, "note": "n"});
    let first = act(&client, &letter, Some("key 1"), body.clone()).await;
    assert_eq!(first.status, 200, "{first:?}");
    let again = act(&client, &letter, Some("key 1"), body.clone()).await;
    assert_eq!((again.status, again.json()), (200, first.json()));
    // Spelled otherwise, it is the same request.
    let path = format!("/api/v1/dead-letters/{}/actions", letter["id"].as_str().unwrap());
    let spelled = r#"{ "note":"\u006e", "version": 1, "action":"approve_and_replay" }"#;
    let call = client.call(Method::POST, path).token(ALL_SCOPES).header("idempotency-key", "key 1");
    assert_eq!(call.bytes(spelled).send().await.json(), first.json());
    assert_eq!(db.door.count("jobs").await, 2, "one replay");

    let other = json!({"action": "approve_and_replay", "version": 1, "note": "other"});
    act(&client, &letter, Some("key 1"), other).await.is_invalid("Idempotency-Key");
    let elsewhere = client.parked("k2").await;
    act(&client, &elsewhere, Some("key 1"), body).await.is_invalid("Idempotency-Key");
}

async fn every_action_is_done_by_a_call(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let because = "seen";
    for (body, replays) in [
        (json!({"action": "approve_and_replay", "mode": "pinned"}), 1),
        (json!({"action": "correct_and_replay", "payload": {"n": 1, "currency": "EUR"}}), 1),
        (json!({"action": "split_and_replay", "payloads": [{"n": 1}, {"n": 2}, {"n": 3}]}), 3),
        (json!({"action": "policy_update", "note": because, "owner": "ada", "due": "2099-01-31"}), 0),
        (json!({"action": "reject_and_close", "note": because}), 0),
    ] {
        // A kind each: replays wait to be claimed.
        let letter = client.refused(body["action"].as_str().unwrap()).await;
        let mut body = body;
        body["version"] = json!(1);
        let reply = act(&client, &letter, None, body.clone()).await;
        assert_eq!(reply.status, 200, "{body}: {reply:?}");
        let answer = reply.json();
        assert_eq!(answer["replay_job_ids"].as_array().unwrap().len(), replays, "{body}");
        assert_eq!(answer["dead_letter"]["status"], "resolved");
        assert_eq!(answer["dead_letter"]["resolution"]["action"], body["action"]);
        let shown = client.get(format!("/api/v1/dead-letters/{}", letter["id"].as_str().unwrap())).await.json();
        assert_eq!(shown["decisions"][0]["action"], body["action"]);
        assert_eq!(shown["payload"], letter["payload"], "the original stays");
    }
    let letter = client.refused("k").await;
    let taken = act(&client, &letter, None, json!({"action": "take", "version": 1})).await.json();
    assert_eq!((&taken["dead_letter"]["status"], &taken["dead_letter"]["version"]), (&json!("taken"), &json!(2)));
    assert_eq!(taken["dead_letter"]["taken"]["by"], "token all");
    let released = act(&client, &letter, None, json!({"action": "release", "version": 2})).await.json();
    assert_eq!((&released["dead_letter"]["status"], &released["dead_letter"]["taken"]), (&json!("open"), &json!(null)));
    let nobody = json!({"action": "close_and_notify", "version": 3, "note": because});
    act(&client, &letter, None, nobody).await.is_invalid("recipient");
}

async fn a_bad_action_changes_nothing(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let letter = client.parked("k").await;
    let before = stored(&db).await;
    let good = json!({"action": "approve_and_replay", "version": 1});
    for (field, value, named) in [
        ("action", json!("delete"), "action"),
        ("action", json!("correct_and_replay"), "payload"),
        ("action", json!("split_and_replay"), "payloads"),
        ("action", json!("close_and_notify"), "note"),
        ("action", json!("policy_update"), "note"),
        ("action", json!(1), "action"),
        ("version", json!("1"), "version"),
        ("version", json!(1.0), "version"),
        ("version", json!(null), "version"),
        ("mode", json!("tomorrow"), "mode"),
        ("note", json!(["n"]), "note"),
        ("note", json!("n".repeat(65_537)), "note"),
        ("payload", json!({}), "payload"),
        ("payloads", json!([1, 2]), "payloads"),
        ("due", json!("2026-1-1"), "due"),
        ("owner", json!("mila"), "owner"),
        ("by", json!("mila"), "by"),
    ] {
        let mut body = good.clone();
        body[field] = value;
        act(&client, &letter, None, body).await.is_invalid(named);
    }
    let closing = json!({"action": "reject_and_close", "version": 1, "note": "n", "mode": "pinned"});
    act(&client, &letter, None, closing).await.is_invalid("mode");
    act(&client, &letter, Some(""), good.clone()).await.is_invalid("Idempotency-Key");
    act(&client, &letter, Some(&"k".repeat(201)), good.clone()).await.is_invalid("Idempotency-Key");
    let stale = json!({"action": "approve_and_replay", "version": 0});
    act(&client, &letter, None, stale).await.is(409, "conflict");
    let path = format!("/api/v1/dead-letters/{}/actions", letter["id"].as_str().unwrap());
    let twice = client.call(Method::POST, path).token(ALL_SCOPES).json(&good);
    twice.header("Idempotency-Key", "a").header("Idempotency-Key", "b").send().await.is_invalid("Idempotency-Key");
    assert_eq!(stored(&db).await, before);
}

async fn the_park_rate_counts_days(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.refused("k").await;
    client.parked("k").await;
    for _ in 0..9 {
        let (path, lease_token) = client.claimed("k").await;
        client.post(format!("{path}/done"), json!({"lease_token": lease_token, "verdict": "ok"})).await;
    }
    let today = db.now().await.format("%Y-%m-%d").to_string();
    let rows = client.get(format!("/api/v1/park-rate?by=source,reason&from={today}&to={today}")).await.json();
    let row = &rows["rows"][0];
    assert_eq!(rows["rows"].as_array().unwrap().len(), 1, "{rows}");
    assert_eq!(
        (&row["source"], &row["reason_code"], &row["day"]),
        (&json!("supplier-email-ingest"), &json!("MISSING_REQUIRED_FIELD"), &json!(today))
    );
    assert_eq!((&row["processed"], &row["parked"], &row["rate"]), (&json!(10), &json!(1), &json!(0.1)));
    assert!((row["low"].as_f64().unwrap() - 0.017_876_2).abs() < 1e-6);
    assert!((row["high"].as_f64().unwrap() - 0.404_150_0).abs() < 1e-6);
    assert_eq!(client.get("/api/v1/park-rate?from=2001-01-01&to=2001-12-31").await.json(), json!({"rows": []}));
    let by_day = client.get("/api/v1/park-rate").await.json();
    assert_eq!((&by_day["rows"][0]["source"], &by_day["rows"][0]["parked"]), (&Value::Null, &json!(1)));
}
