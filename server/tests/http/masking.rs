//! Masked payload fields: read by programs with the mask on, revealed only to
//! those who may, and never without a trace.

use crate::client::{Client, secret_of};
use crate::support::TestDatabase;
use app::model::people::Scope;
use axum::http::Method;
use serde_json::json;
use std::sync::Arc;

each_database![
    masked_fields_stay_masked_unless_revealed,
    a_reveal_is_audited_with_its_fields_and_a_refused_one_is_none,
    workers_get_the_payload_as_it_was_enqueued,
    no_export_and_no_search_gets_behind_a_mask,
    what_the_work_said_of_a_masked_field_is_masked_too,
];

const EXACT: &str = r#"{"jobs":[{"kind":"k","source":"s","payload":{"customer":{"iban":"DE8937","n":0.10},"lines":[{"account":9007199254740993},{"account":"b"}]}}]}"#;

/// A job with something to hide; its path.
async fn job(client: &Client) -> String {
    client.put("/api/v1/policies/k", json!({"masked_fields": ["customer.iban", "lines.*.account", "absent"]})).await;
    let made = client.post_bytes("/api/v1/jobs", EXACT).await;
    format!("/api/v1/jobs/{}", made.json()["jobs"][0]["id"].as_str().unwrap())
}

async fn masked_fields_stay_masked_unless_revealed(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let path = job(&client).await;
    let masked = client.get(&path).await;
    assert!(
        masked.text().contains(r#"{"customer":{"iban":"•••","n":0.10},"lines":[{"account":"•••"},{"account":"•••"}]}"#),
        "{}",
        masked.text()
    );
    let revealed = client.get(format!("{path}?reveal=true")).await;
    assert!(revealed.text().contains(r#""iban":"DE8937""#), "{}", revealed.text());
    assert!(revealed.text().contains(r#"[{"account":9007199254740993},"#), "{}", revealed.text());
    client.get(format!("{path}?reveal=yes")).await.is_invalid("reveal");
    for nothing in ["lines[0].account", "lines[*].account", "$.customer.iban", "/customer/iban", "**", "customer.**"] {
        let refused = client.put("/api/v1/policies/k", json!({"masked_fields": [nothing]})).await;
        refused.is_invalid("masked_fields");
    }

    let claimed = client.claim("k").await;
    let report = json!({"lease_token": claimed["lease_token"], "error": "400 no", "http_status": 400});
    let ended = client.post(format!("{path}/fail"), report).await.json();
    let letter = format!("/api/v1/dead-letters/{}", ended["dead_letter_id"].as_str().unwrap());
    assert_eq!(client.get(&letter).await.json()["payload"]["customer"]["iban"], "•••");
    assert_eq!(client.get(format!("{letter}?reveal=true")).await.json()["payload"]["customer"]["iban"], "DE8937");

    client.put("/api/v1/policies/k", json!({"masked_fields": null})).await;
    assert_eq!(client.get(&letter).await.json()["payload"]["customer"]["iban"], "DE8937");
}

async fn a_reveal_is_audited_with_its_fields_and_a_refused_one_is_none(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let path = job(&client).await;
    let before = db.audit().await.len();
    client.get(&path).await;
    let reader = client.call(Method::GET, format!("{path}?reveal=true")).token(&secret_of(Scope::Read)).send().await;
    reader.is(403, "forbidden");
    assert!(reader.message().contains("review"), "{}", reader.message());
    assert_eq!(db.audit().await.len(), before, "nothing was revealed");
    client.get(format!("{path}?reveal=true")).await;
    let entry = db.audit().await.remove(0);
    assert_eq!((entry.action.as_str(), entry.actor.as_str()), ("reveal", "token all"));
    assert_eq!(entry.subject, path.replace("/api/v1/jobs/", "job "));
    assert_eq!(entry.details.as_deref(), Some(r#"{"fields":["customer.iban","lines.*.account"]}"#));

    db.door.forbid("audit", "action", "reveal").await;
    let unaudited = client.get(format!("{path}?reveal=true")).await;
    assert!(unaudited.status >= 500 && !unaudited.text().contains("DE8937"), "{unaudited:?}");
}

async fn workers_get_the_payload_as_it_was_enqueued(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    job(&client).await;
    assert_eq!(client.claim("k").await["payload"]["customer"]["iban"], "DE8937");
}

async fn no_export_and_no_search_gets_behind_a_mask(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let path = job(&client).await;
    let claimed = client.claim("k").await;
    let report = json!({"lease_token": claimed["lease_token"], "error": "boom", "http_status": 400});
    client.post(format!("{path}/fail"), report).await;
    for format in ["csv", "json"] {
        let export = client.get(format!("/api/v1/export/dead-letters.{format}")).await;
        assert!(export.text().contains("boom") && export.text().contains("•••"), "{}", export.text());
        assert!(!export.text().contains("DE8937"), "{}", export.text());
    }
    let found = async |text: &str| {
        let list = client.get(format!("/api/v1/dead-letters?q={text}")).await.json();
        list["dead_letters"].as_array().unwrap().len()
    };
    assert_eq!((found("boom").await, found("DE89").await), (1, 0));
    client.put("/api/v1/policies/k", json!({"masked_fields": null})).await;
    assert_eq!(found("DE89").await, 1, "what nobody hides is found");
}

async fn what_the_work_said_of_a_masked_field_is_masked_too(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let path = job(&client).await;
    let claimed = client.claim("k").await;
    let report = json!({"lease_token": claimed["lease_token"], "verdict": "booked",
        "result": {"customer": {"iban": "DE8937", "n": 1}}, "values": {"customer.iban": "DE8937", "total": "7"},
        "evidence": {"customer.iban": "IBAN: DE8937"}, "source_text": "pay to DE8937"});
    assert_eq!(client.post(format!("{path}/done"), report).await.status, 200);
    let seen = client.get(&path).await;
    assert!(!seen.text().contains("DE8937"), "{}", seen.text());
    let seen = seen.json();
    assert_eq!((&seen["values"]["total"], &seen["result"]["customer"]["n"]), (&json!("7"), &json!(1)));
    assert_eq!(seen["source_text"], "•••");
    let revealed = client.get(format!("{path}?reveal=true")).await;
    assert_eq!(revealed.text().matches("DE8937").count(), 5, "{}", revealed.text());
    let audited = db.audit().await.into_iter().find(|entry| entry.subject.starts_with("job ")).unwrap();
    assert!(audited.details.unwrap().contains("customer.iban"));
}
