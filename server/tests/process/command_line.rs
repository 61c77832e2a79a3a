//! What scripts rely on: standard output alone, and exit codes.

use crate::support::Database;
use crate::support::server::PASSWORD;
use serde_json::json;
use std::process::Output;

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

#[tokio::test]
async fn the_verdict_is_one_line_with_an_exit_code_for_scripts() {
    let database = Database::new();
    assert!(database.run(&["migrate"]).status.success());
    let idle = database.run(&["verdict"]);
    assert_eq!(idle.status.code(), Some(0), "{idle:?}");
    assert!(stdout(&idle).starts_with("Idle · nothing waiting"), "{idle:?}");
    assert_eq!(stdout(&idle).lines().count(), 1);

    assert!(database.run(&["policy", "set", "k", "not_running_after_seconds=1"]).status.success());
    let token = database.token("enqueue,read");
    let server = database.serve(&[]);
    server.enqueue(&token, "k", 2).await;
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    let stopped = loop {
        let verdict = database.run(&["verdict"]);
        if verdict.status.code() != Some(0) || std::time::Instant::now() > deadline {
            break verdict;
        }
    };
    assert_eq!(stopped.status.code(), Some(1), "{stopped:?}");
    assert!(stdout(&stopped).starts_with("Not running? · 2 waiting"), "{stopped:?}");
    let page = reqwest::Client::new().get(format!("{}/verdict", server.url)).bearer_auth(&token).send().await.unwrap();
    assert_eq!(page.status(), 503);

    assert!(database.run(&["policy", "set", "k", "paused=true"]).status.success());
    let paused = database.run(&["verdict"]);
    assert_eq!(paused.status.code(), Some(0), "{paused:?}");
    assert!(stdout(&paused).contains("paused by command line"), "{paused:?}");
}

#[test]
fn a_verdict_that_cannot_be_read_is_unknown_and_makes_no_database() {
    let database = Database::new();
    for url in [database.url(), "postgres://mila:s3cret@127.0.0.1:1/queue".to_owned()] {
        let output = database.run(&["verdict", "--database-url", &url]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(stdout(&output).starts_with("Unknown · database unreachable since"), "{output:?}");
        assert!(!stderr(&output).contains("s3cret"), "{output:?}");
    }
    assert!(!database.path().exists(), "a mistyped path must not become an empty, idle queue");
}

/// Every command that does not serve or migrate, with arguments that are good.
const COMMANDS: [&[&str]; 6] = [
    &["verdict"],
    &["token", "create", "--name", "t", "--scope", "read"],
    &["user", "add", "mila", "--role", "admin", "--password-stdin"],
    &["user", "set", "mila", "--role", "admin"],
    &["policy", "show"],
    &["policy", "set", "k", "max_attempts=5"],
];

#[test]
fn a_database_is_never_made_in_silence() {
    let database = Database::new();
    let other = database.path().with_file_name("notes.db");
    std::fs::write(&other, "").unwrap();
    for command in COMMANDS {
        let wanted = if command == ["verdict"] { 2 } else { 1 };
        let fills = [["token", "create"], ["user", "add"], ["policy", "set"]]
            .contains(&[command[0], command.get(1).copied().unwrap_or_default()]);
        let nowhere = Database::new();
        let missing = nowhere.run_with_input(command, PASSWORD);
        let said = stderr(&missing);
        assert!(said.contains(nowhere.path().to_str().unwrap()), "it names the file: {said}");
        assert_eq!(nowhere.path().exists(), fills, "{command:?}");
        if fills {
            assert_eq!(missing.status.code(), Some(0), "{missing:?}");
            assert!(said.contains("was not there: made a new, empty database"), "{said}");
        } else {
            assert_eq!(missing.status.code(), Some(wanted), "{missing:?}");
            assert!(said.contains("--database-url") && said.contains("drainboard migrate"), "how to go on: {said}");
        }

        let mut elsewhere = command.to_vec();
        let url = format!("sqlite:{}", other.display());
        elsewhere.extend(["--database-url", &url]);
        let foreign = database.run_with_input(&elsewhere, PASSWORD);
        assert_eq!(foreign.status.code(), Some(wanted), "{foreign:?}");
        assert!(stderr(&foreign).contains("no database of Drainboard"), "{foreign:?}");
        assert_eq!(std::fs::metadata(&other).unwrap().len(), 0, "{command:?} wrote into somebody's file");
    }
    database.make();
    for command in COMMANDS {
        let done = database.run_with_input(command, PASSWORD);
        assert_eq!(done.status.code(), Some(0), "{done:?}");
    }
}

#[test]
fn an_error_is_said_once_and_without_a_password() {
    let database = Database::new();
    for command in COMMANDS.iter().copied().chain([&["migrate"][..], &["serve", "--listen", "127.0.0.1:0"]]) {
        for (url, said) in [
            ("mysql://mila:s3cret@db.example/queue", "must start with sqlite: or postgres://"),
            ("postgres://mila:s3cret@127.0.0.1:nine/queue", "cannot be read"),
            ("sqlite::memory:", "must name a file"),
        ] {
            let mut args = command.to_vec();
            args.extend(["--database-url", url]);
            let refused = database.run_with_input(&args, PASSWORD);
            assert!(!refused.status.success(), "{refused:?}");
            assert_eq!(stderr(&refused).matches(said).count(), 1, "{refused:?}");
            assert!(!stderr(&refused).contains("s3cret"), "{refused:?}");
        }
    }
}

#[tokio::test]
async fn a_token_is_printed_alone_works_and_is_stored_only_as_a_hash() {
    let database = Database::new();
    database.make();
    let made = database.run(&["token", "create", "--name", "w", "--scope", "enqueue,read"]);
    assert!(made.status.success(), "{made:?}");
    let token = stdout(&made).strip_suffix('\n').unwrap();
    assert!(token.starts_with("drb_") && token.len() >= 47 && !token.contains(char::is_whitespace), "{token}");
    let again = database.run(&["token", "create", "--name", "w", "--scope", "read"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(again.stdout.is_empty(), "{again:?}");

    let server = database.serve(&[]);
    server.enqueue(token, "k", 1).await;
    let claim = reqwest::Client::new()
        .post(format!("{}/api/v1/claim", server.url))
        .bearer_auth(token)
        .json(&json!({"worker": "w"}))
        .send()
        .await
        .unwrap();
    assert_eq!(claim.status(), 403, "the scope was not given");
    for entry in std::fs::read_dir(database.path().parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        assert!(!bytes.windows(token.len()).any(|part| part == token.as_bytes()), "{}", path.display());
    }
}

#[tokio::test]
async fn people_are_added_changed_and_stopped() {
    let database = Database::new();
    database.make();
    let add = |name: &str, password: &str| {
        database.run_with_input(&["user", "add", name, "--role", "reviewer", "--password-stdin"], password)
    };
    assert!(add("mila", &format!("{PASSWORD}\n")).status.success());
    let taken = add("mila", PASSWORD);
    assert_eq!(taken.status.code(), Some(1));
    assert!(stderr(&taken).contains("mila"), "{taken:?}");
    for (password, said) in [("short", "8 to 200"), ("", "8 to 200"), ("one line\nand another", "one line")] {
        let refused = add("eve", password);
        assert_eq!(refused.status.code(), Some(1), "{password:?}");
        assert!(stderr(&refused).contains(said), "{refused:?}");
    }
    let without = database.run(&["user", "add", "eve", "--role", "admin"]);
    assert!(!without.status.success() && stderr(&without).contains("--password-stdin"), "{without:?}");

    let server = database.serve(&[]);
    assert_eq!(server.browser().sign_in("mila", PASSWORD).await.status, 303, "the line's end is not in the password");
    assert!(database.run(&["user", "set", "mila", "--disabled"]).status.success());
    assert_eq!(server.browser().sign_in("mila", PASSWORD).await.status, 401);
    assert!(database.run(&["user", "set", "mila", "--disabled=false"]).status.success());
    assert_eq!(server.browser().sign_in("mila", PASSWORD).await.status, 303);
    assert!(database.run(&["user", "set", "mila", "--role", "admin"]).status.success());
    let unknown = database.run(&["user", "set", "nobody", "--role", "admin"]);
    assert!(!unknown.status.success() && stderr(&unknown).contains("nobody"), "{unknown:?}");
    assert!(!database.run(&["user", "set", "mila"]).status.success(), "nothing to change");
}

#[test]
fn a_policy_is_shown_with_where_each_setting_comes_from() {
    let database = Database::new();
    database.make();
    let defaults = database.run(&["policy", "show"]);
    assert!(defaults.status.success() && stdout(&defaults).contains("max_attempts = 3 (default)"), "{defaults:?}");
    assert!(stderr(&defaults).contains("No kind"), "{defaults:?}");
    assert_eq!(stdout(&database.run(&["policy", "show", "--json"])).trim(), "[]");
    let set = database.run(&["policy", "set", "k", "max_attempts=7", "jitter=none"]);
    assert!(set.status.success(), "{set:?}");
    let shown = database.run(&["policy", "show"]);
    assert!(stdout(&shown).contains("max_attempts = 7 (set by command line"), "{shown:?}");
    assert!(stdout(&shown).contains("lease_seconds = 300 (default)"), "{shown:?}");
    assert!(database.run(&["policy", "set", "k", "max_attempts=null"]).status.success());
    let json: serde_json::Value =
        serde_json::from_str(stdout(&database.run(&["policy", "show", "--kind", "k", "--json"]))).unwrap();
    assert_eq!(json[0]["settings"]["max_attempts"], json!({"value": 3, "origin": "default"}));
    for bad in ["max_attempts=0", "max_atempts=3", "max_attempts"] {
        let refused = database.run(&["policy", "set", "k", bad]);
        assert_eq!(refused.status.code(), Some(1), "{bad}");
        assert!(stderr(&refused).contains("max_at"), "{refused:?}");
    }
}

#[test]
fn every_command_explains_itself() {
    let database = Database::new();
    for command in [
        &["--help"][..],
        &["serve", "--help"],
        &["demo", "--help"],
        &["migrate", "--help"],
        &["verdict", "--help"],
        &["user", "add", "--help"],
        &["user", "set", "--help"],
        &["token", "create", "--help"],
        &["policy", "show", "--help"],
        &["policy", "set", "--help"],
    ] {
        let help = database.run(command);
        assert!(help.status.success(), "{help:?}");
        assert!(stdout(&help).contains("--database-url"), "{command:?}");
    }
}

#[test]
fn a_trace_url_that_leads_nowhere_is_refused_at_the_start() {
    let database = Database::new();
    for (url, why) in [
        ("https://traces.example/t/", "{trace_id}"),
        ("javascript:{trace_id}", "http or https"),
        ("https://{trace_id}.example/", "behind the host"),
    ] {
        let refused = database.run(&["serve", "--listen", "127.0.0.1:0", "--trace-url", url]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(stderr(&refused).contains(why) && stderr(&refused).contains("--trace-url"), "{refused:?}");
    }
    assert!(!database.path().exists(), "nothing was made");
}
