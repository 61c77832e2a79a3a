//! The verdict, row by row and trap by trap, read from a real database.

use crate::support::TestDatabase;
use crate::support::calls::{claim_request, done, fail, job, name, refusal};
use app::model::job::{Canary, ClaimRequest, NewJob};
use app::model::reading::Reading;
use app::model::verdict::{KindState, VerdictState};
use chrono::TimeDelta;
use serde_json::json;
use std::sync::Arc;

each_database![
    nothing_ever_is_idle,
    scheduled_work_alone_is_idle,
    retrying_work_alone_is_idle_and_says_when_next,
    one_job_after_an_idle_night_does_not_flip_the_line,
    never_worked,
    nothing_claimed_for_a_while,
    nothing_claimed_counts_from_the_last_claim,
    a_short_limit_of_the_kind_is_obeyed,
    expired_leases_are_due_again,
    a_skipped_kind_beside_a_healthy_one,
    a_kind_behind_an_older_burst_is_no_alarm,
    younger_work_going_first_is_an_alarm,
    a_claim_for_other_kinds_does_not_excuse_a_skipped_one,
    a_claim_that_was_not_full_does_not_excuse_a_skipped_one,
    long_jobs_that_heartbeat_are_running,
    long_jobs_that_do_not_are_not,
    paused_and_resumed,
    one_paused_kind_beside_another,
    everything_failing,
    a_refusal_is_a_success_of_the_pipeline,
    failures_before_a_quiet_hour_do_not_alarm,
    a_poller_that_gets_nothing_is_not_work,
    refused_polls_are_named,
    a_missing_tick_is_named,
    a_canary_never_makes_a_verdict,
    late_answers_are_no_work,
];

async fn state(db: &TestDatabase) -> VerdictState {
    db.reading().await.verdict.state
}

fn kind_state(reading: &Reading, kind: &str) -> KindState {
    reading.kinds.iter().find(|row| row.kind == kind).expect("the kind has a row").verdict.state
}

async fn nothing_ever_is_idle(db: Arc<TestDatabase>) {
    assert_eq!(db.line().await, "Idle · nothing waiting, never worked");
}

async fn scheduled_work_alone_is_idle(db: Arc<TestDatabase>) {
    let at = db.now().await + TimeDelta::hours(6);
    db.enqueue(&vec![NewJob { run_at: Some(at), ..job("a") }; 3]).await;
    db.let_time_pass(4 * 3_600).await;
    let reading = db.reading().await;
    assert_eq!(reading.verdict.text, "Idle · nothing waiting, never worked, 3 scheduled, next in 1 h");
    assert_eq!((reading.kinds[0].due, reading.kinds[0].scheduled), (0, 3));
    assert_eq!(reading.kinds[0].oldest_due_seconds, None, "oldest is blank: nothing is due");
    // So that this cannot pass because the verdict never speaks up:
    db.enqueue(&[job("a")]).await;
    db.let_time_pass(181).await;
    assert_eq!(state(&db).await, VerdictState::NotRunning);
}

async fn retrying_work_alone_is_idle_and_says_when_next(db: Arc<TestDatabase>) {
    db.set_policy("photo", json!({"jitter": "none", "start_seconds": 540})).await;
    db.enqueue(&vec![job("photo"); 10]).await;
    for claimed in db.claim("w1", 10).await {
        db.finish(&claimed, fail("429", 429)).await;
    }
    db.let_time_pass(250).await;
    assert_eq!(db.line().await, "Idle · nothing waiting, last worked 4 min ago, 10 retrying, next in 4 min");
    db.let_time_pass(240).await;
    assert!(db.line().await.contains("next in 4"), "{}", db.line().await);
    db.let_time_pass(51).await;
    assert!(db.line().await.starts_with("Running · 10 waiting, oldest "), "{}", db.line().await);
}

async fn one_job_after_an_idle_night_does_not_flip_the_line(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    db.finish(&claimed, done("ok")).await;
    db.let_time_pass(9 * 3_600).await;
    assert_eq!(db.line().await, "Idle · nothing waiting, last worked 9 h ago");
    db.enqueue(&[job("a")]).await;
    let line = db.line().await;
    assert!(line.starts_with("Running · 1 waiting, oldest ") && line.ends_with(" s, last worked 9 h ago"), "{line}");
    db.let_time_pass(170).await;
    assert_eq!(state(&db).await, VerdictState::Running);
    db.let_time_pass(10).await;
    let text = db.line().await;
    assert_eq!(text, "Not running? · 1 waiting, oldest 3 min, nothing claimed for 9 h");
}

async fn never_worked(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 131]).await;
    db.let_time_pass(725).await;
    let reading = db.reading().await;
    assert_eq!(reading.verdict.text, "Not running? · 131 waiting, oldest 12 min, never worked");
    assert_eq!(kind_state(&reading, "a"), KindState::NotRunning);
    assert!(reading.verdict.why.contains(&"no worker polls".to_owned()), "{:?}", reading.verdict.why);
}

async fn nothing_claimed_for_a_while(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 132]).await;
    db.let_time_pass(475).await;
    let claimed = db.claim_one("w-eu-1").await;
    db.finish(&claimed, done("ok")).await;
    assert!(db.line().await.starts_with("Running · 131 waiting, oldest 7 min"), "{}", db.line().await);
    db.let_time_pass(250).await;
    let verdict = db.reading().await.verdict;
    assert_eq!(verdict.text, "Not running? · 131 waiting, oldest 12 min, nothing claimed for 4 min");
    assert!(verdict.why.contains(&"last claim 4 min ago by w-eu-1".to_owned()), "{:?}", verdict.why);
}

/// A heartbeat, and an end, are work and no claim.
async fn nothing_claimed_counts_from_the_last_claim(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 3]).await;
    let claimed = db.claim("w1", 2).await;
    db.let_time_pass(290).await;
    db.store.heartbeat(claimed[0].id, claimed[0].lease_token, None).await.unwrap();
    db.finish(&claimed[0], done("ok")).await;
    db.finish(&claimed[1], done("ok")).await;
    assert_eq!(state(&db).await, VerdictState::Running, "the clock rules stay as they are");
    db.let_time_pass(190).await;
    let reading = db.reading().await;
    assert_eq!(reading.verdict.text, "Not running? · 1 waiting, oldest 8 min, nothing claimed for 8 min");
    assert!(reading.kinds[0].verdict.text.ends_with("none claimed for 8 min"), "{:?}", reading.kinds[0].verdict);
    assert!(reading.verdict.why.contains(&"last claim 8 min ago by w1".to_owned()), "{:?}", reading.verdict.why);
    // The claim outlives the memory of its worker.
    db.let_time_pass(40 * 86_400).await;
    db.store.purge(86_400, 86_400, 100).await.unwrap();
    db.store.purge(86_400, 86_400, 100).await.unwrap();
    let reading = db.reading().await;
    assert!(reading.verdict.text.ends_with("nothing claimed for 40 d"), "{}", reading.verdict.text);
}

async fn a_short_limit_of_the_kind_is_obeyed(db: Arc<TestDatabase>) {
    db.set_policy("quick", json!({"not_running_after_seconds": 5})).await;
    db.enqueue(&[job("quick")]).await;
    assert_eq!(state(&db).await, VerdictState::Running);
    db.let_time_pass(5).await;
    assert_eq!(state(&db).await, VerdictState::NotRunning);
    db.set_policy("quick", json!({"not_running_after_seconds": 60})).await;
    assert_eq!(state(&db).await, VerdictState::Running);
}

async fn expired_leases_are_due_again(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 2]).await;
    db.claim("w1", 2).await;
    db.let_time_pass(290).await;
    assert!(db.line().await.starts_with("Running · nothing waiting, 2 in progress"), "{}", db.line().await);
    db.let_time_pass(11).await;
    let reading = db.reading().await;
    assert!(reading.verdict.text.starts_with("Running · 2 waiting, oldest "), "{}", reading.verdict.text);
    let kind = &reading.kinds[0];
    assert_eq!((kind.in_progress, kind.due, kind.lease_expired), (0, 2, 2));
    db.let_time_pass(180).await;
    let verdict = db.reading().await.verdict;
    assert!(verdict.text.starts_with("Not running? · 2 waiting, oldest 3 min"), "{}", verdict.text);
    assert!(verdict.why.contains(&"2 with an expired lease".to_owned()), "{:?}", verdict.why);
}

async fn a_skipped_kind_beside_a_healthy_one(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("moderate-image"); 18]).await;
    db.let_time_pass(560).await;
    db.enqueue(&vec![job("fine"); 3]).await;
    let claimed = db.claim_kinds("w1", &["fine"], 1).await.remove(0);
    db.finish(&claimed, done("ok")).await;
    let reading = db.reading().await;
    assert_eq!(reading.verdict.state, VerdictState::RunningExcept);
    assert_eq!(reading.verdict.text, "Running, except moderate-image: 18 waiting, none claimed for 9 min");
    assert_eq!(kind_state(&reading, "moderate-image"), KindState::Skipped);
    assert_eq!(kind_state(&reading, "fine"), KindState::Running);
    db.let_time_pass(200).await;
    assert_eq!(state(&db).await, VerdictState::NotRunning, "now nobody works on anything");
}

/// 30 jobs of an old burst, then one of `photo`, and all due long enough.
async fn burst(db: &TestDatabase) {
    db.enqueue(&vec![job("text"); 30]).await;
    db.let_time_pass(60).await;
    db.enqueue(&[job("photo")]).await;
    db.let_time_pass(200).await;
}

async fn a_kind_behind_an_older_burst_is_no_alarm(db: Arc<TestDatabase>) {
    burst(&db).await;
    assert_eq!(state(&db).await, VerdictState::NotRunning);
    db.claim("w1", 10).await;
    let reading = db.reading().await;
    assert_eq!(kind_state(&reading, "photo"), KindState::QueuedBehind, "{reading:?}");
    assert_eq!(reading.verdict.state, VerdictState::Running);
    assert!(reading.verdict.text.starts_with("Running · 21 waiting, oldest 4 min"), "{}", reading.verdict.text);
    // Another worker's empty poll, or its full claim, does not undo that.
    db.claim_kinds("w2", &["nothing"], 10).await;
    db.claim_kinds("w2", &["text"], 5).await;
    assert_eq!(kind_state(&db.reading().await, "photo"), KindState::QueuedBehind);
    db.let_time_pass(165).await;
    assert_eq!(kind_state(&db.reading().await, "photo"), KindState::QueuedBehind);
    db.let_time_pass(15).await;
    assert_eq!(kind_state(&db.reading().await, "photo"), KindState::NotRunning, "that claim is too long ago");
}

async fn younger_work_going_first_is_an_alarm(db: Arc<TestDatabase>) {
    db.enqueue(&[job("photo")]).await;
    db.let_time_pass(100).await;
    db.enqueue(&vec![job("text"); 30]).await;
    db.let_time_pass(100).await;
    db.claim_kinds("w1", &["photo-of-others", "text"], 10).await;
    assert_eq!(kind_state(&db.reading().await, "photo"), KindState::Skipped);
}

async fn a_claim_for_other_kinds_does_not_excuse_a_skipped_one(db: Arc<TestDatabase>) {
    burst(&db).await;
    db.claim_kinds("w1", &["text"], 10).await;
    let reading = db.reading().await;
    assert_eq!(kind_state(&reading, "photo"), KindState::Skipped, "nobody asks for photos");
    assert_eq!(reading.verdict.state, VerdictState::RunningExcept);
    db.claim_kinds("w1", &["photo", "text"], 10).await;
    assert_eq!(kind_state(&db.reading().await, "photo"), KindState::QueuedBehind, "now somebody does");
}

async fn a_claim_that_was_not_full_does_not_excuse_a_skipped_one(db: Arc<TestDatabase>) {
    burst(&db).await;
    // Paused for a moment, so that a claim that admits it comes back short.
    db.set_policy("photo", json!({"paused": true})).await;
    assert_eq!(db.claim("w1", 40).await.len(), 30);
    db.set_policy("photo", json!({"paused": false})).await;
    db.let_time_pass(181).await;
    let busy = db.claimed("text").await;
    db.finish(&busy, done("ok")).await;
    assert_eq!(kind_state(&db.reading().await, "photo"), KindState::Skipped);
}

async fn long_jobs_that_heartbeat_are_running(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 5]).await;
    let claimed = db.claim_one("w1").await;
    for _ in 0..4 {
        db.let_time_pass(170).await;
        db.store.heartbeat(claimed.id, claimed.lease_token, None).await.unwrap();
    }
    db.let_time_pass(100).await;
    let line = db.line().await;
    assert_eq!(line, "Running · 4 waiting, oldest 13 min, last worked 1 min ago");
}

async fn long_jobs_that_do_not_are_not(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 5]).await;
    db.claim_one("w1").await;
    db.let_time_pass(181).await;
    assert_eq!(state(&db).await, VerdictState::NotRunning, "a live lease alone is not work");
}

async fn paused_and_resumed(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 131]).await;
    db.enqueue(&[job("b")]).await;
    let claimed = db.claim_kinds("w1", &["b"], 1).await;
    db.finish(&claimed[0], done("ok")).await;
    db.let_time_pass(600).await;
    db.set_policy("a", json!({"paused": true})).await;
    db.let_time_pass(125).await;
    let reading = db.reading().await;
    assert_eq!(reading.verdict.text, "Paused · 131 waiting, oldest 12 min, paused by mila 2 min ago");
    assert!(reading.verdict.state.is_well() && reading.verdict.why.is_empty(), "somebody meant it: no alarm");
    assert_eq!((kind_state(&reading, "a"), kind_state(&reading, "b")), (KindState::Paused, KindState::Idle));
    db.let_time_pass(7_200).await;
    assert_eq!(state(&db).await, VerdictState::Paused);
    db.set_policy("a", json!({"paused": false})).await;
    db.let_time_pass(165).await;
    assert_eq!(state(&db).await, VerdictState::Running, "the clock starts when the hold ends");
    db.let_time_pass(15).await;
    assert_eq!(state(&db).await, VerdictState::NotRunning);
}

async fn one_paused_kind_beside_another(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 5]).await;
    db.enqueue(&vec![job("b"); 2]).await;
    db.set_policy("a", json!({"paused": true})).await;
    db.let_time_pass(300).await;
    let reading = db.reading().await;
    assert_eq!(reading.verdict.text, "Not running? · 7 waiting, oldest 5 min, never worked");
    assert_eq!((kind_state(&reading, "a"), kind_state(&reading, "b")), (KindState::Paused, KindState::NotRunning));
    let claimed = db.claim("w1", 10).await;
    assert_eq!(claimed.len(), 2);
    for claimed in &claimed {
        db.finish(claimed, done("ok")).await;
    }
    assert_eq!(state(&db).await, VerdictState::Paused, "every kind that has waiting work is paused");
}

async fn everything_failing(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"jitter": "none", "start_seconds": 5, "max_attempts": 50})).await;
    let success = db.claimed("a").await;
    db.finish(&success, done("ok")).await;
    let since = db.job(success.id).await.summary.finished_at.unwrap();
    db.enqueue(&vec![job("a"); 30]).await;
    let failing = async |n: u32| {
        for claimed in db.claim("w1", n).await {
            db.finish(&claimed, fail("429 slow down", 429)).await;
        }
    };
    failing(19).await;
    db.let_time_pass(181).await;
    failing(1).await;
    // 20 ended attempts, one of them the success: not all failed.
    db.enqueue(&[job("a")]).await;
    let line = db.line().await;
    assert!(line.starts_with("Running, but nothing succeeds since "), "21 attempts, the last 20 failed: {line}");
    let since = (since - TimeDelta::seconds(181)).format("%H:%M");
    let reading = db.reading().await;
    let due = reading.kinds[0].due;
    assert!(
        line.starts_with(&format!("Running, but nothing succeeds since {since} · {due} waiting, oldest 3 min")),
        "{line}"
    );
    assert!(line.ends_with("(429 rate_limit)"), "{line}");
    assert!(!reading.verdict.state.is_well());
    let claimed = db.claim_one("w1").await;
    db.finish(&claimed, done("ok")).await;
    assert_eq!(state(&db).await, VerdictState::Running, "one success is enough");
}

async fn a_refusal_is_a_success_of_the_pipeline(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 50]).await;
    for (i, claimed) in db.claim("w1", 40).await.iter().enumerate() {
        db.finish(claimed, if i == 25 { refusal("AMBIGUOUS_VALUE") } else { fail("400", 400) }).await;
    }
    db.let_time_pass(170).await;
    let claimed = db.claim_one("w1").await;
    db.finish(&claimed, fail("400", 400)).await;
    assert_eq!(state(&db).await, VerdictState::Running);
}

async fn failures_before_a_quiet_hour_do_not_alarm(db: Arc<TestDatabase>) {
    for _ in 0..20 {
        db.parked("a").await;
    }
    db.let_time_pass(3_600).await;
    assert_eq!(db.line().await, "Idle · nothing waiting, last worked 1 h ago", "no work goes on");
}

async fn a_poller_that_gets_nothing_is_not_work(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 9]).await;
    for _ in 0..4 {
        db.let_time_pass(60).await;
        assert!(db.claim_kinds("w-eu-1", &["something-else"], 10).await.is_empty());
    }
    let verdict = db.reading().await.verdict;
    assert_eq!(verdict.text, "Not running? · 9 waiting, oldest 4 min, never worked");
    assert!(verdict.why.contains(&"1 worker still polls and gets nothing".to_owned()), "{:?}", verdict.why);
}

async fn refused_polls_are_named(db: Arc<TestDatabase>) {
    db.enqueue(&[job("a")]).await;
    db.let_time_pass(200).await;
    for _ in 0..3 {
        db.store.record_refused_poll().await.unwrap();
    }
    let verdict = db.reading().await.verdict;
    assert_eq!(verdict.state, VerdictState::NotRunning);
    assert!(verdict.why.contains(&"3 claims refused (401) in the last 5 min".to_owned()), "{:?}", verdict.why);
}

async fn a_missing_tick_is_named(db: Arc<TestDatabase>) {
    db.store.record_tick(&name("cron"), 60).await.unwrap();
    db.store.record_tick(&name("nightly"), 86_400).await.unwrap();
    db.enqueue(&[job("a")]).await;
    db.let_time_pass(250).await;
    let why = db.reading().await.verdict.why;
    assert!(why.contains(&"trigger cron last ticked 4 min ago, expected every 1 min".to_owned()), "{why:?}");
    assert!(!why.iter().any(|line| line.contains("nightly")), "{why:?}");
}

async fn a_canary_never_makes_a_verdict(db: Arc<TestDatabase>) {
    let canary = Canary { reason_code: "AMBIGUOUS_VALUE".into(), field: None };
    db.enqueue(&vec![NewJob { canary: Some(canary), ..job("a") }; 3]).await;
    db.let_time_pass(4_000).await;
    assert_eq!(db.line().await, "Idle · nothing waiting, never worked");
}

async fn late_answers_are_no_work(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 3]).await;
    let request = ClaimRequest { lease_seconds: Some(10), ..claim_request("w1", 1) };
    let claimed = db.store.claim(&request).await.unwrap().remove(0);
    db.let_time_pass(181).await;
    db.finish_refused(&claimed, done("late")).await;
    db.store.heartbeat(claimed.id, claimed.lease_token, None).await.unwrap_err();
    assert_eq!(db.line().await, "Not running? · 3 waiting, oldest 3 min, nothing claimed for 3 min");
}
