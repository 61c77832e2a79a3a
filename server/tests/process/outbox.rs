//! Notices leave a real server for a real receiver, and its secret stays where it is.

#[path = "../support/receiver.rs"]
mod receiver;

use crate::support::{Database, Server};
use receiver::{Receiver, SECRET, status};
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};

fn serving(database: &Database, args: &[&str]) -> Command {
    let mut command = database.command(&[&["serve", "--listen", "127.0.0.1:0"], args].concat());
    for name in ["DRAINBOARD_NOTICE_WEBHOOK", "DRAINBOARD_WEBHOOK_SECRET", "DRAINBOARD_ALLOW_PRIVATE_WEBHOOKS"] {
        command.env_remove(name);
    }
    command
}

/// Closes a letter with a notice, as a reviewer does.
async fn close_and_notify(server: &Server, token: &str) {
    let job = json!({"kind": "k", "source": "test", "payload": {"email": "anna@example.com"}});
    server.call(token, "/api/v1/jobs", json!({"jobs": [job]})).await;
    let claimed = server.call(token, "/api/v1/claim", json!({"worker": "w", "limit": 1})).await["jobs"][0].clone();
    let refusal = json!({"lease_token": claimed["lease_token"], "reason_code": "MISSING_REQUIRED_FIELD",
        "field": "currency", "evidence": "NOT FOUND"});
    let path = format!("/api/v1/jobs/{}/refuse", claimed["id"].as_str().unwrap());
    let letter = server.call(token, &path, refusal).await["dead_letter_id"].as_str().unwrap().to_owned();
    let form = [("action", "close_and_notify"), ("version", "1"), ("note", "told them"), ("confirmed", "yes")];
    let closed = server.browser_of("rob").await.post(&format!("/dead-letters/{letter}/notify"), &form).await;
    assert_eq!(closed.status, 303, "{}", closed.text);
}

/// Until the receiver got so many.
async fn wait_for(receiver: &Receiver, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while receiver.got().len() < count {
        assert!(Instant::now() < deadline, "got {} of {count}", receiver.got().len());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_server_sends_what_people_close_with_and_its_log_keeps_the_secret() {
    let database = Database::new();
    for (name, role) in [("rob", "reviewer"), ("ona", "on-call")] {
        database.add_user(name, role);
    }
    let token = database.token("enqueue,work,read");
    let receiver = Receiver::answering([status(200)]).await;
    let hook = format!("{}/t0ken-of-the-path", receiver.url);
    let mut command = serving(&database, &["--notice-webhook", &hook]);
    command
        .env("DRAINBOARD_WEBHOOK_SECRET", SECRET)
        .env("DRAINBOARD_ALLOW_PRIVATE_WEBHOOKS", "1")
        .env("RUST_LOG", "debug");
    let mut server = Server::start(command);
    close_and_notify(&server, &token).await;
    wait_for(&receiver, 1).await;
    server.wait_for_log("a notice was sent");
    let got = receiver.got().remove(0);
    assert!(got.verified(SECRET).is_some(), "{got:?}");
    assert_eq!(serde_json::from_str::<Value>(&got.body).unwrap()["recipient"], "anna@example.com");
    let page = server.browser_of("rob").await.get("/outbox").await.text;
    assert!(page.contains("by the webhook"), "{page}");
    for secret in [SECRET, "t0ken-of-the-path", "anna@example.com"] {
        assert!(!server.log().contains(secret), "{secret} in {}", server.log());
    }
}

#[tokio::test]
async fn without_the_flag_a_private_receiver_hears_nothing_and_the_page_says_why() {
    let database = Database::new();
    database.add_user("rob", "reviewer");
    let token = database.token("enqueue,work,read");
    let receiver = Receiver::answering([]).await;
    let mut command = serving(&database, &[]);
    command.env("DRAINBOARD_WEBHOOK_SECRET", SECRET).env("DRAINBOARD_NOTICE_WEBHOOK", &receiver.url);
    command.env("DRAINBOARD_ALLOW_PRIVATE_WEBHOOKS", "0");
    let mut server = Server::start(command);
    server.wait_for_log("unencrypted");
    close_and_notify(&server, &token).await;
    server.wait_for_log("a notice was not sent");
    let page = server.browser_of("rob").await.get("/outbox").await.text;
    assert!(page.contains("is not a public one") && page.contains("--allow-private-webhooks"), "{page}");
    assert!(receiver.got().is_empty());
}

#[test]
fn a_webhook_without_a_good_secret_or_address_does_not_start() {
    let database = Database::new();
    for (url, secret, sentence) in [
        ("https://example.com/", None, "DRAINBOARD_WEBHOOK_SECRET is not set"),
        ("https://example.com/", Some("short"), "at least 16 characters"),
        ("example.com", Some(SECRET), "notice-webhook must be an address"),
        ("https://me:pass@example.com/", Some(SECRET), "must not carry a name or password"),
    ] {
        let mut command = serving(&database, &["--notice-webhook", url]);
        if let Some(secret) = secret {
            command.env("DRAINBOARD_WEBHOOK_SECRET", secret);
        }
        let ended = command.output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && told.contains(sentence), "{url}: {told}");
        assert!(secret.is_none_or(|secret| !told.contains(secret)), "{told}");
    }
    let help = database.run(&["serve", "--help"]);
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    for word in ["--notice-webhook", "DRAINBOARD_WEBHOOK_SECRET", "--allow-private-webhooks"] {
        assert!(help.contains(word), "{help}");
    }
    assert!(!help.contains("--webhook-secret"), "{help}");
}
