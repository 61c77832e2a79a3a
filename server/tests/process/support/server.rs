//! The binary as a child process.

use super::{Browser, Postgres};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_drainboard");
const PATIENCE: Duration = Duration::from_secs(20);

/// A password that obeys the rule.
pub const PASSWORD: &str = "correct horse battery";

/// A directory with one SQLite database, or one on PostgreSQL; gone at the end.
pub struct Database {
    directory: TempDir,
    postgres: Option<Postgres>,
}

impl Database {
    /// A path where no database is yet.
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), postgres: None }
    }

    /// One on the PostgreSQL that tests may use; `None` where there is none and
    /// need not be.
    pub fn on_postgres() -> Option<Self> {
        Some(Self { postgres: Some(Postgres::create()?), ..Self::new() })
    }

    /// Where the file is, or will be.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("queue.db")
    }

    /// As `--database-url` takes it.
    pub fn url(&self) -> String {
        match &self.postgres {
            Some(postgres) => postgres.url.clone(),
            None => format!("sqlite:{}", self.path().display()),
        }
    }

    /// The command, to be run in the directory of this database.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(args).env("DRAINBOARD_DATABASE_URL", self.url()).env_remove("DRAINBOARD_LISTEN");
        command.current_dir(self.directory.path());
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, args: &[&str]) -> Output {
        self.run_with_input(args, "")
    }

    /// Runs a command to its end, with that on its standard input.
    pub fn run_with_input(&self, args: &[&str], input: &str) -> Output {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that does not read its input may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// Makes the database, if it is not there yet.
    pub fn make(&self) {
        if !self.path().exists() {
            let made = self.run(&["migrate"]);
            assert!(made.status.success(), "{made:?}");
        }
    }

    /// Adds somebody who signs in with [`PASSWORD`].
    pub fn add_user(&self, name: &str, role: &str) {
        self.make();
        let added = self.run_with_input(&["user", "add", name, "--role", role, "--password-stdin"], PASSWORD);
        assert!(added.status.success(), "{added:?}");
    }

    /// A token with these scopes.
    pub fn token(&self, scopes: &str) -> String {
        self.make();
        let made = self.run(&["token", "create", "--name", &format!("for {scopes}"), "--scope", scopes]);
        assert!(made.status.success(), "{made:?}");
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    }

    /// Starts a server on a free port.
    pub fn serve(&self, args: &[&str]) -> Server {
        let mut all = vec!["serve", "--listen", "127.0.0.1:0"];
        all.extend(args);
        Server::start(self.command(&all))
    }

    /// Starts a server where somebody of each role can sign in.
    pub fn serve_with_people(&self) -> Server {
        for (name, role) in [("ada", "admin"), ("rob", "reviewer"), ("ona", "on-call")] {
            self.add_user(name, role);
        }
        self.serve(&[])
    }
}

/// A running server; killed at the end.
pub struct Server {
    child: Child,
    log: Arc<Mutex<String>>,
    /// `http://127.0.0.1:PORT`.
    pub url: String,
}

impl Server {
    /// Starts a command that serves and waits until it says where.
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (stderr, collected) = (child.stderr.take().unwrap(), log.clone());
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut log = collected.lock().unwrap();
                log.push_str(&line);
                log.push('\n');
            }
        });
        let mut server = Self { child, log, url: String::new() };
        let listens = server.wait_for_log("listens on ");
        server.url = listens.split("listens on ").nth(1).unwrap().trim().to_owned();
        server
    }

    /// The first line of standard error that holds this text, now or soon.
    pub fn wait_for_log(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(line) = self.log.lock().unwrap().lines().find(|line| line.contains(text)) {
                return line.to_owned();
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "no {text:?} in {} ({ended:?})", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The process.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Standard error so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// A browser that nobody signed in with.
    pub fn browser(&self) -> Browser {
        Browser::new(&self.url)
    }

    /// A browser that somebody signed in with.
    pub async fn browser_of(&self, name: &str) -> Browser {
        let mut browser = self.browser();
        let answer = browser.sign_in(name, PASSWORD).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        browser
    }

    /// Enqueues jobs over the worker API and answers the ids.
    pub async fn enqueue(&self, token: &str, kind: &str, count: usize) -> Vec<String> {
        let jobs: Vec<Value> = (0..count).map(|_| json!({"kind": kind, "source": "test", "payload": {}})).collect();
        let answer = self.call(token, "/api/v1/jobs", json!({"jobs": jobs})).await;
        answer["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect()
    }

    /// A successful call of the worker API.
    pub async fn call(&self, token: &str, path: &str, body: Value) -> Value {
        let request = reqwest::Client::new().post(format!("{}{path}", self.url)).bearer_auth(token).json(&body);
        let response = request.send().await.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Parks one job as refused by its agent; answers the dead letter's id.
    pub async fn park(&self, token: &str, kind: &str) -> String {
        self.enqueue(token, kind, 1).await;
        let claimed = self.call(token, "/api/v1/claim", json!({"worker": "w", "kinds": [kind], "limit": 1})).await;
        let job = &claimed["jobs"][0];
        let refusal = json!({
            "lease_token": job["lease_token"],
            "reason_code": "MISSING_REQUIRED_FIELD",
            "field": "currency",
            "evidence": "NOT FOUND",
        });
        let path = format!("/api/v1/jobs/{}/refuse", job["id"].as_str().unwrap());
        self.call(token, &path, refusal).await["dead_letter_id"].as_str().unwrap().to_owned()
    }

    /// A read call of the worker API.
    pub async fn read(&self, token: &str, path: &str) -> Value {
        let response = reqwest::Client::new().get(format!("{}{path}", self.url)).bearer_auth(token).send();
        let response = response.await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        response.json().await.unwrap()
    }

    /// Sends SIGTERM and waits for the end; answers how it ended and how long that took.
    pub fn terminate(&mut self) -> (ExitStatus, Duration) {
        let asked = Instant::now();
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(told.success());
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status, asked.elapsed());
            }
            assert!(asked.elapsed() < PATIENCE, "still running: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
