//! The stream: soon, uncompressed, true, and over when the session is.

use crate::support::Database;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(2);

/// The line's waiting count, word for word.
fn says_waiting(count: usize) -> impl Fn(&str) -> bool {
    move |panel| panel.contains(&format!("{count} waiting"))
}

#[tokio::test]
async fn an_enqueue_is_seen_within_two_seconds_through_a_client_that_takes_compression() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let mut events = server.browser_of("ona").await.events().await;
    assert_eq!(events.status(), 200);
    let headers = events.headers();
    assert_eq!(headers["content-type"], "text/event-stream");
    assert!(headers.get("content-encoding").is_none(), "{headers:?}");
    assert_eq!(headers["x-accel-buffering"], "no");
    assert_eq!(headers["cache-control"], "no-cache, no-transform");
    events.wait_for(SOON, |panel| panel.contains("Idle")).await;
    for waiting in [1, 2, 3] {
        server.enqueue(&token, "k", 1).await;
        events.wait_for(SOON, says_waiting(waiting)).await;
    }
}

#[tokio::test]
async fn all_watchers_get_the_same_bytes_and_the_first_at_once() {
    let database = Database::new();
    let server = database.serve_with_people();
    let mut first = server.browser_of("ona").await.events().await;
    first.next().await.unwrap();
    let mut second = server.browser_of("rob").await.events().await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(first.next().await.unwrap());
    }
    let panel = second.next().await.unwrap();
    let later = [second.next().await.unwrap(), second.next().await.unwrap()];
    assert!(seen.contains(&panel) || later.iter().any(|panel| seen.contains(panel)), "{panel}");
}

#[tokio::test]
async fn logging_out_ends_the_stream() {
    let database = Database::new();
    let server = database.serve_with_people();
    let browser = server.browser_of("ona").await;
    let mut events = browser.events().await;
    events.next().await.unwrap();
    assert_eq!(browser.post("/logout", &[]).await.status, 303);
    assert!(events.ends_within(Duration::from_secs(8)).await);
}

#[tokio::test]
async fn a_demotion_ends_the_stream_and_so_does_disabling() {
    let database = Database::new();
    let server = database.serve_with_people();
    let mut demoted = server.browser_of("ada").await.events().await;
    let mut disabled = server.browser_of("rob").await.events().await;
    let mut untouched = server.browser_of("ona").await.events().await;
    demoted.next().await.unwrap();
    disabled.next().await.unwrap();
    assert!(database.run(&["user", "set", "ada", "--role", "on-call"]).status.success());
    assert!(database.run(&["user", "set", "rob", "--disabled"]).status.success());
    // From another process, so only the database tells.
    assert!(demoted.ends_within(SOON).await);
    assert!(disabled.ends_within(SOON).await);
    assert!(untouched.next().await.is_some(), "others watch on");
}

#[tokio::test]
async fn a_hidden_tab_asks_once_and_gets_the_same_panel() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    server.enqueue(&token, "k", 7).await;
    let answer = server.browser_of("ona").await.get("/live/panel").await;
    assert_eq!(answer.status, 200);
    assert!(says_waiting(7)(&answer.text), "{}", answer.text);
}
