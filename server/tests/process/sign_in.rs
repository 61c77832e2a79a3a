//! Signing in and out, and what guessing gets.

use crate::support::Database;
use crate::support::server::PASSWORD;
use reqwest::Method;

#[tokio::test]
async fn the_session_cookie_is_out_of_reach_of_scripts_and_other_sites() {
    let database = Database::new();
    let server = database.serve_with_people();
    let answer = server.browser().sign_in("ada", PASSWORD).await;
    let cookie = answer.header("set-cookie");
    assert!(cookie.starts_with("drainboard="), "{cookie}");
    for part in ["HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }

    let secure = database.serve(&["--secure-cookies"]);
    let cookie = secure.browser().sign_in("ada", PASSWORD).await.header("set-cookie").to_owned();
    assert!(cookie.starts_with("__Host-drainboard=") && cookie.contains("Secure"), "{cookie}");
}

#[tokio::test]
async fn each_sign_in_gets_a_new_session_and_ends_the_old_one() {
    let database = Database::new();
    let server = database.serve_with_people();
    let first = server.browser_of("ada").await;
    let mut second = first.clone();
    second.sign_in("ada", PASSWORD).await;
    assert_ne!(first.cookie, second.cookie);
    assert_eq!(second.get("/").await.status, 200);
    assert_eq!(first.get("/").await.status, 303, "the old session has ended");
}

#[tokio::test]
async fn a_session_id_of_somebody_elses_choice_is_not_taken_over() {
    let database = Database::new();
    let server = database.serve_with_people();
    let mut browser = server.browser();
    browser.cookie = Some("drainboard=chosen-by-eve".to_owned());
    browser.sign_in("ada", PASSWORD).await;
    assert_ne!(browser.cookie.as_deref(), Some("drainboard=chosen-by-eve"));
    let mut eve = server.browser();
    eve.cookie = Some("drainboard=chosen-by-eve".to_owned());
    assert_eq!(eve.get("/").await.status, 303);
}

#[tokio::test]
async fn wrong_name_wrong_password_and_disabled_get_the_same_answer() {
    let database = Database::new();
    let server = database.serve_with_people();
    assert!(database.run(&["user", "set", "rob", "--disabled"]).status.success());
    let mut answers = Vec::new();
    for (name, password) in [("nobody", PASSWORD), ("ada", "wrong password"), ("rob", PASSWORD)] {
        let answer = server.browser().sign_in(name, password).await;
        assert_eq!(answer.status, 401, "{name}");
        assert!(answer.headers.get("set-cookie").is_none(), "{name}");
        assert!(answer.text.contains("action=\"/login\""), "{name}: can be tried again at once: {}", answer.text);
        answers.push(without_nonces(&answer.text));
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[1], answers[2]);
}

/// Pages differ in their nonces only.
fn without_nonces(page: &str) -> String {
    page.split("nonce=\"").map(|part| part.split_once('"').map_or(part, |(_, rest)| rest)).collect()
}

#[tokio::test]
async fn an_eleventh_guess_waits_even_if_it_is_right() {
    let database = Database::new();
    let server = database.serve_with_people();
    for _ in 0..10 {
        assert_eq!(server.browser().sign_in("ada", "wrong password").await.status, 401);
    }
    let slowed = server.browser().sign_in("ada", PASSWORD).await;
    assert_eq!(slowed.status, 429);
    let seconds: u64 = slowed.header("retry-after").parse().unwrap();
    assert!((1..=300).contains(&seconds), "{seconds}");
    assert!(slowed.headers.get("set-cookie").is_none());
    assert!(slowed.text.contains("Too many"), "{}", slowed.text);
    assert_eq!(server.browser().sign_in("rob", PASSWORD).await.status, 303, "others still get in");
}

#[tokio::test]
async fn signing_in_leads_to_the_page_that_was_asked_for_and_nowhere_else() {
    let database = Database::new();
    let server = database.serve_with_people();
    let asked = server.browser().get("/jobs?state=dead&kind=a%20b").await;
    assert_eq!(asked.location(), "/login?next=%2Fjobs%3Fstate%3Ddead%26kind%3Da%2520b");
    for (next, leads_to) in [
        ("/jobs?state=dead&kind=a%20b", "/jobs?state=dead&kind=a%20b"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
    ] {
        let form = [("username", "ada"), ("password", PASSWORD), ("next", next)];
        assert_eq!(server.browser().post("/login", &form).await.location(), leads_to, "{next}");
    }
}

#[tokio::test]
async fn logging_out_ends_the_session_and_not_only_the_cookie() {
    let database = Database::new();
    let server = database.serve_with_people();
    let browser = server.browser_of("ada").await;
    let asked = browser.send(browser.request(Method::GET, "/logout")).await;
    assert_ne!(asked.status, 200, "a link must not log out");
    assert_eq!(browser.get("/").await.status, 200);
    let out = browser.post("/logout", &[]).await;
    assert_eq!((out.status, out.location()), (303, "/login?notice=signed-out"));
    assert!(out.header("set-cookie").contains("Max-Age=0"));
    assert_eq!(browser.get("/").await.status, 303, "a kept cookie is worth nothing");
}

#[tokio::test]
async fn a_changed_role_counts_at_once() {
    let database = Database::new();
    let server = database.serve_with_people();
    let browser = server.browser_of("ada").await;
    assert!(database.run(&["user", "set", "ada", "--role", "on-call"]).status.success());
    assert_eq!(browser.get("/").await.status, 303, "the session ended with the old role");
}
