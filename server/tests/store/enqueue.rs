//! What happens to jobs on the way in.

use crate::support::calls::{act_on, done, job, name};
use crate::support::{TestDatabase, fail, refusal};
use app::error::StoreError;
use app::model::ids::JobId;
use app::model::job::{JobState, NewJob, RawJson};
use app::model::recovery::RecoveryAction;
use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use std::collections::BTreeSet;
use std::sync::Arc;

each_database![
    answers_come_in_the_order_asked,
    everything_a_job_carries_comes_back,
    all_or_none,
    a_run_at_in_the_past_is_due_since_it_was_enqueued,
    a_run_at_in_the_future_waits,
    a_spread_batch_lies_within_its_width,
    the_kind_s_own_spread_is_used_unless_the_job_says,
    a_held_unique_key_answers_with_its_holder,
    a_unique_key_repeated_in_a_batch_is_one_job,
    a_unique_key_is_held_until_the_job_is_done_or_cancelled,
    a_unique_key_is_held_through_retry_and_letter,
    a_unique_key_is_free_after_a_closed_letter,
    a_unique_key_goes_on_to_the_replay,
    unique_keys_of_different_kinds_do_not_meet,
    ten_thousand_in_one_call,
];

fn keyed(kind: &str, key: &str) -> NewJob {
    NewJob { unique_key: Some(key.to_owned()), ..job(kind) }
}

async fn answers_come_in_the_order_asked(db: Arc<TestDatabase>) {
    let jobs: Vec<NewJob> = (0..50).map(|i| job(&format!("kind-{}", i % 7))).collect();
    let ids = db.enqueue(&jobs).await;
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 50, "every job has an id of its own");
    for (i, id) in ids.iter().enumerate() {
        assert_eq!(db.job(*id).await.summary.kind, format!("kind-{}", i % 7));
    }
    let mut sorted = ids.clone();
    sorted.sort();
    assert_eq!(ids, sorted, "ids grow in the order asked");
}

async fn everything_a_job_carries_comes_back(db: Arc<TestDatabase>) {
    let at: DateTime<Utc> = "2026-07-02T14:02:11.123456Z".parse().unwrap();
    let sent = NewJob {
        tenant: Some(name("acme")),
        payload_ref: Some("s3://bucket/key".into()),
        payload_sha256: Some("ab".repeat(32)),
        received_at: Some(at),
        upstream_handoffs: Some(RawJson::stored(r#"[{"agent":"ocr","note":"pages_emitted=1 of 2"}]"#.into())),
        anchor_at: Some(at - TimeDelta::hours(1)),
        trace_id: Some("4bf92f3577b34da6".into()),
        unique_key: Some("invoice-7".into()),
        ..job("extract-invoice")
    };
    let enqueued = db.enqueue_one(sent.clone()).await;
    assert_eq!((enqueued.state, enqueued.duplicate), (JobState::Waiting, false));
    let stored = db.job(enqueued.id).await;
    assert_eq!(stored.summary.kind, "extract-invoice");
    assert_eq!(stored.summary.source, "supplier-email-ingest");
    assert_eq!(stored.summary.tenant.as_deref(), Some("acme"));
    assert_eq!((stored.summary.attempts, stored.summary.max_attempts), (0, 3));
    assert_eq!(stored.payload, sent.payload);
    assert_eq!(stored.payload_ref, sent.payload_ref);
    assert_eq!(stored.payload_sha256, sent.payload_sha256);
    assert_eq!(stored.received_at, Some(at));
    assert_eq!(stored.upstream_handoffs, sent.upstream_handoffs);
    assert_eq!(stored.anchor_at, sent.anchor_at);
    assert_eq!(stored.trace_id, sent.trace_id);
    assert_eq!(stored.unique_key, sent.unique_key);
    assert_eq!(stored.run_at, enqueued.run_at);
    assert!(!stored.canary && stored.replay_of.is_none() && stored.summary.dead_letter_id.is_none());
    assert!(stored.attempt_history.is_empty());
    let now = db.now().await;
    assert!((now - stored.summary.enqueued_at) < TimeDelta::minutes(1), "the database's clock, in UTC");
    let claimed = db.claim_one("w1").await;
    assert_eq!((claimed.payload, claimed.payload_ref), (sent.payload, sent.payload_ref));
    assert_eq!((claimed.source, claimed.tenant), ("supplier-email-ingest".into(), Some("acme".into())));
}

async fn all_or_none(db: Arc<TestDatabase>) {
    db.enqueue(&[job("a"), job("a")]).await;
    assert!(db.store.enqueue(&[]).await.unwrap().is_empty(), "nothing asked, nothing stored");
    db.door.forbid("jobs", "trace_id", "bad").await;
    let mut batch = vec![job("b"); 700];
    batch.push(NewJob { trace_id: Some("bad".into()), ..job("c") });
    assert!(db.store.enqueue(&batch).await.is_err(), "the database refuses the last one");
    let kinds: Vec<String> = db.snapshot().await.kinds.into_iter().map(|kind| kind.kind).collect();
    assert_eq!((db.door.count("jobs").await, kinds), (2, vec!["a".to_owned()]), "nothing of the batch stays");
    db.door.allow("jobs").await;
    assert_eq!(db.enqueue(&batch).await.len(), 701, "the same batch goes in once the fault is gone");
}

async fn a_run_at_in_the_past_is_due_since_it_was_enqueued(db: Arc<TestDatabase>) {
    let before = db.now().await;
    let past = before - TimeDelta::hours(3);
    let id = db.enqueue_one(NewJob { run_at: Some(past), ..job("a") }).await.id;
    let due_at = db.job(id).await.summary.due_at.unwrap();
    assert!(due_at >= before && due_at <= db.now().await, "due since {due_at}, enqueued after {before}");
    assert!(db.line().await.starts_with("Running · 1 waiting, oldest "), "{}", db.line().await);
}

async fn a_run_at_in_the_future_waits(db: Arc<TestDatabase>) {
    let at = (db.now().await + TimeDelta::hours(2)).trunc_subsecs(3);
    let enqueued = db.enqueue_one(NewJob { run_at: Some(at), ..job("a") }).await;
    assert_eq!((enqueued.state, enqueued.run_at), (JobState::Waiting, at));
    assert!(db.claim("w1", 10).await.is_empty(), "it is not due");
    db.let_time_pass(7_190).await;
    assert!(db.claim("w1", 10).await.is_empty(), "not yet");
    db.let_time_pass(10).await;
    assert_eq!(db.claim_one("w1").await.id, enqueued.id);
}

async fn a_spread_batch_lies_within_its_width(db: Arc<TestDatabase>) {
    let before = db.now().await;
    let jobs = vec![NewJob { spread_seconds: Some(600), ..job("a") }; 200];
    let enqueued = db.store.enqueue(&jobs).await.unwrap();
    let after = db.now().await;
    let run_at: Vec<_> = enqueued.iter().map(|job| job.run_at).collect();
    assert!(run_at.iter().all(|&at| at >= before && at < after + TimeDelta::seconds(600)));
    // With 200 uniform draws an empty third of the width has odds below 10^-34.
    for third in 0..3 {
        let (from, to) = (before + TimeDelta::seconds(third * 200), before + TimeDelta::seconds(third * 200 + 200));
        let within = run_at.iter().filter(|&&at| at >= from && at < to).count();
        assert!(within > 30, "{within} of 200 in the {third}th third");
    }
    let kind = db.kind("a").await;
    assert_eq!(kind.due + kind.scheduled, 200);
    assert!(kind.scheduled > 150, "a spread job is scheduled, not due");
}

async fn the_kind_s_own_spread_is_used_unless_the_job_says(db: Arc<TestDatabase>) {
    db.set_policy("a", serde_json::json!({"spread_seconds": 100_000})).await;
    let now = db.now().await;
    let by_policy = db.store.enqueue(&vec![job("a"); 40]).await.unwrap();
    let far = by_policy.iter().filter(|job| job.run_at > now + TimeDelta::seconds(5_000)).count();
    assert!(far > 20, "{far} of 40 beyond the first twentieth");
    let own = db.enqueue_one(NewJob { spread_seconds: Some(0), ..job("a") }).await;
    assert!(own.run_at <= db.now().await, "this one said no spread");
}

async fn a_held_unique_key_answers_with_its_holder(db: Arc<TestDatabase>) {
    let first = db.enqueue_one(keyed("a", "k")).await;
    let again = db.enqueue_one(keyed("a", "k")).await;
    assert_eq!((first.duplicate, again.duplicate), (false, true));
    assert_eq!((again.id, again.state), (first.id, JobState::Waiting));
    db.claim_one("w1").await;
    let meanwhile = db.enqueue_one(keyed("a", "k")).await;
    assert_eq!((meanwhile.id, meanwhile.state, meanwhile.duplicate), (first.id, JobState::InProgress, true));
    assert_eq!(db.door.count("jobs").await, 1);
}

async fn a_unique_key_repeated_in_a_batch_is_one_job(db: Arc<TestDatabase>) {
    let batch = [keyed("a", "x"), job("a"), keyed("a", "x"), keyed("a", "y"), keyed("a", "x")];
    let enqueued = db.store.enqueue(&batch).await.unwrap();
    let duplicates: Vec<bool> = enqueued.iter().map(|job| job.duplicate).collect();
    assert_eq!(duplicates, [false, false, true, false, true]);
    assert_eq!((enqueued[2].id, enqueued[4].id), (enqueued[0].id, enqueued[0].id));
    assert_eq!(db.door.count("jobs").await, 3);
    assert_eq!(db.kind("a").await.due, 3);
}

async fn a_unique_key_is_held_until_the_job_is_done_or_cancelled(db: Arc<TestDatabase>) {
    let first = db.enqueue_one(keyed("a", "k")).await.id;
    let claimed = db.claim_one("w1").await;
    db.finish(&claimed, done("ok")).await;
    let second = db.enqueue_one(keyed("a", "k")).await;
    assert!(!second.duplicate && second.id != first, "done frees the key");
    db.store.cancel(second.id).await.unwrap();
    let third = db.enqueue_one(keyed("a", "k")).await;
    assert!(!third.duplicate && third.id != second.id, "cancelled frees the key");
    assert_eq!(db.job(first).await.unique_key.as_deref(), Some("k"), "a finished job still shows its key");
}

async fn a_unique_key_is_held_through_retry_and_letter(db: Arc<TestDatabase>) {
    db.set_policy("a", serde_json::json!({"start_seconds": 0, "max_attempts": 2})).await;
    let id = db.enqueue_one(keyed("a", "k")).await.id;
    let claimed = db.claim_one("w1").await;
    db.finish(&claimed, fail("503", 503)).await;
    assert_eq!(holder_of(&db, "k").await, (id, JobState::Waiting), "while it retries");
    let claimed = db.claim_one("w1").await;
    db.finish(&claimed, fail("503", 503)).await;
    assert_eq!(holder_of(&db, "k").await, (id, JobState::Dead), "while its letter is open");
}

async fn holder_of(db: &TestDatabase, key: &str) -> (JobId, JobState) {
    let enqueued = db.enqueue_one(keyed("a", key)).await;
    assert!(enqueued.duplicate, "the key is held");
    (enqueued.id, enqueued.state)
}

async fn a_unique_key_is_free_after_a_closed_letter(db: Arc<TestDatabase>) {
    let id = db.enqueue_one(keyed("a", "k")).await.id;
    let claimed = db.claim_one("w1").await;
    let letter = db.letter_of(db.finish(&claimed, refusal("AMBIGUOUS_VALUE")).await).await;
    db.act(&act_on(&letter, RecoveryAction::RejectAndClose), "mila").await.unwrap();
    let next = db.enqueue_one(keyed("a", "k")).await;
    assert!(!next.duplicate && next.id != id);
}

async fn a_unique_key_goes_on_to_the_replay(db: Arc<TestDatabase>) {
    db.enqueue_one(keyed("a", "k")).await;
    let claimed = db.claim_one("w1").await;
    let letter = db.letter_of(db.finish(&claimed, refusal("AMBIGUOUS_VALUE")).await).await;
    let act = act_on(&letter, RecoveryAction::ApproveAndReplay);
    let replay = db.act(&act, "mila").await.unwrap().replay_job_ids[0];
    assert_eq!(holder_of(&db, "k").await, (replay, JobState::Waiting));
    let claimed = db.claim_one("w1").await;
    assert_eq!(claimed.id, replay);
    db.finish(&claimed, done("ok")).await;
    assert!(!db.enqueue_one(keyed("a", "k")).await.duplicate, "the replay's end frees the key");
}

async fn unique_keys_of_different_kinds_do_not_meet(db: Arc<TestDatabase>) {
    let a = db.enqueue_one(keyed("a", "k")).await;
    let b = db.enqueue_one(keyed("A", "k")).await;
    assert!(!a.duplicate && !b.duplicate && a.id != b.id);
    assert!(!db.enqueue_one(keyed("a", "K")).await.duplicate, "keys are compared byte by byte");
}

async fn ten_thousand_in_one_call(db: Arc<TestDatabase>) {
    let ids = db.enqueue(&vec![job("a"); 10_000]).await;
    assert_eq!(ids.len(), 10_000);
    assert_eq!(db.kind("a").await.due, 10_000);
    assert!(matches!(db.store.cancel(JobId(i64::MAX)).await, Err(StoreError::NotFound(_))));
}
