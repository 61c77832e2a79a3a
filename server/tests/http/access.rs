//! Who may come where: every route of the [`table`] × anonymous, each role,
//! disabled, expired, and a token of each scope.

use crate::client::{Client, secret_of, sha256_hex, stored};
use crate::permission_table::{Body, Row, Who, table};
use crate::support::calls::person;
use crate::support::{Backend, TestDatabase, actor, name};
use app::error::StoreError;
use app::model::people::{Role, Scope};
use axum::http::Method;
use drainboard::web;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

each_database![
    every_route_is_in_the_table,
    routes_are_made_from_lists_alone,
    every_route_is_open_to_those_in_the_table_and_to_nobody_else,
    a_refused_call_says_what_it_lacks,
    a_revoked_token_is_refused_at_the_next_call,
    a_session_cookie_is_no_token,
    the_verdict_is_for_readers_and_signed_in_people,
    a_refused_poll_is_counted,
];

/// Everybody who may come to a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caller {
    Anonymous,
    Person(Role),
    /// With a session from before they were disabled.
    Disabled,
    /// With a session that ran out.
    Expired,
    Token(Scope),
    UnknownToken,
}

fn callers() -> Vec<Caller> {
    let people = Role::ALL.map(Caller::Person);
    let tokens = Scope::ALL.map(Caller::Token);
    let nobody = [Caller::Anonymous, Caller::Disabled, Caller::Expired, Caller::UnknownToken];
    [nobody.as_slice(), &people, &tokens].concat()
}

/// What the table says the caller gets.
fn expected(row: &Row, caller: Caller) -> u16 {
    let is_page = row.method == Method::GET && web::pages::paths().iter().any(|path| path == row.route);
    let to_sign_in = if is_page { 303 } else { 401 };
    match (row.who, caller) {
        (Who::Anybody, _) | (Who::TokenOrPerson(_), Caller::Person(_)) => row.through,
        (Who::Person(least), Caller::Person(role)) => {
            if role >= least {
                row.through
            } else {
                403
            }
        }
        (Who::Person(_), _) => to_sign_in,
        (Who::Token(scope) | Who::TokenOrPerson(scope), Caller::Token(has)) => {
            if has == scope {
                row.through
            } else {
                403
            }
        }
        (Who::AnyToken(scopes), Caller::Token(has)) => {
            if scopes.contains(&has) {
                row.through
            } else {
                403
            }
        }
        (Who::Token(_) | Who::AnyToken(_) | Who::TokenOrPerson(_), _) => 401,
    }
}

async fn every_route_is_in_the_table(_: Arc<TestDatabase>) {
    let listed: BTreeSet<String> = web::routes().iter().map(|(method, path)| format!("{method} {path}")).collect();
    let tested: BTreeSet<String> = table().iter().map(|row| format!("{} {}", row.method, row.route)).collect();
    assert_eq!(listed, tested);
}

/// A route that is made beside the lists would escape the table.
async fn routes_are_made_from_lists_alone(_: Arc<TestDatabase>) {
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::read_to_string(&path).unwrap().contains(".route(") {
                found.push(path.file_name().unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    // The lists' own router; the files, listed in `PATHS`; and what is under `/api` and
    // unknown. The demo's model stand-in is a server of its own.
    let known = ["endpoint.rs", "mod.rs", "mod.rs", "site.rs"];
    assert_eq!(found, known, "routes belong into a list of endpoints");
}

/// Cookies of people who may no longer come in.
async fn lost_cookies(db: &TestDatabase) -> [String; 2] {
    let mut cookies = Vec::new();
    for who in ["disabled", "expired"] {
        let user = db.store.add_user(&name(who), Role::Admin, "no password", &actor("mila")).await.unwrap();
        let session = format!("session-of-{who}");
        db.store.start_session(user, &sha256_hex(&session), &actor(who)).await.unwrap();
        cookies.push(format!("drainboard={session}"));
    }
    let disabled = match db.backend {
        Backend::Sqlite => "1",
        Backend::Postgres => "true",
    };
    db.door.execute(&format!("UPDATE users SET disabled = {disabled} WHERE name = 'disabled'")).await;
    let idle = db.door.literal(db.now().await - chrono::TimeDelta::minutes(31));
    let expired = sha256_hex("session-of-expired");
    db.door.execute(&format!("UPDATE sessions SET last_active_at = {idle} WHERE session_sha256 = '{expired}'")).await;
    cookies.try_into().unwrap()
}

async fn every_route_is_open_to_those_in_the_table_and_to_nobody_else(db: Arc<TestDatabase>) {
    let client = Client::of_everything(&db).await;
    let mut users = BTreeMap::new();
    for role in Role::ALL {
        users.insert(role, db.store.add_user(&name(role.as_str()), role, "no password", &actor("mila")).await.unwrap());
    }
    let [disabled, expired] = lost_cookies(&db).await;
    let before = stored(&db).await;
    let (mut wrong, mut refused_people) = (Vec::new(), 0);
    for (n, row) in table().iter().enumerate() {
        for caller in callers() {
            let call = client.call(row.method.clone(), row.path);
            let call = match &row.body {
                Body::Nothing => call,
                Body::Json(body) => call.json(body),
                Body::Form(fields) => call.form(fields),
            };
            let call = match caller {
                Caller::Anonymous => call,
                Caller::Person(role) => {
                    // A session of its own: logging out is among the routes.
                    let session = format!("session-{n}-{}", role.as_str());
                    let (sha256, by) = (sha256_hex(&session), actor(role.as_str()));
                    db.store.start_session(users[&role], &sha256, &by).await.unwrap();
                    call.header("cookie", &format!("drainboard={session}"))
                }
                Caller::Disabled => call.header("cookie", &disabled),
                Caller::Expired => call.header("cookie", &expired),
                Caller::Token(scope) => call.token(&secret_of(scope)),
                Caller::UnknownToken => call.token("drb_nobody"),
            };
            let (status, location) = call.status_and_location().await;
            let wanted = expected(row, caller);
            // Where everybody is let through, the way leads wherever the row says.
            let is_let_through = row.who == Who::Anybody;
            if status != wanted || (status == 303 && !is_let_through && !location.starts_with("/login")) {
                wrong.push(format!("{} {} as {caller:?}: {status} {location}, not {wanted}", row.method, row.path));
            }
            refused_people += usize::from(wanted == 403 && matches!(caller, Caller::Person(_)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(stored(&db).await, before, "whoever may not, changes nothing");
    let kept = db.door.count("audit WHERE action = 'request' AND outcome = 'refused'").await;
    assert_eq!(usize::try_from(kept).unwrap(), refused_people, "what people are refused is audited");
    assert_eq!(db.store.check_audit(None).await.unwrap().broken, None);
}

/// The calls of programs.
fn calls() -> impl Iterator<Item = (Row, Scope)> {
    table().into_iter().filter_map(|row| match row.who {
        Who::Token(scope) | Who::TokenOrPerson(scope) => Some((row, scope)),
        _ => None,
    })
}

fn json_of(row: &Row) -> Value {
    match &row.body {
        Body::Json(body) => body.clone(),
        _ => Value::Null,
    }
}

async fn a_refused_call_says_what_it_lacks(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let before = stored(&db).await;
    for (row, demanded) in calls() {
        let what = format!("{} {}", row.method, row.path);
        let call = || match &row.body {
            Body::Json(body) => client.call(row.method.clone(), row.path).json(body),
            _ => client.call(row.method.clone(), row.path),
        };
        for wrong in [None, Some("drb_nobody"), Some(""), Some("drb_test_work2")] {
            let reply = match wrong {
                None => call().send().await,
                Some(secret) => call().token(secret).send().await,
            };
            assert_eq!(reply.fault(), (401, "unauthenticated".to_owned(), None), "{what} with token {wrong:?}");
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{what}");
        }
        for scope in Scope::ALL.into_iter().filter(|scope| *scope != demanded) {
            let reply = call().token(&secret_of(scope)).send().await;
            assert_eq!(reply.fault(), (403, "forbidden".to_owned(), None), "{what} with scope {}", scope.as_str());
            let demanded = demanded.as_str();
            assert_eq!(reply.message(), format!("This token lacks the scope `{demanded}`."), "{what}");
        }
    }
    assert_eq!(stored(&db).await, before, "whoever may not, changes nothing");
}

async fn a_revoked_token_is_refused_at_the_next_call(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    assert_eq!(client.get("/api/v1/pipeline").await.status, 200);
    let id = db.store.find_token(&sha256_hex(crate::client::ALL_SCOPES)).await.unwrap().unwrap().id;
    db.store.revoke_token(id, &person("mila", Role::Admin)).await.unwrap();
    client.get("/api/v1/pipeline").await.is(401, "unauthenticated");
    assert!(matches!(db.store.revoke_token(id, &actor("mila")).await, Err(StoreError::NotFound(_))), "once");
    let listed = db.store.list_tokens(None, 50).await.unwrap();
    let all = listed.iter().find(|token| token.name == "all").unwrap();
    assert!(all.revoked_at.is_some());
    assert_eq!(db.audit().await[0].action, "token_revoke");
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
    for (row, _) in calls().filter(|(row, _)| row.route.starts_with("/api/")) {
        let call = client.call(row.method.clone(), row.path).header("cookie", &cookie).json(&json_of(&row));
        assert_eq!(call.send().await.fault(), (401, "unauthenticated".to_owned(), None), "{} {}", row.method, row.path);
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
