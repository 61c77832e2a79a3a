//! Forgetting finished work without changing what is counted or still open.

use crate::support::TestDatabase;
use crate::support::calls::{act_on, done, fail, job, letter_filter};
use crate::support::recount::shown;
use app::model::ids::JobId;
use app::model::job::JobState;
use app::model::recovery::RecoveryAction;
use serde_json::json;
use std::sync::Arc;

const WEEK: u32 = 7 * 86_400;
const NINETY_DAYS: u32 = 90 * 86_400;

each_database![
    only_what_finished_long_ago_goes,
    age_counts_from_the_end_not_from_the_beginning,
    windowed_counts_do_not_change,
    an_open_letter_stays_however_old,
    a_resolved_letter_goes_with_its_job_after_its_time,
    a_letter_whose_replay_still_runs_leaves_the_replay_whole,
    batches_are_bounded,
    a_purged_key_does_not_act_twice,
    failures_and_last_work_survive,
];

async fn is_there(db: &TestDatabase, id: JobId) -> bool {
    db.store.find_job(id).await.unwrap().is_some()
}

async fn purge(db: &TestDatabase) -> u64 {
    db.store.purge(WEEK, NINETY_DAYS, 1_000).await.unwrap()
}

async fn only_what_finished_long_ago_goes(db: Arc<TestDatabase>) {
    db.set_policy("d", json!({"cutoff_seconds": 1, "jitter": "none", "on_cutoff": "drop"})).await;
    let finished = db.claimed("a").await;
    db.finish(&finished, done("ok")).await;
    let dropped = db.claimed("d").await;
    db.finish(&dropped, fail("503", 503)).await;
    let cancelled = db.enqueue_one(job("a")).await.id;
    db.store.cancel(cancelled).await.unwrap();
    let waiting = db.enqueue_one(job("a")).await.id;
    db.let_time_pass(i64::from(WEEK) - 60).await;
    assert_eq!(purge(&db).await, 0);
    db.let_time_pass(61).await;
    let fresh = db.claimed("b").await;
    db.finish(&fresh, done("ok")).await;
    assert_eq!(purge(&db).await, 3);
    for gone in [finished.id, dropped.id, cancelled] {
        assert!(!is_there(&db, gone).await);
    }
    assert!(is_there(&db, waiting).await && is_there(&db, fresh.id).await);
    assert_eq!(db.door.count("attempts").await, 1, "attempts go with their jobs");
}

async fn age_counts_from_the_end_not_from_the_beginning(db: Arc<TestDatabase>) {
    let id = db.enqueue_one(job("a")).await.id;
    db.let_time_pass(30 * 86_400).await;
    let claimed = db.claim_one("w1").await;
    db.finish(&claimed, done("ok")).await;
    assert_eq!(purge(&db).await, 0);
    assert!(is_there(&db, id).await);
}

async fn windowed_counts_do_not_change(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"cutoff_seconds": 50, "start_seconds": 100, "jitter": "none", "on_cutoff": "drop"}))
        .await;
    db.enqueue(&vec![job("a"); 20]).await;
    for (i, claimed) in db.claim("w1", 20).await.iter().enumerate() {
        db.finish(claimed, if i % 2 == 0 { done("ok") } else { fail("503", 503) }).await;
    }
    db.let_time_pass(100).await;
    let before = db.snapshot().await;
    assert_eq!((before.kinds[0].done_last_hour, before.kinds[0].dropped_last_day), (10, 10));
    assert_eq!(db.store.purge(10, 10, 1_000).await.unwrap(), 20);
    let after = db.snapshot().await;
    assert_eq!(shown(&after), shown(&before));
    assert_eq!(after.kinds[0].last_worked_at, before.kinds[0].last_worked_at);
}

async fn an_open_letter_stays_however_old(db: Arc<TestDatabase>) {
    let letter = db.parked("a").await;
    db.let_time_pass(2_000 * 86_400).await;
    assert_eq!(purge(&db).await, 0);
    let whole = db.letter(letter.id).await;
    assert_eq!(whole.attempt_history.len(), 1);
    assert_eq!(db.job(letter.job_id).await.summary.state, JobState::Dead);
    assert_eq!(db.snapshot().await.unresolved_dead_letters, 1);
}

async fn a_resolved_letter_goes_with_its_job_after_its_time(db: Arc<TestDatabase>) {
    let (letter, open) = (db.parked("a").await, db.parked("a").await);
    db.let_time_pass(200 * 86_400).await;
    db.act(&act_on(&letter, RecoveryAction::RejectAndClose), "mila").await.unwrap();
    assert_eq!(purge(&db).await, 0, "90 days from the resolution, not from the death");
    db.let_time_pass(i64::from(NINETY_DAYS) + 1).await;
    assert_eq!(purge(&db).await, 1);
    assert_eq!(db.store.find_letter(letter.id).await, Ok(None));
    assert!(!is_there(&db, letter.job_id).await);
    assert!(is_there(&db, open.job_id).await);
    assert_eq!(db.audit().await.len(), 1, "who did it stays on record");
}

async fn a_letter_whose_replay_still_runs_leaves_the_replay_whole(db: Arc<TestDatabase>) {
    let letter = db.parked("a").await;
    let acted = db.act(&act_on(&letter, RecoveryAction::ApproveAndReplay), "mila").await.unwrap();
    db.let_time_pass(100 * 86_400).await;
    purge(&db).await;
    let replay = acted.replay_job_ids[0];
    let claimed = db.claim_one("w1").await;
    assert_eq!(claimed.id, replay, "it is still to be done");
    db.finish(&claimed, done("ok")).await;
    db.let_time_pass(100 * 86_400).await;
    while purge(&db).await > 0 {}
    assert_eq!((db.door.count("jobs").await, db.door.count("dead_letters").await), (0, 0));
}

async fn batches_are_bounded(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 25]).await;
    for claimed in db.claim("w1", 25).await {
        db.finish(&claimed, done("ok")).await;
    }
    db.let_time_pass(100).await;
    let mut batches = Vec::new();
    loop {
        match db.store.purge(10, 10, 10).await.unwrap() {
            0 => break,
            n => batches.push(n),
        }
    }
    assert_eq!(batches, [10, 10, 5]);
}

async fn a_purged_key_does_not_act_twice(db: Arc<TestDatabase>) {
    let letter = db.parked("a").await;
    let act = app::model::recovery::LetterAct {
        idempotency: crate::support::calls::key("k1", "a"),
        ..act_on(&letter, RecoveryAction::ApproveAndReplay)
    };
    db.act(&act, "mila").await.unwrap();
    let claimed = db.claim_one("w1").await;
    db.finish(&claimed, done("ok")).await;
    db.let_time_pass(200 * 86_400).await;
    while purge(&db).await > 0 {}
    let again = db.act(&act, "mila").await;
    assert!(again.is_err() || again.unwrap().replay_job_ids == [claimed.id], "never a second replay");
    assert_eq!(db.door.count("jobs").await, 0);
}

async fn failures_and_last_work_survive(db: Arc<TestDatabase>) {
    let letter = db.parked("a").await;
    db.enqueue(&vec![job("a"); 5]).await;
    for claimed in db.claim("w1", 5).await {
        db.finish(&claimed, done("ok")).await;
    }
    let before = db.snapshot().await;
    db.let_time_pass(2 * 86_400).await;
    db.store.purge(86_400, 86_400, 1_000).await.unwrap();
    let after = db.snapshot().await;
    assert_eq!(after.failures.len(), before.failures.len());
    assert_eq!(after.failures[0].job_id, letter.job_id);
    assert!(after.recent.last_success_at.is_some(), "when something last succeeded is not forgotten with the job");
    assert!(after.kinds[0].last_worked_at.is_some());
    assert_eq!(db.store.list_letters(&letter_filter()).await.unwrap().letters.len(), 1);
}
