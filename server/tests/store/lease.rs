//! What a lease protects: one worker at a time, and nothing from the one before.

use crate::support::calls::{change, claim_request, done, fail, job, refusal};
use crate::support::{TestDatabase, actor, name};
use app::error::StoreError;
use app::model::ids::JobId;
use app::model::job::{AttemptOutcome, ClaimedJob, JobState};
use app::model::letter::Route;
use chrono::TimeDelta;
use serde_json::json;
use std::sync::Arc;

each_database![
    an_expired_lease_is_due_at_once_and_charged,
    an_expired_job_is_handed_out_before_younger_ones,
    the_old_token_changes_nothing,
    the_same_worker_s_old_token_changes_nothing_either,
    an_expired_lease_ends_nothing_even_if_nobody_took_the_job,
    an_end_sent_twice_is_late,
    late_answers_are_counted_for_a_day,
    heartbeats_carry_a_job_on,
    a_heartbeat_never_exceeds_the_policy,
    no_heartbeat_outlives_the_longest_attempt,
    a_job_that_kills_its_workers_ends_as_a_letter,
    a_claim_parks_what_is_lost_before_it_hands_out,
    reap_is_bounded_and_leaves_the_living_alone,
    a_lost_job_is_neither_due_nor_claimable,
    lost_attempts_and_reported_failures_share_one_budget,
    more_attempts_bring_a_lost_job_back,
    in_progress_follows_the_leases_to_zero,
    unknown_jobs_are_not_found,
    only_waiting_jobs_are_called_off,
];

async fn heartbeat(db: &TestDatabase, claimed: &ClaimedJob) -> Result<chrono::DateTime<chrono::Utc>, StoreError> {
    db.store.heartbeat(claimed.id, claimed.lease_token, None).await
}

async fn an_expired_lease_is_due_at_once_and_charged(db: Arc<TestDatabase>) {
    let first = db.claimed("a").await;
    db.let_time_pass(290).await;
    assert!(db.claim("w2", 10).await.is_empty(), "the lease still holds");
    db.let_time_pass(10).await;
    let kind = db.kind("a").await;
    assert_eq!((kind.due, kind.lease_expired, kind.in_progress, kind.retrying), (1, 1, 0, 0));
    let second = db.claim_one("w2").await;
    assert_eq!((second.id, second.attempt), (first.id, 2));
    let history = db.job(first.id).await.attempt_history;
    assert_eq!(history.len(), 2);
    assert_eq!(history[0].outcome, Some(AttemptOutcome::Lost));
    assert_eq!(history[0].failure_reason.as_deref(), Some("worker_lost"));
    assert!(history[0].error.as_deref().unwrap().starts_with("worker lost, lease expired"));
    assert!(history[0].ended_at.is_some() && history[1].ended_at.is_none());
    let failures = db.snapshot().await.failures;
    assert_eq!(failures.len(), 1, "a lost lease is a failed attempt");
    assert_eq!((failures[0].job_id, failures[0].attempt, failures[0].is_final), (first.id, 1, false));
}

async fn an_expired_job_is_handed_out_before_younger_ones(db: Arc<TestDatabase>) {
    let old = db.claimed("a").await.id;
    db.let_time_pass(400).await;
    let young = db.enqueue_one(job("a")).await.id;
    let ids: Vec<JobId> = db.claim("w2", 10).await.iter().map(|job| job.id).collect();
    assert_eq!(ids, [old, young], "due since its lease ended, 100 s ago");
}

async fn the_old_token_changes_nothing(db: Arc<TestDatabase>) {
    fencing(&db, "w2").await;
}

async fn the_same_worker_s_old_token_changes_nothing_either(db: Arc<TestDatabase>) {
    fencing(&db, "w1").await;
}

async fn fencing(db: &TestDatabase, second_worker: &str) {
    let old = db.claimed("a").await;
    db.expire_lease(old.id).await;
    let new = db.claim_one(second_worker).await;
    let before = db.job(old.id).await;
    assert_eq!(heartbeat(db, &old).await, Err(StoreError::LeaseLost));
    for end in [fail("OLD", 503), fail("OLD", 400), refusal("AMBIGUOUS_VALUE"), refusal("NO_SUCH_CODE"), done("OLD")] {
        assert_eq!(db.finish_refused(&old, end).await, StoreError::LeaseLost);
    }
    let mut after = db.job(old.id).await;
    after.as_of = before.as_of;
    assert_eq!(after, before, "state, attempts, lease and history are as the second claim left them");
    assert_eq!(db.snapshot().await.unresolved_dead_letters, 0);
    assert_eq!(db.snapshot().await.late_answers_last_day, 6, "each late answer is counted");
    db.finish(&new, done("NEW")).await;
    let ended = db.job(old.id).await.summary;
    assert_eq!((ended.state, ended.verdict.as_deref()), (JobState::Done, Some("NEW")));
}

async fn an_expired_lease_ends_nothing_even_if_nobody_took_the_job(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    db.expire_lease(claimed.id).await;
    assert_eq!(heartbeat(&db, &claimed).await, Err(StoreError::LeaseLost));
    assert_eq!(db.finish_refused(&claimed, done("late")).await, StoreError::LeaseLost);
    assert_eq!(db.kind("a").await.due, 1, "still to be done");
    assert_eq!(db.snapshot().await.late_answers_last_day, 2);
}

async fn an_end_sent_twice_is_late(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    db.finish(&claimed, done("ok")).await;
    assert_eq!(db.finish_refused(&claimed, done("ok")).await, StoreError::LeaseLost);
    assert_eq!(db.finish_refused(&claimed, fail("x", 400)).await, StoreError::LeaseLost);
    let kind = db.kind("a").await;
    assert_eq!((kind.done_last_hour, kind.failed_last_day), (1, 0));
    assert_eq!(db.store.heartbeat(claimed.id, claimed.lease_token, None).await, Err(StoreError::LeaseLost));
}

async fn late_answers_are_counted_for_a_day(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    db.expire_lease(claimed.id).await;
    db.finish_refused(&claimed, done("late")).await;
    db.let_time_pass(86_000).await;
    assert_eq!(db.snapshot().await.late_answers_last_day, 1);
    db.let_time_pass(401).await;
    assert_eq!(db.snapshot().await.late_answers_last_day, 0);
}

async fn heartbeats_carry_a_job_on(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    for _ in 0..5 {
        db.let_time_pass(250).await;
        let before = db.now().await;
        let until = heartbeat(&db, &claimed).await.unwrap();
        assert!(until >= before + TimeDelta::seconds(300) && until <= db.now().await + TimeDelta::seconds(300));
        assert!(db.claim("w2", 10).await.is_empty(), "the lease holds");
    }
    let snapshot = db.snapshot().await;
    assert!((snapshot.as_of - snapshot.kinds[0].last_worked_at.unwrap()).num_seconds() < 3, "a heartbeat is work");
    assert!((snapshot.as_of - snapshot.workers[0].last_seen_at).num_seconds() < 3);
    db.finish(&claimed, done("ok")).await;
    assert_eq!(db.job(claimed.id).await.attempt_history.len(), 1);
}

async fn a_heartbeat_never_exceeds_the_policy(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    let until = db.store.heartbeat(claimed.id, claimed.lease_token, Some(50_000)).await.unwrap();
    assert!(until <= db.now().await + TimeDelta::seconds(300));
    db.let_time_pass(290).await;
    let before = db.now().await;
    let until = db.store.heartbeat(claimed.id, claimed.lease_token, Some(20)).await.unwrap();
    assert!(until >= before + TimeDelta::seconds(20) && until <= db.now().await + TimeDelta::seconds(20));
}

async fn no_heartbeat_outlives_the_longest_attempt(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"max_attempt_seconds": 600})).await;
    let claimed = db.claimed("a").await;
    let claimed_at = db.job(claimed.id).await.attempt_history[0].claimed_at;
    db.let_time_pass(290).await;
    heartbeat(&db, &claimed).await.unwrap();
    db.let_time_pass(290).await;
    let until = heartbeat(&db, &claimed).await.unwrap();
    assert_eq!(until, claimed_at + TimeDelta::seconds(600 - 580), "20 s are left, whatever is asked");
    db.let_time_pass(21).await;
    assert_eq!(heartbeat(&db, &claimed).await, Err(StoreError::LeaseLost));
    assert_eq!(db.claim_one("w2").await.attempt, 2);
}

async fn a_job_that_kills_its_workers_ends_as_a_letter(db: Arc<TestDatabase>) {
    let killer = db.enqueue_one(job("a")).await.id;
    for attempt in 1..=3 {
        let claimed = db.claim_one("w1").await;
        assert_eq!((claimed.id, claimed.attempt), (killer, attempt));
        db.let_time_pass(301).await;
    }
    assert_eq!(db.enqueue(&vec![job("a"); 5]).await.len(), 5);
    for claimed in db.claim("w2", 10).await {
        assert_ne!(claimed.id, killer, "never a fourth time");
        db.finish(&claimed, done("ok")).await;
    }
    let dead = db.job(killer).await;
    assert_eq!((dead.summary.state, dead.summary.attempts), (JobState::Dead, 3));
    let letter = db.letter(dead.summary.dead_letter_id.unwrap()).await.letter;
    assert_eq!(letter.route, Route::Exception);
    assert_eq!(letter.error.as_deref(), Some("worker lost, lease expired 3 times"));
    assert_eq!(letter.failure_reason.as_deref(), Some("worker_lost"));
    assert!(dead.attempt_history.iter().all(|attempt| attempt.outcome == Some(AttemptOutcome::Lost)));
    let snapshot = db.snapshot().await;
    assert_eq!(snapshot.kinds[0].failed_last_day, 1);
    assert_eq!(snapshot.kinds[0].done_last_hour, 5);
    let last = &snapshot.failures[0];
    assert_eq!((last.job_id, last.attempt, last.is_final), (killer, 3, true));
    assert_eq!(last.dead_letter_id, Some(letter.id));
}

async fn a_claim_parks_what_is_lost_before_it_hands_out(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"max_attempts": 1})).await;
    let lost = db.claimed("a").await.id;
    db.expire_lease(lost).await;
    assert_eq!(db.kind("a").await.lost, 1);
    assert!(db.claim_kinds("w2", &["b"], 1).await.is_empty(), "even a claim of another kind");
    assert_eq!(db.job(lost).await.summary.state, JobState::Dead);
}

async fn reap_is_bounded_and_leaves_the_living_alone(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"max_attempts": 1})).await;
    db.enqueue(&vec![job("a"); 8]).await;
    let claimed = db.claim("w1", 8).await;
    let retried = db.claimed("b").await;
    db.expire_lease(retried.id).await;
    for job in &claimed[..6] {
        db.expire_lease(job.id).await;
    }
    assert_eq!(db.store.reap(4).await.unwrap(), 4);
    assert_eq!(db.store.reap(4).await.unwrap(), 2);
    assert_eq!(db.store.reap(4).await.unwrap(), 0);
    let snapshot = db.snapshot().await;
    let (a, b) = (&snapshot.kinds[0], &snapshot.kinds[1]);
    assert_eq!((a.lost, a.in_progress, a.failed_last_day), (0, 2, 6));
    assert_eq!((b.due, b.lease_expired, b.failed_last_day), (1, 1, 0), "one with attempts left stays due");
    assert_eq!(snapshot.unresolved_dead_letters, 6);
}

async fn a_lost_job_is_neither_due_nor_claimable(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"max_attempts": 1})).await;
    let lost = db.claimed("a").await;
    db.let_time_pass(5_000).await;
    let reading = db.reading().await;
    let kind = &reading.kinds[0];
    assert_eq!((kind.due, kind.held, kind.lost, kind.lease_expired, kind.in_progress), (0, 0, 1, 1, 0));
    assert_eq!(kind.oldest_due_seconds, None);
    assert!(reading.verdict.text.starts_with("Idle"), "{}", reading.verdict.text);
    assert!(db.claim("w2", 10).await.is_empty());
    assert_eq!(db.finish_refused(&lost, done("late")).await, StoreError::LeaseLost);
}

async fn lost_attempts_and_reported_failures_share_one_budget(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"start_seconds": 0})).await;
    let first = db.claimed("a").await;
    db.finish(&first, fail("503", 503)).await;
    let second = db.claim_one("w1").await;
    db.expire_lease(second.id).await;
    let third = db.claim_one("w1").await;
    assert_eq!(third.attempt, 3);
    let letter = db.letter_of(db.finish(&third, fail("still 503", 503)).await).await;
    assert_eq!(letter.error.as_deref(), Some("still 503"));
    let outcomes: Vec<_> = db.job(first.id).await.attempt_history.iter().map(|a| a.outcome.unwrap()).collect();
    assert_eq!(outcomes, [AttemptOutcome::Failed, AttemptOutcome::Lost, AttemptOutcome::Failed]);
}

async fn more_attempts_bring_a_lost_job_back(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"max_attempts": 1})).await;
    let claimed = db.claimed("a").await;
    db.expire_lease(claimed.id).await;
    let more = change(json!({"max_attempts": 2}));
    db.store.change_policy(&name("a"), &more, &actor("mila")).await.unwrap();
    assert_eq!((db.kind("a").await.due, db.kind("a").await.lost), (1, 0));
    assert_eq!(db.claim_one("w2").await.id, claimed.id);
}

async fn in_progress_follows_the_leases_to_zero(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 3]).await;
    let killed = db.claim("w1", 3).await;
    assert_eq!(db.kind("a").await.in_progress, 3);
    db.let_time_pass(301).await;
    assert_eq!(db.kind("a").await.in_progress, 0);
    let taken = db.claim("w2", 3).await;
    assert_eq!(db.kind("a").await.in_progress, 3);
    db.finish_refused(&killed[0], done("old")).await;
    for job in &taken {
        db.finish(job, done("ok")).await;
    }
    db.finish_refused(&taken[0], done("ok")).await;
    let kind = db.kind("a").await;
    assert_eq!((kind.in_progress, kind.lease_expired, kind.done_last_hour), (0, 0, 3));
}

async fn unknown_jobs_are_not_found(db: Arc<TestDatabase>) {
    let id = JobId(9_007_199_254_740_993);
    assert_eq!(db.store.find_job(id).await, Ok(None));
    assert!(matches!(db.store.heartbeat(id, 1, None).await, Err(StoreError::NotFound(_))));
    assert!(matches!(db.store.finish(id, 1, done("ok")).await, Err(StoreError::NotFound(_))));
    assert!(matches!(db.store.cancel(id).await, Err(StoreError::NotFound(_))));
    assert_eq!(db.snapshot().await.late_answers_last_day, 0);
}

async fn only_waiting_jobs_are_called_off(db: Arc<TestDatabase>) {
    let waiting = db.enqueue_one(job("a")).await.id;
    db.store.cancel(waiting).await.unwrap();
    assert!(matches!(db.store.cancel(waiting).await, Err(StoreError::Conflict(_))), "cancelled already");
    let shown = db.job(waiting).await.summary;
    assert_eq!((shown.state, shown.due_at), (JobState::Cancelled, None));
    assert!(shown.finished_at.is_some());
    let claimed = db.claimed("a").await;
    assert!(matches!(db.store.cancel(claimed.id).await, Err(StoreError::Conflict(_))), "in progress");
    db.finish(&claimed, fail("503", 503)).await;
    db.store.cancel(claimed.id).await.unwrap();
    let kind = db.kind("a").await;
    assert_eq!((kind.due, kind.retrying, kind.done_last_hour, kind.dropped_last_day), (0, 0, 0, 0));
    let finished = db.claimed("a").await;
    db.finish(&finished, done("ok")).await;
    assert!(matches!(db.store.cancel(finished.id).await, Err(StoreError::Conflict(_))), "done");
    assert!(db.store.claim(&claim_request("w1", 10)).await.unwrap().is_empty());
}
