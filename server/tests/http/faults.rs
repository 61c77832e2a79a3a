//! The database goes away, hangs or answers with errors: calls say so and when to ask again, monitors get
//! their answer, no cause leaks.

use crate::client::{ALL_SCOPES, Client, sha256_hex};
use crate::support::{SideDoor, TestDatabase, actor, name};
use app::model::people::Role;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request};
use drainboard::config::Config;
use drainboard::state::AppState;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tower::ServiceExt;

each_database![
    every_call_says_that_the_database_is_away,
    the_verdict_is_unknown_while_it_is_away,
    a_fault_of_ours_is_not_shown,
    a_missing_table_is_unknown_and_never_zero,
    a_database_that_hangs_is_said_in_time,
    a_page_says_in_time_that_the_database_hangs,
];

async fn every_call_says_that_the_database_is_away(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    db.store.close().await;
    for (method, path) in [
        (Method::POST, "/api/v1/jobs"),
        (Method::POST, "/api/v1/claim"),
        (Method::POST, "/api/v1/jobs/1/fail"),
        (Method::GET, "/api/v1/pipeline"),
        (Method::GET, "/readyz"),
    ] {
        let reply = client.call(method, path).token(ALL_SCOPES).json(&json!({})).send().await;
        reply.is(503, "unavailable");
        assert_eq!(reply.header("retry-after"), Some("2"), "{path}");
        assert_eq!(reply.message(), "The database cannot be reached; nothing was changed. Try again.");
    }
    assert_eq!(client.call(Method::GET, "/healthz").send().await.status, 200, "the process is well");
}

async fn the_verdict_is_unknown_while_it_is_away(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    assert_eq!(client.get("/verdict").await.status, 200);
    db.store.close().await;
    for token in [ALL_SCOPES, "drb_cannot_be_looked_up"] {
        let reply = client.call(Method::GET, "/verdict").token(token).send().await;
        assert_eq!(reply.status, 503);
        assert!(reply.text().starts_with("Unknown · database unreachable since "), "{}", reply.text());
    }
}

async fn a_fault_of_ours_is_not_shown(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let (path, lease_token) = client.claimed("k").await;
    db.door.forbid("endings", "outcome", "done").await;
    let reply = client.post(format!("{path}/done"), json!({"lease_token": lease_token})).await;
    reply.is(500, "internal");
    assert!(!reply.text().contains("forbidden"), "the cause is for the log: {}", reply.text());
    db.door.allow("endings").await;
    assert_eq!(client.get(&path).await.json()["state"], "in_progress", "nothing of it was kept");
    assert_eq!(client.post(format!("{path}/done"), json!({"lease_token": lease_token})).await.status, 200);
}

async fn a_missing_table_is_unknown_and_never_zero(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for _ in 0..20 {
        client.enqueue("k").await;
    }
    for table in ["jobs", "kinds", "endings", "workers", "dead_letters"] {
        db.door.execute(&format!("ALTER TABLE {table} RENAME TO {table}_away")).await;
        for (method, path) in [(Method::GET, "/api/v1/pipeline"), (Method::GET, "/readyz")] {
            let reply = client.call(method, path).token(ALL_SCOPES).send().await;
            reply.is(503, "unavailable");
            assert_eq!(reply.header("retry-after"), Some("2"), "{path} without {table}");
            assert_eq!(reply.message(), "The database answers with an error; nothing was changed. Try again.");
        }
        let verdict = client.get("/verdict").await;
        assert_eq!((verdict.status, verdict.header("retry-after")), (503, Some("2")), "without {table}");
        assert!(verdict.text().starts_with("Unknown · database unreachable since "), "{}", verdict.text());
        db.door.execute(&format!("ALTER TABLE {table}_away RENAME TO {table}")).await;
        let pipeline = client.get("/api/v1/pipeline").await.json();
        assert_eq!(pipeline["kinds"][0]["due"], 20, "{table} is back");
        assert_eq!(client.get("/readyz").await.status, 200);
    }
    db.door.execute("ALTER TABLE jobs RENAME TO jobs_away").await;
    let claim = client.post("/api/v1/claim", json!({"worker": "w1"})).await;
    claim.is(503, "unavailable");
    db.door.execute("ALTER TABLE jobs_away RENAME TO jobs").await;
    // Who asks cannot be looked up: that is said, and nothing else.
    db.door.execute("ALTER TABLE tokens RENAME TO tokens_away").await;
    let verdict = client.get("/verdict").await;
    assert!(
        verdict.status == 503 && verdict.text().starts_with("Unknown · database unreachable since "),
        "{verdict:?}"
    );
    db.door.execute("ALTER TABLE tokens_away RENAME TO tokens").await;
}

/// Who calls and what they ask for share one limit of time.
async fn a_database_that_hangs_is_said_in_time(db: Arc<TestDatabase>) {
    // Readers of the file never wait for anybody.
    let SideDoor::Postgres(pool) = &db.door else { return };
    let client = Client::of(&db).await;
    for tables in ["tokens, jobs", "jobs", "tokens"] {
        let mut held = pool.begin().await.unwrap();
        let lock = format!("LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE");
        sqlx::query(sqlx::AssertSqlSafe(lock)).execute(&mut *held).await.unwrap();
        for path in ["/verdict", "/api/v1/pipeline", "/readyz"] {
            let asked = Instant::now();
            let reply = client.get(path).await;
            assert!(asked.elapsed() < Duration::from_millis(3_900), "{path} took {:?}", asked.elapsed());
            assert_eq!((reply.status, reply.header("retry-after")), (503, Some("2")), "{path} with {tables} held");
            if path == "/verdict" {
                assert!(reply.text().starts_with("Unknown · database unreachable since "), "{}", reply.text());
            }
        }
        held.rollback().await.unwrap();
    }
    assert_eq!(client.get("/verdict").await.status, 200, "back by itself");
}

async fn a_page_says_in_time_that_the_database_hangs(db: Arc<TestDatabase>) {
    let SideDoor::Postgres(pool) = &db.door else { return };
    let client = Client::of(&db).await;
    for _ in 0..23 {
        client.enqueue("k").await;
    }
    let user = db.store.add_user(&name("ada"), Role::Admin, "no password", &actor("mila")).await.unwrap();
    db.store.start_session(user, &sha256_hex("a session"), &actor("ada")).await.unwrap();
    let router = drainboard::web::router(AppState::new(Arc::clone(&db.store), Config::loopback(&db.url)));
    let page = async |path: &str| {
        let request = Request::get(path).header("cookie", "drainboard=a session").body(Body::empty()).unwrap();
        let asked = Instant::now();
        let answer = router.clone().oneshot(request).await.unwrap();
        let status = answer.status().as_u16();
        let html = String::from_utf8(to_bytes(answer.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap();
        assert!(asked.elapsed() < Duration::from_millis(3_900), "{path} took {:?}", asked.elapsed());
        (status, html)
    };
    let (status, html) = page("/").await;
    assert!(status == 200 && html.contains("Running · 23 waiting"), "{status} {html}");
    for tables in ["jobs, dead_letters", "sessions"] {
        let mut held = pool.begin().await.unwrap();
        let lock = format!("LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE");
        sqlx::query(sqlx::AssertSqlSafe(lock)).execute(&mut *held).await.unwrap();
        for path in ["/", "/jobs", "/dead-letters", "/policies"] {
            let (status, html) = page(path).await;
            assert!(
                html.contains("Unknown · database unreachable since "),
                "{path} with {tables} held: {status} {html}"
            );
            if path == "/" && tables != "sessions" {
                assert!(
                    html.contains("data-old") && html.contains(">23<"),
                    "the last numbers stay, as old ones: {html}"
                );
            } else if path != "/policies" {
                assert_eq!(status, 503, "{path} with {tables} held");
            }
        }
        held.rollback().await.unwrap();
    }
    assert!(page("/").await.1.contains("Running · 23 waiting"), "back by itself");
}
