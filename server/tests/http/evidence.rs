//! Evidence checks over HTTP: set as a policy, held against every *done*, and
//! what they find reaches the letter, the job and the counts.

use crate::client::{ALL_SCOPES, Client, stored};
use crate::support::TestDatabase;
use axum::http::Method;
use serde_json::{Value, json};
use std::sync::Arc;

each_database![
    a_currency_that_stands_nowhere_is_parked,
    what_is_not_sent_is_parked,
    evidence_that_holds_is_done,
    a_shadow_parks_nothing_and_is_recorded,
    a_check_is_on_for_its_tenants,
    a_kind_without_checks_asks_for_nothing,
    a_bad_check_names_the_place_and_changes_nothing,
    checks_are_shown_with_their_origin_and_go_back_to_none,
    a_date_is_held_against_the_receipt,
    a_canary_that_a_check_stops_opens_no_letter,
    what_did_not_hold_is_no_verdict,
];

const SOURCE: &str =
    "RECHNUNG Nr. 2024-0917\nRechnung an: Harbour Fit-Out Pty Ltd, Sydney NSW\nGesamtbetrag:   4.820,00\n";

fn checks(mode: &str) -> Value {
    json!({"evidence_checks": [
        {"field": "currency", "rule": "quote_in_source", "mode": mode},
        {"field": "currency", "rule": "value_in_quote", "mode": mode},
        {"field": "total", "rule": "number_equals_quote", "locale": "de", "mode": mode},
    ]})
}

fn invoice(lease_token: i64) -> Value {
    json!({"lease_token": lease_token, "verdict": "extracted", "reason": "all there", "result": {"row": 1},
        "evidence": {"currency": "Sydney NSW", "total": "4.820,00"}, "values": {"currency": "AUD", "total": 4820.00},
        "source_text": SOURCE, "envelope": {"model": {"id": "m-1"}}, "cost_micro_usd": 7})
}

async fn a_currency_that_stands_nowhere_is_parked(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    assert_eq!(client.put("/api/v1/policies/k", checks("on")).await.status, 200);
    let (path, lease_token) = client.claimed("k").await;
    let reply = client.post(format!("{path}/done"), invoice(lease_token)).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let ended = reply.json();
    let letter = ended["dead_letter_id"].as_str().expect("an id is a string");
    assert_eq!(
        ended,
        json!({"state": "dead", "dead_letter_id": letter, "route": "failed_evidence_check",
            "reason_code": "MISSING_REQUIRED_FIELD", "field": "currency"})
    );
    let shown = client.get(format!("/api/v1/dead-letters/{letter}")).await.json();
    assert_eq!((&shown["route"], &shown["evidence"]), (&json!("failed_evidence_check"), &json!("Sydney NSW")));
    assert_eq!((&shown["error"], &shown["failure_reason"]), (&Value::Null, &Value::Null), "it is no failure");
    assert_eq!(shown["envelope"]["model"]["id"], "m-1");
    assert_eq!(
        shown["misses"],
        json!([{"field": "currency", "rule": "value_in_quote", "reason_code": "MISSING_REQUIRED_FIELD",
            "said": "the value does not stand in its quote"}])
    );
    assert!(!shown["recovery_options"].as_array().unwrap().is_empty());
    let job = client.get(&path).await.json();
    assert_eq!((&job["state"], &job["dead_letter_id"]), (&json!("dead"), &json!(letter)));
    assert_eq!(job["attempts"][0]["outcome"], "evidence_failed");
    assert_eq!((&job["values"]["currency"], &job["source_text"]), (&json!("AUD"), &json!(SOURCE)), "all is kept");
    let kind = client.get("/api/v1/pipeline").await.json()["kinds"][0].clone();
    let counts = ["evidence_failed_last_day", "refused_last_day", "failed_last_day", "done_last_hour"];
    assert_eq!(counts.map(|count| kind[count].as_i64().unwrap()), [1, 0, 0, 0]);
    let rate = client.get("/api/v1/park-rate?by=source,reason").await.json().to_string();
    assert!(rate.contains("MISSING_REQUIRED_FIELD"), "{rate}");
    let found = client.get("/api/v1/dead-letters?route=failed_evidence_check").await.json();
    assert_eq!(found["dead_letters"][0]["id"], letter);
}

async fn what_is_not_sent_is_parked(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.put("/api/v1/policies/k", checks("on")).await;
    for left_out in ["evidence", "values", "source_text"] {
        let (path, lease_token) = client.claimed("k").await;
        let mut body = invoice(lease_token);
        body["evidence"]["currency"] = json!("Gesamtbetrag");
        body["values"]["currency"] = json!("Gesamtbetrag");
        body.as_object_mut().unwrap().remove(left_out);
        let ended = client.post(format!("{path}/done"), body).await.json();
        assert_eq!(ended["route"], "failed_evidence_check", "without {left_out}");
        assert_eq!((&ended["reason_code"], &ended["field"]), (&json!("MISSING_REQUIRED_FIELD"), &json!("currency")));
        let letter = client.get(format!("/api/v1/dead-letters/{}", ended["dead_letter_id"].as_str().unwrap())).await;
        let fields: Vec<Value> =
            letter.json()["misses"].as_array().unwrap().iter().map(|miss| miss["field"].clone()).collect();
        assert_eq!(fields, ["currency", "total"], "all of them are there, once each");
    }
    let (path, lease_token) = client.claimed("k").await;
    let ended = client.post(format!("{path}/done"), json!({"lease_token": lease_token})).await.json();
    assert_eq!(ended["route"], "failed_evidence_check");
    let letter = client.get(format!("/api/v1/dead-letters/{}", ended["dead_letter_id"].as_str().unwrap())).await;
    assert_eq!(letter.json()["evidence"], "NOT FOUND");
}

async fn evidence_that_holds_is_done(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.put("/api/v1/policies/k", checks("on")).await;
    let (path, lease_token) = client.claimed("k").await;
    let mut body = invoice(lease_token);
    body["source_text"] = json!("Gesamt\u{ad}betrag:\n   EUR\u{a0}4.820,00");
    body["evidence"] = json!({"currency": "Gesamtbetrag: EUR 4.820,00", "total": "EUR 4.820,00"});
    body["values"] = json!({"currency": "EUR", "total": 4820.00});
    let ended = client.post(format!("{path}/done"), body).await;
    assert_eq!((ended.status, ended.json()), (200, json!({"state": "done"})));
    assert_eq!(client.get(&path).await.json()["shadow_misses"], json!([]));
}

/// Tenant, field, rule, checked and missed of each row.
async fn counted(client: &Client) -> Vec<[Value; 5]> {
    let answer = client.get("/api/v1/evidence-checks?kind=k").await.json();
    let rows = answer["rows"].as_array().unwrap();
    rows.iter().map(|row| ["tenant", "field", "rule", "checked", "missed"].map(|name| row[name].clone())).collect()
}

async fn a_shadow_parks_nothing_and_is_recorded(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.put("/api/v1/policies/k", checks("shadow")).await;
    for _ in 0..3 {
        let (path, lease_token) = client.claimed("k").await;
        let ended = client.post(format!("{path}/done"), invoice(lease_token)).await.json();
        assert_eq!(ended, json!({"state": "done"}));
        let misses = client.get(&path).await.json()["shadow_misses"].clone();
        assert_eq!((&misses[0]["rule"], misses.as_array().unwrap().len()), (&json!("value_in_quote"), 1));
    }
    let (path, lease_token) = client.claimed("k").await;
    client.post(format!("{path}/done"), json!({"lease_token": lease_token, "verdict": "extracted"})).await;
    let misses = client.get(&path).await.json()["shadow_misses"].clone();
    assert_eq!(misses[0]["said"], "no value was sent", "recorded even when nothing else is");
    assert_eq!(db.door.count("dead_letters").await, 0);
    assert_eq!(
        counted(&client).await,
        [
            [json!(null), json!("currency"), json!("quote_in_source"), json!(4), json!(1)],
            [json!(null), json!("currency"), json!("value_in_quote"), json!(4), json!(4)],
            [json!(null), json!("total"), json!("number_equals_quote de"), json!(4), json!(1)],
        ]
    );
    let today = db.now().await.date_naive();
    let rows = client.get(format!("/api/v1/evidence-checks?from={today}&to={today}")).await.json();
    let first = json!({"kind": "k", "tenant": null, "field": "currency", "rule": "quote_in_source",
        "day": today.to_string(), "checked": 4, "missed": 1});
    assert_eq!((&rows["rows"][0], rows["rows"].as_array().unwrap().len()), (&first, 3));
    for none in ["kind=other".to_owned(), format!("from={}", today + chrono::Days::new(2)), "to=2020-01-01".to_owned()]
    {
        let rows = client.get(format!("/api/v1/evidence-checks?{none}")).await.json();
        assert_eq!(rows, json!({"rows": []}), "{none}");
    }
    client.get("/api/v1/evidence-checks?from=2026-02-02&to=2026-02-01").await.is_invalid("from");
    client.get("/api/v1/evidence-checks?from=today").await.is_invalid("from");
}

async fn a_check_is_on_for_its_tenants(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let check = json!({"field": "currency", "rule": "value_in_quote", "mode": "on", "tenants": ["acme"]});
    client.put("/api/v1/policies/k", json!({"evidence_checks": [check]})).await;
    for (tenant, state) in [(json!("acme"), "dead"), (json!("other"), "done"), (Value::Null, "done")] {
        client.post("/api/v1/jobs", json!({"jobs": [{"kind": "k", "source": "s", "tenant": tenant}]})).await;
        let job = client.claim("k").await;
        let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
        let ended = client.post(format!("{path}/done"), invoice(job["lease_token"].as_i64().unwrap())).await.json();
        assert_eq!(ended["state"], state, "{tenant}");
        let shadows = client.get(&path).await.json()["shadow_misses"].as_array().unwrap().len();
        assert_eq!(shadows, usize::from(state == "done"), "{tenant}");
    }
    let tenants: Vec<Value> = counted(&client).await.into_iter().map(|[tenant, ..]| tenant).collect();
    assert_eq!(tenants, [json!(null), json!("acme"), json!("other")]);
}

async fn a_kind_without_checks_asks_for_nothing(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.put("/api/v1/policies/other", checks("on")).await;
    let (path, lease_token) = client.claimed("k").await;
    let ended = client.post(format!("{path}/done"), json!({"lease_token": lease_token})).await.json();
    assert_eq!(ended, json!({"state": "done"}));
    assert_eq!((db.door.count("results").await, db.door.count("evidence_counts").await), (0, 0));
}

async fn a_bad_check_names_the_place_and_changes_nothing(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.put("/api/v1/policies/k", checks("on")).await;
    let before = stored(&db).await;
    let good = json!({"field": "a", "rule": "required"});
    for (checks, field) in [
        (json!({}), "evidence_checks"),
        (json!([good, {"field": "b", "rule": "iso"}]), "evidence_checks[1].rule"),
        (json!([good, {"field": "b", "rule": "number_equals_quote"}]), "evidence_checks[1].locale"),
        (json!([good, {"field": "", "rule": "required"}]), "evidence_checks[1].field"),
        (json!([good, {"field": "b", "rule": "required", "mode": "off"}]), "evidence_checks[1].mode"),
        (json!([good, good]), "evidence_checks[1]"),
    ] {
        client.put("/api/v1/policies/k", json!({"evidence_checks": checks})).await.is_invalid(field);
    }
    let reader = crate::client::secret_of(app::model::people::Scope::Review);
    let refused = client.call(Method::PUT, "/api/v1/policies/k").token(&reader).json(&checks("on")).send().await;
    assert_eq!(refused.status, 403);
    assert_eq!(stored(&db).await, before);
}

async fn checks_are_shown_with_their_origin_and_go_back_to_none(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.enqueue("k").await;
    let listed = client.get("/api/v1/policies").await.json();
    let shown = &listed["policies"][0]["settings"]["evidence_checks"];
    assert_eq!(shown, &json!({"value": [], "origin": "default"}));
    let new = json!({"evidence_checks": [{"field": "currency", "rule": "currency_code"}]});
    let shown = client.put("/api/v1/policies/k", new).await.json()["settings"]["evidence_checks"].clone();
    assert_eq!(shown["value"], json!([{"field": "currency", "rule": "currency_code", "mode": "shadow"}]));
    assert_eq!(shown["origin"]["by"], "token all");
    client.put("/api/v1/policies/k", checks("on")).await;
    let reset = client.call(Method::PUT, "/api/v1/policies/k").token(ALL_SCOPES);
    let reply = reset.json(&json!({"evidence_checks": null})).send().await.json();
    assert_eq!(reply["settings"]["evidence_checks"], json!({"value": [], "origin": "default"}));
    let job = client.claim("k").await;
    let path = format!("/api/v1/jobs/{}/done", job["id"].as_str().unwrap());
    assert_eq!(client.post(path, json!({"lease_token": 1})).await.json(), json!({"state": "done"}));
}

async fn a_date_is_held_against_the_receipt(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let check = json!({"field": "date", "rule": "date_not_after_received", "mode": "on"});
    client.put("/api/v1/policies/k", json!({"evidence_checks": [check]})).await;
    let today = db.now().await.date_naive();
    for (received_at, date, state) in [
        (json!("2024-09-05T02:14:09Z"), "2024-09-03".to_owned(), "done"),
        (json!("2024-09-05T02:14:09Z"), "2024-09-07".to_owned(), "dead"),
        // Nobody said when it was received: when it was enqueued.
        (Value::Null, today.to_string(), "done"),
        (Value::Null, (today + chrono::Days::new(3)).to_string(), "dead"),
    ] {
        let job = json!({"kind": "k", "source": "s", "received_at": received_at});
        client.post("/api/v1/jobs", json!({"jobs": [job]})).await;
        let claimed = client.claim("k").await;
        let body = json!({"lease_token": 1, "source_text": date, "evidence": {"date": date}, "values": {"date": date}});
        let ended = client.post(format!("/api/v1/jobs/{}/done", claimed["id"].as_str().unwrap()), body).await.json();
        assert_eq!(ended["state"], state, "{date} received {received_at}");
    }
}

async fn a_canary_that_a_check_stops_opens_no_letter(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.put("/api/v1/policies/k", checks("on")).await;
    let canary = json!({"kind": "k", "source": "s", "canary": {"reason_code": "MISSING_REQUIRED_FIELD"}});
    client.post("/api/v1/jobs", json!({"jobs": [canary]})).await;
    let claim = json!({"worker": "w", "accepts": ["canary"]});
    let id = client.post("/api/v1/claim", claim).await.json()["jobs"][0]["id"].as_str().unwrap().to_owned();
    client.post(format!("/api/v1/jobs/{id}/done"), invoice(1)).await;
    assert_eq!(db.door.count("dead_letters").await, 0);
    let ending = db.door.rows(&["outcome", "reason_code"], "endings").await;
    assert_eq!(ending, [["evidence_failed", "MISSING_REQUIRED_FIELD"].map(|text| Some(text.to_owned())).to_vec()]);
    assert_eq!(client.get(format!("/api/v1/jobs/{id}")).await.json()["attempts"][0]["outcome"], "evidence_failed");
}

async fn what_did_not_hold_is_no_verdict(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.put("/api/v1/policies/k", checks("on")).await;
    let (path, lease_token) = client.claimed("k").await;
    client.post(format!("{path}/done"), invoice(lease_token)).await;
    let ending = db.door.rows(&["outcome", "verdict", "reason"], "endings").await;
    assert_eq!(ending, [vec![Some("evidence_failed".to_owned()), None, None]]);
    let again = client.post(format!("{path}/done"), invoice(lease_token)).await;
    again.is(409, "lease_lost");
    let checked: Vec<Value> = counted(&client).await.into_iter().map(|[.., checked, _]| checked).collect();
    assert_eq!(checked, [1, 1, 1], "a late answer is not checked");
}
