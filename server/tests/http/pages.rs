//! What stands around and on the pages, whatever is asked and however the
//! database is.

use crate::client::Client;
use crate::support::TestDatabase;
use crate::support::calls::actor;
use crate::visitor::{Page, Visitor};
use app::model::people::Role;
use axum::http::Method;
use serde_json::json;
use std::sync::Arc;

each_database![
    the_last_reading_stays_in_sight_while_the_database_is_away,
    whose_session_had_ended_is_not_remembered_while_the_database_is_away,
    every_answer_that_is_no_page_stands_in_the_frame,
    a_form_loaded_again_leads_back_to_where_it_is,
    a_filter_that_nobody_knows_is_named,
    odd_names_and_errors_are_visible_on_every_page,
    the_list_of_jobs_says_why_each_was_parked,
    a_long_error_stands_on_a_letter_once,
];

async fn the_last_reading_stays_in_sight_while_the_database_is_away(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for _ in 0..37 {
        client.enqueue("counted-kind").await;
    }
    let visitor = Visitor::signed_in(&db, Role::OnCall).await;
    assert!(visitor.get("/").await.text().contains("37 waiting"));
    db.store.close().await;
    for path in ["/", "/jobs", "/dead-letters?status=open", "/refusals", "/policies", "/jobs/1"] {
        let page = visitor.get(path).await;
        assert_eq!(page.status, 503, "{path}");
        let text = page.text();
        assert!(text.contains("Unknown · database unreachable since "), "{path}: {text}");
        assert!(text.contains("counted-kind 37 0"), "the last numbers: {path}: {text}");
        assert!(page.html.contains("data-stale"), "looks old: {path}");
        assert!(text.contains("as of ") || text.contains("The last reading, "), "says how old: {path}: {text}");
        assert_eq!(page.title().matches(" UTC").count(), 1, "{path}: {}", page.title());
        assert!(page.html.contains("http-equiv=\"refresh\""), "comes back by itself: {path}");
    }
    for cookie in ["drainboard=guessed", ""] {
        let page = visitor.with_cookie(cookie).get("/").await;
        assert!(!page.html.contains("counted-kind"), "for nobody else: {}", page.html);
    }
}

async fn whose_session_had_ended_is_not_remembered_while_the_database_is_away(db: Arc<TestDatabase>) {
    Client::of(&db).await.enqueue("counted-kind").await;
    let visitor = Visitor::signed_in(&db, Role::OnCall).await;
    assert!(visitor.get("/").await.html.contains("counted-kind"));
    // Elsewhere: this server learns of it when it asks next.
    db.store.change_user("the on-call", None, Some(true), &actor("ada")).await.unwrap();
    assert_eq!(visitor.get("/jobs").await.status, 303);
    db.store.close().await;
    let page = visitor.get("/").await;
    assert_eq!(page.status, 503);
    assert!(!page.html.contains("counted-kind"), "{}", page.html);
}

/// The page of a signed-in person, under the verdict, with a way on.
fn is_framed(page: &Page, told: &str) {
    for part in ["id=\"content\"", "Skip to content", "Log out", "<h1", "Idle · nothing waiting"] {
        assert!(page.html.contains(part), "{told}: no {part} in {}", page.html);
    }
    assert!(page.title().contains("Idle · nothing waiting"), "{told}: {}", page.title());
    assert!(page.html.split("<main").nth(1).unwrap().matches("<a href").count() >= 2, "{told}: leads on");
}

async fn every_answer_that_is_no_page_stands_in_the_frame(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let letter = client.refused("k").await["id"].as_str().unwrap().to_owned();
    let visitor = Visitor::signed_in(&db, Role::Admin).await;
    let actions = format!("/dead-letters/{letter}/actions");
    let huge = format!("action=reject_and_close&version=1&note={}", "x".repeat(3 << 20));
    for (method, path, form, status, sentence) in [
        (Method::GET, "/no/such/page", "", 404, "No page has this address"),
        (Method::POST, "/no/such/page", "", 404, "No page has this address"),
        (Method::GET, "/told", "", 404, "No page has this address"),
        (Method::GET, "/jobs/999999", "", 404, "There is no such job"),
        (Method::GET, "/dead-letters/abc", "", 404, "There is no such dead letter"),
        (Method::GET, "/dead-letters/abc/actions", "", 404, "There is no such dead letter"),
        (
            Method::POST,
            "/dead-letters/999999/actions",
            "action=approve_and_replay&version=1",
            404,
            "no such dead letter",
        ),
        (Method::POST, "/kinds/pause", "kind=none&paused=true", 404, "There is no such kind"),
        (Method::POST, "/kinds/pause", "kind=k", 422, "form was incomplete"),
        (Method::GET, "/logout", "", 405, "Go on from a page"),
        (Method::POST, "/jobs", "", 405, "Go on from a page"),
        (Method::DELETE, &actions, "", 405, "Go on from a page"),
        (Method::GET, "/jobs?before=x", "", 422, "must be the id of a job"),
        (Method::GET, "/dead-letters?status=opened", "", 422, "must be one of unresolved, open, taken, resolved, all"),
        (Method::GET, "/audit?before=x", "", 422, "must be the number of an entry"),
        (Method::POST, &actions, "action=explode&version=1", 422, "action must be one of approve_and_replay"),
        (Method::POST, &actions, huge.as_str(), 413, "larger than the server takes"),
    ] {
        let told = format!("{method} {path}");
        let page = visitor.send(method, path, form.to_owned()).await;
        assert_eq!(page.status, status, "{told}: {}", page.html);
        assert!(page.text().contains(sentence), "{told}: {}", page.text());
        is_framed(&page, &told);
    }
    let page = Visitor::signed_in(&db, Role::OnCall).await.get("/audit").await;
    assert_eq!(page.status, 403);
    is_framed(&page, "not allowed");
}

async fn a_form_loaded_again_leads_back_to_where_it_is(db: Arc<TestDatabase>) {
    let visitor = Visitor::signed_in(&db, Role::Reviewer).await;
    for (path, leads_to) in [
        ("/dead-letters/7/actions", "/dead-letters/7"),
        ("/kinds/pause", "/policies"),
        ("/dead-letters/bulk", "/dead-letters"),
    ] {
        let page = visitor.get(path).await;
        assert_eq!((page.status, page.location()), (303, leads_to), "{path}");
    }
}

async fn a_filter_that_nobody_knows_is_named(db: Arc<TestDatabase>) {
    Client::of(&db).await.refused("k").await;
    let visitor = Visitor::signed_in(&db, Role::Admin).await;
    let lists = ["/", "/jobs", "/dead-letters", "/refusals", "/policies", "/audit", "/outbox", "/follow-ups"];
    for path in lists.into_iter().chain(["/jobs/1", "/dead-letters/1"]) {
        assert!(!visitor.get(path).await.text().contains("ignored"), "{path}");
        let page = visitor.get(&format!("{path}?knd=x")).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(page.text().contains("Unknown filter knd , ignored"), "{path}: {}", page.text());
    }
    let many = visitor.get("/jobs?a=1&b=2&%3Cimg%3E=3&%E2%80%AEc=4").await;
    assert!(many.text().contains("Unknown filters &lt;img&gt; , a , b , \u{fffd}c , ignored"), "{}", many.text());
    let known = visitor.get("/jobs?kind=k&state=dead&kind=z&before=").await.text();
    assert!(!known.contains("Unknown filter"), "{known}");
    assert!(known.contains("kind : given more than once, the first counts"), "{known}");
    let letters = "/dead-letters?status=open&kind=a&source=b&tenant=c&route=exception&reason=d&group=e&day=2026-01-01";
    assert!(!visitor.get(letters).await.text().contains("ignored"));
}

/// Turns the direction, hides, breaks a line, moves a cursor, is nothing but blank.
const ODD: [&str; 6] = ["a\u{202e}cba", "z\u{200b}z", "l\u{2028}l\nl", "e\u{1b}[2J", "   ", "\u{3164}"];

async fn odd_names_and_errors_are_visible_on_every_page(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for odd in ODD {
        let job = json!({"kind": odd, "source": odd, "tenant": odd, "payload": {}, "trace_id": odd, "unique_key": odd});
        for how in ["fail", "refuse", "done"] {
            let mut job = job.clone();
            job["unique_key"] = json!(format!("{odd}{how}"));
            assert_eq!(client.post("/api/v1/jobs", json!({"jobs": [job]})).await.status, 200);
            let claim = json!({"worker": odd, "kinds": [odd], "limit": 1});
            let claimed = client.post("/api/v1/claim", claim).await.json()["jobs"][0].take();
            let report = json!({"lease_token": claimed["lease_token"], "error": format!("failed {odd}"),
                "category": "permanent", "error_code": odd, "reason_code": "MISSING_REQUIRED_FIELD", "field": odd,
                "evidence": odd, "verdict": odd, "reason": odd});
            let report: serde_json::Map<_, _> = report
                .as_object()
                .unwrap()
                .iter()
                .filter(|(key, _)| match how {
                    "fail" => ["lease_token", "error", "category", "error_code"].contains(&key.as_str()),
                    "refuse" => ["lease_token", "reason_code", "field", "evidence"].contains(&key.as_str()),
                    _ => ["lease_token", "verdict", "reason"].contains(&key.as_str()),
                })
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            let path = format!("/api/v1/jobs/{}/{how}", claimed["id"].as_str().unwrap());
            let ended = client.post(path, report.into()).await;
            assert_eq!(ended.status, 200, "{ended:?}");
        }
        assert_eq!(client.post("/api/v1/ticks", json!({"trigger": odd, "every_seconds": 60})).await.status, 200);
    }
    let visitor = Visitor::signed_in(&db, Role::Admin).await;
    let kind: String = url::form_urlencoded::byte_serialize(ODD[0].as_bytes()).collect();
    let filtered = [format!("/jobs?kind={kind}"), format!("/dead-letters?kind={kind}&source={kind}")];
    let lists = ["/", "/jobs", "/dead-letters", "/dead-letters?view=list", "/policies", "/audit", "/refusals", "/bulk"]
        .map(str::to_owned);
    let single = (1..=18).map(|id| format!("/jobs/{id}")).chain((1..=12).map(|id| format!("/dead-letters/{id}")));
    for path in lists.into_iter().chain(filtered).chain(single) {
        let page = visitor.get(&path).await;
        assert_eq!(page.status, 200, "{path}");
        let text = format!("{} {}", page.title(), page.text());
        for odd in ['\u{202e}', '\u{200b}', '\u{2028}', '\u{1b}', '\u{3164}'] {
            assert!(!text.contains(odd), "{odd:?} on {path}: {text:?}");
        }
        if ["/", "/jobs", "/dead-letters", "/policies"].contains(&path.as_str()) {
            for shown in ["a\u{fffd}cba", "z\u{fffd}z", "␣␣␣"] {
                assert!(text.contains(shown), "{shown} on {path}: {text}");
            }
        }
    }
}

async fn the_list_of_jobs_says_why_each_was_parked(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let refused = client.refused("refuses").await["id"].as_str().unwrap().to_owned();
    let failed = client.parked("fails").await["id"].as_str().unwrap().to_owned();
    let page = Visitor::signed_in(&db, Role::OnCall).await.get("/jobs").await;
    let said = format!("<a href=\"/dead-letters/{refused}\"><bdi>MISSING_REQUIRED_FIELD · currency</bdi></a>");
    assert!(page.html.contains(&said), "{}", page.html);
    assert!(page.text().contains(&format!("400 no such customer → letter {failed}")), "{}", page.text());
    assert!(page.html.contains(&format!("href=\"/dead-letters/{failed}\"")), "{}", page.html);
    let job = client.get("/api/v1/jobs/1").await.json();
    assert_eq!((&job["dead_letter_id"], &job["field"]), (&json!(refused), &json!("currency")));
}

async fn a_long_error_stands_on_a_letter_once(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let (path, lease_token) = client.claimed("k").await;
    let error = format!("{} the very end", "long ".repeat(12_000));
    let report = json!({"lease_token": lease_token, "error": error, "http_status": 400});
    let letter = client.post(format!("{path}/fail"), report).await.json()["dead_letter_id"].clone();
    let page =
        Visitor::signed_in(&db, Role::Reviewer).await.get(&format!("/dead-letters/{}", letter.as_str().unwrap())).await;
    assert_eq!(page.text().matches("the very end").count(), 1, "once, and whole");
    assert!(page.html.contains("<details"), "folded");
}
