//! Who may call what: every endpoint of the route list × no token, a wrong one,
//! and a token of each scope.

use crate::client::{Client, secret_of, sha256_hex, stored};
use crate::support::{TestDatabase, actor, name};
use app::model::people::{Role, Scope};
use axum::http::Method;
use drainboard::worker_api;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

each_database![
    every_endpoint_is_in_the_table,
    every_endpoint_demands_its_scope,
    a_session_cookie_is_no_token,
    the_verdict_is_for_readers_and_signed_in_people,
    a_refused_poll_is_counted,
];

/// One row per endpoint: its path in the route list, a request, the scope it
/// takes (`None`: anybody), and the status that shows the request got through.
#[expect(clippy::type_complexity, reason = "a table reads best as rows")]
fn table() -> Vec<(Method, &'static str, &'static str, Value, Option<Scope>, u16)> {
    let (get, post, put) = (Method::GET, Method::POST, Method::PUT);
    let lease = json!({"lease_token": 1});
    vec![
        (post.clone(), "/api/v1/jobs", "/api/v1/jobs", json!({"jobs": []}), Some(Scope::Enqueue), 422),
        (post.clone(), "/api/v1/claim", "/api/v1/claim", json!({"worker": ""}), Some(Scope::Work), 422),
        (
            post.clone(),
            "/api/v1/jobs/{id}/heartbeat",
            "/api/v1/jobs/77/heartbeat",
            lease.clone(),
            Some(Scope::Work),
            404,
        ),
        (post.clone(), "/api/v1/jobs/{id}/done", "/api/v1/jobs/77/done", lease, Some(Scope::Work), 404),
        (
            post.clone(),
            "/api/v1/jobs/{id}/refuse",
            "/api/v1/jobs/77/refuse",
            json!({"lease_token": 1, "reason_code": "AMBIGUOUS_VALUE", "evidence": "q"}),
            Some(Scope::Work),
            404,
        ),
        (
            post.clone(),
            "/api/v1/jobs/{id}/fail",
            "/api/v1/jobs/77/fail",
            json!({"lease_token": 1, "error": "e"}),
            Some(Scope::Work),
            404,
        ),
        (post.clone(), "/api/v1/jobs/{id}/cancel", "/api/v1/jobs/77/cancel", Value::Null, Some(Scope::Enqueue), 404),
        (get.clone(), "/api/v1/jobs/{id}", "/api/v1/jobs/77", Value::Null, Some(Scope::Read), 404),
        (post.clone(), "/api/v1/ticks", "/api/v1/ticks", json!({"trigger": ""}), Some(Scope::Work), 422),
        (get.clone(), "/api/v1/pipeline", "/api/v1/pipeline", Value::Null, Some(Scope::Read), 200),
        (get.clone(), "/api/v1/dead-letters", "/api/v1/dead-letters", Value::Null, Some(Scope::Read), 200),
        (get.clone(), "/api/v1/dead-letters/{id}", "/api/v1/dead-letters/77", Value::Null, Some(Scope::Read), 404),
        (
            post,
            "/api/v1/dead-letters/{id}/actions",
            "/api/v1/dead-letters/77/actions",
            json!({"action": "approve_and_replay", "version": 1}),
            Some(Scope::Review),
            404,
        ),
        (
            get.clone(),
            "/api/v1/export/dead-letters.csv",
            "/api/v1/export/dead-letters.csv",
            Value::Null,
            Some(Scope::Read),
            200,
        ),
        (
            get.clone(),
            "/api/v1/export/dead-letters.json",
            "/api/v1/export/dead-letters.json",
            Value::Null,
            Some(Scope::Read),
            200,
        ),
        (get.clone(), "/api/v1/policies", "/api/v1/policies", Value::Null, Some(Scope::Admin), 200),
        (put, "/api/v1/policies/{*kind}", "/api/v1/policies/k", json!({"lease_seconds": 0}), Some(Scope::Admin), 422),
        (get.clone(), "/api/v1/park-rate", "/api/v1/park-rate", Value::Null, Some(Scope::Read), 200),
        (get.clone(), "/verdict", "/verdict", Value::Null, Some(Scope::Read), 200),
        (get.clone(), "/healthz", "/healthz", Value::Null, None, 200),
        (get, "/readyz", "/readyz", Value::Null, None, 200),
    ]
}

async fn every_endpoint_is_in_the_table(_: Arc<TestDatabase>) {
    let listed: BTreeSet<String> =
        worker_api::endpoints().iter().map(|endpoint| format!("{} {}", endpoint.method, endpoint.path)).collect();
    let tested: BTreeSet<String> = table().iter().map(|row| format!("{} {}", row.0, row.1)).collect();
    assert_eq!(listed, tested);
}

async fn every_endpoint_demands_its_scope(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let before = stored(&db).await;
    for (method, _, path, body, demanded, through) in table() {
        let what = format!("{method} {path}");
        let call = || match &body {
            Value::Null => client.call(method.clone(), path),
            body => client.call(method.clone(), path).json(body),
        };
        for wrong in [None, Some("drb_nobody"), Some(""), Some("drb_test_work2")] {
            let reply = match wrong {
                None => call().send().await,
                Some(secret) => call().token(secret).send().await,
            };
            if demanded.is_none() {
                assert_eq!(reply.status, through, "{what} is open");
                continue;
            }
            assert_eq!(reply.fault(), (401, "unauthenticated".to_owned(), None), "{what} with token {wrong:?}");
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{what}");
        }
        for scope in Scope::ALL {
            let reply = call().token(&secret_of(scope)).send().await;
            if demanded.is_none_or(|demanded| demanded == scope) {
                assert_eq!(reply.status, through, "{what} with scope {}: {reply:?}", scope.as_str());
                continue;
            }
            assert_eq!(reply.fault(), (403, "forbidden".to_owned(), None), "{what} with scope {}", scope.as_str());
            let demanded = demanded.unwrap().as_str();
            assert_eq!(reply.message(), format!("This token lacks the scope `{demanded}`."), "{what}");
        }
    }
    assert_eq!(stored(&db).await, before, "whoever may not, changes nothing");
}

/// A signed-in admin's cookie.
async fn signed_in(db: &TestDatabase, role: Role) -> String {
    let user = db.store.add_user(&name(role.as_str()), role, "no password", &actor("mila")).await.unwrap();
    let session = format!("session-of-{}", role.as_str());
    db.store.start_session(user, &sha256_hex(&session), &actor(role.as_str())).await.unwrap();
    format!("other=1; drainboard={session}")
}

async fn a_session_cookie_is_no_token(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let cookie = signed_in(&db, Role::Admin).await;
    let before = stored(&db).await;
    for (method, _, path, body, _, _) in table().into_iter().filter(|row| row.1.starts_with("/api/")) {
        let reply = client.call(method.clone(), path).header("cookie", &cookie).json(&body).send().await;
        assert_eq!(reply.fault(), (401, "unauthenticated".to_owned(), None), "{method} {path}");
    }
    assert_eq!(stored(&db).await, before);
}

async fn the_verdict_is_for_readers_and_signed_in_people(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for role in Role::ALL {
        let cookie = signed_in(&db, role).await;
        let reply = client.call(Method::GET, "/verdict").header("cookie", &cookie).send().await;
        assert_eq!((reply.status, reply.text()), (200, "Idle · nothing waiting, never worked\n"), "{role:?}");
    }
    client.call(Method::GET, "/verdict").header("cookie", "drainboard=guessed").send().await.is(401, "unauthenticated");
}

async fn a_refused_poll_is_counted(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let claim = json!({"worker": "w1"});
    client.call(Method::POST, "/api/v1/claim").json(&claim).send().await.is(401, "unauthenticated");
    client.call(Method::POST, "/api/v1/claim").token("drb_old").json(&claim).send().await.is(401, "unauthenticated");
    client.call(Method::POST, "/api/v1/ticks").token("drb_old").json(&claim).send().await.is(401, "unauthenticated");
    client
        .call(Method::POST, "/api/v1/claim")
        .token(&secret_of(Scope::Read))
        .json(&claim)
        .send()
        .await
        .is(403, "forbidden");
    assert_eq!(db.snapshot().await.refused_polls_last_minutes, 2);
}
