//! Text and numbers that other systems trip over, in and out unharmed.

use crate::client::Client;
use crate::support::TestDatabase;
use serde_json::{Value, json};
use std::sync::Arc;

each_database![
    a_payload_comes_back_byte_for_byte,
    a_failure_with_odd_text_is_recorded,
    a_long_error_is_cut_between_characters,
    odd_text_in_every_other_field_is_replaced_visibly,
    raw_json_of_reports_is_kept,
];

/// The text of a field in a JSON answer, as the bytes stand there.
fn raw_field<'a>(body: &'a str, field: &str) -> &'a str {
    let object: std::collections::HashMap<String, &'a serde_json::value::RawValue> =
        serde_json::from_str(body).unwrap();
    object[field].get()
}

const ODD_PAYLOADS: [&str; 6] = [
    r#"{"id":9007199254740993,"big":18446744073709551615,"neg":-9223372036854775807,"d":0.1,"e":1e400,"s":"007"}"#,
    r#"{"z":1,"a":2,"z":3,"nested":{"b":1,"b":2}}"#,
    r#"{"t":"\u0000","esc":"\u001b[31m","slash":"\/","u":"\u00e9"}"#,
    r#"[ 1.0,  1.00 , 1E2,-0 ]"#,
    r#""just text 😀""#,
    "123456789012345678901234567890",
];

async fn a_payload_comes_back_byte_for_byte(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for payload in ODD_PAYLOADS {
        let body = format!(r#"{{"jobs":[{{"kind":"k","source":"s","payload":{payload}}}]}}"#);
        let reply = client.post_bytes("/api/v1/jobs", body).await;
        assert_eq!(reply.status, 200, "{payload}: {reply:?}");
        let claim = client.post("/api/v1/claim", json!({"worker": "w", "limit": 1})).await;
        let job = raw_field(claim.text(), "jobs").trim_start_matches('[').trim_end_matches(']');
        assert_eq!(raw_field(job, "payload"), payload);
        let id: String = serde_json::from_str(raw_field(job, "id")).unwrap();
        let shown = client.get(format!("/api/v1/jobs/{id}")).await;
        assert_eq!(raw_field(shown.text(), "payload"), payload);
        // And in the letter it becomes, and in the replay made of that.
        let report = json!({"lease_token": 1, "error": "400", "http_status": 400});
        let ended = client.post(format!("/api/v1/jobs/{id}/fail"), report).await.json();
        let letter_path = format!("/api/v1/dead-letters/{}", ended["dead_letter_id"].as_str().unwrap());
        let letter = client.get(&letter_path).await;
        assert_eq!(raw_field(letter.text(), "payload"), payload);
        let act = json!({"action": "approve_and_replay", "version": 1});
        let acted = client.post(format!("{letter_path}/actions"), act).await.json();
        let replay = acted["replay_job_ids"][0].as_str().unwrap().to_owned();
        assert_eq!(raw_field(client.get(format!("/api/v1/jobs/{replay}")).await.text(), "payload"), payload);
        client.post(format!("/api/v1/jobs/{replay}/cancel"), json!({})).await;
    }
}

async fn a_failure_with_odd_text_is_recorded(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for (written, stored) in [
        (br"ab\u0000cd".as_slice(), "ab\u{fffd}cd"),
        (b"ab\0cd", "ab\u{fffd}cd"),
        (br"lone \ud800 high", "lone \u{fffd} high"),
        (br"lone \udfff low", "lone \u{fffd} low"),
        (br"pair \ud83d\ude00", "pair 😀"),
        (br"\u001b[31mred\u001b[0m", "\u{1b}[31mred\u{1b}[0m"),
        (b"\x1b[31mred\x1b[0m", "\u{1b}[31mred\u{1b}[0m"),
        (b"bytes \xff\xfe end", "bytes \u{fffd}\u{fffd} end"),
        (b"two\nlines\tand a tab", "two\nlines\tand a tab"),
        (b"", "the worker gave no error text"),
        (b"  ", "the worker gave no error text"),
    ] {
        let (path, lease_token) = client.claimed("k").await;
        let body =
            [format!(r#"{{"lease_token":{lease_token},"http_status":400,"error":""#).as_bytes(), written, b"\"}"]
                .concat();
        let ended = client.post_bytes(format!("{path}/fail"), body).await;
        assert_eq!(ended.status, 200, "{stored}: {ended:?}");
        let job = client.get(&path).await.json();
        assert_eq!(job["attempts"][0]["error"], stored);
        assert_eq!(job["state"], "dead");
        let pipeline = client.get("/api/v1/pipeline").await;
        assert_eq!(pipeline.status, 200, "the panel can still be read");
    }
}

async fn a_long_error_is_cut_between_characters(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for tail in ["😀 and more", "é and more", "ก\u{e31} and more", "e\u{301} and more"] {
        for short in [1, 2, 3, 64 * 1024 - 2_000, 64 * 1024 - 200, 64 * 1024 - 100] {
            let text = format!("{}{tail}", "a".repeat(64 * 1024 - short));
            let (path, lease_token) = client.claimed("k").await;
            let report = json!({"lease_token": lease_token, "error": text, "http_status": 400});
            let ended = client.post(format!("{path}/fail"), report).await;
            assert_eq!(ended.status, 200, "{ended:?}");
            let whole = client.get(&path).await.json()["attempts"][0]["error"].as_str().unwrap().to_owned();
            assert!(
                text.starts_with(&whole) && whole.len() <= 64 * 1024 && whole.len() > text.len().min(64 * 1024) - 4
            );
            let letter = ended.json()["dead_letter_id"].as_str().unwrap().to_owned();
            assert_eq!(client.get(format!("/api/v1/dead-letters/{letter}")).await.json()["error"], whole.as_str());
            assert_eq!(client.get("/api/v1/pipeline").await.status, 200);
        }
    }
    let list = client.get("/api/v1/dead-letters?limit=20").await;
    assert_eq!(list.json()["dead_letters"].as_array().unwrap().len(), 20);
    assert!(list.body.len() < 200_000, "a list stays small: {} bytes", list.body.len());
}

async fn odd_text_in_every_other_field_is_replaced_visibly(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let body = br#"{"jobs":[{"kind":"k\u0000","source":"s\ud800","tenant":"t\u0000","payload_ref":"p\u0000",
        "unique_key":"u\u0000","trace_id":"r\udc00","payload":{"a":"\u0000"},
        "upstream_handoffs":[{"note":"\u0000"}]}]}"#;
    let reply = client.post_bytes("/api/v1/jobs", body.as_slice()).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let claim = br#"{"worker":"w\u0000","kinds":["k\u0000"]}"#;
    let claimed = client.post_bytes("/api/v1/claim", claim.as_slice()).await.json()["jobs"][0].take();
    assert_eq!(claimed["kind"], "k\u{fffd}");
    let path = format!("/api/v1/jobs/{}", claimed["id"].as_str().unwrap());
    let job = client.get(&path).await.json();
    for (field, value) in [
        ("source", "s\u{fffd}"),
        ("tenant", "t\u{fffd}"),
        ("payload_ref", "p\u{fffd}"),
        ("unique_key", "u\u{fffd}"),
        ("trace_id", "r\u{fffd}"),
        ("worker", "w\u{fffd}"),
    ] {
        assert_eq!(job[field], value);
    }
    let refusal = br#"{"lease_token":1,"reason_code":"AMBIGUOUS_VALUE","field":"f\u0000","evidence":"q\u0000",
        "envelope":{"note":"\u0000"}}"#;
    let ended = client.post_bytes(format!("{path}/refuse"), refusal.as_slice()).await.json();
    assert_eq!(ended["field"], "f\u{fffd}");
    let letter = format!("/api/v1/dead-letters/{}", ended["dead_letter_id"].as_str().unwrap());
    assert_eq!(client.get(&letter).await.json()["evidence"], "q\u{fffd}");
    let act = br#"{"action":"reject_and_close","version":1,"note":"n\u0000"}"#;
    let acted = client.post_bytes(format!("{letter}/actions"), act.as_slice()).await.json();
    assert_eq!(acted["dead_letter"]["resolution"]["note"], "n\u{fffd}");
    assert_eq!(
        client.post_bytes("/api/v1/ticks", br#"{"trigger":"c\u0000","every_seconds":60}"#.as_slice()).await.status,
        200
    );
    assert_eq!(client.get("/api/v1/pipeline").await.json()["ticks"][0]["trigger"], "c\u{fffd}");
}

async fn raw_json_of_reports_is_kept(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let (path, lease_token) = client.claimed("k").await;
    let result = r#"{"z":1.0,"z":18446744073709551615,"t":"\u0000"}"#;
    let values = r#"{"total":1.10,"total":"1,10"}"#;
    let body = format!(
        r#"{{"lease_token":{lease_token},"verdict":"v\u0000","reason":"r\ud800","result":{result},"values":{values},
            "evidence":{{"total":"1,10"}},"source_text":"s\u0000"}}"#
    );
    let done = client.post_bytes(format!("{path}/done"), body).await;
    assert_eq!(done.status, 200, "{done:?}");
    let shown = client.get(&path).await;
    assert_eq!(raw_field(shown.text(), "result"), result);
    assert_eq!(raw_field(shown.text(), "values"), values);
    let job: Value = shown.json();
    assert_eq!(
        (&job["verdict"], &job["reason"], &job["source_text"]),
        (&json!("v\u{fffd}"), &json!("r\u{fffd}"), &json!("s\u{fffd}"))
    );
}
