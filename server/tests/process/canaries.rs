//! `drainboard canary` beside a server: a worker refuses, or does not, and the
//! exit code says which.

use crate::support::{Database, Server};
use serde_json::{Value, json};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

const FIXTURE: &str = r#"{"canaries": [{"name": "two totals", "kind": "k", "source": "canaries",
    "payload": {"b": 0.10, "a": 1}, "reason_code": "CONFLICTING_EVIDENCE", "field": "total"}]}"#;

fn running(database: &Database) -> Child {
    let mut command = database.command(&["canary", "run", "--kind", "k", "--wait", "30"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The canary, once it is there to be claimed by whoever accepts it.
async fn claimed(server: &Server, token: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let unaware = server.call(token, "/api/v1/claim", json!({"worker": "unaware"})).await;
        assert_eq!(unaware["jobs"], json!([]), "a canary goes to nobody who did not ask");
        let claim = json!({"worker": "w", "accepts": ["canary"]});
        let jobs = server.call(token, "/api/v1/claim", claim).await["jobs"].clone();
        if let Some(job) = jobs.get(0) {
            return job.clone();
        }
        assert!(Instant::now() < deadline, "no canary came");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn ends(server: &Server, token: &str, child: Child, call: &str, mut report: Value) -> Output {
    let job = claimed(server, token).await;
    assert_eq!((&job["canary"], &job["payload"]), (&json!(true), &json!({"b": 0.10, "a": 1})));
    report["lease_token"] = job["lease_token"].clone();
    server.call(token, &format!("/api/v1/jobs/{}/{call}", job["id"].as_str().unwrap()), report).await;
    tokio::task::spawn_blocking(|| child.wait_with_output().unwrap()).await.unwrap()
}

#[tokio::test]
async fn a_canary_is_imported_run_and_judged_by_the_command_line() {
    let database = Database::new();
    database.add_user("ona", "on-call");
    let token = database.token("enqueue,work,read");
    let file = database.path().with_file_name("canaries.json");
    std::fs::write(&file, FIXTURE).unwrap();
    let file = file.to_str().unwrap();
    let none = database.run(&["canary", "run"]);
    assert_eq!(none.status.code(), Some(1), "{none:?}");
    for _ in 0..2 {
        let imported = database.run(&["canary", "import", file]);
        assert_eq!(
            (imported.status.code(), imported.stdout.as_slice()),
            (Some(0), &b"imported 1\n"[..]),
            "{imported:?}"
        );
    }
    let server = database.serve(&[]);
    let refusal = json!({"reason_code": "CONFLICTING_EVIDENCE", "field": "total", "evidence": "120.00, 102.00"});
    let passed = ends(&server, &token, running(&database), "refuse", refusal).await;
    let line = String::from_utf8(passed.stdout).unwrap();
    assert_eq!(passed.status.code(), Some(0), "{line}");
    assert!(line.contains("two totals") && line.contains("passed"), "{line}");

    let done = ends(&server, &token, running(&database), "done", json!({"verdict": "booked"})).await;
    let line = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(1), "{line}");
    assert!(line.contains("done: not refused") && line.contains("booked"), "{line}");
    let browser = server.browser_of("ona").await;
    for page in ["/", "/jobs", "/dead-letters", "/canaries", "/account"] {
        let shown = browser.get(page).await.text;
        assert!(shown.contains("Critical: A canary was done instead of refused"), "{page}: {shown}");
    }
    std::fs::write(
        file,
        r#"{"canaries": [{"name": "n", "kind": "k", "source": "s", "payload": 1, "reason_code": "NO_SUCH"}]}"#,
    )
    .unwrap();
    let refused = database.run(&["canary", "import", file]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && said.contains("CONFLICTING_EVIDENCE"), "it lists the set: {said}");
}
