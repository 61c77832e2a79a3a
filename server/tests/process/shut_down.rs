//! Starting and stopping: clear words at the start, a quick end.

use crate::support::Database;
use std::time::Duration;

#[tokio::test]
async fn sigterm_ends_the_server_in_time_with_streams_open() {
    let database = Database::new();
    let mut server = database.serve_with_people();
    let browser = server.browser_of("ona").await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut events = browser.events().await;
        events.next().await.unwrap();
        streams.push(events);
    }
    let (status, took) = server.terminate();
    assert!(status.success(), "{status:?}: {}", server.log());
    assert!(took < Duration::from_secs(10), "{took:?}");
    for mut events in streams {
        assert!(events.ends_within(Duration::from_secs(2)).await);
    }
}

#[tokio::test]
async fn a_restart_keeps_sessions_and_jobs() {
    let database = Database::new();
    let mut server = database.serve_with_people();
    let token = database.token("enqueue,read");
    server.enqueue(&token, "k", 5).await;
    let mut browser = server.browser_of("ona").await;
    server.terminate();
    let server = database.serve(&[]);
    let cookie = browser.cookie.take();
    let mut browser = server.browser();
    browser.cookie = cookie;
    let page = browser.get("/").await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("5 waiting"), "{}", page.text);
}

#[test]
fn a_taken_port_is_said_with_what_to_do() {
    let database = Database::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = database.run(&["serve", "--listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&address) && said.contains("--listen"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn a_database_that_is_away_is_said_without_its_password() {
    let database = Database::new();
    let url = "postgres://mila:s3cret@127.0.0.1:1/queue";
    let output = database.run(&["serve", "--listen", "127.0.0.1:0", "--database-url", url]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("database") && !said.contains("s3cret") && !said.contains("panicked"), "{said}");
}

#[test]
fn bad_arguments_get_a_clear_error() {
    let database = Database::new();
    for (args, said) in [
        (&["serve", "--listen", "nowhere"][..], "nowhere"),
        (&["serve", "--database-url", "mysql://x"], "sqlite"),
        (&["user", "add", "x", "--role", "king", "--password-stdin"], "reviewer"),
        (&["token", "create", "--name", "x", "--scope", "everything"], "enqueue"),
        (&["explode"], "explode"),
    ] {
        let output = database.run(args);
        assert!(!output.status.success(), "{args:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(said) && !stderr.contains("panicked"), "{args:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}
