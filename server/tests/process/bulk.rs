//! A bulk outlives the server that works on it: what is outstanding goes on,
//! and nothing is done twice. Through HTTP alone.

use crate::support::{Browser, Database, Server};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Until a bulk has ended; most of it is replays run one by one.
const PATIENCE: Duration = Duration::from_secs(250);

/// Letters, and how many of their replays fail; the full numbers with `DRAINBOARD_FULL_BULK=1`.
fn size() -> (usize, usize) {
    if std::env::var("DRAINBOARD_FULL_BULK").is_ok_and(|value| value == "1") { (5_000, 100) } else { (300, 20) }
}

/// Parks so many jobs of the kind `a` by a failure; the sources are `s0` to `s9` in turn.
async fn park(server: &Server, token: &str, count: usize) {
    let jobs: Vec<Value> =
        (0..count).map(|i| json!({"kind": "a", "source": format!("s{}", i % 10), "payload": {"n": i}})).collect();
    for jobs in jobs.chunks(500) {
        server.call(token, "/api/v1/jobs", json!({"jobs": jobs})).await;
        let claim = json!({"worker": "w", "kinds": ["a"], "limit": jobs.len()});
        let claimed = server.call(token, "/api/v1/claim", claim).await["jobs"].take();
        assert_eq!(claimed.as_array().unwrap().len(), jobs.len());
        for job in claimed.as_array().unwrap() {
            end(server, token, job, "fail", json!({"error": "429 rate limit", "category": "permanent"})).await;
        }
    }
}

async fn end(server: &Server, token: &str, job: &Value, how: &str, mut report: Value) {
    report["lease_token"] = job["lease_token"].clone();
    server.call(token, &format!("/api/v1/jobs/{}/{how}", job["id"].as_str().unwrap()), report).await;
}

/// A worker that knows which letters it has seen a replay of.
#[derive(Default)]
struct Replays {
    of: BTreeSet<String>,
    failed: usize,
}

impl Replays {
    /// Runs what is due; the first of source `s7` fail again.
    async fn run(&mut self, server: &Server, token: &str, failing: usize) {
        let claim = json!({"worker": "w", "kinds": ["a"], "limit": 500});
        let claimed = server.call(token, "/api/v1/claim", claim).await["jobs"].take();
        for job in claimed.as_array().unwrap() {
            let letter = job["replay"]["dead_letter_id"].as_str().unwrap().to_owned();
            assert!(self.of.insert(letter.clone()), "letter {letter} was replayed twice");
            if job["source"] == "s7" && self.failed < failing {
                self.failed += 1;
                end(server, token, job, "fail", json!({"error": "still broken", "category": "permanent"})).await;
            } else {
                end(server, token, job, "done", json!({"verdict": "approved"})).await;
            }
        }
    }
}

/// How many letters the page says were tried.
fn tried(page: &str) -> usize {
    let value = page.split("<progress ").nth(1).and_then(|rest| rest.split("value=\"").nth(1));
    value.and_then(|rest| rest.split('"').next()).unwrap_or_else(|| panic!("{page}")).parse().unwrap()
}

const CONFIRM: [(&str, &str); 3] = [("step", "confirm"), ("action", "approve_and_replay"), ("mode", "current")];

/// Drafts all failures, confirms with a double press, and lets it go on at once.
async fn started(browser: &Browser, letters: usize) -> String {
    let all = [("scope", "failures"), ("status", "unresolved"), ("kind", "a")];
    let drafted = browser.post("/dead-letters/bulk", &all).await;
    assert_eq!(drafted.status, 303, "{}", drafted.text);
    let bulk = drafted.location().to_owned();
    let draft = browser.get(&bulk).await.text;
    assert!(draft.contains(&format!("Approve &amp; replay {letters} letters")), "{draft}");
    let (one, two) = tokio::join!(browser.post(&bulk, &CONFIRM), browser.post(&bulk, &CONFIRM));
    assert_eq!((one.status, two.status), (303, 303), "{} {}", one.text, two.text);
    assert_eq!(browser.post(&bulk, &[("step", "go_on")]).await.status, 303);
    bulk
}

/// Until some letters were tried and others were not.
async fn in_the_middle(browser: &Browser, bulk: &str, letters: usize) {
    let began = Instant::now();
    loop {
        let tried = tried(&browser.get(bulk).await.text);
        assert!(tried < letters && began.elapsed() < PATIENCE, "{tried} were tried before anybody looked");
        if tried > 0 {
            return;
        }
        sleep(Duration::from_millis(5)).await;
    }
}

/// Until every letter was tried and every replay has ended; the page then.
async fn ended(server: &Server, browser: &Browser, bulk: &str, token: &str, replays: &mut Replays) -> String {
    let (letters, failing) = size();
    let began = Instant::now();
    loop {
        replays.run(server, token, failing).await;
        let page = browser.get(bulk).await.text;
        if !page.contains("http-equiv=\"refresh\"") && replays.of.len() == letters {
            return page;
        }
        assert!(began.elapsed() < PATIENCE, "{} replays: {page}", replays.of.len());
        sleep(Duration::from_millis(50)).await;
    }
}

/// The counts are right, and each failure is listed once with its letter.
async fn is_whole(browser: &Browser, bulk: &str, page: &str) {
    let (letters, failing) = size();
    assert!(page.contains(&format!(">{letters} replayed<")), "{page}");
    for (word, count) in
        [("replays done", letters - failing), ("replays not ended", 0), ("replays parked again", failing)]
    {
        assert!(page.contains(&format!("{word}</span></dt><dd>{count}</dd>")), "{word} {count}: {page}");
    }
    let (mut listed, mut at) = (0, bulk.to_owned());
    loop {
        let page = browser.get(&at).await.text;
        listed += page.matches("replay parked again:").count();
        let next = page.split("\" rel=\"next\"").next().filter(|_| page.contains("rel=\"next\""));
        match next.and_then(|before| before.rsplit("href=\"").next()) {
            Some(href) => at = href.to_owned(),
            None => break,
        }
    }
    assert_eq!(listed, failing);
}

async fn a_server_that_dies_in_the_middle(database: Database) {
    let (letters, _) = size();
    let mut server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    park(&server, &token, letters).await;
    let rob = server.browser_of("rob").await;
    let bulk = started(&rob, letters).await;
    in_the_middle(&rob, &bulk, letters).await;
    server.kill();

    let server = database.serve(&[]);
    let rob = server.browser_of("rob").await;
    let before = tried(&rob.get(&bulk).await.text);
    assert!(0 < before && before < letters, "killed in the middle: {before}");
    let mut replays = Replays::default();
    let page = ended(&server, &rob, &bulk, &token, &mut replays).await;
    is_whole(&rob, &bulk, &page).await;
    let again = rob.post(&bulk, &[("step", "go_on")]).await;
    assert_eq!(again.status, 409, "there is nothing left: {}", again.text);
    replays.run(&server, &token, 0).await;
    assert_eq!(replays.of.len(), letters);
}

#[tokio::test]
async fn what_was_outstanding_when_the_server_was_killed_goes_on() {
    a_server_that_dies_in_the_middle(Database::new()).await;
}

#[tokio::test]
async fn what_was_outstanding_when_the_server_was_killed_goes_on_on_postgres() {
    if let Some(database) = Database::on_postgres() {
        a_server_that_dies_in_the_middle(database).await;
    }
}

#[tokio::test]
async fn of_two_servers_on_one_database_each_letter_is_tried_once_even_if_one_dies() {
    let Some(database) = Database::on_postgres() else { return };
    let (letters, _) = size();
    let mut one = database.serve_with_people();
    let two = database.serve(&[]);
    let token = database.token("enqueue,work,read");
    park(&one, &token, letters).await;
    let (at_one, at_two) = (one.browser_of("rob").await, two.browser_of("rob").await);
    let bulk = started(&at_one, letters).await;
    let other = [("step", "confirm"), ("action", "reject_and_close"), ("note", "no")];
    assert_eq!(at_two.post(&bulk, &CONFIRM).await.status, 303, "the second press, on the other server");
    assert_eq!(at_two.post(&bulk, &other).await.status, 409);
    in_the_middle(&at_two, &bulk, letters).await;
    one.kill();
    let mut replays = Replays::default();
    let page = ended(&two, &at_two, &bulk, &token, &mut replays).await;
    is_whole(&at_two, &bulk, &page).await;
}
