//! People look after people: users, links, sessions, passwords, tokens, and
//! what the audit says of it all. By plain forms, without any script.

use crate::support::server::PASSWORD;
use crate::support::{Browser, Database, Server};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use std::time::Duration;

const NEW_PASSWORD: &str = "another horse battery";
/// A second, and air for a busy machine.
const AT_ONCE: Duration = Duration::from_millis(2_500);

/// What stands between two texts of a page.
fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("no {start:?} in {page}"));
    rest.split_once(end).unwrap().0
}

/// Adds a user by the form; the path of their link.
async fn invite(admin: &Browser, name: &str, role: &str) -> String {
    let answer = admin.post("/settings/users/add", &[("name", name), ("role", role)]).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let link = between(&answer.text, "<code>", "</code>");
    link[link.find("/password?token=").unwrap()..].to_owned()
}

async fn use_link(browser: &mut Browser, link: &str, password: &str) -> u16 {
    let token = link.split_once("token=").unwrap().1;
    let answer = browser.post("/password", &[("token", token), ("password", password)]).await;
    browser.keep_cookie(&answer);
    answer.status
}

async fn audit_of(server: &Server) -> String {
    server.browser_of("ada").await.get("/audit").await.text
}

#[tokio::test]
async fn a_new_user_chooses_a_password_by_a_link_that_works_once() {
    let database = Database::new();
    let server = database.serve_with_people();
    let ada = server.browser_of("ada").await;
    let link = invite(&ada, "new <b>", "reviewer").await;
    let again = ada.get("/settings").await.text;
    assert!(!again.contains("token=") && again.contains("not yet"), "shown once: {again}");
    assert_eq!(server.browser().sign_in("new <b>", "").await.status, 401, "no password fits yet");

    let mut theirs = server.browser();
    assert_eq!(theirs.get(&link).await.status, 200, "without a session");
    assert_eq!(use_link(&mut theirs, &link, "short").await, 422);
    assert_eq!(use_link(&mut theirs, &link, NEW_PASSWORD).await, 303);
    let account = theirs.get("/account").await;
    assert!(account.text.contains("reviewer") && account.text.contains("this one"), "{}", account.text);
    assert_eq!(use_link(&mut server.browser(), &link, NEW_PASSWORD).await, 409, "used");
    assert_eq!(server.browser().sign_in("new <b>", NEW_PASSWORD).await.status, 303);
    let taken = ada.post("/settings/users/add", &[("name", "rob"), ("role", "admin")]).await;
    assert!(taken.status == 409 && taken.text.contains("name is taken"), "{}", taken.text);
}

#[tokio::test]
async fn a_new_link_resets_a_password_and_replaces_the_one_before() {
    let database = Database::new();
    let server = database.serve_with_people();
    let ada = server.browser_of("ada").await;
    let rob = server.browser_of("rob").await;
    let mut links = Vec::new();
    for _ in 0..2 {
        let answer = ada.post("/settings/users/link", &[("name", "rob")]).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let link = between(&answer.text, "<code>", "</code>").to_owned();
        assert!(link.starts_with(&server.url), "{link}");
        links.push(link);
    }
    assert_eq!(use_link(&mut server.browser(), &links[0], NEW_PASSWORD).await, 409, "replaced");
    assert_eq!(rob.get("/").await.status, 200, "a link that nobody used ends nothing");
    assert_eq!(use_link(&mut server.browser(), &links[1], NEW_PASSWORD).await, 303);
    assert_eq!(rob.get("/").await.status, 303, "sessions end");
    assert_eq!(server.browser().sign_in("rob", PASSWORD).await.status, 401);
}

#[tokio::test]
async fn the_last_admin_stays_and_is_told_why() {
    let database = Database::new();
    let server = database.serve_with_people();
    let ada = server.browser_of("ada").await;
    // An admin who never chose a password cannot be the one who is left.
    invite(&ada, "not yet", "admin").await;
    for change in [("role", "reviewer"), ("disabled", "true")] {
        let answer = ada.post("/settings/users/change", &[("name", "ada"), change]).await;
        assert_eq!(answer.status, 409, "{}", answer.text);
        assert!(answer.text.contains("last admin who can sign in"), "{}", answer.text);
    }
    assert_eq!(ada.get("/settings").await.status, 200, "still an admin");
    let answer = ada.post("/settings/users/change", &[("name", "rob"), ("role", "admin")]).await;
    assert_eq!((answer.status, answer.location()), (303, "/settings/user?name=rob&notice=user-changed"));
    let answer = ada.post("/settings/users/change", &[("name", "ada"), ("role", "on-call")]).await;
    assert_eq!(answer.status, 303, "another one is there now");
    assert_eq!(ada.get("/settings").await.status, 303, "and her session ended");
}

#[tokio::test]
async fn a_demotion_a_revoked_session_and_a_log_out_reach_open_streams_at_once() {
    let database = Database::new();
    let server = database.serve_with_people();
    let ada = server.browser_of("ada").await;
    let (rob, ona) = (server.browser_of("rob").await, server.browser_of("ona").await);
    let mut streams = [rob.events().await, ona.events().await, ada.events().await];
    for stream in &mut streams {
        stream.next().await.unwrap();
    }
    let [robs, onas, adas] = &mut streams;
    assert_eq!(ada.post("/settings/users/change", &[("name", "rob"), ("role", "on-call")]).await.status, 303);
    assert!(robs.ends_within(AT_ONCE).await, "a demotion");
    assert_eq!(rob.get("/jobs").await.status, 303, "and the next click");
    let page = ada.get("/settings/user?name=ona").await.text;
    let session = between(&page, "name=\"session\" value=\"", "\"").to_owned();
    let ending = [("name", "ona"), ("session", &session)];
    assert_eq!(ada.post("/settings/users/sessions/end", &ending).await.status, 303);
    assert!(onas.ends_within(AT_ONCE).await, "a revoked session");
    assert_eq!(ona.get("/jobs").await.status, 303);
    assert_eq!(ada.post("/logout", &[]).await.status, 303);
    assert!(adas.ends_within(AT_ONCE).await, "a log-out");
}

#[tokio::test]
async fn a_session_that_runs_out_ends_its_stream() {
    let database = Database::new();
    let server = database.serve_with_people();
    let ona = server.browser_of("ona").await;
    let mut stream = ona.events().await;
    stream.next().await.unwrap();
    plain_sql(&database, "UPDATE sessions SET created_at = created_at - 43200000000").await;
    assert!(stream.ends_within(AT_ONCE).await);
    assert_eq!(ona.get("/").await.status, 303);
}

#[tokio::test]
async fn changing_the_password_needs_the_current_one_and_ends_other_sessions() {
    let database = Database::new();
    let server = database.serve_with_people();
    let (here, elsewhere) = (server.browser_of("ona").await, server.browser_of("ona").await);
    let wrong = here.post("/account/password", &[("current", "guessed it"), ("password", NEW_PASSWORD)]).await;
    assert!(wrong.status == 409 && wrong.text.contains("current password is wrong"), "{}", wrong.text);
    let short = here.post("/account/password", &[("current", PASSWORD), ("password", "short")]).await;
    assert_eq!(short.status, 422);
    assert_eq!(elsewhere.get("/").await.status, 200);
    let changed = here.post("/account/password", &[("current", PASSWORD), ("password", NEW_PASSWORD)]).await;
    assert_eq!((changed.status, changed.location()), (303, "/account?notice=password-changed"));
    assert_eq!((here.get("/").await.status, elsewhere.get("/").await.status), (200, 303));
    assert_eq!(server.browser().sign_in("ona", PASSWORD).await.status, 401);
    assert_eq!(server.browser().sign_in("ona", NEW_PASSWORD).await.status, 303);
    let audit = audit_of(&server).await;
    assert!(audit.contains("changed the password of") && audit.contains("failed: "), "{audit}");
}

#[tokio::test]
async fn one_s_own_sessions_can_be_ended_and_nobody_elses() {
    let database = Database::new();
    let server = database.serve_with_people();
    let (here, elsewhere) = (server.browser_of("ona").await, server.browser_of("ona").await);
    let rob = server.browser_of("rob").await;
    let page = rob.get("/account").await.text;
    let robs = between(&page, "name=\"session\" value=\"", "\"").to_owned();
    assert_eq!(here.post("/account/sessions/end", &[("session", &robs)]).await.status, 404);
    for pattern in ["", "%", "_"] {
        assert_eq!(here.post("/account/sessions/end", &[("session", pattern)]).await.status, 404, "{pattern:?}");
    }
    assert_eq!((rob.get("/").await.status, elsewhere.get("/").await.status), (200, 200));
    assert_eq!(here.post("/account/sessions/end", &[]).await.location(), "/login?notice=signed-out");
    assert_eq!((here.get("/").await.status, elsewhere.get("/").await.status), (303, 303));
}

#[tokio::test]
async fn a_token_is_shown_once_and_worth_nothing_once_revoked() {
    let database = Database::new();
    let server = database.serve_with_people();
    let ada = server.browser_of("ada").await;
    assert_eq!(ada.post("/settings/tokens/add", &[("name", "no scope")]).await.status, 422);
    let made = ada.post("/settings/tokens/add", &[("name", "ci"), ("read", "on"), ("enqueue", "on")]).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let token = between(&made.text, "<code>", "</code>").to_owned();
    assert!(token.starts_with("drb_"), "{token}");
    server.enqueue(&token, "k", 1).await;
    server.read(&token, "/api/v1/pipeline").await;
    let page = ada.get("/settings/tokens").await.text;
    assert!(!page.contains(&token) && page.contains("enqueue, read"), "{page}");
    let id = between(&page, "name=\"id\" value=\"", "\"").to_owned();
    assert_eq!(ada.post("/settings/tokens/revoke", &[("id", &id)]).await.status, 303);
    let call = reqwest::Client::new().get(format!("{}/api/v1/pipeline", server.url)).bearer_auth(&token);
    assert_eq!(call.send().await.unwrap().status(), 401);
    assert!(ada.get("/settings/tokens").await.text.contains("revoked"));
}

#[tokio::test]
async fn masked_fields_are_revealed_once_to_a_reviewer_and_the_audit_knows() {
    let database = Database::new();
    let server = database.serve_with_people();
    let token = database.token("enqueue,work,read");
    let letter = server.park(&token, "k").await;
    let made = server
        .call(
            &token,
            "/api/v1/jobs",
            serde_json::json!({"jobs": [{"kind": "k", "source": "s", "payload": {"iban": "DE8937", "n": 1}}]}),
        )
        .await;
    let path = format!("/jobs/{}", made["jobs"][0]["id"].as_str().unwrap());
    let ada = server.browser_of("ada").await;
    let bad = ada.post("/kinds/masked-fields", &[("kind", "k"), ("fields", "a..b")]).await;
    assert!(bad.status == 422 && bad.text.contains("a..b"), "{}", bad.text);
    let set = ada.post("/kinds/masked-fields", &[("kind", "k"), ("fields", "iban, lines.*.x")]).await;
    assert_eq!((set.status, set.location()), (303, "/policies?notice=masks-changed"));

    let rob = server.browser_of("rob").await;
    let page = rob.get(&path).await.text;
    assert!(!page.contains("DE8937") && page.contains("•••") && page.contains(">Reveal</button>"), "{page}");
    let shown = rob.post(&format!("{path}/reveal"), &[]).await;
    assert!(shown.status == 200 && shown.text.contains("DE8937"), "{} {}", shown.status, shown.text);
    assert!(!rob.get(&path).await.text.contains("DE8937"), "once");
    let ona = server.browser_of("ona").await;
    assert_eq!(ona.post(&format!("{path}/reveal"), &[]).await.status, 403);
    assert!(!ona.get(&path).await.text.contains("DE8937"));
    let revealed = rob.post(&format!("/dead-letters/{letter}/reveal"), &[]).await;
    assert_eq!(revealed.status, 200, "nothing to hide is nothing to audit");

    let audit = ada.get("/audit?act=reveal").await.text;
    assert_eq!(audit.matches("revealed masked fields of").count(), 1, "{audit}");
    assert!(audit.contains("iban") && audit.contains("rob") && audit.contains("127.0.0.1"), "{audit}");
    let refused = ada.get("/audit?outcome=refused").await.text;
    assert!(refused.contains("ona") && refused.contains(&format!("POST {path}/reveal")), "{refused}");
}

#[tokio::test]
async fn failed_sign_ins_are_audited_as_far_as_the_throttle_lets_them() {
    let database = Database::new();
    let server = database.serve_with_people();
    for _ in 0..15 {
        server.browser().sign_in("rob", "wrong password").await;
    }
    let page = server.browser_of("ada").await.get("/audit?outcome=failed").await.text;
    assert_eq!(page.matches("failed: ").count(), 10, "{page}");
}

#[tokio::test]
async fn verify_says_what_it_checked_and_finds_what_was_changed() {
    let database = Database::new();
    let _server = database.serve_with_people();
    let whole = database.run(&["verify"]);
    let text = String::from_utf8(whole.stdout.clone()).unwrap();
    assert!(whole.status.success() && text.contains("3 entries"), "{whole:?}");
    let hash = text.split_once("Last hash: ").unwrap().1.trim().to_owned();
    database.add_user("one more", "on-call");
    assert!(database.run(&["verify", "--contains", &hash]).status.success());
    assert_eq!(database.run(&["verify", "--contains", &"0".repeat(64)]).status.code(), Some(1));
    plain_sql(&database, "UPDATE audit SET actor = 'eve' WHERE seq = 2").await;
    let broken = database.run(&["verify"]);
    let text = String::from_utf8(broken.stdout).unwrap();
    assert_eq!(broken.status.code(), Some(1), "{text}");
    assert!(text.contains("entry 2"), "{text}");
    assert_eq!(Database::new().run(&["verify"]).status.code(), Some(2), "no database is no success");
}

/// What somebody with the file could do.
async fn plain_sql(database: &Database, sql: &str) {
    let options = SqliteConnectOptions::new().filename(database.path()).busy_timeout(Duration::from_secs(10));
    let mut connection = options.connect().await.unwrap();
    connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
    connection.close().await.unwrap();
}
