//! Canaries: run when they are due and once, judged by how they end, counted
//! nowhere, and heard of when they are done.

use crate::support::TestDatabase;
use crate::support::calls::{actor, change, claim_request, done, fail, job, refusal};
use app::error::StoreError;
use app::model::canary::{CanaryInput, RunCause, RunResult, read_fixture};
use app::model::ids::CanaryId;
use app::model::job::{Accepts, AttemptEnd, Canary, ClaimRequest, ClaimedJob, DoneReport, NewJob, RawJson};
use app::model::park_rate::ParkRateQuery;
use serde_json::json;
use std::sync::Arc;

each_database![
    a_run_is_judged_by_how_its_job_ends,
    one_that_was_done_alarms_until_a_run_passes_or_somebody_acknowledges,
    canaries_are_in_no_count_and_go_to_nobody_who_did_not_ask,
    two_servers_start_what_is_due_once,
    a_change_of_model_or_hash_starts_it_once,
    a_run_that_nobody_takes_ends_and_says_so,
    one_that_came_by_the_worker_api_is_judged_too,
    a_code_outside_the_set_is_refused_and_an_import_is_all_or_nothing,
];

fn input(name: &str, every_seconds: Option<u32>) -> CanaryInput {
    let fixture = json!({"canaries": [{
        "name": name, "kind": "k", "source": "s", "payload": {"n": 1}, "reason_code": "AMBIGUOUS_VALUE",
        "field": "currency", "every_seconds": every_seconds,
    }]});
    read_fixture(&fixture.to_string()).unwrap().remove(0)
}

async fn added(db: &TestDatabase, name: &str, every_seconds: Option<u32>) -> CanaryId {
    db.store.save_canary(None, &input(name, every_seconds), &actor("ada")).await.unwrap()
}

async fn claimed(db: &TestDatabase) -> ClaimedJob {
    let accepts = Accepts { canary: true, pinned: false };
    let asked = ClaimRequest { accepts, ..claim_request("w1", 1) };
    db.store.claim(&asked).await.unwrap().pop().expect("a canary is due")
}

async fn run(db: &TestDatabase, id: CanaryId, end: AttemptEnd) -> Option<RunResult> {
    db.store.run_canary(id, RunCause::Person, &actor("mila")).await.unwrap();
    let job = claimed(db).await;
    assert!(job.canary);
    db.store.finish(job.id, job.lease_token, end).await.unwrap();
    result(db, id).await
}

async fn result(db: &TestDatabase, id: CanaryId) -> Option<RunResult> {
    let found = db.store.find_canary(id, None, 1).await.unwrap().unwrap();
    found.runs.first().and_then(|run| run.result())
}

async fn a_run_is_judged_by_how_its_job_ends(db: Arc<TestDatabase>) {
    db.store
        .change_policy(&crate::support::calls::name("k"), &change(json!({"max_attempts": 1})), &actor("ada"))
        .await
        .unwrap();
    let id = added(&db, "c", None).await;
    let elsewhere = match refusal("AMBIGUOUS_VALUE") {
        AttemptEnd::Refuse(report) => {
            AttemptEnd::Refuse(app::model::job::RefuseReport { field: Some("total".to_owned()), ..report })
        }
        other => other,
    };
    for (end, expected) in [
        (refusal("AMBIGUOUS_VALUE"), RunResult::Passed),
        (refusal("MISSING_REQUIRED_FIELD"), RunResult::WrongCode),
        (elsewhere, RunResult::WrongField),
        (done("approved"), RunResult::Done),
        (fail("unprocessable", 422), RunResult::Failed),
    ] {
        assert_eq!(run(&db, id, end).await, Some(expected));
    }
    db.store.run_canary(id, RunCause::Cli, &actor("mila")).await.unwrap();
    let again = db.store.run_canary(id, RunCause::Person, &actor("mila")).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    let lost = claimed(&db).await;
    db.let_time_pass(4_000).await;
    db.store.reap(10).await.unwrap();
    assert_eq!(result(&db, id).await, Some(RunResult::Failed), "the worker of {} was lost", lost.id);
    let history = db.store.find_canary(id, None, 50).await.unwrap().unwrap().runs;
    assert_eq!(history.len(), 6);
    assert_eq!(history[0].started_by.as_deref(), Some("mila"));
    let older = db.store.find_canary(id, Some(history[2].id), 2).await.unwrap().unwrap().runs;
    assert_eq!(older.iter().map(|run| run.id).collect::<Vec<_>>(), [history[3].id, history[4].id]);
    let actions: Vec<String> = db.audit().await.into_iter().map(|entry| entry.action).collect();
    assert!(actions.iter().any(|action| action == "canary_add"), "{actions:?}");
    assert_eq!(actions.iter().filter(|action| *action == "canary_run").count(), 6);
}

async fn one_that_was_done_alarms_until_a_run_passes_or_somebody_acknowledges(db: Arc<TestDatabase>) {
    let (first, other) = (added(&db, "a", None).await, added(&db, "b", None).await);
    assert_eq!(run(&db, first, done("approved")).await, Some(RunResult::Done));
    assert_eq!(db.snapshot().await.done_canaries, 1);
    run(&db, other, refusal("AMBIGUOUS_VALUE")).await;
    assert_eq!(db.snapshot().await.done_canaries, 1, "another canary clears nothing");
    run(&db, first, refusal("MISSING_REQUIRED_FIELD")).await;
    assert_eq!(db.snapshot().await.done_canaries, 1, "nor does a run that did not pass");
    run(&db, first, refusal("AMBIGUOUS_VALUE")).await;
    assert_eq!(db.snapshot().await.done_canaries, 0);

    run(&db, first, done("approved")).await;
    let alarm = db.store.list_canaries().await.unwrap().alarms.remove(0);
    assert!(alarm.alarms() && alarm.said.as_deref() == Some("done: approved"), "{alarm:?}");
    db.store.clear_canary_run(alarm.id, &actor("ada")).await.unwrap();
    assert_eq!(db.snapshot().await.done_canaries, 0);
    let again = db.store.clear_canary_run(alarm.id, &actor("ada")).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    assert_eq!(db.store.clear_canary_run(999_999, &actor("ada")).await, Err(StoreError::NotFound("run")));
    assert!(db.audit().await.iter().any(|entry| entry.action == "canary_clear" && entry.actor == "ada"));
}

async fn canaries_are_in_no_count_and_go_to_nobody_who_did_not_ask(db: Arc<TestDatabase>) {
    let id = added(&db, "c", None).await;
    db.store.run_canary(id, RunCause::Person, &actor("mila")).await.unwrap();
    assert_eq!(db.store.claim(&claim_request("unaware", 10)).await.unwrap(), []);
    let waiting = db.snapshot().await;
    let kind = &waiting.kinds[0];
    assert_eq!((kind.due, kind.in_progress, kind.oldest_due_at), (0, 0, None));
    let job = claimed(&db).await;
    db.store.finish(job.id, job.lease_token, refusal("AMBIGUOUS_VALUE")).await.unwrap();
    run(&db, id, done("approved")).await;
    let snapshot = db.snapshot().await;
    let kind = &snapshot.kinds[0];
    assert_eq!((kind.refused_last_day, kind.done_last_hour, kind.failed_last_day), (0, 0, 0));
    assert_eq!((snapshot.recent.ended, snapshot.unresolved_dead_letters), (0, 0));
    let query = ParkRateQuery { by_source: true, by_reason: true, from: None, to: None, source: None, kind: None };
    assert_eq!(db.store.count_park_rate(&query).await.unwrap(), []);
    assert_eq!(db.door.count("dead_letters").await, 0);
}

async fn two_servers_start_what_is_due_once(db: Arc<TestDatabase>) {
    let id = added(&db, "hourly", Some(3_600)).await;
    added(&db, "by hand", None).await;
    let off = CanaryInput { enabled: false, ..input("disabled", Some(60)) };
    let off = db.store.save_canary(None, &off, &actor("ada")).await.unwrap();
    assert!(matches!(db.store.run_canary(off, RunCause::Person, &actor("m")).await, Err(StoreError::Conflict(_))));
    let second = db.another_store().await;
    let (a, b) = tokio::join!(db.store.run_due_canaries(), second.run_due_canaries());
    assert_eq!(a.unwrap() + b.unwrap(), 1);
    second.close().await;
    assert_eq!(db.door.count("canary_runs").await, 1);
    let job = claimed(&db).await;
    db.store.finish(job.id, job.lease_token, refusal("AMBIGUOUS_VALUE")).await.unwrap();
    assert_eq!(result(&db, id).await, Some(RunResult::Passed));
    db.let_time_pass(3_500).await;
    assert_eq!(db.store.run_due_canaries().await.unwrap(), 0);
    db.let_time_pass(200).await;
    assert_eq!(db.store.run_due_canaries().await.unwrap(), 1);
    let last = db.store.find_canary(id, None, 1).await.unwrap().unwrap().runs.remove(0);
    assert_eq!((last.cause, last.started_by), (RunCause::Schedule, None));
}

async fn a_change_of_model_or_hash_starts_it_once(db: Arc<TestDatabase>) {
    let id = added(&db, "c", None).await;
    run(&db, id, refusal("AMBIGUOUS_VALUE")).await;
    let work_with = async |model: &str, hash: &str| {
        db.enqueue(&[job("k")]).await;
        let claimed = db.claim_one("w1").await;
        let envelope = json!({"model": {"id": model}, "prompt": {"sha256": hash}}).to_string();
        let report = DoneReport { envelope: Some(RawJson::stored(envelope)), ..DoneReport::default() };
        db.finish(&claimed, AttemptEnd::Done(Box::new(report))).await;
        db.let_time_pass(700).await;
    };
    work_with("m-1", "aa").await;
    work_with("m-1", "aa").await;
    assert_eq!(db.store.run_due_canaries().await.unwrap(), 0, "the first model that is seen is no change");
    for (model, hash, cause) in [("m-2", "aa", RunCause::ModelChange), ("m-2", "bb", RunCause::HashChange)] {
        work_with(model, hash).await;
        assert_eq!(db.store.run_due_canaries().await.unwrap(), 1, "{cause:?}");
        let job = claimed(&db).await;
        db.store.finish(job.id, job.lease_token, refusal("AMBIGUOUS_VALUE")).await.unwrap();
        db.let_time_pass(700).await;
        assert_eq!(db.store.run_due_canaries().await.unwrap(), 0, "once");
        assert_eq!(db.store.find_canary(id, None, 1).await.unwrap().unwrap().runs[0].cause, cause);
    }
}

async fn a_run_that_nobody_takes_ends_and_says_so(db: Arc<TestDatabase>) {
    let id = added(&db, "c", Some(60)).await;
    assert_eq!(db.store.run_due_canaries().await.unwrap(), 1);
    db.let_time_pass(890).await;
    assert_eq!(db.store.run_due_canaries().await.unwrap(), 0, "one at a time");
    assert_eq!(result(&db, id).await, None);
    db.let_time_pass(20).await;
    db.store.run_due_canaries().await.unwrap();
    let found = db.store.find_canary(id, None, 5).await.unwrap().unwrap();
    assert_eq!(found.runs[0].result(), Some(RunResult::NotTaken));
    assert!(found.runs[0].said.as_deref().unwrap().contains("accepts canaries"));
    assert!(found.canary.is_overdue(found.as_of));
    let accepts = Accepts { canary: true, pinned: false };
    let asked = ClaimRequest { accepts, ..claim_request("late", 1) };
    assert_eq!(db.store.claim(&asked).await.unwrap(), [], "its job is called off");
    assert_eq!(db.store.run_due_canaries().await.unwrap(), 1, "and it is tried again");
}

async fn one_that_came_by_the_worker_api_is_judged_too(db: Arc<TestDatabase>) {
    let canary = Canary { reason_code: "AMBIGUOUS_VALUE".to_owned(), field: None };
    for (end, alarms) in
        [(done("approved"), 1), (refusal("MISSING_REQUIRED_FIELD"), 1), (refusal("AMBIGUOUS_VALUE"), 0)]
    {
        db.enqueue(&[NewJob { canary: Some(canary.clone()), ..job("k") }]).await;
        let job = claimed(&db).await;
        db.store.finish(job.id, job.lease_token, end).await.unwrap();
        assert_eq!(db.snapshot().await.done_canaries, alarms);
    }
}

async fn a_code_outside_the_set_is_refused_and_an_import_is_all_or_nothing(db: Arc<TestDatabase>) {
    let bad = CanaryInput { reason_code: "NO_SUCH".to_owned(), ..input("bad", None) };
    match db.store.save_canary(None, &bad, &actor("ada")).await {
        Err(StoreError::Invalid(error)) => {
            assert_eq!(error.field, "reason_code");
            assert!(error.rule.contains("AMBIGUOUS_VALUE"), "{}", error.rule);
        }
        other => panic!("{other:?}"),
    }
    match db.store.import_canaries(&[input("good", None), bad], &actor("ada")).await {
        Err(StoreError::Invalid(error)) => assert_eq!(error.field, "canaries[1].reason_code"),
        other => panic!("{other:?}"),
    }
    assert_eq!(db.door.count("canaries").await, 0);
    db.store.import_canaries(&[input("good", None)], &actor("ada")).await.unwrap();
    db.store.import_canaries(&[input("good", Some(60)), input("two", None)], &actor("ada")).await.unwrap();
    let all = db.store.list_canaries().await.unwrap().canaries;
    assert_eq!(all.len(), 2);
    assert_eq!(all[0].input, input("good", Some(60)));
    let taken = db.store.save_canary(None, &input("two", None), &actor("ada")).await;
    assert!(matches!(taken, Err(StoreError::Conflict(_))), "{taken:?}");
    let nobody = db.store.save_canary(Some(CanaryId(999)), &input("x", None), &actor("ada")).await;
    assert_eq!(nobody, Err(StoreError::NotFound("canary")));
}
