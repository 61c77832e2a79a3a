//! The numbers of a snapshot: every job in exactly one, each equal to a recount.

use crate::support::TestDatabase;
use crate::support::calls::{act_on, claim_request, done, fail, job, name, refusal};
use crate::support::recount::{Rows, shown};
use app::model::ids::JobId;
use app::model::job::{Accepts, AttemptEnd, Canary, ClaimRequest, JobFilter, JobState, NewJob};
use app::model::reading::{KindSnapshot, Snapshot};
use app::model::recovery::RecoveryAction;
use chrono::TimeDelta;
use serde_json::json;
use std::sync::Arc;

each_database![
    an_empty_database_shows_nothing,
    every_job_is_in_exactly_one_count,
    numbers_equal_a_recount_in_every_state,
    a_drained_kind_keeps_a_row_of_zeros,
    windows_are_as_long_as_they_say,
    numbers_are_not_capped_by_a_page,
    canaries_are_in_no_count,
    when_the_agent_last_said_no_is_known_per_source,
    scheduled_and_retrying_are_told_apart,
    the_last_ten_failures_are_the_newest,
    ticks_and_refused_polls_are_remembered,
    workers_of_yesterday_are_forgotten_unless_they_hold_jobs,
    recent_attempts_are_the_last_twenty,
    job_lists_go_by_kind_and_state,
    job_pages_neither_repeat_nor_skip_while_jobs_come,
];

/// Compares the snapshot with the rows; nothing may be written meanwhile.
pub async fn assert_equals_recount(db: &TestDatabase) -> Snapshot {
    let snapshot = db.snapshot().await;
    let rows = Rows::read(&db.door).await;
    assert_eq!(shown(&snapshot), rows.count(snapshot.as_of));
    snapshot
}

/// Jobs of a kind that have not ended.
pub fn live(kind: &KindSnapshot) -> i64 {
    kind.due + kind.held + kind.scheduled + kind.retrying + kind.in_progress + kind.lost
}

async fn an_empty_database_shows_nothing(db: Arc<TestDatabase>) {
    let snapshot = db.snapshot().await;
    assert!(snapshot.kinds.is_empty() && snapshot.failures.is_empty() && snapshot.workers.is_empty());
    assert!(snapshot.ticks.is_empty());
    assert_eq!((snapshot.recent.ended, snapshot.recent.failed), (0, 0));
    assert_eq!((snapshot.late_answers_last_day, snapshot.refused_polls_last_minutes), (0, 0));
    assert_eq!(db.line().await, "Idle · nothing waiting, never worked");
}

async fn every_job_is_in_exactly_one_count(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"max_attempts": 1})).await;
    let later = db.now().await + TimeDelta::hours(1);
    let mut ids = db.enqueue(&vec![job("a"); 6]).await;
    ids.extend(db.enqueue(&vec![NewJob { run_at: Some(later), ..job("a") }; 2]).await);
    let claimed = db.claim("w1", 4).await;
    db.expire_lease(claimed[0].id).await; // lost
    db.finish(&claimed[1], done("ok")).await;
    db.finish(&claimed[2], fail("503", 503)).await; // dead
    let kind = assert_equals_recount(&db).await.kinds.remove(0);
    assert_eq!((kind.due, kind.held, kind.scheduled, kind.retrying), (2, 0, 2, 0));
    assert_eq!((kind.in_progress, kind.lost, kind.lease_expired), (1, 1, 1));
    assert_eq!((kind.done_last_hour, kind.failed_last_day), (1, 1));
    assert_eq!(live(&kind) + kind.done_last_hour + kind.failed_last_day, ids.len() as i64);
    db.set_policy("a", json!({"max_attempts": 3, "paused": true})).await;
    let kind = assert_equals_recount(&db).await.kinds.remove(0);
    assert_eq!((kind.due, kind.held, kind.lost, kind.lease_expired), (0, 3, 0, 1), "expired and held at once");
    assert_eq!(live(&kind), 6);
}

async fn numbers_equal_a_recount_in_every_state(db: Arc<TestDatabase>) {
    db.set_policy("b", json!({"start_seconds": 100, "jitter": "none", "max_attempts": 2})).await;
    db.set_policy("c", json!({"paused": true})).await;
    db.set_policy("d", json!({"start_seconds": 100, "cutoff_seconds": 1, "jitter": "none", "on_cutoff": "drop"})).await;
    let now = db.now().await;
    let mut jobs = Vec::new();
    for (i, kind) in ["a", "b", "c", "d", "A"].iter().cycle().take(200).enumerate() {
        let run_at = (i % 3 == 0).then(|| now + TimeDelta::seconds(i as i64 - 60));
        jobs.push(NewJob { run_at, ..job(kind) });
    }
    db.enqueue(&jobs).await;
    for (round, pass) in [0, 130, 40, 301, 0, 86_000, 400].into_iter().enumerate() {
        db.let_time_pass(pass).await;
        for (i, claimed) in db.claim("w1", 30).await.iter().enumerate() {
            let end = match (i + round) % 6 {
                0 => done("ok"),
                1 => refusal("AMBIGUOUS_VALUE"),
                2 => fail("503", 503),
                3 => fail("400", 400),
                _ => continue,
            };
            db.finish(claimed, end).await;
        }
        let snapshot = assert_equals_recount(&db).await;
        let total = db.door.count("jobs WHERE state IN ('waiting', 'in_progress')").await;
        assert_eq!(snapshot.kinds.iter().map(live).sum::<i64>(), total, "round {round}");
    }
    let letters = db.store.list_letters(&crate::support::calls::letter_filter()).await.unwrap();
    for letter in letters.letters.iter().take(5) {
        db.act(&act_on(letter, RecoveryAction::ApproveAndReplay), "mila").await.unwrap();
    }
    let snapshot = assert_equals_recount(&db).await;
    assert_eq!(snapshot.unresolved_dead_letters, db.door.count("dead_letters WHERE status <> 'resolved'").await);
}

async fn a_drained_kind_keeps_a_row_of_zeros(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("b"); 2]).await;
    for claimed in db.claim("w1", 2).await {
        db.finish(&claimed, done("ok")).await;
    }
    let kind = db.kind("b").await;
    assert_eq!((live(&kind), kind.done_last_hour, kind.oldest_due_at), (0, 2, None));
    db.let_time_pass(8 * 86_400).await;
    while db.store.purge(1, 1, 100).await.unwrap() > 0 {}
    assert_eq!(db.door.count("jobs").await, 0);
    let kind = db.kind("b").await;
    assert_eq!((live(&kind), kind.done_last_hour), (0, 0));
}

async fn windows_are_as_long_as_they_say(db: Arc<TestDatabase>) {
    db.set_policy("d", json!({"cutoff_seconds": 1, "jitter": "none", "on_cutoff": "drop"})).await;
    let done_job = db.claimed("a").await;
    db.finish(&done_job, done("ok")).await;
    db.parked("a").await;
    db.refused("a", "AMBIGUOUS_VALUE").await;
    let dropped = db.claimed("d").await;
    db.finish(&dropped, fail("503", 503)).await;
    let figures = |snapshot: &Snapshot| {
        let (a, d) = (&snapshot.kinds[0], &snapshot.kinds[1]);
        [a.done_last_hour, a.failed_last_day, a.refused_last_day, d.dropped_last_day]
    };
    db.let_time_pass(3_590).await;
    assert_eq!(figures(&db.snapshot().await), [1, 1, 1, 1]);
    db.let_time_pass(20).await;
    assert_eq!(figures(&db.snapshot().await), [0, 1, 1, 1]);
    db.let_time_pass(86_400 - 3_630).await;
    assert_eq!(figures(&db.snapshot().await), [0, 1, 1, 1]);
    db.let_time_pass(40).await;
    assert_eq!(figures(&db.snapshot().await), [0, 0, 0, 0]);
    assert_equals_recount(&db).await;
}

async fn numbers_are_not_capped_by_a_page(db: Arc<TestDatabase>) {
    let old = db.parked("z").await;
    db.enqueue(&vec![job("a"); 400]).await;
    let claimed = db.claim("w1", 270).await;
    for (i, claimed) in claimed.iter().enumerate() {
        db.finish(claimed, if i < 150 { done("ok") } else { fail("400", 400) }).await;
    }
    let snapshot = assert_equals_recount(&db).await;
    let (a, z) = (&snapshot.kinds[0], &snapshot.kinds[1]);
    assert_eq!((a.done_last_hour, a.failed_last_day, a.due), (150, 120, 130));
    assert_eq!(z.failed_last_day, 1);
    assert_eq!(snapshot.failures.len(), 10);
    assert!(snapshot.failures.iter().all(|failure| failure.job_id != old.job_id));
    assert_eq!(snapshot.unresolved_dead_letters, 121);
}

async fn canaries_are_in_no_count(db: Arc<TestDatabase>) {
    let canary = |code: &str| NewJob { canary: Some(Canary { reason_code: code.into(), field: None }), ..job("a") };
    db.enqueue(&vec![canary("AMBIGUOUS_VALUE"); 4]).await;
    let later = db.now().await + TimeDelta::hours(1);
    db.enqueue(&[NewJob { run_at: Some(later), ..canary("AMBIGUOUS_VALUE") }]).await;
    let zeros = |kind: &KindSnapshot| {
        [live(kind), kind.lease_expired, kind.done_last_hour, kind.failed_last_day, kind.refused_last_day]
            .iter()
            .all(|&n| n == 0)
            && kind.oldest_due_at.is_none()
            && kind.next_later_at.is_none()
    };
    assert!(zeros(&db.kind("a").await));
    let accepts = Accepts { canary: true, pinned: false };
    let claimed = db.store.claim(&ClaimRequest { accepts, ..claim_request("w1", 4) }).await.unwrap();
    assert!(zeros(&db.kind("a").await), "{:?}", db.kind("a").await);
    db.finish(&claimed[0], done("it should not be")).await;
    db.finish(&claimed[1], refusal("AMBIGUOUS_VALUE")).await;
    db.finish(&claimed[2], fail("400", 400)).await;
    db.expire_lease(claimed[3].id).await;
    let snapshot = assert_equals_recount(&db).await;
    assert!(zeros(&snapshot.kinds[0]), "{:?}", snapshot.kinds[0]);
    assert!(snapshot.failures.is_empty(), "a canary's trouble has its own page");
    assert!(db.line().await.starts_with("Idle"), "{}", db.line().await);
}

async fn scheduled_and_retrying_are_told_apart(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"jitter": "none", "start_seconds": 299})).await;
    let claimed = db.claimed("a").await;
    db.finish(&claimed, fail("429", 429)).await;
    let at = db.now().await + TimeDelta::seconds(500);
    db.enqueue(&[NewJob { run_at: Some(at), ..job("a") }]).await;
    let kind = assert_equals_recount(&db).await.kinds.remove(0);
    assert_eq!((kind.due, kind.scheduled, kind.retrying, kind.oldest_due_at), (0, 1, 1, None));
    assert_eq!(kind.next_later_at, db.job(claimed.id).await.summary.due_at, "the sooner of the two");
    let line = db.line().await;
    assert!(line.ends_with(", 1 retrying, 1 scheduled, next in 4 min"), "{line}");
}

async fn the_last_ten_failures_are_the_newest(db: Arc<TestDatabase>) {
    for kind in ["a", "b"] {
        db.set_policy(kind, json!({"jitter": "none", "start_seconds": 1_000})).await;
    }
    for i in 0..12 {
        let claimed = db.claimed(if i % 2 == 0 { "a" } else { "b" }).await;
        let end = if i % 3 == 0 { fail(&format!("error {i}"), 400) } else { fail(&format!("error {i}"), 503) };
        db.finish(&claimed, end).await;
        db.let_time_pass(1).await;
    }
    let lost = db.claimed("a").await;
    db.let_time_pass(301).await;
    assert_eq!(db.claim_one("w2").await.id, lost.id);
    let snapshot = db.snapshot().await;
    assert_eq!(snapshot.failures.len(), 10);
    assert_eq!((snapshot.failures[0].job_id, snapshot.failures[0].reason.as_deref()), (lost.id, Some("worker_lost")));
    let errors: Vec<&str> = snapshot.failures[1..].iter().map(|failure| failure.error.as_str()).collect();
    let expected: Vec<String> = (3..12).rev().map(|i| format!("error {i}")).collect();
    assert_eq!(errors, expected);
    for failure in &snapshot.failures[1..] {
        let i: usize = failure.error["error ".len()..].parse().unwrap();
        assert_eq!(failure.kind, if i.is_multiple_of(2) { "a" } else { "b" });
        assert_eq!(failure.is_final, i.is_multiple_of(3), "{}", failure.error);
        assert_eq!(failure.next_run_at.is_some(), !i.is_multiple_of(3));
        assert_eq!(failure.dead_letter_id.is_some(), i.is_multiple_of(3));
        assert_eq!((failure.attempt, failure.max_attempts), (1, 3));
        assert!(failure.at <= snapshot.as_of);
    }
    assert!(snapshot.failures.windows(2).all(|pair| pair[0].at >= pair[1].at), "newest first");
}

async fn ticks_and_refused_polls_are_remembered(db: Arc<TestDatabase>) {
    db.store.record_tick(&name("cron"), 60).await.unwrap();
    db.store.record_tick(&name("systemd"), 300).await.unwrap();
    db.let_time_pass(100).await;
    db.store.record_tick(&name("cron"), 90).await.unwrap();
    for _ in 0..3 {
        db.store.record_refused_poll().await.unwrap();
    }
    let snapshot = db.snapshot().await;
    assert_eq!(snapshot.ticks.len(), 2);
    let tick = |name: &str| snapshot.ticks.iter().find(|tick| tick.trigger == name).unwrap();
    assert_eq!(tick("cron").every_seconds, 90);
    assert!((snapshot.as_of - tick("cron").last_at).num_seconds() < 3);
    assert!((100..110).contains(&(snapshot.as_of - tick("systemd").last_at).num_seconds()));
    assert_eq!(snapshot.refused_polls_last_minutes, 3);
    db.let_time_pass(400).await;
    assert_eq!(db.snapshot().await.refused_polls_last_minutes, 0);
    db.let_time_pass(8 * 86_400).await;
    assert!(db.snapshot().await.ticks.is_empty(), "a trigger of last week was taken down");
}

async fn workers_of_yesterday_are_forgotten_unless_they_hold_jobs(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"lease_seconds": 200_000, "max_attempt_seconds": 200_000})).await;
    db.enqueue(&vec![job("a"); 2]).await;
    let held = db.claim("long", 1).await;
    let ended = db.claim("short", 1).await;
    db.finish(&ended[0], done("ok")).await;
    db.let_time_pass(86_000).await;
    assert_eq!(db.snapshot().await.workers.len(), 2);
    db.let_time_pass(500).await;
    let workers = db.snapshot().await.workers;
    assert_eq!(workers.len(), 1);
    assert_eq!((workers[0].worker.as_str(), workers[0].holds), ("long", 1));
    db.finish(&held[0], done("ok")).await;
    let kind = db.kind("a").await;
    assert!(kind.last_worked_at.is_some());
    for i in 0..60 {
        db.claim(&format!("poller-{i}"), 1).await;
    }
    assert_eq!(db.snapshot().await.workers.len(), 50);
}

async fn recent_attempts_are_the_last_twenty(db: Arc<TestDatabase>) {
    let success = db.claimed("a").await;
    db.finish(&success, refusal("AMBIGUOUS_VALUE")).await;
    let success_at = db.job(success.id).await.summary.finished_at;
    db.let_time_pass(10).await;
    db.set_policy("a", json!({"jitter": "none"})).await;
    db.set_policy("b", json!({"not_running_after_seconds": 999})).await;
    for i in 0..19 {
        let claimed = db.claimed(if i == 3 { "b" } else { "a" }).await;
        db.finish(&claimed, fail("429", 429)).await;
    }
    let recent = db.snapshot().await.recent;
    assert_eq!((recent.ended, recent.failed), (20, 19), "a refusal is a success of the pipeline");
    assert_eq!(recent.last_success_at.map(|at| at + TimeDelta::seconds(10)), success_at);
    let claimed = db.claimed("a").await;
    db.finish(&claimed, fail("the newest", 503)).await;
    let snapshot = db.snapshot().await;
    let recent = snapshot.recent;
    assert_eq!((recent.ended, recent.failed, recent.not_running_after_seconds), (20, 20, 999));
    assert_eq!(
        (recent.last_http_status, recent.last_failure_reason.as_deref()),
        (Some(503), Some("service_unavailable"))
    );
    assert!(recent.last_success_at.is_some(), "ever, not only among the twenty");
    assert!(recent.oldest_ended_at.is_some_and(|at| (snapshot.as_of - at).num_seconds() < 9));
}

async fn job_lists_go_by_kind_and_state(db: Arc<TestDatabase>) {
    let ids = db.enqueue(&[job("a"), job("b"), job("A"), job("a"), job("b")]).await;
    let claimed = db.claim("w1", 2).await;
    db.finish(&claimed[0], done("ok")).await;
    let all = JobFilter { limit: 200, ..JobFilter::default() };
    let cases = [
        (all.clone(), vec![4, 3, 2, 1, 0]),
        (JobFilter { kind: Some("a".into()), ..all.clone() }, vec![3, 0]),
        (JobFilter { state: Some(JobState::Waiting), ..all.clone() }, vec![4, 3, 2]),
        (JobFilter { state: Some(JobState::InProgress), ..all.clone() }, vec![1]),
        (JobFilter { state: Some(JobState::Done), kind: Some("a".into()), ..all.clone() }, vec![0]),
        (JobFilter { state: Some(JobState::Done), kind: Some("b".into()), ..all.clone() }, vec![]),
        (JobFilter { kind: Some("%".into()), ..all }, vec![]),
    ];
    for (filter, expected) in cases {
        let page = db.store.list_jobs(&filter).await.unwrap();
        let listed: Vec<JobId> = page.jobs.iter().map(|job| job.id).collect();
        let expected: Vec<JobId> = expected.into_iter().map(|i| ids[i]).collect();
        assert_eq!((listed, page.next), (expected, None), "{filter:?}");
    }
}

async fn job_pages_neither_repeat_nor_skip_while_jobs_come(db: Arc<TestDatabase>) {
    let mut expected = db.enqueue(&vec![job("a"); 31]).await;
    let mut filter = JobFilter { limit: 7, ..JobFilter::default() };
    let mut seen = Vec::new();
    loop {
        let page = db.store.list_jobs(&filter).await.unwrap();
        assert!(page.jobs.len() <= 7);
        seen.extend(page.jobs.iter().map(|job| job.id));
        db.enqueue(&[job("a")]).await;
        let claimed = db.claim_one("w1").await;
        db.finish(&claimed, AttemptEnd::Done(Box::default())).await;
        match page.next {
            Some(next) => filter.before = Some(next),
            None => break,
        }
    }
    expected.reverse();
    assert_eq!(seen, expected);
}

async fn when_the_agent_last_said_no_is_known_per_source(db: Arc<TestDatabase>) {
    let from = |source: &str| NewJob { source: name(source), ..job("k") };
    let end = async |source: &str, end: AttemptEnd| {
        db.enqueue(&[from(source)]).await;
        let claimed = db.claim_one("w1").await;
        db.finish(&claimed, end).await;
    };
    let known = async |source: &str| {
        let snapshot = db.snapshot().await;
        let found = snapshot.last_refusals.into_iter().find(|one| one.source == source);
        found.map(|one| (one.at.map(|at| (snapshot.as_of - at).num_hours()), one.reason_code, one.processed_since))
    };
    end("portal", done("ok")).await;
    assert_eq!(known("portal").await, Some((None, None, 1)), "never");
    end("portal", refusal("AMBIGUOUS_VALUE")).await;
    let code = Some("AMBIGUOUS_VALUE".to_owned());
    assert_eq!(known("portal").await, Some((Some(0), code.clone(), 0)));
    db.let_time_pass(3 * 3_600).await;
    for _ in 0..2 {
        end("portal", done("ok")).await;
    }
    end("portal", fail("unprocessable", 422)).await;
    assert_eq!(known("portal").await, Some((Some(3), code.clone(), 2)), "a failure is neither a yes nor a no");
    let canary =
        NewJob { canary: Some(Canary { reason_code: "AMBIGUOUS_VALUE".to_owned(), field: None }), ..from("portal") };
    db.enqueue(&[canary]).await;
    let accepts = Accepts { canary: true, pinned: false };
    let claimed = db.store.claim(&ClaimRequest { accepts, ..claim_request("w1", 1) }).await.unwrap().remove(0);
    db.finish(&claimed, refusal("AMBIGUOUS_VALUE")).await;
    let letter = db.refused("k", "AMBIGUOUS_VALUE").await;
    db.act(&act_on(&letter, RecoveryAction::ApproveAndReplay), "mila").await.unwrap();
    let replay = db.claim_one("w1").await;
    db.finish(&replay, refusal("AMBIGUOUS_VALUE")).await;
    assert_eq!(known("portal").await, Some((Some(3), code, 2)), "nor is a canary or a replay");
    db.set_policy("k", json!({"may_refuse": false})).await;
    assert_eq!(known("portal").await, None, "it has nothing to say no to");
}
