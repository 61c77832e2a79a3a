//! Canaries as people and programs meet them.

use crate::client::Client;
use crate::support::TestDatabase;
use crate::visitor::Visitor;
use app::model::people::Role;
use axum::http::Method;
use serde_json::json;
use std::sync::Arc;
use url::form_urlencoded::Serializer;

each_database![
    an_admin_adds_one_and_the_matrix_shows_it_and_the_gaps,
    a_reviewer_runs_it_and_an_alarm_is_on_every_page,
    what_was_typed_wrongly_comes_back,
    a_fixture_goes_out_and_comes_in,
    an_unknown_code_is_refused_when_a_canary_is_enqueued,
    odd_texts_stay_text,
];

fn form(name: &str, code: &str) -> String {
    let mut form = Serializer::new(String::new());
    form.extend_pairs([
        ("form", "save"),
        ("name", name),
        ("kind", "k"),
        ("source", "s"),
        ("reason_code", code),
        ("field", ""),
        ("every_seconds", ""),
        ("payload", r#"{"secret":"xyzzy"}"#),
        ("enabled", "on"),
    ]);
    form.finish()
}

async fn an_admin_adds_one_and_the_matrix_shows_it_and_the_gaps(db: Arc<TestDatabase>) {
    db.parked("k").await;
    let admin = Visitor::signed_in(&db, Role::Admin).await;
    let before = admin.get("/canaries").await;
    assert!(
        before.text().contains("gap: no canary at all. No enabled canary expects MISSING_REQUIRED_FIELD,"),
        "{}",
        before.text()
    );
    let added = admin.send(Method::POST, "/canaries", form("two totals", "CONFLICTING_EVIDENCE")).await;
    assert_eq!(added.status, 303, "{}", added.html);
    let after = admin.get("/canaries").await.text();
    assert_eq!(after.matches("gap: no enabled canary").count(), 4, "{after}");
    assert!(after.contains("two totals") && after.contains("never run"), "{after}");
    db.set_policy("k", serde_json::json!({"reason_codes": ["AMBIGUOUS_VALUE"]})).await;
    let dropped = admin.get("/canaries").await.text();
    assert!(dropped.contains("CONFLICTING_EVIDENCE · ▲ no longer a code of this kind"), "{dropped}");
    let on_call = Visitor::signed_in(&db, Role::OnCall).await;
    let page = on_call.get("/canaries/1").await;
    assert_eq!(page.status, 200);
    assert!(!page.html.contains("xyzzy") && !page.html.contains("Run now"), "{}", page.html);
}

async fn a_reviewer_runs_it_and_an_alarm_is_on_every_page(db: Arc<TestDatabase>) {
    let admin = Visitor::signed_in(&db, Role::Admin).await;
    admin.send(Method::POST, "/canaries", form("c", "AMBIGUOUS_VALUE")).await;
    let reviewer = Visitor::signed_in(&db, Role::Reviewer).await;
    assert_eq!(reviewer.send(Method::POST, "/canaries/1", "form=run").await.status, 303);
    assert_eq!(reviewer.send(Method::POST, "/canaries/1", "form=run").await.status, 409, "it runs already");
    assert_eq!(reviewer.send(Method::POST, "/canaries/1", form("c", "AMBIGUOUS_VALUE")).await.status, 403);
    let client = Client::of(&db).await;
    let claim = json!({"worker": "w", "accepts": ["canary"]});
    let id = client.post("/api/v1/claim", claim).await.json()["jobs"][0]["id"].as_str().unwrap().to_owned();
    client.post(format!("/api/v1/jobs/{id}/done"), json!({"lease_token": 1, "verdict": "approved"})).await;
    for path in ["/", "/jobs", "/dead-letters", "/canaries", "/account"] {
        let page = reviewer.get(path).await;
        assert!(page.text().contains("A canary was done instead of refused"), "{path}: {}", page.text());
    }
    let run = db.store.list_canaries().await.unwrap().alarms[0].id;
    let clear = format!("form=clear&run={run}");
    assert_eq!(reviewer.send(Method::POST, "/canaries", clear.clone()).await.status, 403);
    assert_eq!(admin.send(Method::POST, "/canaries", clear.clone()).await.status, 303);
    assert!(!reviewer.get("/").await.text().contains("instead of refused"));
    assert!(reviewer.get("/canaries/1").await.text().contains("cleared by"));
}

async fn what_was_typed_wrongly_comes_back(db: Arc<TestDatabase>) {
    let admin = Visitor::signed_in(&db, Role::Admin).await;
    let refused = admin.send(Method::POST, "/canaries", form("typed name", "NO_SUCH_CODE")).await;
    assert_eq!(refused.status, 422);
    assert!(refused.html.contains("typed name") && refused.html.contains("xyzzy"), "{}", refused.html);
    assert!(refused.text().contains("must be one of MISSING_REQUIRED_FIELD"), "{}", refused.text());
    let refused = admin.send(Method::POST, "/canaries", form("n", "AMBIGUOUS_VALUE").replace("xyzzy", "%22")).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("payload must be JSON"), "{}", refused.text());
}

async fn a_fixture_goes_out_and_comes_in(db: Arc<TestDatabase>) {
    let admin = Visitor::signed_in(&db, Role::Admin).await;
    admin.send(Method::POST, "/canaries", form("c", "AMBIGUOUS_VALUE")).await;
    let file = admin.get("/canaries/1/export").await;
    assert_eq!(file.headers["content-type"], "application/json");
    let renamed = file.html.replace("\"c\"", "\"copy\"");
    let posted = Serializer::new(String::new()).extend_pairs([("form", "import"), ("fixture", &renamed)]).finish();
    assert_eq!(admin.send(Method::POST, "/canaries", posted.clone()).await.status, 303);
    let all = db.store.list_canaries().await.unwrap().canaries;
    assert_eq!(all.len(), 2);
    assert_eq!(all[0].input.payload, all[1].input.payload);
    let on_call = Visitor::signed_in(&db, Role::OnCall).await;
    assert_eq!(on_call.get("/canaries/1/export").await.status, 403);
}

async fn an_unknown_code_is_refused_when_a_canary_is_enqueued(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let job = |code: &str| json!({"kind": "k", "source": "s", "canary": {"reason_code": code}});
    let plain = json!({"kind": "k", "source": "s"});
    let refused = client.post("/api/v1/jobs", json!({"jobs": [plain, job("OF_ANOTHER_KIND")]})).await;
    refused.is_invalid("jobs[1].canary.reason_code");
    assert_eq!(db.door.count("jobs").await, 0, "all or none");
    client.put("/api/v1/policies/k", json!({"reason_codes": ["OF_THIS_KIND"]})).await;
    client
        .post("/api/v1/jobs", json!({"jobs": [job("AMBIGUOUS_VALUE")]}))
        .await
        .is_invalid("jobs[0].canary.reason_code");
    client.post("/api/v1/jobs", json!({"jobs": [job("OF_THIS_KIND")]})).await;
    assert_eq!(db.door.count("jobs").await, 1);
}

async fn odd_texts_stay_text(db: Arc<TestDatabase>) {
    let admin = Visitor::signed_in(&db, Role::Admin).await;
    let odd = "</textarea></title><script>alert(1)</script>\u{202e}";
    let fixture = json!({"canaries": [{
        "name": odd, "kind": odd, "source": odd, "payload": odd, "reason_code": "AMBIGUOUS_VALUE", "field": odd,
    }]});
    let posted =
        Serializer::new(String::new()).extend_pairs([("form", "import"), ("fixture", &fixture.to_string())]).finish();
    assert_eq!(admin.send(Method::POST, "/canaries", posted.clone()).await.status, 303);
    for path in ["/canaries", "/canaries/1"] {
        let page = admin.get(path).await;
        assert_eq!(page.status, 200);
        assert!(!page.html.contains("<script>alert"), "{path}");
        assert!(!page.html.contains("</textarea></title>"), "{path}");
    }
}
