//! Who may do what: every route of the server, as data. A route that is
//! registered and not in here fails the tests in `access`.

use app::model::people::{Role, Scope};
use axum::http::Method;
use serde_json::{Value, json};

/// Who gets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Everybody, signed in or not.
    Anybody,
    /// Signed-in people of at least that role.
    Person(Role),
    /// Tokens that list the scope.
    Token(Scope),
    /// Tokens that list one of the scopes.
    AnyToken([Scope; 2]),
    /// Tokens that list the scope, and signed-in people of any role.
    TokenOrPerson(Scope),
}

/// What goes with the request.
#[derive(Debug, Clone)]
pub enum Body {
    /// Nothing.
    Nothing,
    /// JSON, as programs send it.
    Json(Value),
    /// Fields, as plain forms send them.
    Form(&'static [(&'static str, &'static str)]),
}

/// One route with a request that changes nothing even for those who may.
#[derive(Debug, Clone)]
pub struct Row {
    pub method: Method,
    /// As the router has it.
    pub route: &'static str,
    /// As it is asked for.
    pub path: &'static str,
    pub body: Body,
    pub who: Who,
    /// The status that shows the request got through.
    pub through: u16,
}

/// All of them.
pub fn table() -> Vec<Row> {
    [pages(), forms(), calls(), open()].concat()
}

/// Pages and streams.
fn pages() -> Vec<Row> {
    let page = |route, path, role, through| Row {
        method: Method::GET,
        route,
        path,
        body: Body::Nothing,
        who: Who::Person(role),
        through,
    };
    vec![
        page("/", "/", Role::OnCall, 200),
        page("/jobs", "/jobs", Role::OnCall, 200),
        page("/jobs/{id}", "/jobs/77", Role::OnCall, 404),
        page("/dead-letters", "/dead-letters", Role::OnCall, 200),
        page("/dead-letters/{id}", "/dead-letters/77", Role::OnCall, 404),
        page("/dead-letters/{id}/correct", "/dead-letters/77/correct", Role::Reviewer, 404),
        page("/dead-letters/{id}/split", "/dead-letters/77/split", Role::Reviewer, 404),
        page("/dead-letters/{id}/notify", "/dead-letters/77/notify", Role::Reviewer, 404),
        page("/dead-letters/{id}/follow-up", "/dead-letters/77/follow-up", Role::Reviewer, 404),
        page("/bulk", "/bulk", Role::OnCall, 200),
        page("/bulk/{id}", "/bulk/77", Role::OnCall, 404),
        page("/outbox", "/outbox", Role::OnCall, 200),
        page("/outbox/{id}", "/outbox/77", Role::OnCall, 404),
        page("/follow-ups", "/follow-ups", Role::OnCall, 200),
        page("/refusals", "/refusals", Role::OnCall, 200),
        page("/alerts", "/alerts", Role::OnCall, 200),
        page("/canaries", "/canaries", Role::OnCall, 200),
        page("/canaries/{id}", "/canaries/77", Role::OnCall, 404),
        page("/groups", "/groups", Role::OnCall, 200),
        page("/policies", "/policies", Role::OnCall, 200),
        page("/policies/kind", "/policies/kind?kind=none", Role::OnCall, 404),
        page("/compare", "/compare", Role::OnCall, 200),
        page("/artifacts/{sha256}", "/artifacts/none", Role::Reviewer, 404),
        page("/account", "/account", Role::OnCall, 200),
        page("/audit", "/audit", Role::Admin, 200),
        page("/settings", "/settings", Role::Admin, 200),
        page("/settings/user", "/settings/user?name=nobody", Role::Admin, 404),
        page("/settings/tokens", "/settings/tokens", Role::Admin, 200),
        page("/live", "/live", Role::OnCall, 200),
        page("/live/panel", "/live/panel", Role::OnCall, 200),
    ]
}

/// What people post, and the files they take away.
fn forms() -> Vec<Row> {
    let form = |route, path, fields, role, through| Row {
        method: Method::POST,
        route,
        path,
        body: Body::Form(fields),
        who: Who::Person(role),
        through,
    };
    let export = |path| Row {
        method: Method::GET,
        route: path,
        path,
        body: Body::Nothing,
        who: Who::Person(Role::OnCall),
        through: 200,
    };
    let act: &[_] = &[("action", "approve_and_replay"), ("version", "1")];
    vec![
        form("/dead-letters/{id}/actions", "/dead-letters/77/actions", act, Role::Reviewer, 404),
        form("/dead-letters/bulk", "/dead-letters/bulk", &[("scope", "selection")], Role::Reviewer, 422),
        form("/bulk/{id}", "/bulk/77", &[("step", "stop")], Role::Reviewer, 404),
        export("/export/dead-letters.csv"),
        export("/export/dead-letters.json"),
        form("/dead-letters/{id}/correct", "/dead-letters/77/correct", act, Role::Reviewer, 404),
        form("/dead-letters/{id}/split", "/dead-letters/77/split", act, Role::Reviewer, 404),
        form("/dead-letters/{id}/notify", "/dead-letters/77/notify", act, Role::Reviewer, 404),
        form("/dead-letters/{id}/follow-up", "/dead-letters/77/follow-up", act, Role::Reviewer, 404),
        form("/dead-letters/{id}/reveal", "/dead-letters/77/reveal", &[], Role::Reviewer, 404),
        form("/jobs/{id}/reveal", "/jobs/77/reveal", &[], Role::Reviewer, 404),
        form("/outbox/{id}", "/outbox/77", &[("action", "sent")], Role::Reviewer, 404),
        form("/follow-ups", "/follow-ups", &[("id", "77")], Role::Reviewer, 404),
        form("/alerts", "/alerts", &[("form", "acknowledge"), ("id", "77"), ("hours", "4")], Role::Reviewer, 404),
        form("/canaries", "/canaries", &[("form", "clear"), ("run", "77")], Role::Admin, 404),
        form("/canaries/{id}", "/canaries/77", &[("form", "run")], Role::Reviewer, 404),
        Row {
            method: Method::GET,
            route: "/canaries/{id}/export",
            path: "/canaries/77/export",
            body: Body::Nothing,
            who: Who::Person(Role::Reviewer),
            through: 404,
        },
        form("/kinds/pause", "/kinds/pause", &[("kind", "none"), ("paused", "true")], Role::Admin, 404),
        form("/kinds/masked-fields", "/kinds/masked-fields", &[("kind", "none"), ("fields", "a")], Role::Admin, 404),
        form("/policies/kind", "/policies/kind", &[("kind", "none"), ("form", "plain")], Role::Admin, 404),
        form("/account/password", "/account/password", &[], Role::OnCall, 422),
        form("/account/sessions/end", "/account/sessions/end", &[("session", "none")], Role::OnCall, 404),
        form("/settings/users/add", "/settings/users/add", &[("name", ""), ("role", "admin")], Role::Admin, 422),
        form(
            "/settings/users/change",
            "/settings/users/change",
            &[("name", "nobody"), ("disabled", "true")],
            Role::Admin,
            404,
        ),
        form("/settings/users/link", "/settings/users/link", &[("name", "nobody")], Role::Admin, 404),
        form("/settings/users/sessions/end", "/settings/users/sessions/end", &[("name", "nobody")], Role::Admin, 404),
        form("/settings/tokens/add", "/settings/tokens/add", &[("name", ""), ("read", "on")], Role::Admin, 422),
        form("/settings/tokens/revoke", "/settings/tokens/revoke", &[("id", "77")], Role::Admin, 404),
    ]
}

/// What programs call.
fn calls() -> Vec<Row> {
    let call =
        |method, route, path, body, scope, through| Row { method, route, path, body, who: Who::Token(scope), through };
    let (get, post, put) = (Method::GET, Method::POST, Method::PUT);
    let json = Body::Json;
    let lease = json!({"lease_token": 1});
    let refusal = json!({"lease_token": 1, "reason_code": "AMBIGUOUS_VALUE", "evidence": "q"});
    let failure = json!({"lease_token": 1, "error": "e"});
    let action = json!({"action": "approve_and_replay", "version": 1});
    let none = || Body::Nothing;
    let one = "/api/v1/jobs/{id}";
    let artifact = "/api/v1/artifacts/{sha256}";
    let one_artifact = "/api/v1/artifacts/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let (csv, json_export) = ("/api/v1/export/dead-letters.csv", "/api/v1/export/dead-letters.json");
    vec![
        call(post.clone(), "/api/v1/jobs", "/api/v1/jobs", json(json!({"jobs": []})), Scope::Enqueue, 422),
        call(post.clone(), "/api/v1/claim", "/api/v1/claim", json(json!({"worker": ""})), Scope::Work, 422),
        call(
            post.clone(),
            "/api/v1/jobs/{id}/heartbeat",
            "/api/v1/jobs/77/heartbeat",
            json(lease.clone()),
            Scope::Work,
            404,
        ),
        call(post.clone(), "/api/v1/jobs/{id}/done", "/api/v1/jobs/77/done", json(lease), Scope::Work, 404),
        call(post.clone(), "/api/v1/jobs/{id}/refuse", "/api/v1/jobs/77/refuse", json(refusal), Scope::Work, 404),
        call(post.clone(), "/api/v1/jobs/{id}/fail", "/api/v1/jobs/77/fail", json(failure), Scope::Work, 404),
        call(post.clone(), "/api/v1/jobs/{id}/cancel", "/api/v1/jobs/77/cancel", none(), Scope::Enqueue, 404),
        call(get.clone(), one, "/api/v1/jobs/77", none(), Scope::Read, 404),
        call(post.clone(), "/api/v1/ticks", "/api/v1/ticks", json(json!({"trigger": ""})), Scope::Work, 422),
        call(get.clone(), "/api/v1/pipeline", "/api/v1/pipeline", none(), Scope::Read, 200),
        call(get.clone(), "/api/v1/dead-letters", "/api/v1/dead-letters", none(), Scope::Read, 200),
        call(get.clone(), "/api/v1/dead-letters/{id}", "/api/v1/dead-letters/77", none(), Scope::Read, 404),
        call(
            post,
            "/api/v1/dead-letters/{id}/actions",
            "/api/v1/dead-letters/77/actions",
            json(action),
            Scope::Review,
            404,
        ),
        call(get.clone(), csv, csv, none(), Scope::Read, 200),
        call(get.clone(), json_export, json_export, none(), Scope::Read, 200),
        Row {
            method: put.clone(),
            route: artifact,
            path: one_artifact,
            body: Body::Json(json!({"its hash": "is another"})),
            who: Who::AnyToken([Scope::Work, Scope::Admin]),
            through: 422,
        },
        Row {
            method: get.clone(),
            route: artifact,
            path: one_artifact,
            body: none(),
            who: Who::AnyToken([Scope::Read, Scope::Review]),
            through: 404,
        },
        call(get.clone(), "/api/v1/policies", "/api/v1/policies", none(), Scope::Admin, 200),
        call(
            put,
            "/api/v1/policies/{*kind}",
            "/api/v1/policies/k",
            json(json!({"lease_seconds": 0})),
            Scope::Admin,
            422,
        ),
        call(get.clone(), "/api/v1/park-rate", "/api/v1/park-rate", none(), Scope::Read, 200),
        call(get.clone(), "/api/v1/evidence-checks", "/api/v1/evidence-checks", none(), Scope::Read, 200),
        call(get.clone(), "/api/v1/alerts", "/api/v1/alerts", none(), Scope::Read, 200),
        Row {
            method: get,
            route: "/verdict",
            path: "/verdict",
            body: none(),
            who: Who::TokenOrPerson(Scope::Read),
            through: 200,
        },
    ]
}

/// What everybody may ask for: signing in, health, site files.
fn open() -> Vec<Row> {
    let row = |method, route, path, body, through| Row { method, route, path, body, who: Who::Anybody, through };
    let (get, post) = (Method::GET, Method::POST);
    // Incomplete on purpose: nothing is guessed, so nothing is slowed down.
    let empty = || Body::Form(&[]);
    vec![
        row(get.clone(), "/login", "/login", Body::Nothing, 200),
        row(get.clone(), "/setup", "/setup", Body::Nothing, 200),
        row(get.clone(), "/password", "/password", Body::Nothing, 200),
        row(post.clone(), "/login", "/login", empty(), 422),
        row(post.clone(), "/setup", "/setup", empty(), 422),
        row(post.clone(), "/password", "/password", empty(), 422),
        row(post, "/logout", "/logout", empty(), 303),
        row(get.clone(), "/healthz", "/healthz", Body::Nothing, 200),
        row(get.clone(), "/readyz", "/readyz", Body::Nothing, 200),
        row(get.clone(), "/site/{file}", "/site/none", Body::Nothing, 404),
        row(get.clone(), "/favicon.svg", "/favicon.svg", Body::Nothing, 200),
        // Where the answer to a form stands: loaded again, it leads back.
        row(get.clone(), "/dead-letters/{id}/actions", "/dead-letters/77/actions", Body::Nothing, 303),
        row(get.clone(), "/dead-letters/bulk", "/dead-letters/bulk", Body::Nothing, 303),
        row(get.clone(), "/kinds/pause", "/kinds/pause", Body::Nothing, 303),
        row(get, "/robots.txt", "/robots.txt", Body::Nothing, 200),
    ]
}
