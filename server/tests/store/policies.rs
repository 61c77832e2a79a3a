//! Settings of a kind: who set what, and that the queue obeys from then on.

use crate::support::TestDatabase;
use crate::support::calls::{actor, change, done, fail, job, name};
use app::error::StoreError;
use app::model::job::Ended;
use app::model::policy::{KindPolicy, Origin};
use app::model::policy_edit::{PolicyEdit, Seen, seen};
use chrono::TimeDelta;
use serde_json::{Value, json};
use std::sync::Arc;

each_database![
    a_kind_begins_with_the_defaults,
    partial_changes_merge_and_say_who_and_when,
    null_goes_back_to_the_default,
    a_change_reaches_the_next_claim_and_failure,
    fewer_attempts_reach_jobs_under_way,
    a_kind_that_nobody_enqueued_can_be_set_up,
    policies_are_listed_by_kind,
    pausing_holds_what_is_due_and_lets_the_claimed_finish,
    resuming_starts_the_kind_s_clock_afresh,
    pausing_twice_keeps_the_first_time,
    every_change_is_audited,
    twenty_changes_at_once_lose_none,
    an_edit_of_what_is_no_longer_in_force_changes_nothing,
    of_two_edits_at_once_one_wins,
    kinds_with_odd_names_keep_apart,
];

fn value<'a>(policy: &'a KindPolicy, setting: &str) -> &'a Value {
    &policy.settings[setting].value
}

async fn policy_of(db: &TestDatabase, kind: &str) -> KindPolicy {
    let policies = db.store.list_policies().await.unwrap();
    policies.into_iter().find(|policy| policy.kind == kind).expect("the kind has a policy")
}

async fn a_kind_begins_with_the_defaults(db: Arc<TestDatabase>) {
    assert!(db.store.list_policies().await.unwrap().is_empty());
    db.enqueue(&[job("a")]).await;
    let policy = policy_of(&db, "a").await;
    assert_eq!(policy.settings.len(), app::model::policy::SETTINGS.len());
    assert!(policy.settings.values().all(|shown| shown.origin == Origin::Default));
    assert_eq!((value(&policy, "lease_seconds"), value(&policy, "max_attempts")), (&json!(300), &json!(3)));
    assert_eq!((value(&policy, "jitter"), value(&policy, "paused")), (&json!("full"), &json!(false)));
}

async fn partial_changes_merge_and_say_who_and_when(db: Arc<TestDatabase>) {
    let before = db.now().await;
    db.set_policy("a", json!({"max_attempts": 7, "multiplier": 3})).await;
    let ada = change(json!({"multiplier": 1.5, "reason_codes": ["X", "Y"]}));
    let answered = db.store.change_policy(&name("a"), &ada, &actor("ada")).await.unwrap();
    let stored = policy_of(&db, "a").await;
    assert_eq!(answered, stored, "the answer is what is in force");
    assert_eq!(value(&stored, "max_attempts"), &json!(7));
    assert_eq!(value(&stored, "multiplier"), &json!(1.5));
    assert_eq!(value(&stored, "reason_codes"), &json!(["X", "Y"]));
    assert_eq!(value(&stored, "start_seconds"), &json!(30));
    for (setting, who) in [("max_attempts", "mila"), ("multiplier", "ada")] {
        match &stored.settings[setting].origin {
            Origin::SetBy { by, at } => {
                assert_eq!(by, who);
                assert!(*at >= before - TimeDelta::milliseconds(1) && *at <= db.now().await, "the database's clock");
            }
            Origin::Default => panic!("{setting} was set by {who}"),
        }
    }
    assert_eq!(stored.settings["start_seconds"].origin, Origin::Default);
}

async fn null_goes_back_to_the_default(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"max_attempts": 1, "lease_seconds": 10, "cutoff_seconds": 5})).await;
    let policy = db.set_policy("a", json!({"max_attempts": null, "cutoff_seconds": null})).await;
    assert_eq!((value(&policy, "max_attempts"), value(&policy, "cutoff_seconds")), (&json!(3), &Value::Null));
    assert_eq!(policy.settings["max_attempts"].origin, Origin::Default);
    assert_eq!(value(&policy, "lease_seconds"), &json!(10));
    let claimed = db.claimed("a").await;
    assert_eq!(claimed.max_attempts, 3, "the queue goes by it too");
    assert!(claimed.lease_expires_at <= db.now().await + TimeDelta::seconds(10));
}

async fn a_change_reaches_the_next_claim_and_failure(db: Arc<TestDatabase>) {
    let first = db.claimed("a").await;
    let settings = json!({"max_attempts": 2, "lease_seconds": 20, "jitter": "none", "start_seconds": 50});
    db.set_policy("a", settings).await;
    let before = db.now().await;
    let Ended::Waiting { run_at, .. } = db.finish(&first, fail("503", 503)).await else { panic!("retried") };
    let after = db.now().await;
    assert!(run_at >= before + TimeDelta::seconds(50) && run_at <= after + TimeDelta::seconds(50));
    db.let_time_pass(50).await;
    let second = db.claim_one("w1").await;
    assert_eq!((second.attempt, second.max_attempts), (2, 2));
    assert!(second.lease_expires_at <= db.now().await + TimeDelta::seconds(20));
    assert!(matches!(db.finish(&second, fail("503", 503)).await, Ended::Dead { .. }));
    let other = db.claimed("b").await;
    assert_eq!(other.max_attempts, 3, "another kind keeps its own");
}

async fn fewer_attempts_reach_jobs_under_way(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"start_seconds": 0})).await;
    db.enqueue(&[job("a")]).await;
    let first = db.claim_one("w1").await;
    db.finish(&first, fail("503", 503)).await;
    db.set_policy("a", json!({"max_attempts": 1})).await;
    // Judged when an attempt ends, never at claim: what waits is still handed out.
    let second = db.claim_one("w1").await;
    assert_eq!((second.attempt, second.max_attempts), (2, 1));
    assert!(matches!(db.finish(&second, fail("503", 503)).await, Ended::Dead { .. }));
}

async fn a_kind_that_nobody_enqueued_can_be_set_up(db: Arc<TestDatabase>) {
    db.set_policy("later", json!({"max_attempts": 9})).await;
    assert_eq!(value(&policy_of(&db, "later").await, "max_attempts"), &json!(9));
    let claimed = db.claimed("later").await;
    assert_eq!(claimed.max_attempts, 9);
}

async fn policies_are_listed_by_kind(db: Arc<TestDatabase>) {
    db.enqueue(&[job("b"), job("A"), job("ä"), job("a"), job("B")]).await;
    let listed: Vec<String> = db.store.list_policies().await.unwrap().into_iter().map(|p| p.kind).collect();
    assert_eq!(listed, ["A", "B", "a", "b", "ä"], "byte by byte, on every database alike");
    let shown: Vec<String> = db.snapshot().await.kinds.into_iter().map(|kind| kind.kind).collect();
    assert_eq!(shown, listed);
}

async fn pausing_holds_what_is_due_and_lets_the_claimed_finish(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    db.enqueue(&vec![job("a"); 5]).await;
    db.let_time_pass(100).await;
    db.set_policy("a", json!({"paused": true})).await;
    let kind = db.kind("a").await;
    assert_eq!((kind.due, kind.held, kind.in_progress), (0, 5, 1));
    assert_eq!((kind.oldest_unheld_due_at, kind.oldest_due_at.is_some()), (None, true));
    assert_eq!(kind.paused.unwrap().by, "mila");
    assert!(db.claim("w1", 10).await.is_empty());
    db.store.heartbeat(claimed.id, claimed.lease_token, None).await.unwrap();
    assert_eq!(db.finish(&claimed, done("ok")).await, Ended::Done);
    assert_eq!(db.kind("a").await.held, 5);
}

async fn resuming_starts_the_kind_s_clock_afresh(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 5]).await;
    db.set_policy("a", json!({"paused": true})).await;
    db.let_time_pass(1_000).await;
    db.set_policy("a", json!({"paused": false})).await;
    let snapshot = db.snapshot().await;
    let kind = &snapshot.kinds[0];
    assert_eq!((kind.due, kind.held, kind.paused.clone()), (5, 0, None));
    assert!((snapshot.as_of - kind.hold_ended_at.unwrap()).num_seconds() < 3);
    assert!((snapshot.as_of - kind.oldest_due_at.unwrap()).num_seconds() >= 1_000, "its age is its age");
    assert!(db.line().await.starts_with("Running · 5 waiting, oldest 16 min"), "{}", db.line().await);
    db.let_time_pass(181).await;
    assert!(db.line().await.starts_with("Not running?"), "{}", db.line().await);
}

async fn pausing_twice_keeps_the_first_time(db: Arc<TestDatabase>) {
    db.enqueue(&[job("a")]).await;
    db.set_policy("a", json!({"paused": true})).await;
    db.let_time_pass(7_300).await;
    let again = change(json!({"paused": true, "max_attempts": 4}));
    db.store.change_policy(&name("a"), &again, &actor("ada")).await.unwrap();
    let line = db.line().await;
    assert_eq!(line, "Paused · 1 waiting, oldest 2 h, paused by mila 2 h ago");
}

async fn every_change_is_audited(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"paused": true})).await;
    db.set_policy("a", json!({"paused": false})).await;
    db.set_policy("a", json!({"max_attempts": 5})).await;
    let audit = db.audit().await;
    assert_eq!(audit.len(), 3);
    assert!(audit.iter().all(|entry| entry.actor == "mila" && entry.subject.contains('a')), "{audit:?}");
    assert!(audit[0].details.as_deref().unwrap_or_default().contains("max_attempts"), "{:?}", audit[0]);
    db.door.forbid("audit", "actor", "eve").await;
    let refused = db.store.change_policy(&name("a"), &change(json!({"max_attempts": 1})), &actor("eve")).await;
    assert!(refused.is_err(), "no change without its record");
    assert_eq!(value(&policy_of(&db, "a").await, "max_attempts"), &json!(5));
}

async fn twenty_changes_at_once_lose_none(db: Arc<TestDatabase>) {
    let settings = [
        json!({"lease_seconds": 11}),
        json!({"max_attempts": 12}),
        json!({"start_seconds": 13}),
        json!({"spread_seconds": 14}),
        json!({"not_running_after_seconds": 15}),
    ];
    let changes = settings.iter().cycle().take(20).map(|settings| {
        let (db, change) = (Arc::clone(&db), change(settings.clone()));
        tokio::spawn(async move { db.store.change_policy(&name("a"), &change, &actor("mila")).await.unwrap() })
    });
    futures::future::try_join_all(changes).await.unwrap();
    let policy = policy_of(&db, "a").await;
    for settings in settings {
        for (setting, expected) in settings.as_object().unwrap() {
            assert_eq!(value(&policy, setting), expected, "{setting}");
        }
    }
    assert_eq!(db.audit().await.len(), 20);
}

async fn kinds_with_odd_names_keep_apart(db: Arc<TestDatabase>) {
    let long = "k".repeat(200);
    let kinds = [
        "a/b.c",
        "..",
        "a%2Fb",
        "a b",
        "a+b",
        "ä😀",
        " a",
        "A",
        "a",
        "x?y=1#z",
        "100%_done",
        "100x_done",
        "'; --",
        &long,
    ];
    db.enqueue(&kinds.map(job)).await;
    for (i, kind) in kinds.iter().enumerate() {
        db.set_policy(kind, json!({"max_attempts": i + 1})).await;
    }
    for (i, kind) in kinds.iter().enumerate() {
        let claimed = db.claim_kinds("w1", &[kind], 10).await;
        assert_eq!(claimed.len(), 1, "{kind:?} has exactly its own job");
        assert_eq!((claimed[0].kind.as_str(), claimed[0].max_attempts as usize), (*kind, i + 1));
    }
    assert_eq!(db.snapshot().await.kinds.len(), kinds.len());
}

/// An edit by somebody who sees the policy as it is.
async fn edit(db: &TestDatabase, settings: Value) -> PolicyEdit {
    let policy = policy_of(db, "a").await;
    PolicyEdit { change: change(settings), seen: seen(&policy, &app::model::policy::SETTINGS) }
}

async fn an_edit_of_what_is_no_longer_in_force_changes_nothing(db: Arc<TestDatabase>) {
    let no_kind = PolicyEdit { change: change(json!({"max_attempts": 5})), seen: Seen::new() };
    let missing = db.store.edit_policy(&name("a"), &no_kind, &actor("ada")).await;
    assert_eq!(missing, Err(StoreError::NotFound("kind")));
    assert!(db.store.list_policies().await.unwrap().is_empty(), "an edit makes no kind");
    db.enqueue(&[job("a")]).await;
    let late = edit(&db, json!({"max_attempts": 5})).await;
    let edited = db.store.edit_policy(&name("a"), &late, &actor("ada")).await.unwrap();
    assert_eq!(value(&edited, "max_attempts"), &json!(5));
    let audited = db.audit().await.len();
    let refused = db.store.edit_policy(&name("a"), &late, &actor("grace")).await.unwrap_err();
    assert!(
        matches!(&refused, StoreError::Conflict(why) if why.contains("max_attempts was changed by ada")),
        "{refused}"
    );
    assert_eq!((policy_of(&db, "a").await, db.audit().await.len()), (edited, audited));
    let reset = edit(&db, json!({"max_attempts": null})).await;
    let back = db.store.edit_policy(&name("a"), &reset, &actor("grace")).await.unwrap();
    assert_eq!(back.settings["max_attempts"].origin, Origin::Default);
}

async fn of_two_edits_at_once_one_wins(db: Arc<TestDatabase>) {
    db.enqueue(&[job("a")]).await;
    let edits = [edit(&db, json!({"reason_codes": ["A"]})).await, edit(&db, json!({"reason_codes": ["B"]})).await];
    let names = [actor("ada"), actor("grace")];
    let kind = name("a");
    let [one, other] = [0, 1].map(|n| db.store.edit_policy(&kind, &edits[n], &names[n]));
    let (one, other) = futures::join!(one, other);
    assert_eq!(usize::from(one.is_ok()) + usize::from(other.is_ok()), 1, "{one:?} {other:?}");
}
