//! Who gets which job, and in which order.

use crate::support::calls::{claim_request, done, fail, job, name};
use crate::support::{TestDatabase, names};
use app::model::ids::JobId;
use app::model::job::{Accepts, Canary, ClaimRequest, ClaimedJob, JobState, NewJob};
use chrono::TimeDelta;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

each_database![
    oldest_due_first,
    equally_old_jobs_go_by_id,
    a_claim_hands_out_at_most_its_limit,
    a_claim_takes_only_the_kinds_it_names,
    an_empty_poll_changes_nothing_but_who_was_seen,
    a_claim_says_all_a_worker_needs,
    token_and_attempt_grow_by_one_at_each_claim,
    a_worker_may_ask_for_less_lease_never_more,
    no_lease_outlives_the_longest_attempt,
    a_paused_kind_is_not_claimed,
    a_canary_goes_only_to_who_accepts_it,
    the_attempt_is_on_record_at_once,
    workers_report_themselves_by_claiming,
];

fn ids(claimed: &[ClaimedJob]) -> Vec<JobId> {
    claimed.iter().map(|job| job.id).collect()
}

async fn oldest_due_first(db: Arc<TestDatabase>) {
    let jobs = db.enqueue(&[job("a"), job("b"), job("a"), job("c")]).await;
    for (job, seconds) in jobs.iter().zip([10, 400, 300, 200]) {
        db.door.backdate(*job, seconds).await;
    }
    let first = db.claim("w1", 2).await;
    assert_eq!(ids(&first), [jobs[1], jobs[2]], "whatever their kind");
    assert_eq!(ids(&db.claim("w2", 10).await), [jobs[3], jobs[0]]);
}

async fn equally_old_jobs_go_by_id(db: Arc<TestDatabase>) {
    let jobs = db.enqueue(&vec![job("a"); 30]).await;
    let mut handed_out = Vec::new();
    for _ in 0..6 {
        handed_out.extend(ids(&db.claim("w1", 5).await));
    }
    assert_eq!(handed_out, jobs);
}

async fn a_claim_hands_out_at_most_its_limit(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 505]).await;
    assert_eq!(db.claim("w1", 1).await.len(), 1);
    assert_eq!(db.claim("w1", 500).await.len(), 500);
    assert_eq!(db.claim("w1", 500).await.len(), 4);
    assert!(db.claim("w1", 500).await.is_empty());
}

async fn a_claim_takes_only_the_kinds_it_names(db: Arc<TestDatabase>) {
    let jobs = db.enqueue(&[job("a"), job("A"), job("b"), job("100%_done"), job("100x_done")]).await;
    assert_eq!(ids(&db.claim_kinds("w1", &["A"], 10).await), [jobs[1]]);
    assert_eq!(ids(&db.claim_kinds("w1", &["100%_done", "nobody-knows"], 10).await), [jobs[3]]);
    assert!(db.claim_kinds("w1", &["nobody-knows"], 10).await.is_empty());
    assert_eq!(ids(&db.claim_kinds("w1", &["b", "a", "A"], 10).await), [jobs[0], jobs[2]]);
    assert_eq!(ids(&db.claim("w1", 10).await), [jobs[4]]);
}

async fn an_empty_poll_changes_nothing_but_who_was_seen(db: Arc<TestDatabase>) {
    db.enqueue(&[job("a")]).await;
    assert!(db.claim_kinds("w1", &["b"], 10).await.is_empty());
    let snapshot = db.snapshot().await;
    assert_eq!(snapshot.kinds.len(), 1, "asking for a kind does not make one");
    assert_eq!((snapshot.kinds[0].due, snapshot.kinds[0].last_worked_at), (1, None));
    assert_eq!(snapshot.workers.len(), 1);
    assert!(snapshot.workers[0].last_claim_was_empty && snapshot.workers[0].last_claim_at.is_none());
}

async fn a_claim_says_all_a_worker_needs(db: Arc<TestDatabase>) {
    let before = db.now().await;
    let id = db.enqueue_one(NewJob { tenant: Some(name("acme")), ..job("a") }).await.id;
    let claimed = db.claim_one("w1").await;
    let after = db.now().await;
    assert_eq!((claimed.id, claimed.kind.as_str(), claimed.tenant.as_deref()), (id, "a", Some("acme")));
    assert_eq!((claimed.attempt, claimed.max_attempts), (1, 3));
    assert!(claimed.lease_token >= 1 && !claimed.canary && claimed.replay.is_none());
    let lease = TimeDelta::seconds(300);
    assert!(claimed.lease_expires_at >= before + lease && claimed.lease_expires_at <= after + lease);
    let shown = db.job(id).await.summary;
    assert_eq!((shown.state, shown.worker.as_deref()), (JobState::InProgress, Some("w1")));
    assert_eq!(shown.lease_expires_at, Some(claimed.lease_expires_at));
    assert_eq!(shown.due_at, Some(claimed.lease_expires_at), "due again from then on");
}

async fn token_and_attempt_grow_by_one_at_each_claim(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"start_seconds": 0, "max_attempts": 4})).await;
    db.enqueue(&[job("a")]).await;
    let first = db.claim_one("w1").await;
    db.finish(&first, fail("503", 503)).await;
    let second = db.claim_one("w2").await;
    db.expire_lease(second.id).await;
    let third = db.claim_one("w1").await;
    assert_eq!([first.attempt, second.attempt, third.attempt], [1, 2, 3]);
    assert_eq!([second.lease_token, third.lease_token], [first.lease_token + 1, first.lease_token + 2]);
    assert_eq!(third.max_attempts, 4);
}

async fn a_worker_may_ask_for_less_lease_never_more(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 2]).await;
    for (asked, given) in [(10, 10), (100_000, 300)] {
        let before = db.now().await;
        let request = ClaimRequest { lease_seconds: Some(asked), ..claim_request("w1", 1) };
        let claimed = db.store.claim(&request).await.unwrap().remove(0);
        let (earliest, latest) = (before + TimeDelta::seconds(given), db.now().await + TimeDelta::seconds(given));
        assert!(
            claimed.lease_expires_at >= earliest && claimed.lease_expires_at <= latest,
            "asked for {asked} s, given until {}",
            claimed.lease_expires_at
        );
    }
}

async fn no_lease_outlives_the_longest_attempt(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"lease_seconds": 300, "max_attempt_seconds": 60})).await;
    let claimed = db.claimed("a").await;
    assert!(claimed.lease_expires_at <= db.now().await + TimeDelta::seconds(60));
}

async fn a_paused_kind_is_not_claimed(db: Arc<TestDatabase>) {
    let jobs = db.enqueue(&[job("a"), job("b")]).await;
    db.set_policy("a", json!({"paused": true})).await;
    assert_eq!(ids(&db.claim("w1", 10).await), [jobs[1]]);
    assert!(db.claim_kinds("w1", &["a"], 10).await.is_empty());
    db.set_policy("a", json!({"paused": false})).await;
    assert_eq!(ids(&db.claim("w1", 10).await), [jobs[0]]);
}

async fn a_canary_goes_only_to_who_accepts_it(db: Arc<TestDatabase>) {
    let canary = Canary { reason_code: "AMBIGUOUS_VALUE".into(), field: Some("currency".into()) };
    let id = db.enqueue_one(NewJob { canary: Some(canary), ..job("a") }).await.id;
    assert!(db.claim("w1", 10).await.is_empty(), "an unaware worker would write it as real");
    let pinned_only = Accepts { canary: false, pinned: true };
    assert!(
        db.store.claim(&ClaimRequest { accepts: pinned_only, ..claim_request("w1", 10) }).await.unwrap().is_empty()
    );
    let accepts = Accepts { canary: true, pinned: false };
    let claimed = db.store.claim(&ClaimRequest { accepts, ..claim_request("w1", 10) }).await.unwrap();
    assert_eq!(ids(&claimed), [id]);
    assert!(claimed[0].canary);
}

async fn the_attempt_is_on_record_at_once(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    let history = db.job(claimed.id).await.attempt_history;
    assert_eq!(history.len(), 1);
    assert_eq!((history[0].attempt, history[0].worker.as_str()), (1, "w1"));
    assert!(history[0].ended_at.is_none() && history[0].outcome.is_none());
    db.finish(&claimed, done("ok")).await;
    let ended = db.job(claimed.id).await.attempt_history.remove(0);
    assert!(ended.ended_at >= Some(ended.claimed_at));
}

async fn workers_report_themselves_by_claiming(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 5]).await;
    let kinds = Some(names(&["a"]));
    let one = db.store.claim(&ClaimRequest { kinds, ..claim_request("w1", 3) }).await.unwrap();
    db.let_time_pass(60).await;
    db.claim("w2", 10).await;
    db.let_time_pass(5).await;
    assert!(db.claim("w2", 10).await.is_empty());
    db.expire_lease(one[0].id).await;
    let snapshot = db.snapshot().await;
    let by_name: BTreeMap<_, _> = snapshot.workers.iter().map(|w| (w.worker.as_str(), w)).collect();
    let (w1, w2) = (by_name["w1"], by_name["w2"]);
    assert_eq!((w1.holds, w1.lease_expired, w1.last_claim_was_empty), (2, 1, false));
    assert_eq!((w2.holds, w2.lease_expired, w2.last_claim_was_empty), (2, 0, true));
    let lease_left = (w1.next_lease_expires_at.unwrap() - snapshot.as_of).num_seconds();
    assert!((225..=235).contains(&lease_left), "{lease_left} s of 300 are left");
    assert!((65..75).contains(&(snapshot.as_of - w1.last_seen_at).num_seconds()));
    let since_claim = (snapshot.as_of - w2.last_claim_at.unwrap()).num_seconds();
    assert!((5..15).contains(&since_claim), "{since_claim} s: the last that handed one out");
    assert!((snapshot.as_of - w2.last_seen_at).num_seconds() < 5);
    assert_eq!(snapshot.workers[0].worker, "w2", "last seen first");
}
