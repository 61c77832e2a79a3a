//! The pages of one dead letter: a correction from first look to replay, and
//! every answer that keeps what was typed.

use crate::support::{Database, Server};
use serde_json::json;

/// The first page of a German invoice, refused for its currency.
async fn truncated_invoice(server: &Server, token: &str) -> String {
    let handoffs = json!([{"agent": "pdf-splitter", "version": "1.4.2", "note": "pages_emitted=1 of 2"}]);
    let text = "Rechnung 2024-0917\nGesamtbetrag:  1.234,50";
    let job = json!({"kind": "extract-invoice", "source": "supplier-email-ingest", "upstream_handoffs": handoffs,
        "payload": {"invoice": 9_007_199_254_740_993_u64, "text": text, "email": "supplier@example.com",
            "lines": [{"n": 1}, {"n": 2}]}});
    server.call(token, "/api/v1/jobs", json!({"jobs": [job]})).await;
    let claim = json!({"worker": "w", "kinds": ["extract-invoice"], "limit": 1});
    let claimed = server.call(token, "/api/v1/claim", claim).await["jobs"][0].clone();
    let refusal = json!({"lease_token": claimed["lease_token"], "reason_code": "MISSING_REQUIRED_FIELD",
        "field": "currency", "evidence": "Gesamtbetrag: 1.234,50"});
    let path = format!("/api/v1/jobs/{}/refuse", claimed["id"].as_str().unwrap());
    server.call(token, &path, refusal).await["dead_letter_id"].as_str().unwrap().to_owned()
}

/// What a browser would send back of the form that the page holds.
fn between<'a>(html: &'a str, from: &str, to: &str) -> &'a str {
    html.split(from).nth(1).and_then(|rest| rest.split(to).next()).unwrap_or_else(|| panic!("no {from} in {html}"))
}

#[tokio::test]
async fn a_truncated_invoice_is_corrected_seen_and_replayed() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let letter = truncated_invoice(&server, &token).await;
    let browser = server.browser_of("rob").await;

    let page = browser.get(&format!("/dead-letters/{letter}")).await;
    assert!(page.text.contains("<mark>Gesamtbetrag:  1.234,50</mark>"), "{}", page.text);
    assert!(page.text.contains("<mark>pages_emitted=1 of 2</mark>"), "{}", page.text);
    let correct = format!("/dead-letters/{letter}/correct");
    assert!(page.text.contains(&format!("href=\"{correct}\"")), "{}", page.text);

    let form = browser.get(&correct).await;
    let first = between(&form.text, "<div class=\"fields\">", "</div>");
    assert!(first.contains("currency"), "the named field comes first: {first}");

    let seen = [
        ("action", "correct_and_replay"),
        ("version", "1"),
        ("by", "fields"),
        ("note", "page two says EUR"),
        ("at0", "[\"currency\"]"),
        ("kind0", "text"),
        ("v0", "EUR"),
        ("at1", "[\"invoice\"]"),
        ("kind1", "number"),
        ("v1", "9007199254740993"),
    ];
    let shown = browser.post(&correct, &seen).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    assert!(
        shown.text.contains("(absent)") && shown.text.contains("<ins>&quot;EUR&quot;</ins>")
            || shown.text.contains("<ins>\"EUR\"</ins>"),
        "{}",
        shown.text
    );
    assert!(shown.text.contains("page two says EUR"), "the note comes back: {}", shown.text);
    assert_eq!(server.read(&token, "/api/v1/dead-letters").await["dead_letters"][0]["status"], "open");

    let payload = r#"{"invoice":9007199254740993,"currency":"EUR"}"#;
    let send = [
        ("action", "correct_and_replay"),
        ("version", "1"),
        ("payload", payload),
        ("note", "page two says EUR"),
        ("confirmed", "yes"),
        ("key", "once"),
    ];
    let sent = browser.post(&correct, &send).await;
    assert_eq!((sent.status, sent.location()), (303, format!("/dead-letters/{letter}?notice=replayed").as_str()));
    let claim = json!({"worker": "w", "kinds": ["extract-invoice"], "limit": 5});
    let replay = server.call(&token, "/api/v1/claim", claim).await["jobs"].clone();
    assert_eq!(replay.as_array().unwrap().len(), 1, "{replay}");
    assert_eq!(replay[0]["payload"]["currency"], "EUR");
    let done = format!("/api/v1/jobs/{}/done", replay[0]["id"].as_str().unwrap());
    server.call(&token, &done, json!({"lease_token": replay[0]["lease_token"], "verdict": "extracted"})).await;

    let page = browser.get(&format!("/dead-letters/{letter}")).await;
    for part in ["page two says EUR", "current: fixed", "pinned: not asked", "currency", "supplier@example.com"] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    let masked = server.browser_of("ona").await.get(&format!("/dead-letters/{letter}")).await;
    assert!(!masked.text.contains("supplier@example.com") && !masked.text.contains("EUR</ins>"), "{}", masked.text);
    assert!(!masked.text.contains("Gesamtbetrag"), "{}", masked.text);
}

#[tokio::test]
async fn whatever_goes_wrong_is_said_and_nothing_typed_is_lost() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let letter = truncated_invoice(&server, &token).await;
    let browser = server.browser_of("rob").await;
    let act = |page: &str| format!("/dead-letters/{letter}/{page}");
    let typed = "{\n\"a\" </textarea><script>alert(1)</script>";
    let huge = format!("\"{}\"", "x".repeat(1 << 20));
    let as_before = r#"{"invoice":9007199254740993,"text":"Rechnung 2024-0917\nGesamtbetrag:  1.234,50","email":"supplier@example.com","lines":[{"n":1},{"n":2}]}"#;
    for (page, action, field, value, sentence) in [
        ("correct", "correct_and_replay", "payload", typed, "line 2, column"),
        ("correct", "correct_and_replay", "payload", huge.as_str(), "at most 1048576 bytes"),
        ("correct", "correct_and_replay", "payload", "", "payload is required"),
        ("correct", "correct_and_replay", "payload", as_before, "the same as before"),
        ("split", "split_and_replay", "payloads", "[1]", "must be 2 to 100 payloads"),
        ("split", "split_and_replay", "payloads", "[1,", "is not valid JSON at line 1"),
        ("follow-up", "policy_update", "due", "soon", "must be a day"),
        ("follow-up", "policy_update", "owner", "grace", "must say why"),
        ("notify", "close_and_notify", "confirmed", "yes", "must say why"),
    ] {
        let form = [("action", action), ("version", "1"), ("note", ""), (field, value)];
        let answer = browser.post(&act(page), &form).await;
        assert_eq!(answer.status, 422, "{page} {sentence}: {}", &answer.text[..answer.text.len().min(3_000)]);
        assert!(answer.text.contains(sentence), "{page}: no {sentence:?}");
        assert!(answer.text.contains("role=\"alert\"") && !answer.text.contains("<script>alert"), "{page}");
        if field == "payload" && value == typed {
            assert!(answer.text.contains("&lt;/textarea&gt;&lt;script&gt;"), "what was typed: {}", answer.text);
        }
        if value == "grace" {
            assert!(answer.text.contains("value=\"grace\""), "what was typed: {}", answer.text);
        }
    }
    for page in ["correct", "split", "notify", "follow-up"] {
        assert_eq!(browser.get(&act(page)).await.status, 200, "{page}");
        assert_eq!(server.browser_of("ona").await.get(&act(page)).await.status, 403, "{page}");
        let form = [("action", "reject_and_close"), ("version", "1"), ("note", "x"), ("confirmed", "yes")];
        assert_eq!(server.browser_of("ona").await.post(&act(page), &form).await.status, 403, "{page}");
        assert_eq!(browser.get(&format!("/dead-letters/999/{page}")).await.status, 404, "{page}");
        assert_eq!(browser.post(&format!("/dead-letters/999/{page}"), &form).await.status, 404, "{page}");
    }
    assert_eq!(server.read(&token, "/api/v1/dead-letters").await["dead_letters"][0]["status"], "open");
}

#[tokio::test]
async fn a_letter_taken_by_another_says_so_and_can_be_taken_over() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let letter = truncated_invoice(&server, &token).await;
    let (rob, ada) = (server.browser_of("rob").await, server.browser_of("ada").await);
    let path = format!("/dead-letters/{letter}");
    let press = |action, version| [("action", action), ("version", version)];
    assert_eq!(rob.post(&format!("{path}/actions"), &press("take", "1")).await.status, 303);
    let page = ada.get(&path).await.text;
    assert!(page.contains("Take over from rob") && page.contains("has it until"), "{page}");
    let note = [("action", "policy_update"), ("version", "2"), ("note", "my words"), ("confirmed", "yes")];
    let refused = ada.post(&format!("{path}/follow-up"), &note).await;
    assert_eq!(refused.status, 409);
    assert!(refused.text.contains("take it over first") && refused.text.contains("my words"), "{}", refused.text);
    assert_eq!(ada.post(&format!("{path}/actions"), &press("take", "2")).await.status, 303);
    let note = [("action", "policy_update"), ("version", "3"), ("note", "my words"), ("confirmed", "yes")];
    assert_eq!(ada.post(&format!("{path}/follow-up"), &note).await.status, 303);
    let late = rob.post(&format!("{path}/follow-up"), &note).await;
    assert_eq!(late.status, 409);
    assert!(late.text.contains("by ada at "), "who and when: {}", late.text);
    assert!(rob.get(&path).await.text.contains("my words"));
}

#[tokio::test]
async fn a_list_is_split_and_a_notice_is_seen_before_it_is_sent() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let browser = server.browser_of("rob").await;
    let letter = truncated_invoice(&server, &token).await;
    let other = truncated_invoice(&server, &token).await;
    let path = format!("/dead-letters/{letter}/split");
    assert!(browser.get(&path).await.text.contains("2 parts, one per item of "));
    let form = [("action", "split_and_replay"), ("version", "1"), ("payloads", r#"[{"n":1},{"n":2},{"n":3}]"#)];
    let shown = browser.post(&path, &form).await;
    assert_eq!(shown.status, 200);
    assert!(shown.text.contains("Replay as 3 jobs"), "{}", shown.text);
    let mut confirmed = form.to_vec();
    confirmed.push(("confirmed", "yes"));
    assert_eq!(browser.post(&path, &confirmed).await.status, 303);
    let page = browser.get(&format!("/dead-letters/{letter}")).await.text;
    assert!(page.contains("split into 3: 3 not ended"), "{page}");

    let letter = other;
    let path = format!("/dead-letters/{letter}/notify");
    let shown = browser.get(&path).await.text;
    let sentence = "because we did not find this in it: currency.";
    assert!(shown.contains("supplier@example.com") && shown.contains(sentence), "{shown}");
    let form = [("action", "close_and_notify"), ("version", "1"), ("note", "asked them"), ("confirmed", "yes")];
    assert_eq!(browser.post(&path, &form).await.status, 303);
    let page = browser.get(&format!("/dead-letters/{letter}")).await.text;
    assert!(page.contains("waits in the outbox") && page.contains(sentence), "{page}");
}

#[tokio::test]
async fn what_is_typed_while_the_database_is_away_comes_back_and_can_be_sent_again() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let letter = truncated_invoice(&server, &token).await;
    let browser = server.browser_of("rob").await;
    let path = format!("/dead-letters/{letter}");
    assert_eq!(browser.get(&path).await.status, 200);
    let away = database.path().with_extension("away");
    std::fs::rename(database.path(), &away).unwrap();
    let hostile = "my own words </textarea><script>alert(1)</script>";
    let close = [("action", "reject_and_close"), ("version", "1"), ("note", hostile), ("key", "the-first-press")];
    let correct = [("action", "correct_and_replay"), ("version", "1"), ("payload", "{\"n\": 9007199254740993}")];
    for (page, form, typed) in
        [("actions", close.as_slice(), "my own words &lt;/textarea&gt;"), ("correct", &correct, "9007199254740993")]
    {
        let answer = browser.post(&format!("{path}/{page}"), form).await;
        assert_eq!(answer.status, 503, "{}", answer.text);
        assert!(answer.text.contains(typed) && answer.text.contains("Send it again"), "{page}: {}", answer.text);
        assert!(answer.text.contains(&format!("action=\"{path}/{page}\"")), "{page}: {}", answer.text);
        assert!(!answer.text.contains("<script>alert"), "{page}: {}", answer.text);
    }
    let answer = browser.post(&format!("{path}/actions"), &close).await;
    assert!(answer.text.contains("value=\"the-first-press\""), "the same press: {}", answer.text);
    std::fs::rename(&away, database.path()).unwrap();
    let again = browser.post(&format!("{path}/actions"), &close).await;
    assert_eq!(again.status, 303, "{}", again.text);
}
