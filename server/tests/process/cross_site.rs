//! Another site cannot make a signed-in browser do anything here.

use crate::support::{Browser, Database, Server};
use serde_json::Value;

const OTHER_SITE: &[&[(&str, &str)]] = &[
    &[("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")],
    &[("sec-fetch-site", "same-site"), ("origin", "http://other.localhost")],
    &[("origin", "https://evil.example")],
    &[("origin", "null")],
];

/// Every form with what it would take to succeed.
fn forms(letter: &str) -> Vec<(String, Vec<(&'static str, &'static str)>)> {
    vec![
        (format!("/dead-letters/{letter}/actions"), vec![("action", "approve_and_replay"), ("version", "1")]),
        ("/kinds/pause".to_owned(), vec![("kind", "k"), ("paused", "true")]),
        ("/logout".to_owned(), vec![]),
        ("/login".to_owned(), vec![("username", "rob"), ("password", crate::support::server::PASSWORD)]),
        ("/setup".to_owned(), vec![("token", "x"), ("username", "eve"), ("password", "12345678")]),
    ]
}

async fn nothing_changed(server: &Server, token: &str, browser: &Browser) {
    let letters = server.read(token, "/api/v1/dead-letters").await;
    assert_eq!(letters["dead_letters"][0]["status"], "open");
    let pipeline = server.read(token, "/api/v1/pipeline").await;
    assert_eq!((&pipeline["kinds"][0]["kind"], &pipeline["kinds"][0]["paused"]), (&"k".into(), &Value::Null));
    assert_eq!(browser.get("/").await.status, 200, "still signed in");
}

#[tokio::test]
async fn a_post_from_another_site_is_refused_with_a_sentence_and_a_log_line() {
    let database = Database::new();
    let mut server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let letter = server.park(&token, "k").await;
    let browser = server.browser_of("ada").await;
    for (path, form) in forms(&letter) {
        for headers in OTHER_SITE {
            let request =
                headers.iter().fold(browser.form(&path, &form), |request, (name, value)| request.header(*name, *value));
            let answer = browser.send(request).await;
            assert_eq!(answer.status, 403, "{path} {headers:?}");
            assert!(answer.text.contains("Another site sent this"), "{path}: {}", answer.text);
            assert!(answer.headers.get("set-cookie").is_none(), "{path}");
        }
        let text = browser.request(reqwest::Method::POST, &path).header("content-type", "text/plain").body("action=x");
        let answer = browser.send(text.header("sec-fetch-site", "cross-site")).await;
        assert_eq!(answer.status, 403, "{path} as text/plain");
    }
    nothing_changed(&server, &token, &browser).await;
    server.wait_for_log("cross-site request refused");
}

#[tokio::test]
async fn no_get_changes_anything() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let letter = server.park(&token, "k").await;
    let browser = server.browser_of("ada").await;
    for (path, form) in forms(&letter) {
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let answer = browser.get(&format!("{path}?{query}")).await;
        assert!(answer.headers.get("set-cookie").is_none(), "{path}");
    }
    nothing_changed(&server, &token, &browser).await;
}

#[tokio::test]
async fn a_client_that_is_no_page_passes() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let letter = server.park(&token, "k").await;
    let browser = server.browser_of("ada").await;
    let path = format!("/dead-letters/{letter}/actions");
    let form = [("action", "approve_and_replay"), ("version", "1")];
    assert_eq!(browser.send(browser.form(&path, &form)).await.status, 303);
}
