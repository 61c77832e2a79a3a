//! The demo: a burst that drains, played by processes of their own.

use crate::support::{Database, Server};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Jobs of the burst; in a new database they have the first ids.
const BURST: u64 = 821;
/// Generous: the machine may build something else meanwhile.
const PATIENCE: Duration = Duration::from_secs(300);

fn demo(database: &Database, args: &[&str]) -> Server {
    let mut all = vec!["demo", "--listen", "127.0.0.1:0"];
    all.extend(args);
    Server::start(database.command(&all))
}

/// Waits until `check` says something.
async fn until<T>(told: &str, patience: Duration, mut check: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(answer) = check().await {
            return answer;
        }
        assert!(Instant::now() < deadline, "not within {patience:?}: {told}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Counts of `kind` that are not at their end.
fn open(reading: &Value, kind: &str) -> i64 {
    let kinds = reading["kinds"].as_array().unwrap();
    let counts = kinds.iter().find(|row| row["kind"] == kind).unwrap();
    let names = ["due", "held", "scheduled", "retrying", "in_progress", "lost"];
    names.iter().map(|name| counts[name].as_i64().unwrap_or_default()).sum()
}

#[tokio::test]
async fn the_burst_drains_and_every_photo_is_judged_by_the_model_itself() {
    let database = Database::new();
    let demo = demo(&database, &["--speed", "60", "--seed", "1"]);
    let token = database.token("read");
    until("the burst drains", PATIENCE, async || {
        let reading = demo.read(&token, "/api/v1/pipeline").await;
        // The kinds are there with zeros before their jobs are.
        let rows = reading["kinds"].as_array().unwrap();
        let is_begun = rows.iter().any(|row| row["kind"] == "moderate-image" && row["done_last_hour"] != 0);
        let kinds = ["moderate-content", "extract-places", "moderate-image"];
        (is_begun && kinds.iter().all(|kind| open(&reading, kind) == 0)).then_some(())
    })
    .await;

    let mut ends = BTreeMap::new();
    let (mut id, mut found) = (0, 0);
    while found < BURST {
        id += 1;
        assert!(id < 2 * BURST, "{found} of {BURST} jobs of the burst were found");
        let job = demo.read(&token, &format!("/api/v1/jobs/{id}")).await;
        // Canaries and invoices come between.
        if job["source"] != "trip-import" {
            continue;
        }
        found += 1;
        let said = job["verdict"].as_str().or(job["state"].as_str()).unwrap().to_owned();
        // What a person reads as the reason of a verdict is never the trouble of a call.
        let reason = job["reason"].as_str().unwrap_or_default();
        assert!(!reason.contains("overloaded") && !reason.contains("rate limit"), "{job}");
        *ends.entry((job["kind"].as_str().unwrap().to_owned(), said)).or_insert(0) += 1;
    }
    let expected = [
        ("extract-places", "dead", 2),
        ("extract-places", "extracted", 176),
        ("moderate-content", "approved", 171),
        ("moderate-content", "needs_review", 5),
        ("moderate-content", "rejected", 2),
        ("moderate-image", "approved", 432),
        ("moderate-image", "needs_review", 24),
        ("moderate-image", "rejected", 9),
    ];
    let expected = expected.map(|(kind, said, count)| ((kind.to_owned(), said.to_owned()), count));
    assert_eq!(ends, BTreeMap::from(expected));
}

#[tokio::test]
async fn workers_are_processes_that_end_with_the_demo() {
    let database = Database::new();
    let mut demo = demo(&database, &["--speed", "20"]);
    let token = database.token("read");
    let workers = until("all workers work", PATIENCE, async || {
        let reading = demo.read(&token, "/api/v1/pipeline").await;
        let mut names: Vec<_> = reading["workers"].as_array()?.iter().map(|w| w["worker"].clone()).collect();
        names.sort_by_key(ToString::to_string);
        (names.len() == 6).then_some(names)
    })
    .await;
    assert_eq!(workers, ["invoices-1", "ocr-1", "w-eu-1", "w-eu-2", "w-eu-3", "w-us-1"]);
    let children = children_of(demo.process_id());
    assert_eq!(children.iter().filter(|child| child.is("worker")).count(), 6, "{children:?}");
    assert_eq!(children.iter().filter(|child| child.is("stand-in")).count(), 1, "{children:?}");

    let (status, took) = demo.terminate();
    assert!(status.success() && took < Duration::from_secs(10), "{status:?} after {took:?}: {}", demo.log());
    until("the children are gone", Duration::from_secs(5), async || all_gone(&children)).await;
}

#[tokio::test]
async fn a_demo_that_is_killed_leaves_no_process_behind() {
    let database = Database::new();
    let mut demo = demo(&database, &["--speed", "20"]);
    let children = until("the children run", PATIENCE, async || {
        Some(children_of(demo.process_id())).filter(|children| children.len() == 7)
    })
    .await;
    demo.kill();
    until("the children are gone", Duration::from_secs(20), async || all_gone(&children)).await;
}

#[tokio::test]
async fn the_sample_accounts_sign_in() {
    let database = Database::new();
    let demo = demo(&database, &[]);
    for (name, password) in [("mila", "mila-reviews"), ("ada", "ada-administers"), ("oncall", "oncall-reads")] {
        let mut browser = demo.browser();
        assert_eq!(browser.sign_in(name, password).await.status, 303);
        let page = browser.get("/").await;
        assert!(page.status == 200 && page.text.contains(name), "{}", page.text);
    }
}

#[test]
fn it_listens_on_loopback_only() {
    let database = Database::new();
    let output = database.run(&["demo", "--listen", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("loopback"), "{said}");
    assert!(!database.path().exists());
}

#[tokio::test]
async fn a_database_of_somebody_else_is_left_alone() {
    let database = Database::new();
    database.add_user("rob", "reviewer");
    let output = database.run(&["demo", "--listen", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("people of its own"), "{said}");

    let server = database.serve(&[]);
    let mut browser = server.browser();
    assert_ne!(browser.sign_in("ada", "ada-administers").await.status, 303);
}

#[tokio::test]
async fn without_a_named_database_it_starts_with_a_new_file_of_its_own() {
    let directory = Database::new();
    let own = |args: &[&str]| {
        let mut command = directory.command(args);
        command.env_remove("DRAINBOARD_DATABASE_URL");
        Server::start(command)
    };
    let file = directory.path().with_file_name("drainboard-demo.db");
    let started = |name: &str| file.with_file_name(name).exists();
    let mut first = own(&["demo", "--listen", "127.0.0.1:0"]);
    assert!(started("drainboard-demo.db") && !directory.path().exists());
    first.kill();
    // A file that is no database would not be opened: it was removed.
    std::fs::write(&file, "not a database").unwrap();
    let second = own(&["demo", "--listen", "127.0.0.1:0"]);
    assert!(started("drainboard-demo.db"), "{}", second.log());
}

/// A child process: its id and its arguments.
#[derive(Debug)]
struct ChildProcess {
    id: u32,
    arguments: String,
}

impl ChildProcess {
    fn is(&self, subcommand: &str) -> bool {
        self.arguments.split('\0').nth(1) == Some(subcommand)
    }

    fn is_gone(&self) -> bool {
        arguments_of(self.id).is_none_or(|arguments| arguments != self.arguments)
    }
}

fn all_gone(children: &[ChildProcess]) -> Option<()> {
    children.iter().all(ChildProcess::is_gone).then_some(())
}

fn children_of(parent: u32) -> Vec<ChildProcess> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|&id| parent_of(id) == Some(parent))
        .filter_map(|id| Some(ChildProcess { id, arguments: arguments_of(id)? }))
        .collect()
}

/// The fourth field of a process's `stat`, after its name in brackets.
fn parent_of(id: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

/// Its arguments, each ended by NUL; none for a process that is gone or only waits to be reaped.
fn arguments_of(id: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{id}/cmdline")).ok().filter(|arguments| !arguments.is_empty())
}
