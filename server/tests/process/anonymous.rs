//! Nobody who is not signed in is shown data, and every answer is armoured.

use crate::support::Database;
use drainboard::web::pages;

#[tokio::test]
async fn every_page_asks_to_sign_in_first() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    server.park(&token, "kind-that-must-not-leak").await;
    let mut paths: Vec<String> = pages::paths().iter().map(|path| path.replace("{id}", "1")).collect();
    assert!(paths.len() > 5, "{paths:?}");
    paths.push("/no/such/page".to_owned());
    for path in paths {
        let page = server.browser().get(&path).await;
        assert!(!page.text.contains("must-not-leak"), "{path}");
        match path.as_str() {
            "/login" | "/setup" | "/password" => assert_eq!(page.status, 200, "{path}"),
            _ => {
                assert_eq!(page.status, 303, "{path}: {}", page.text);
                assert!(page.location().starts_with("/login"), "{path}");
            }
        }
    }
}

#[tokio::test]
async fn streams_forms_and_monitors_refuse_the_anonymous() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let letter = server.park(&token, "k").await;
    let browser = server.browser();
    for path in ["/live", "/live/panel", "/verdict", "/api/v1/pipeline"] {
        assert_eq!(browser.get(path).await.status, 401, "{path}");
    }
    let act = [("action", "approve_and_replay"), ("version", "1")];
    for (path, form) in [
        (format!("/dead-letters/{letter}/actions"), &act[..]),
        ("/dead-letters/bulk".to_owned(), &[("scope", "filter")][..]),
        ("/bulk/1".to_owned(), &[("step", "stop")][..]),
        ("/kinds/pause".to_owned(), &[("kind", "k"), ("paused", "true")][..]),
        ("/outbox/1".to_owned(), &[("action", "sent")][..]),
        ("/follow-ups".to_owned(), &[("id", "1")][..]),
        ("/alerts".to_owned(), &[("form", "acknowledge")][..]),
        ("/canaries".to_owned(), &[("form", "save")][..]),
        ("/canaries/1".to_owned(), &[("form", "run")][..]),
    ] {
        let answer = browser.post(&path, form).await;
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.text.contains("/login"), "says how to go on: {}", answer.text);
    }
    let letters = server.read(&token, "/api/v1/dead-letters").await;
    assert_eq!(letters["dead_letters"][0]["status"], "open");
}

#[tokio::test]
async fn a_session_is_no_token_and_a_token_is_no_session() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read,review,admin");
    let browser = server.browser_of("ada").await;
    assert_eq!(browser.get("/api/v1/pipeline").await.status, 401);
    let with_token = server.browser().request(reqwest::Method::GET, "/").bearer_auth(&token);
    assert_eq!(server.browser().send(with_token).await.status, 303);
}

#[tokio::test]
async fn every_answer_carries_the_policy_and_pages_are_kept_nowhere() {
    let database = Database::new();
    let server = database.serve_with_people();
    let browser = server.browser_of("ada").await;
    let mut nonces = std::collections::BTreeSet::new();
    for path in ["/", "/login", "/no/such/page", "/live/panel", "/healthz", "/api/v1/nothing", "/favicon.svg"] {
        let answer = browser.get(path).await;
        let policy = answer.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self' 'wasm-unsafe-eval' 'nonce-"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe-inline") && policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "same-origin", "{path}");
        assert!(!answer.header("x-request-id").is_empty(), "{path}");
        assert!(nonces.insert(policy.to_owned()), "{path}: a nonce is used once");
    }
    let page = browser.get("/").await;
    assert_eq!(page.header("cache-control"), "no-store");
    let nonce = page.header("content-security-policy").split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    for script in page.text.split("<script").skip(1) {
        let tag = script.split('>').next().unwrap();
        let is_data = tag.contains("application/json");
        assert!(tag.contains(" src=") || is_data || tag.contains(&format!("nonce=\"{nonce}\"")), "<script{tag}>");
    }
}

#[tokio::test]
async fn pages_travel_compressed() {
    let database = Database::new();
    let server = database.serve_with_people();
    let browser = server.browser_of("ada").await;
    for encoding in ["br", "gzip"] {
        let request = browser.request(reqwest::Method::GET, "/").header("accept-encoding", encoding);
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-encoding"], encoding);
        assert!(response.headers()["vary"].to_str().unwrap().contains("accept-encoding"));
    }
}
