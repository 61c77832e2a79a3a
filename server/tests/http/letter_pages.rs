//! A letter's envelope, two of them side by side, and the texts they name, as
//! people of each role see them.

use crate::client::{ALL_SCOPES, Client, sha256_hex};
use crate::support::TestDatabase;
use crate::visitor::Visitor;
use app::model::people::Role;
use axum::http::Method;
use serde_json::{Value, json};
use std::sync::Arc;

each_database![
    the_envelope_is_shown_in_parts_and_whole,
    a_trace_is_linked_where_traces_are_known,
    two_letters_are_laid_side_by_side,
    a_letter_is_compared_with_a_job_that_is_done,
    what_cannot_be_compared_is_said,
    what_is_masked_stays_masked_beside_its_field,
    a_masked_value_is_seen_nowhere_through_its_whole_life,
    a_search_says_what_it_does_not_look_through,
    what_was_typed_survives_the_end_of_the_session,
    a_press_that_comes_too_late_says_what_happened_and_keeps_the_note,
    people_s_exports_are_audited,
];

const HOSTILE: &str = "</pre><script>alert(1)</script>";

fn envelope(prompt: &str, temperature: f64) -> Value {
    json!({"envelope_version": 1, "model": {"provider": "p", "id": "m", "params": {"temperature": temperature}},
        "prompt": {"template_id": HOSTILE, "sha256": sha256_hex(prompt)},
        "retrieved_context": [{"doc_id": "rules", "version": "1"}],
        "tool_calls": [{"name": "cannot_process", "input": {"quote": HOSTILE}}],
        "trace_id": "4bf9/2f", "unheard_of": {"n": 1}})
}

/// A refused letter of `kind` with that envelope; its id.
async fn parked(client: &Client, kind: &str, envelope: &Value) -> String {
    let (path, lease_token) = client.claimed(kind).await;
    let report = json!({"lease_token": lease_token, "reason_code": "MISSING_REQUIRED_FIELD", "field": "currency",
        "evidence": "NOT FOUND", "envelope": envelope});
    let ended = client.post(format!("{path}/refuse"), report).await.json();
    ended["dead_letter_id"].as_str().unwrap_or_else(|| panic!("{ended}")).to_owned()
}

async fn put(client: &Client, text: &str) {
    let path = format!("/api/v1/artifacts/{}", sha256_hex(text));
    assert_eq!(client.call(Method::PUT, path).token(ALL_SCOPES).bytes(text.to_owned()).send().await.status, 200);
}

async fn the_envelope_is_shown_in_parts_and_whole(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    put(&client, "the prompt").await;
    let known = parked(&client, "k", &envelope("the prompt", 0.0)).await;
    let unknown = parked(&client, "k", &envelope("another prompt", 0.0)).await;
    let visitor = Visitor::signed_in(&db, Role::Reviewer).await;
    let page = visitor.get(&format!("/dead-letters/{known}")).await;
    for part in ["Model m (p)", "Retrieved context 1 document", "Tool calls 1 call", "Other keys 1 key", "unheard_of"] {
        assert!(page.text().contains(part), "{part}: {}", page.text());
    }
    assert!(!page.html.contains("<script>alert"), "{}", page.html);
    let artifact = format!("/artifacts/{}", sha256_hex("the prompt"));
    assert!(page.html.contains(&format!("href=\"{artifact}\"")), "{}", page.html);
    assert!(visitor.get(&artifact).await.text().contains("the prompt"));
    let page = visitor.get(&format!("/dead-letters/{unknown}")).await;
    assert!(page.text().contains("not in the registry"), "{}", page.text());
    assert!(
        page.html.contains(&format!("/compare?left=letter%3A{unknown}&amp;right=letter%3A{known}")),
        "{}",
        page.html
    );
    let without = client.parked("k").await["id"].as_str().unwrap().to_owned();
    let page = visitor.get(&format!("/dead-letters/{without}")).await;
    assert!(page.text().contains("died before it could"), "{}", page.text());
}

async fn a_trace_is_linked_where_traces_are_known(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let letter = parked(&client, "k", &envelope("p", 0.0)).await;
    let path = format!("/dead-letters/{letter}");
    let with = Visitor::configured(&db, Role::Reviewer, |config| {
        config.trace_url = Some("https://traces.example/t/{trace_id}".parse().unwrap());
    });
    let page = with.await.get(&path).await;
    assert!(page.html.contains("href=\"https://traces.example/t/4bf9%2F2f\""), "{}", page.html);
    let page = Visitor::configured(&db, Role::Admin, |_| {}).await.get(&path).await;
    assert!(page.text().contains("4bf9/2f") && !page.html.contains("traces.example"), "{}", page.html);
}

async fn two_letters_are_laid_side_by_side(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let (old, new) = ("Quote.\nTake nothing from context.\n", "Quote.\nTake <nothing> from context.\nCall one tool.\n");
    put(&client, old).await;
    put(&client, new).await;
    let (left, right) =
        (parked(&client, "k", &envelope(old, 0.0)).await, parked(&client, "k", &envelope(new, 0.7)).await);
    let path = format!("/compare?left=letter:{left}&right=letter:{right}");
    let page = Visitor::signed_in(&db, Role::Reviewer).await.get(&path).await;
    assert_eq!(page.status, 200);
    for part in ["Different: Model, Prompt.", "model.params.temperature", "0.7", "Call one tool."] {
        assert!(page.text().contains(part), "{part}: {}", page.text());
    }
    assert!(page.html.contains("<del>− Take nothing from context.\n</del>"), "{}", page.html);
    assert!(page.html.contains("<ins>+ Take &lt;nothing&gt; from context.\n</ins>"), "{}", page.html);
    assert!(page.text().contains("The same: ") && page.text().contains("Tool calls"), "{}", page.text());
    let page = Visitor::signed_in(&db, Role::OnCall).await.get(&path).await;
    assert!(page.text().contains("Different: Model, Prompt."), "{}", page.text());
    assert!(!page.html.contains("0.7") && !page.html.contains("Call one tool"), "{}", page.html);
}

async fn a_letter_is_compared_with_a_job_that_is_done(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let letter = parked(&client, "k", &envelope("old", 0.0)).await;
    let act = json!({"action": "approve_and_replay", "version": 1});
    client.post(format!("/api/v1/dead-letters/{letter}/actions"), act).await;
    let claimed = client.claim("k").await;
    let done = format!("/api/v1/jobs/{}/done", claimed["id"].as_str().unwrap());
    let report =
        json!({"lease_token": claimed["lease_token"], "verdict": "extracted", "envelope": envelope("new", 0.0)});
    assert_eq!(client.post(done, report).await.status, 200);
    let visitor = Visitor::signed_in(&db, Role::Reviewer).await;
    let page = visitor.get(&format!("/dead-letters/{letter}")).await;
    assert!(page.text().contains("pinned: not asked · current: fixed. Only current was asked"), "{}", page.text());
    let way = format!("/compare?left=letter%3A{letter}&right=job%3A{}", claimed["id"].as_str().unwrap());
    assert!(page.html.contains(&way.replace('&', "&amp;")), "{}", page.html);
    let page = visitor.get(&way).await;
    assert!(page.text().contains("Different: Prompt.") && page.text().contains("Neither text is in the registry"));
    assert!(page.text().contains("done , extracted"), "{}", page.text());
    let job = visitor.get(&format!("/jobs/{}", claimed["id"].as_str().unwrap())).await;
    assert!(job.text().contains("Model m (p)") && job.html.contains("/compare?"), "{}", job.text());
}

async fn what_cannot_be_compared_is_said(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let (with, without) = (parked(&client, "k", &envelope("p", 0.0)).await, client.parked("k").await["id"].clone());
    let visitor = Visitor::signed_in(&db, Role::OnCall).await;
    let get = async |query: String| visitor.get(&format!("/compare{query}")).await;
    let page = get(format!("?left=letter:{with}&right=letter:{}", without.as_str().unwrap())).await;
    assert!(page.text().contains("one side has no envelope"), "{}", page.text());
    let same = get(format!("?left=letter:{with}&right=letter:{with}")).await;
    assert!(same.text().contains("The envelopes are the same."), "{}", same.text());
    assert_eq!((get(String::new()).await.status, get("?left=letter:1".into()).await.status), (200, 200));
    assert_eq!(get(format!("?left=letter:{with}&right=letter:999")).await.status, 404);
    assert_eq!(get(format!("?left=job:999&right=letter:{with}")).await.status, 404);
    for bad in ["letter", "letter:x", "12", "%3Cscript%3Ealert(1)%3C/script%3E"] {
        let page = get(format!("?left={bad}&right=letter:{with}")).await;
        assert_eq!(page.status, 422, "{bad}");
        assert!(page.text().contains("letter:ID or job:ID") && !page.html.contains("<script>alert"), "{}", page.html);
    }
}

async fn what_is_masked_stays_masked_beside_its_field(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.put("/api/v1/policies/k", json!({"masked_fields": ["iban"]})).await;
    let job = json!({"kind": "k", "source": "s", "payload": {"iban": "DE8937040044"},
        "upstream_handoffs": [{"agent": "a", "note": "read DE8937040044"}]});
    client.post("/api/v1/jobs", json!({"jobs": [job]})).await;
    let claimed = client.claim("k").await;
    let report = json!({"lease_token": claimed["lease_token"], "error": "no account DE8937040044", "http_status": 400,
        "envelope": {"tool_calls": [{"input": {"to": "\u{44}E8937040044"}}]}});
    let ended = client.post(format!("/api/v1/jobs/{}/fail", claimed["id"].as_str().unwrap()), report).await.json();
    let letter = ended["dead_letter_id"].as_str().unwrap();
    let row = format!("href=\"/dead-letters/{letter}\"");
    for role in Role::ALL {
        let visitor = Visitor::signed_in(&db, role).await;
        let own = format!("/compare?left=letter:{letter}&right=letter:{letter}");
        for path in [
            "/",
            "/dead-letters?view=list",
            "/dead-letters?view=groups",
            "/jobs",
            &format!("/dead-letters/{letter}"),
            &own,
            "/export/dead-letters.csv",
            "/export/dead-letters.json",
            &format!("/jobs/{}", claimed["id"].as_str().unwrap()),
        ] {
            let page = visitor.get(path).await;
            assert_eq!(page.status, 200, "{path}");
            assert!(!page.html.contains("DE8937"), "{path} as {role:?}: {}", page.html);
        }
        for guess in ["DE8937040044", "DE89", "account+DE8937", "no+account+DE8937040044"] {
            let found = visitor.get(&format!("/dead-letters?view=list&q={guess}")).await;
            assert!(!found.html.contains(&row), "{guess} as {role:?}: {}", found.text());
        }
        let found = visitor.get("/dead-letters?view=list&q=no+account").await;
        assert!(found.html.contains(&row) && found.text().contains("•••"), "as {role:?}: {}", found.text());
    }
    let hidden = json!({"kind": "q", "source": "s", "payload": {"text": "pay DE8937040044"}});
    client.put("/api/v1/policies/q", json!({"masked_fields": ["text"]})).await;
    client.post("/api/v1/jobs", json!({"jobs": [hidden]})).await;
    let claimed = client.claim("q").await;
    let refusal = json!({"lease_token": claimed["lease_token"], "reason_code": "AMBIGUOUS_VALUE", "evidence": "pay"});
    let path = format!("/api/v1/jobs/{}/refuse", claimed["id"].as_str().unwrap());
    let parked = client.post(path, refusal).await.json()["dead_letter_id"].as_str().unwrap().to_owned();
    let page = Visitor::signed_in(&db, Role::Reviewer).await.get(&format!("/dead-letters/{parked}")).await.text();
    assert!(page.contains("a part of the text is masked here") && !page.contains("not found in the text"), "{page}");
    let shown = Visitor::signed_in(&db, Role::Reviewer).await;
    let revealed = shown.send(Method::POST, &format!("/dead-letters/{letter}/reveal"), "").await;
    assert!(revealed.html.matches("DE8937040044").count() >= 4, "{}", revealed.text());
}

/// Refused, corrected, parked again, closed: every text around the payload names a
/// masked value in another spelling, of the original and of the correction.
async fn a_masked_value_is_seen_nowhere_through_its_whole_life(db: Arc<TestDatabase>) {
    const OLD: &str = "DE89370400440532013000";
    const NEW: &str = "FR7630006000011234567890189";
    let client = Client::of(&db).await;
    client.put("/api/v1/policies/k", json!({"masked_fields": ["bank.iban", "email"]})).await;
    let job = json!({"kind": "k", "source": "s", "trace_id": format!("t-{OLD}"), "payload": {
        "bank": {"iban": OLD}, "email": "anna.b@example.org", "memo": format!("pay to {OLD}"), "total": 7}});
    client.post("/api/v1/jobs", json!({"jobs": [job]})).await;
    let claim = async |worker: &str| {
        client.post("/api/v1/claim", json!({"worker": worker, "kinds": ["k"]})).await.json()["jobs"][0].clone()
    };
    let end = async |job: &Value, call: &str, mut report: Value| {
        report["lease_token"] = job["lease_token"].clone();
        let path = format!("/api/v1/jobs/{}/{call}", job["id"].as_str().unwrap());
        let ended = client.post(path, report).await.json();
        ended["dead_letter_id"].as_str().unwrap_or_else(|| panic!("{ended}")).to_owned()
    };
    let act = async |letter: &str, mut body: Value| {
        body["version"] = client.get(format!("/api/v1/dead-letters/{letter}")).await.json()["version"].clone();
        let acted = client.post(format!("/api/v1/dead-letters/{letter}/actions"), body).await;
        assert_eq!(acted.status, 200, "{}", acted.text());
    };
    let first = claim("w").await;
    let refusal = json!({"reason_code": "AMBIGUOUS_VALUE", "field": format!("iban {OLD}"),
        "evidence": "DE89 3704 0044 0532 0130 00", "envelope": {"tool_calls": [{"input": {"to": "anna.b%40example.org"}}]}});
    let letter = end(&first, "refuse", refusal).await;
    let correction = json!({"action": "correct_and_replay", "note": format!("{NEW}, not {OLD}"),
        "payload": {"bank": {"iban": NEW}, "email": "•••", "memo": "pay to •••", "total": 8}});
    act(&letter, correction).await;
    let second = claim("w").await;
    assert_eq!(second["payload"]["memo"], format!("pay to {OLD}"), "what was seen covered comes back whole");
    let failure = json!({"http_status": 422, "error_code": format!("NO_{NEW}"), "error": format!("{OLD} became {NEW}"),
        "envelope": {"trace_id": format!("was {OLD}")}});
    let again = end(&second, "fail", failure).await;
    act(&again, json!({"action": "close_and_notify", "note": format!("told anna.b@example.org about {NEW}")})).await;

    let jobs = [&first, &second].map(|job| job["id"].as_str().unwrap().to_owned());
    let mut pages = vec![
        "/".to_owned(),
        "/outbox".into(),
        "/outbox/1".into(),
        "/jobs".into(),
        "/dead-letters/1/notify".into(),
        "/dead-letters?status=all&view=list".into(),
        "/dead-letters?status=all&view=groups".into(),
        format!("/compare?left=letter:{letter}&right=letter:{again}"),
        "/export/dead-letters.csv?status=all".into(),
        "/export/dead-letters.json?status=all".into(),
    ];
    pages.extend(jobs.iter().map(|job| format!("/jobs/{job}")));
    pages.extend([&letter, &again].map(|letter| format!("/dead-letters/{letter}")));
    let leaks = |text: &str| {
        let plain: String = text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
        [OLD, NEW, "anna.b@example.org", "anna.b%40example.org"].into_iter().find(|value| {
            let value: String = value.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
            plain.contains(&value)
        })
    };
    for role in Role::ALL {
        let visitor = Visitor::signed_in(&db, role).await;
        for path in &pages {
            let page = visitor.get(path).await;
            assert!([200, 403].contains(&page.status), "{path} as {role:?}: {}", page.status);
            assert_eq!(leaks(&page.html), None, "{path} as {role:?}: {}", page.html);
        }
    }
    let calls =
        ["dead-letters?status=all", "export/dead-letters.csv?status=all", "export/dead-letters.json?status=all"];
    let shown = [&letter, &again].map(|letter| format!("dead-letters/{letter}"));
    for call in calls.map(str::to_owned).into_iter().chain(shown).chain(jobs.map(|job| format!("jobs/{job}"))) {
        let answer = client.get(format!("/api/v1/{call}")).await;
        assert_eq!((answer.status, leaks(answer.text())), (200, None), "{call}: {}", answer.text());
    }
    let reviewer = Visitor::signed_in(&db, Role::Reviewer).await;
    let revealed = reviewer.send(Method::POST, &format!("/dead-letters/{again}/reveal"), "").await;
    assert!(revealed.html.contains(NEW) && revealed.html.contains("anna.b@example.org"), "{}", revealed.text());
}

async fn a_search_says_what_it_does_not_look_through(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    for kind in ["plain", "secret"] {
        parked(&client, kind, &json!({})).await;
    }
    client.put("/api/v1/policies/secret", json!({"masked_fields": ["iban"]})).await;
    let reviewer = Visitor::signed_in(&db, Role::Reviewer).await;
    let said = async |path: &str| reviewer.get(path).await.text().contains("Payloads of secret are not searched");
    assert!(said("/dead-letters?q=x").await && said("/dead-letters?view=list&kind=secret&q=x").await);
    assert!(!said("/dead-letters?kind=plain&q=x").await && !said("/dead-letters").await);
    let on_call = Visitor::signed_in(&db, Role::OnCall).await;
    assert!(on_call.get("/dead-letters?q=x").await.text().contains("Only errors are searched"));
    client.put("/api/v1/policies/secret", json!({"masked_fields": []})).await;
    assert!(!said("/dead-letters?q=x").await, "nothing is masked any more");
}

async fn what_was_typed_survives_the_end_of_the_session(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let letter = parked(&client, "k", &json!({})).await;
    let gone = Visitor::signed_in(&db, Role::Reviewer).await.with_cookie("drainboard=of-yesterday");
    let path = format!("/dead-letters/{letter}/actions");
    let body = "action=reject_and_close&version=1&key=k1&note=half+an+hour+of+%3Cb%3Ework%3C%2Fb%3E";
    let answer = gone.send(Method::POST, &path, body).await;
    assert_eq!(answer.status, 401);
    let html = &answer.html;
    assert!(
        html.contains("half an hour of &lt;b&gt;work&lt;/b&gt;") && html.contains("What you typed is kept below"),
        "{html}"
    );
    assert!(html.contains(&format!("action=\"{path}\"")) && html.contains("name=\"key\" value=\"k1\""), "{html}");
}

async fn a_press_that_comes_too_late_says_what_happened_and_keeps_the_note(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    let letter = client.refused("k").await;
    let path = format!("/dead-letters/{}", letter["id"].as_str().unwrap());
    let visitor = Visitor::signed_in(&db, Role::Reviewer).await;
    let taken = client.post(format!("/api/v1{path}/actions"), json!({"action": "take", "version": 1})).await;
    assert_eq!(taken.status, 200);
    let form = "action=reject_and_close&version=1&note=my+own+words";
    let late = visitor.send(Method::POST, &format!("{path}/actions"), form).await;
    assert_eq!(late.status, 409);
    assert!(late.text().contains("Nothing was done: ") && late.text().contains("token all"), "{}", late.text());
    assert!(late.html.contains("value=\"my own words\""), "{}", late.html);
    let silent = visitor.send(Method::POST, &format!("{path}/actions"), "action=reject_and_close&version=2").await;
    assert_eq!(silent.status, 422);
    assert!(silent.text().contains("must say why"), "{}", silent.text());
}

async fn people_s_exports_are_audited(db: Arc<TestDatabase>) {
    let client = Client::of(&db).await;
    client.refused("k").await;
    let visitor = Visitor::signed_in(&db, Role::OnCall).await;
    assert_eq!(visitor.get("/export/dead-letters.csv?status=open&kind=k%26x").await.status, 200);
    let entry = db.audit().await.remove(0);
    assert_eq!((entry.action.as_str(), entry.actor.as_str()), ("export", "the on-call"));
    assert_eq!(entry.details.as_deref(), Some(r#"{"filter":"status=open&kind=k%26x","format":"csv"}"#));
    db.door.forbid("audit", "action", "export").await;
    let unaudited = visitor.get("/export/dead-letters.json").await;
    assert!(unaudited.status >= 500 && !unaudited.html.contains("currency"), "{unaudited:?}");
}
