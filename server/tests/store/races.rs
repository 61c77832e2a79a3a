//! Many at once: nothing lost, nothing handed out twice, one answer per question.

use crate::panel::{assert_equals_recount, live};
use crate::support::calls::{act_on, claim_request, done, fail, job, key, letter_filter, name, refusal};
use crate::support::recount::{Rows, shown};
use crate::support::{HeldWriters, TestDatabase};
use app::error::StoreError;
use app::model::ids::JobId;
use app::model::job::{AttemptEnd, ClaimedJob, JobFilter, JobState, NewJob};
use app::model::letter::{LetterStatus, LetterTotals};
use app::model::recovery::{LetterAct, RecoveryAction};
use app::store::Store;
use futures::future::{join_all, try_join_all};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

each_database![
    a_published_burst_is_enqueued_and_drained_by_four_workers,
    two_servers_hand_out_each_job_once,
    retries_and_lost_workers_lose_nothing,
    numbers_add_up_at_every_instant_under_load,
    numbers_equal_a_recount_while_writers_are_held,
    twenty_approvals_are_one_replay,
    twenty_approvals_with_one_key_get_one_answer,
    approving_and_rejecting_at_once_has_one_winner,
    one_lease_ended_by_twenty_ends_once,
    an_expiring_lease_has_one_owner,
    a_unique_key_enqueued_by_twenty_is_one_job,
    batches_with_the_same_keys_in_other_orders_do_not_block,
    cancelling_and_claiming_at_once_has_one_winner,
    reaping_at_once_writes_each_letter_once,
    readers_and_writers_do_not_lock_each_other_out,
];

/// The burst of the field report: 178 reports, 356 text jobs and 465 photos.
fn burst() -> Vec<NewJob> {
    let mut jobs = vec![job("moderate-content"); 356];
    jobs.extend(vec![job("moderate-image"); 465]);
    jobs
}

/// Claims and ends jobs until nothing is left; says what it was handed.
async fn work(store: Arc<dyn Store>, worker: String, end: fn(&ClaimedJob) -> AttemptEnd) -> Vec<(JobId, u32)> {
    let mut handed_out = Vec::new();
    loop {
        let claimed = store.claim(&claim_request(&worker, 10)).await.expect("the claim is answered");
        if claimed.is_empty() {
            return handed_out;
        }
        for job in claimed {
            handed_out.push((job.id, job.attempt));
            store.finish(job.id, job.lease_token, end(&job)).await.expect("the end is accepted");
        }
    }
}

fn spawn_workers(
    stores: &[Arc<dyn Store>],
    end: fn(&ClaimedJob) -> AttemptEnd,
) -> Vec<tokio::task::JoinHandle<Vec<(JobId, u32)>>> {
    (0..4).map(|i| tokio::spawn(work(Arc::clone(&stores[i % stores.len()]), format!("w{i}"), end))).collect()
}

async fn drained(handles: Vec<tokio::task::JoinHandle<Vec<(JobId, u32)>>>) -> Vec<(JobId, u32)> {
    try_join_all(handles).await.expect("no worker dies").into_iter().flatten().collect()
}

fn mostly_done(job: &ClaimedJob) -> AttemptEnd {
    match job.id.0 % 10 {
        0 => refusal("AMBIGUOUS_VALUE"),
        1 => fail("400", 400),
        _ => done("approved"),
    }
}

async fn a_published_burst_is_enqueued_and_drained_by_four_workers(db: Arc<TestDatabase>) {
    let jobs = burst();
    let begun = Instant::now();
    let ids = db.enqueue(&jobs).await;
    let took = begun.elapsed();
    assert_eq!(ids.len(), 821);
    assert!(took < Duration::from_secs(1), "821 jobs in one call took {took:?}");
    let kinds = assert_equals_recount(&db).await.kinds;
    assert_eq!((kinds[0].due, kinds[1].due), (356, 465));
    let handed_out = drained(spawn_workers(&[Arc::clone(&db.store)], mostly_done)).await;
    every_job_once(&handed_out, &ids);
    all_ended(&db, &ids).await;
}

fn every_job_once(handed_out: &[(JobId, u32)], ids: &[JobId]) {
    let distinct: BTreeSet<JobId> = handed_out.iter().map(|(id, _)| *id).collect();
    assert_eq!(handed_out.len(), ids.len(), "each job handed out exactly once");
    assert_eq!(distinct, ids.iter().copied().collect(), "and no other");
    assert!(handed_out.iter().all(|(_, attempt)| *attempt == 1));
}

async fn all_ended(db: &TestDatabase, ids: &[JobId]) {
    let snapshot = assert_equals_recount(db).await;
    assert_eq!(snapshot.kinds.iter().map(live).sum::<i64>(), 0);
    let sum = |figure: fn(&app::model::reading::KindSnapshot) -> i64| snapshot.kinds.iter().map(figure).sum::<i64>();
    let ended = [sum(|k| k.done_last_hour), sum(|k| k.refused_last_day), sum(|k| k.failed_last_day)];
    let expected = |digit: fn(i64) -> bool| ids.iter().filter(|id| digit(id.0 % 10)).count() as i64;
    assert_eq!(ended, [expected(|d| d > 1), expected(|d| d == 0), expected(|d| d == 1)]);
    assert_eq!(db.door.count("endings").await, ids.len() as i64, "one end each");
    assert_eq!(db.door.count("attempts WHERE ended_at IS NOT NULL").await, ids.len() as i64);
    assert_eq!(snapshot.late_answers_last_day, 0);
    assert_eq!(snapshot.workers.iter().map(|worker| worker.holds).sum::<i64>(), 0);
}

async fn two_servers_hand_out_each_job_once(db: Arc<TestDatabase>) {
    let other = db.another_store().await;
    let ids = db.enqueue(&burst()).await;
    let handed_out = drained(spawn_workers(&[Arc::clone(&db.store), Arc::clone(&other)], mostly_done)).await;
    every_job_once(&handed_out, &ids);
    all_ended(&db, &ids).await;
    let (here, there) = (db.snapshot().await, other.snapshot().await.unwrap());
    assert_eq!(shown(&here), shown(&there), "both servers show the same");
    other.close().await;
}

async fn retries_and_lost_workers_lose_nothing(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"start_seconds": 0, "jitter": "none", "max_attempts": 4})).await;
    let ids = db.enqueue(&vec![job("a"); 200]).await;
    // Every seventh claim dies with its job; the rest fail twice, then succeed or not.
    let deaths = Arc::new(AtomicU64::new(0));
    let workers = (0..4).map(|i| {
        let (db, deaths) = (Arc::clone(&db), Arc::clone(&deaths));
        tokio::spawn(async move {
            loop {
                let claimed = db.claim(&format!("w{i}"), 7).await;
                if claimed.is_empty() {
                    return;
                }
                for (n, job) in claimed.iter().enumerate() {
                    match (n, job.attempt) {
                        (6, _) => {
                            deaths.fetch_add(1, Ordering::Relaxed);
                            db.door.expire_lease(job.id, job.lease_expires_at - chrono::TimeDelta::hours(1)).await;
                        }
                        (_, 1 | 2) => drop(db.finish(job, fail("503", 503)).await),
                        _ if job.id.0 % 5 == 0 => drop(db.finish(job, fail("503", 503)).await),
                        _ => drop(db.finish(job, done("ok")).await),
                    }
                }
            }
        })
    });
    try_join_all(workers).await.unwrap();
    while db.store.reap(100).await.unwrap() > 0 {}
    let kind = assert_equals_recount(&db).await.kinds.remove(0);
    assert_eq!(live(&kind), 0);
    assert_eq!(kind.done_last_hour + kind.failed_last_day, ids.len() as i64);
    assert!(deaths.load(Ordering::Relaxed) > 0, "some workers died");
    let lost = db.door.count("attempts WHERE outcome = 'lost'").await;
    assert_eq!(lost as u64, deaths.load(Ordering::Relaxed), "each death is one charged attempt");
    let attempts = db.door.rows(&["sum(attempts)", "max(attempts)"], "jobs").await.remove(0);
    let recorded = db.door.count("attempts").await;
    assert_eq!(attempts[0].as_deref(), Some(recorded.to_string().as_str()), "one row per claim");
    assert_eq!(attempts[1].as_deref(), Some("4"), "never more than max_attempts");
}

/// Four tasks that claim and end, one that pauses, resumes and enqueues, until told to stop.
fn load(db: &Arc<TestDatabase>, stop: &Arc<AtomicBool>, enqueues: bool) -> Vec<tokio::task::JoinHandle<()>> {
    let mut tasks = Vec::new();
    for i in 0..4 {
        let (db, stop) = (Arc::clone(db), Arc::clone(stop));
        tasks.push(tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let claimed = db.claim(&format!("w{i}"), 3).await;
                if claimed.is_empty() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                for job in claimed {
                    let end = match (job.id.0 + i64::from(job.attempt)) % 9 {
                        0 => refusal("AMBIGUOUS_VALUE"),
                        1 => fail("400", 400),
                        2..=4 => fail("503", 503),
                        5 => continue,
                        _ => done("ok"),
                    };
                    // Short leases may run out under load; nothing else may go wrong.
                    let outcome = db.store.finish(job.id, job.lease_token, end).await;
                    assert!(matches!(outcome, Ok(_) | Err(StoreError::LeaseLost)), "{outcome:?}");
                }
            }
        }));
    }
    let (db, stop) = (Arc::clone(db), Arc::clone(stop));
    tasks.push(tokio::spawn(async move {
        let mut pausing = true;
        while !stop.load(Ordering::Relaxed) {
            db.set_policy("b", json!({ "paused": pausing })).await;
            pausing = !pausing;
            if enqueues {
                db.enqueue(&[job("a"), job("b"), job("c")]).await;
            }
            tokio::task::yield_now().await;
        }
    }));
    tasks
}

/// A fixed set of jobs only changes state: whatever the instant, the figures
/// of one snapshot sum up to the same total.
async fn numbers_add_up_at_every_instant_under_load(db: Arc<TestDatabase>) {
    for kind in ["a", "b", "c"] {
        db.set_policy(kind, json!({"start_seconds": 0, "max_attempts": 3})).await;
    }
    let jobs: Vec<NewJob> = ["a", "b", "c"].iter().cycle().take(900).map(|kind| job(kind)).collect();
    db.enqueue(&jobs).await;
    let stop = Arc::new(AtomicBool::new(false));
    let tasks = load(&db, &stop, false);
    let (mut readings, mut distinct) = (0, BTreeSet::new());
    let begun = Instant::now();
    let mut last = None;
    while begun.elapsed() < Duration::from_secs(6) && distinct.len() < 40 {
        let snapshot = db.snapshot().await;
        let by_kind: BTreeMap<&str, i64> = snapshot
            .kinds
            .iter()
            .map(|kind| {
                let ended = kind.done_last_hour + kind.failed_last_day + kind.refused_last_day;
                (kind.kind.as_str(), live(kind) + ended + kind.evidence_failed_last_day + kind.dropped_last_day)
            })
            .collect();
        assert_eq!(by_kind, BTreeMap::from([("a", 300), ("b", 300), ("c", 300)]), "{:?}", snapshot.kinds);
        let parked: i64 = snapshot.kinds.iter().map(|k| k.failed_last_day + k.refused_last_day).sum();
        assert_eq!(snapshot.unresolved_dead_letters, parked, "a letter for each parked job, at the same instant");
        let holds: i64 = snapshot.workers.iter().map(|worker| worker.holds).sum();
        let in_progress: i64 = snapshot.kinds.iter().map(|kind| kind.in_progress).sum();
        assert_eq!(holds, in_progress, "who holds what adds up to what is held");
        for kind in &snapshot.kinds {
            let figures = shown(&snapshot)[&kind.kind].clone();
            assert!(figures.due >= 0 && figures.held >= 0 && figures.in_progress >= 0, "{figures:?}");
            assert!(kind.due == 0 || kind.held == 0, "a kind is either paused or not: {kind:?}");
            assert!(kind.held == 0 || kind.paused.is_some(), "{kind:?}");
        }
        assert!(last.is_none_or(|at| at <= snapshot.as_of), "time does not run backwards");
        last = Some(snapshot.as_of);
        readings += 1;
        distinct.insert(parked + snapshot.kinds.iter().map(|kind| kind.done_last_hour).sum::<i64>());
    }
    stop.store(true, Ordering::Relaxed);
    try_join_all(tasks).await.unwrap();
    assert!(distinct.len() >= 5, "{readings} readings saw only {} moments of the load", distinct.len());
    db.set_policy("b", json!({"paused": false})).await;
    assert_equals_recount(&db).await;
}

/// Stops all writers in mid-load by a lock that readers do not feel, and
/// recounts every number at the very instant of the snapshot.
async fn numbers_equal_a_recount_while_writers_are_held(db: Arc<TestDatabase>) {
    for kind in ["a", "b", "c"] {
        db.set_policy(kind, json!({"start_seconds": 1, "lease_seconds": 1, "max_attempts": 2})).await;
    }
    db.enqueue(&["a", "b", "c"].map(job)).await;
    let stop = Arc::new(AtomicBool::new(false));
    let tasks = load(&db, &stop, true);
    let (begun, mut compared, mut moments) = (Instant::now(), 0, BTreeSet::new());
    while compared < 20 && begun.elapsed() < Duration::from_secs(60) {
        // The load has gone on since the last comparison.
        let ended = db.door.count("endings").await;
        if !moments.insert(ended) {
            tokio::time::sleep(Duration::from_millis(2)).await;
            continue;
        }
        let Some(held) = HeldWriters::hold(&db.door).await else { continue };
        let snapshot = db.snapshot().await;
        let rows = Rows::read(&db.door).await;
        held.release().await;
        assert_eq!(shown(&snapshot), rows.count(snapshot.as_of), "reading {compared}");
        compared += 1;
    }
    stop.store(true, Ordering::Relaxed);
    try_join_all(tasks).await.unwrap();
    assert!(compared >= 20, "only {compared} comparisons at different moments of the load");
}

async fn at_once<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    n: usize,
    db: &Arc<TestDatabase>,
    each: impl Fn(usize, Arc<TestDatabase>) -> F,
) -> Vec<T> {
    join_all((0..n).map(|i| tokio::spawn(each(i, Arc::clone(db))))).await.into_iter().map(Result::unwrap).collect()
}

async fn twenty_approvals_are_one_replay(db: Arc<TestDatabase>) {
    let letter = db.parked("a").await;
    let act = act_on(&letter, RecoveryAction::ApproveAndReplay);
    let outcomes = at_once(20, &db, |i, db| {
        let act = act.clone();
        async move { db.act(&act, &format!("person-{i}")).await }
    })
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert!(outcomes.iter().all(|o| matches!(o, Ok(_) | Err(StoreError::Conflict(_)))), "{outcomes:?}");
    let whole = db.letter(letter.id).await;
    assert_eq!((whole.replays.len(), whole.letter.status), (1, LetterStatus::Resolved));
    let audit = db.audit().await;
    assert_eq!(audit.len(), 1, "exactly one audit entry");
    assert_eq!(audit[0].actor, whole.letter.resolution.unwrap().by, "by the one who won");
    assert_eq!(db.door.count("jobs").await, 2);
}

async fn twenty_approvals_with_one_key_get_one_answer(db: Arc<TestDatabase>) {
    let letter = db.parked("a").await;
    let act = LetterAct { idempotency: key("k", "a"), ..act_on(&letter, RecoveryAction::ApproveAndReplay) };
    let outcomes = at_once(20, &db, |_, db| {
        let act = act.clone();
        async move { db.act(&act, "mila").await.unwrap().replay_job_ids }
    })
    .await;
    assert!(outcomes.iter().all(|replays| *replays == outcomes[0] && replays.len() == 1), "{outcomes:?}");
    assert_eq!((db.audit().await.len(), db.door.count("jobs").await), (1, 2));
}

async fn approving_and_rejecting_at_once_has_one_winner(db: Arc<TestDatabase>) {
    for _ in 0..10 {
        let letter = db.parked("a").await;
        let outcomes = at_once(6, &db, |i, db| {
            let actions = [RecoveryAction::ApproveAndReplay, RecoveryAction::RejectAndClose];
            let act = act_on(&letter, actions[i % 2]);
            async move { db.act(&act, &format!("person-{i}")).await }
        })
        .await;
        let won: Vec<_> = outcomes.iter().flatten().collect();
        assert_eq!(won.len(), 1, "{outcomes:?}");
        let replays = db.letter(letter.id).await.replays.len();
        assert_eq!(replays, won[0].replay_job_ids.len(), "only an approval replays");
        db.claim("w1", 10).await;
    }
    assert_eq!(db.audit().await.len(), 10);
}

async fn one_lease_ended_by_twenty_ends_once(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    let outcomes = at_once(20, &db, |i, db| {
        let (id, token) = (claimed.id, claimed.lease_token);
        let end = [done("ok"), fail("400", 400), refusal("AMBIGUOUS_VALUE"), fail("503", 503)][i % 4].clone();
        async move { db.store.finish(id, token, end).await }
    })
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(_) | Err(StoreError::LeaseLost))), "{outcomes:?}");
    assert_eq!(db.job(claimed.id).await.attempt_history.len(), 1);
    assert_eq!(db.snapshot().await.late_answers_last_day, 19);
    assert_equals_recount(&db).await;
}

async fn an_expiring_lease_has_one_owner(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"max_attempts": 1_000})).await;
    let mut owner = db.claimed("a").await;
    for round in 0..30 {
        db.expire_lease(owner.id).await;
        let old = owner.clone();
        let claims = at_once(6, &db, |i, db| {
            let old = old.clone();
            async move {
                if i == 0 {
                    drop(db.store.finish(old.id, old.lease_token, fail("late", 503)).await);
                }
                db.claim(&format!("w{i}"), 1).await
            }
        })
        .await;
        let owners: Vec<ClaimedJob> = claims.into_iter().flatten().collect();
        assert_eq!(owners.len(), 1, "round {round}: {owners:?}");
        owner = owners.into_iter().next().unwrap();
        assert_eq!(owner.lease_token, old.lease_token + 1);
    }
    db.finish(&owner, done("ok")).await;
    assert_eq!(db.door.count("jobs").await, 1);
    assert_eq!(db.job(owner.id).await.attempt_history.len(), 31);
}

async fn a_unique_key_enqueued_by_twenty_is_one_job(db: Arc<TestDatabase>) {
    let keyed = NewJob { unique_key: Some("k".into()), ..job("a") };
    let outcomes = at_once(20, &db, |_, db| {
        let keyed = keyed.clone();
        async move { db.enqueue_one(keyed).await }
    })
    .await;
    assert_eq!(outcomes.iter().filter(|job| !job.duplicate).count(), 1, "{outcomes:?}");
    assert!(outcomes.iter().all(|job| job.id == outcomes[0].id), "all name the same holder");
    assert_eq!(db.door.count("jobs").await, 1);
}

async fn batches_with_the_same_keys_in_other_orders_do_not_block(db: Arc<TestDatabase>) {
    let keyed = |i: usize| NewJob { unique_key: Some(format!("k{i}")), ..job(["a", "b", "c"][i % 3]) };
    let outcomes = at_once(12, &db, |n, db| {
        let mut batch: Vec<NewJob> = (0..60).map(keyed).collect();
        batch.rotate_left(n * 5);
        if n % 2 == 0 {
            batch.reverse();
        }
        async move { db.store.enqueue(&batch).await.expect("no deadlock") }
    })
    .await;
    let new = outcomes.iter().flatten().filter(|job| !job.duplicate).count();
    assert_eq!((new, db.door.count("jobs").await), (60, 60));
}

async fn cancelling_and_claiming_at_once_has_one_winner(db: Arc<TestDatabase>) {
    for _ in 0..20 {
        let id = db.enqueue_one(job("a")).await.id;
        let outcomes = at_once(4, &db, |i, db| async move {
            if i % 2 == 0 { db.store.cancel(id).await.is_ok() } else { !db.claim("w1", 1).await.is_empty() }
        })
        .await;
        assert_eq!(outcomes.iter().filter(|won| **won).count(), 1, "{outcomes:?}");
        let state = db.job(id).await.summary.state;
        let cancelled = outcomes[0] || outcomes[2];
        assert_eq!(state, if cancelled { JobState::Cancelled } else { JobState::InProgress });
    }
}

async fn reaping_at_once_writes_each_letter_once(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"max_attempts": 1})).await;
    db.enqueue(&vec![job("a"); 60]).await;
    db.claim("w1", 60).await;
    db.let_time_pass(301).await;
    let other = db.another_store().await;
    let reaped = at_once(6, &db, |i, db| {
        let store = if i % 2 == 0 { Arc::clone(&db.store) } else { Arc::clone(&other) };
        async move {
            let mut reaped = 0;
            for _ in 0..8 {
                reaped += store.reap(25).await.unwrap();
                reaped += store.claim(&claim_request(&format!("w{i}"), 1)).await.unwrap().len() as u64 * 1_000;
            }
            reaped
        }
    })
    .await;
    assert!(reaped.iter().sum::<u64>() <= 60, "each reaped at most once, none handed out: {reaped:?}");
    while db.store.reap(100).await.unwrap() > 0 {}
    assert_eq!(db.counts(&letter_filter()).await.totals, LetterTotals { open: 60, taken: 0, resolved: 0 });
    assert_eq!((db.kind("a").await.failed_last_day, db.door.count("endings").await), (60, 60));
    other.close().await;
}

async fn readers_and_writers_do_not_lock_each_other_out(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 300]).await;
    let reading = Arc::new(AtomicBool::new(true));
    let readers: Vec<_> = (0..6)
        .map(|i| {
            let (db, reading) = (Arc::clone(&db), Arc::clone(&reading));
            tokio::spawn(async move {
                while reading.load(Ordering::Relaxed) {
                    match i % 3 {
                        0 => drop(db.store.snapshot().await.expect("a snapshot")),
                        1 => drop(
                            db.store.list_jobs(&JobFilter { limit: 50, ..JobFilter::default() }).await.expect("a list"),
                        ),
                        _ => drop(db.store.list_letters(&letter_filter()).await.expect("a list")),
                    }
                }
            })
        })
        .collect();
    let purger = {
        let (db, reading) = (Arc::clone(&db), Arc::clone(&reading));
        tokio::spawn(async move {
            while reading.load(Ordering::Relaxed) {
                db.store.purge(3_600, 3_600, 50).await.expect("a purge");
                db.store.record_tick(&name("cron"), 60).await.expect("a tick");
                db.store.record_refused_poll().await.expect("a count");
            }
        })
    };
    let handed_out = drained(spawn_workers(&[Arc::clone(&db.store)], mostly_done)).await;
    reading.store(false, Ordering::Relaxed);
    try_join_all(readers).await.expect("no reader is refused");
    purger.await.expect("no purge is refused");
    assert_eq!(handed_out.len(), 300, "no completion is lost");
    assert_equals_recount(&db).await;
    assert_eq!(db.store.ping().await, Ok(()));
}
