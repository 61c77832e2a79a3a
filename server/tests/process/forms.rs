//! What people do by plain forms: who may, and what an answer says.

use crate::support::Database;
use serde_json::Value;

#[tokio::test]
async fn a_reviewer_replays_a_letter_once_however_often_the_button_is_pressed() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let letter = server.park(&token, "k").await;
    let browser = server.browser_of("rob").await;
    let version = server.read(&token, "/api/v1/dead-letters").await["dead_letters"][0]["version"].to_string();
    let path = format!("/dead-letters/{letter}/actions");
    let form = [("action", "approve_and_replay"), ("version", &version), ("key", "pressed-once")];

    for _ in 0..2 {
        let answer = browser.post(&path, &form).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        assert_eq!(answer.location(), format!("/dead-letters/{letter}?notice=replayed"));
    }
    let kinds = server.read(&token, "/api/v1/pipeline").await["kinds"].clone();
    assert_eq!(kinds[0]["due"], 1, "one approval is one replay: {kinds}");

    let other_body = [("action", "reject_and_close"), ("version", &version), ("key", "pressed-once"), ("note", "x")];
    assert_eq!(browser.post(&path, &other_body).await.status, 422);

    let late = [("action", "reject_and_close"), ("version", &version), ("note", "too late")];
    let answer = browser.post(&path, &late).await;
    assert_eq!(answer.status, 409);
    assert!(
        answer.text.contains("Nothing was done: ") && answer.text.contains("approved and replayed"),
        "{}",
        answer.text
    );
    assert!(answer.text.contains("rob") && answer.text.contains("Log out"), "is the letter's page: {}", answer.text);
}

#[tokio::test]
async fn closing_needs_a_note_and_tells_it_on() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let letter = server.park(&token, "k").await;
    let browser = server.browser_of("rob").await;
    let path = format!("/dead-letters/{letter}/actions");
    let without = [("action", "reject_and_close"), ("version", "1"), ("note", "  ")];
    let answer = browser.post(&path, &without).await;
    assert_eq!(answer.status, 422);
    assert!(answer.text.contains("note must say why"), "{}", answer.text);
    let with = [("action", "reject_and_close"), ("version", "1"), ("note", "spam"), ("next", "/dead-letters?kind=k")];
    let answer = browser.post(&path, &with).await;
    assert_eq!((answer.status, answer.location()), (303, "/dead-letters?kind=k&notice=closed"));
    let letters = server.read(&token, "/api/v1/dead-letters").await;
    assert_eq!(letters["dead_letters"][0]["resolution"]["note"], "spam");
    assert_eq!(letters["dead_letters"][0]["resolution"]["by"], "rob");
}

#[tokio::test]
async fn every_form_checks_the_role_itself() {
    let database = Database::new();
    let mut server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let letter = server.park(&token, "k").await;
    let act = vec![("action", "approve_and_replay"), ("version", "1")];
    let pause = vec![("kind", "k"), ("paused", "true")];
    for (who, path, form) in [
        ("ona", format!("/dead-letters/{letter}/actions"), &act),
        ("ona", "/kinds/pause".to_owned(), &pause),
        ("rob", "/kinds/pause".to_owned(), &pause),
    ] {
        let answer = server.browser_of(who).await.post(&path, form).await;
        assert_eq!(answer.status, 403, "{who} {path}");
    }
    let letters = server.read(&token, "/api/v1/dead-letters").await;
    assert_eq!(letters["dead_letters"][0]["status"], "open");
    let pipeline = server.read(&token, "/api/v1/pipeline").await;
    assert_eq!((&pipeline["kinds"][0]["kind"], &pipeline["kinds"][0]["paused"]), (&"k".into(), &Value::Null));
    server.wait_for_log("refused for the role");
}

#[tokio::test]
async fn an_admin_pauses_a_kind_and_the_verdict_says_who() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    server.enqueue(&token, "k", 3).await;
    let browser = server.browser_of("ada").await;
    let answer = browser.post("/kinds/pause", &[("kind", "k"), ("paused", "true")]).await;
    assert_eq!((answer.status, answer.location()), (303, "/?notice=paused"));
    let text = server.read(&token, "/api/v1/pipeline").await["verdict"]["text"].to_string();
    assert!(text.contains("Paused · 3 waiting") && text.contains("paused by ada"), "{text}");
    let answer = browser.post("/kinds/pause", &[("kind", "k"), ("paused", "false")]).await;
    assert_eq!((answer.status, answer.location()), (303, "/?notice=resumed"));
    assert_eq!(browser.post("/kinds/pause", &[("kind", "no such"), ("paused", "true")]).await.status, 404);
    assert_eq!(browser.post("/kinds/pause", &[("kind", "k"), ("paused", "maybe")]).await.status, 422);
}

#[tokio::test]
async fn bad_forms_get_a_sentence_and_change_nothing() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let letter = server.park(&token, "k").await;
    let browser = server.browser_of("rob").await;
    for (path, form, status) in [
        (format!("/dead-letters/{letter}/actions"), vec![("action", "explode"), ("version", "1")], 422),
        (format!("/dead-letters/{letter}/actions"), vec![("action", "approve_and_replay"), ("version", "new")], 422),
        (format!("/dead-letters/{letter}/actions"), vec![("action", "approve_and_replay")], 422),
        (format!("/dead-letters/{letter}/actions"), vec![("action", "approve_and_replay"), ("version", "99")], 409),
        ("/dead-letters/9999999/actions".to_owned(), vec![("action", "approve_and_replay"), ("version", "1")], 404),
        ("/dead-letters/007/actions".to_owned(), vec![("action", "approve_and_replay"), ("version", "1")], 404),
    ] {
        let answer = browser.post(&path, &form).await;
        assert_eq!(answer.status, status, "{path} {form:?}: {}", answer.text);
        assert!(answer.text.contains("<h1>"), "{path} {form:?}: {}", answer.text);
    }
    let letters = server.read(&token, "/api/v1/dead-letters").await;
    assert_eq!(letters["dead_letters"][0]["status"], "open");
}
