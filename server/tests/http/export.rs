//! Exports: exactly the letters of a filter, safe in a spreadsheet, true to the
//! byte, and never a part that looks like the whole.

use crate::client::{ALL_SCOPES, Client};
use crate::support::TestDatabase;
use axum::body::{BodyDataStream, to_bytes};
use axum::http::Method;
use futures::StreamExt;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

each_database![
    csv_has_one_record_per_letter_whatever_it_holds,
    no_text_is_a_formula_and_numbers_stay_numbers,
    json_is_true_to_the_byte,
    an_export_holds_exactly_what_its_filter_finds,
    an_empty_export_is_a_complete_file,
    a_slow_reader_holds_no_connection,
    an_export_that_cannot_go_on_is_cut,
    a_revoked_token_reads_no_further,
];

const HOSTILE: [&str; 8] = [
    "=HYPERLINK(\"http://x\",\"y\")",
    "+1",
    "-1",
    "@SUM(1)",
    "\t+=1",
    "\r+=1",
    "comma, \"quote\",\r\nline break; semicolon",
    "plain",
];

/// A letter with that error and payload; its id.
async fn parked_with(client: &Client, error: &str, payload: &str) -> String {
    let body = format!(r#"{{"jobs":[{{"kind":"k","source":"s","payload":{payload}}}]}}"#);
    assert_eq!(client.post_bytes("/api/v1/jobs", body).await.status, 200);
    let claimed = client.claim("k").await;
    let report = json!({"lease_token": claimed["lease_token"], "error": error, "http_status": 400});
    let path = format!("/api/v1/jobs/{}/fail", claimed["id"].as_str().unwrap());
    client.post(path, report).await.json()["dead_letter_id"].as_str().unwrap().to_owned()
}

/// The records of a CSV export, each by column name.
async fn csv(client: &Client, query: &str) -> Vec<std::collections::HashMap<String, String>> {
    let reply = client.get(format!("/api/v1/export/dead-letters.csv{query}")).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/csv; charset=utf-8; header=present")));
    assert!(reply.header("content-disposition").unwrap().starts_with("attachment; filename=\"dead-letters-"));
    csv::Reader::from_reader(&*reply.body).deserialize().map(|record| record.unwrap()).collect()
}

async fn csv_has_one_record_per_letter_whatever_it_holds(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for error in HOSTILE {
        parked_with(&client, error, r#"{"n":"a,\"b\"\nc"}"#).await;
    }
    let records = csv(&client, "").await;
    assert_eq!(records.len(), HOSTILE.len());
    for (record, error) in records.iter().rev().zip(HOSTILE) {
        assert_eq!(record["error"].trim_start_matches('\''), error);
        assert_eq!(record["payload"], r#"{"n":"a,\"b\"\nc"}"#);
        assert_eq!((record["kind"].as_str(), record["http_status"].as_str()), ("k", "400"));
    }
}

async fn no_text_is_a_formula_and_numbers_stay_numbers(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for error in HOSTILE {
        parked_with(&client, error, "-1").await;
    }
    for record in csv(&client, "").await {
        for (column, cell) in &record {
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{column}: {cell}");
        }
        assert_eq!(record["version"], "1");
    }
}

async fn json_is_true_to_the_byte(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let payload = r#"{"id":9007199254740993,"big":18446744073709551615,"d":0.1,"e":1e40,"s":"007","s":"x"}"#;
    for error in HOSTILE {
        parked_with(&client, error, payload).await;
    }
    let reply = client.get("/api/v1/export/dead-letters.json").await;
    assert_eq!(reply.text().matches(payload).count(), HOSTILE.len(), "{}", reply.text());
    let records = reply.json();
    for (record, error) in records.as_array().unwrap().iter().rev().zip(HOSTILE) {
        assert_eq!(record["error"], error);
        assert!(record["id"].is_string() && record["job_id"].is_string(), "ids are strings: {record}");
        assert_eq!((&record["http_status"], &record["version"]), (&json!(400), &json!(1)));
    }
}

async fn an_export_holds_exactly_what_its_filter_finds(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    db.park_many(1_203).await;
    client.refused("k").await;
    let all = client.get("/api/v1/export/dead-letters.json").await.json();
    let ids: BTreeSet<&str> = all.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!((all.as_array().unwrap().len(), ids.len()), (1_204, 1_204), "over three batches");
    assert_eq!(csv(&client, "?source=s3&status=unresolved&age=under_1h").await.len(), 120);
    assert_eq!(csv(&client, "?reason=MISSING_REQUIRED_FIELD").await.len(), 1);
    assert_eq!(csv(&client, "?q=NOT+FOUND&status=open").await.len(), 1);
}

async fn an_empty_export_is_a_complete_file(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    assert_eq!(client.get("/api/v1/export/dead-letters.json").await.json(), json!([]));
    let text = client.get("/api/v1/export/dead-letters.csv").await;
    assert!(text.text().starts_with("id,job_id,kind,source,") && text.text().lines().count() == 1, "{text:?}");
}

/// An export whose first bytes were read, and no more.
async fn begun(client: &Client, format: &str) -> BodyDataStream {
    let path = format!("/api/v1/export/dead-letters.{format}");
    let answer = client.call(Method::GET, path).token(ALL_SCOPES).answer().await;
    assert_eq!(answer.status(), 200);
    let mut body = answer.into_body().into_data_stream();
    body.next().await.unwrap().unwrap();
    body
}

async fn a_slow_reader_holds_no_connection(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    db.park_many(1_500).await;
    let mut stalled = Vec::new();
    // More of them than there are connections for pages.
    for _ in 0..12 {
        stalled.push(begun(&client, "csv").await);
    }
    assert_eq!(client.get("/api/v1/dead-letters").await.status, 200);
    client.refused("k").await;
    assert_eq!(client.get("/readyz").await.status, 200);
    for mut body in stalled {
        while let Some(bytes) = body.next().await {
            bytes.unwrap();
        }
    }
}

async fn an_export_that_cannot_go_on_is_cut(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    db.park_many(1_500).await;
    for format in ["csv", "json"] {
        let mut body = begun(&client, format).await;
        db.door.execute("ALTER TABLE dead_letters RENAME TO gone").await;
        let mut end = Ok(Vec::new());
        while let Some(bytes) = body.next().await {
            match (&mut end, bytes) {
                (Ok(read), Ok(bytes)) => read.extend_from_slice(&bytes),
                (end, bytes) => *end = bytes.map(|bytes| bytes.to_vec()),
            }
        }
        assert!(end.is_err(), "{format}: a part is not the whole");
        db.door.execute("ALTER TABLE gone RENAME TO dead_letters").await;
    }
}

async fn a_revoked_token_reads_no_further(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    db.park_many(1_500).await;
    let body = begun(&client, "json").await;
    db.door.execute("UPDATE tokens SET revoked_at = created_at").await;
    let rest = to_bytes(axum::body::Body::from_stream(body), usize::MAX).await;
    assert!(rest.is_err(), "the export ends with the right to read it");
    assert_ne!(client.get("/api/v1/export/dead-letters.json").await.status, 200);
}
