//! Alerts as programs and people meet them.

use crate::client::Client;
use crate::support::TestDatabase;
use crate::support::calls::{fail, job};
use crate::visitor::Visitor;
use app::model::people::Role;
use axum::http::Method;
use drainboard::duties::alerts::watch;
use serde_json::json;
use std::sync::Arc;

each_database![
    an_alert_is_on_the_front_page_its_own_page_and_in_the_call,
    reviewers_acknowledge_and_what_was_typed_comes_back,
    a_source_without_enough_volume_is_never_shown_as_fine,
];

async fn many_letters(db: &TestDatabase) {
    db.enqueue(&vec![job("k"); 5]).await;
    for claimed in db.claim("w1", 10).await {
        db.finish(&claimed, fail("unprocessable", 422)).await;
    }
    watch(&*db.store).await.unwrap();
}

async fn an_alert_is_on_the_front_page_its_own_page_and_in_the_call(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    assert_eq!(client.get("/api/v1/alerts").await.json()["alerts"], json!([]));
    let visitor = Visitor::signed_in(&db, Role::OnCall).await;
    assert!(!visitor.get("/").await.html.contains("href=\"/alerts\""));
    many_letters(&db).await;
    let answer = client.get("/api/v1/alerts").await.json();
    let alert = &answer["alerts"][0];
    assert_eq!((&alert["rule"], &alert["level"]), (&json!("dead_letters_per_hour"), &json!("warn")));
    assert_eq!((&alert["value"], &alert["threshold"], &alert["source"]), (&json!(5.0), &json!(5.0), &json!(null)));
    assert!(alert["id"].is_string() && alert["since"].as_str().unwrap().ends_with('Z'), "{alert}");
    assert_eq!(alert["acknowledged_until"], json!(null));
    client.get("/api/v1/alerts?nosuch=1").await.is_invalid("nosuch");
    let front = visitor.get("/").await;
    assert!(front.text().contains("1 alert open"), "{}", front.text());
    let page = visitor.get("/alerts").await;
    assert!(page.text().contains("5 dead letters in the last hour (limit 5)"), "{}", page.text());
    assert!(!page.html.contains("<button>Acknowledge"), "no button that would be refused");
}

async fn reviewers_acknowledge_and_what_was_typed_comes_back(db: Arc<TestDatabase>) {
    many_letters(&db).await;
    let reviewer = Visitor::signed_in(&db, Role::Reviewer).await;
    let body = "form=acknowledge&id=1&hours=soon&note=on+my+way";
    let refused = reviewer.send(Method::POST, "/alerts", body).await;
    assert_eq!(refused.status, 422);
    assert!(
        refused.html.contains("value=\"on my way\"") && refused.text().contains("hours must be a whole number"),
        "{}",
        refused.text()
    );
    assert_eq!(reviewer.send(Method::POST, "/alerts", "form=acknowledge&id=1&hours=400&note=").await.status, 422);
    assert_eq!(
        reviewer.send(Method::POST, "/alerts", "form=pin&source=s&from=2026-01-01&to=2026-02-01").await.status,
        403
    );
    let done = reviewer.send(Method::POST, "/alerts", "form=acknowledge&id=1&hours=4&note=on+my+way").await;
    assert_eq!(done.status, 303);
    let page = reviewer.get("/alerts").await.text();
    assert!(page.contains("Nothing calls that nobody knows of.") && page.contains("on my way"), "{page}");
    assert!(!reviewer.get("/").await.text().contains("1 alert open"), "it calls nobody now");
    let admin = Visitor::signed_in(&db, Role::Admin).await;
    let nothing = admin.send(Method::POST, "/alerts", "form=pin&source=s&from=2026-01-01&to=2026-02-01").await;
    assert_eq!(nothing.status, 422, "{}", nothing.text());
}

async fn a_source_without_enough_volume_is_never_shown_as_fine(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let (path, lease_token) = client.claimed("k").await;
    client.post(format!("{path}/done"), json!({"lease_token": lease_token})).await;
    watch(&*db.store).await.unwrap();
    let page = Visitor::signed_in(&db, Role::OnCall).await.get("/alerts").await.text();
    assert!(page.contains("no source has enough volume yet to say that all is well"), "{page}");
    assert!(page.contains("not enough volume, 1 processed") && !page.contains("clear"), "{page}");
}
