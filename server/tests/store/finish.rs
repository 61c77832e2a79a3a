//! How attempts end, and what stays on record of each end.

use crate::support::TestDatabase;
use crate::support::calls::claim_request;
use crate::support::calls::{done, fail, fail_as, job, refusal};
use app::error::StoreError;
use app::model::classify::Category;
use app::model::job::Accepts;
use app::model::job::{
    AttemptEnd, AttemptOutcome, Canary, ClaimRequest, DoneReport, Ended, FailReport, JobState, NewJob, RawJson,
    RefuseReport,
};
use app::model::letter::{LetterStatus, Route};
use serde_json::json;
use std::sync::Arc;

each_database![
    done_keeps_all_it_was_told,
    a_refusal_becomes_a_letter_at_once,
    an_unknown_reason_code_changes_nothing,
    a_kind_s_own_reason_codes_are_its_closed_set,
    a_permanent_failure_is_parked_at_once,
    a_transient_failure_waits_for_its_retry,
    the_last_attempt_s_failure_is_parked,
    failure_and_verdict_share_nothing,
    a_refused_canary_opens_no_letter,
    an_end_that_cannot_be_stored_whole_is_not_stored_at_all,
    a_letter_that_cannot_be_stored_leaves_the_job_as_it_was,
    letters_of_one_trouble_share_a_group,
    the_list_shows_the_last_error_of_a_job,
];

async fn done_keeps_all_it_was_told(db: Arc<TestDatabase>) {
    let claimed = db.claimed("extract-invoice").await;
    let raw = |text: &str| Some(RawJson::stored(text.to_owned()));
    let report = DoneReport {
        verdict: Some("approved".into()),
        reason: Some("all fields found".into()),
        result: raw(r#"{"total":1.10}"#),
        evidence: raw(r#"{"total":"Gesamt 1,10"}"#),
        values: raw(r#"{"total":"1.10"}"#),
        source_text: Some("Gesamt 1,10 €".into()),
        envelope: raw(r#"{"envelope_version":1,"x_own":true}"#),
        cost_micro_usd: Some(1_200),
        value_minor: Some(-5),
        currency: Some("EUR".into()),
        shadow: raw(r#"{"rule":"r","decision":"d"}"#),
    };
    let ended = db.finish(&claimed, AttemptEnd::Done(Box::new(report.clone()))).await;
    assert_eq!(ended, Ended::Done);
    let stored = db.job(claimed.id).await;
    assert_eq!((stored.summary.state, stored.summary.verdict.as_deref()), (JobState::Done, Some("approved")));
    assert_eq!((stored.summary.due_at, stored.summary.lease_expires_at), (None, None));
    assert!(stored.summary.finished_at.is_some_and(|at| at <= stored.as_of));
    assert_eq!(stored.reason, report.reason);
    assert_eq!(stored.result, report.result);
    assert_eq!(stored.evidence, report.evidence);
    assert_eq!(stored.values, report.values);
    assert_eq!(stored.source_text, report.source_text);
    assert_eq!(stored.attempt_history[0].outcome, Some(AttemptOutcome::Done));
    let kept = db.door.rows(&["envelope", "value_minor", "currency", "shadow"], "results").await;
    let texts: Vec<_> = kept[0].iter().map(|column| column.as_deref().unwrap()).collect();
    assert_eq!(texts, [r#"{"envelope_version":1,"x_own":true}"#, "-5", "EUR", r#"{"rule":"r","decision":"d"}"#]);
    assert_eq!(db.door.rows(&["cost_micro_usd"], "attempts").await[0][0].as_deref(), Some("1200"));
}

async fn a_refusal_becomes_a_letter_at_once(db: Arc<TestDatabase>) {
    let claimed = db.claimed("extract-invoice").await;
    let report = RefuseReport {
        reason_code: "CONFLICTING_EVIDENCE".into(),
        field: Some("total".into()),
        evidence: "Total 10.00 … Total 12.00".into(),
        envelope: Some(RawJson::stored(r#"{"model":{"id":"m"}}"#.into())),
        cost_micro_usd: Some(7),
    };
    let ended = db.finish(&claimed, AttemptEnd::Refuse(report)).await;
    let Ended::Dead { dead_letter_id, route, ref reason_code, ref field, category } = ended else {
        panic!("a refusal parks the job: {ended:?}");
    };
    assert_eq!((route, category), (Route::RefusedByAgent, None));
    assert_eq!((reason_code.as_deref(), field.as_deref()), (Some("CONFLICTING_EVIDENCE"), Some("total")));
    let whole = db.letter(dead_letter_id).await;
    let letter = &whole.letter;
    assert_eq!((letter.job_id, letter.kind.as_str()), (claimed.id, "extract-invoice"));
    assert_eq!((letter.route, letter.status), (Route::RefusedByAgent, LetterStatus::Open));
    assert_eq!(letter.reason_code.as_deref(), Some("CONFLICTING_EVIDENCE"));
    assert_eq!(letter.evidence.as_deref(), Some("Total 10.00 … Total 12.00"));
    assert_eq!((letter.error.as_deref(), letter.failure_reason.as_deref()), (None, None), "a refusal is no failure");
    assert_eq!(letter.source, "supplier-email-ingest");
    assert_eq!(letter.version, 1);
    assert_eq!(whole.envelope.unwrap().as_str(), r#"{"model":{"id":"m"}}"#);
    assert_eq!(whole.payload.unwrap().as_str(), r#"{"n":1}"#);
    assert_eq!(whole.attempt_history[0].outcome, Some(AttemptOutcome::Refused));
    let stored = db.job(claimed.id).await;
    assert_eq!((stored.summary.state, stored.summary.dead_letter_id), (JobState::Dead, Some(dead_letter_id)));
    let snapshot = db.snapshot().await;
    let kind = &snapshot.kinds[0];
    assert_eq!((kind.refused_last_day, kind.failed_last_day, kind.evidence_failed_last_day), (1, 0, 0));
    assert!(snapshot.failures.is_empty(), "a refusal is no failure");
}

async fn an_unknown_reason_code_changes_nothing(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    let before = db.job(claimed.id).await;
    for code in ["BECAUSE", "ambiguous_value", ""] {
        match db.finish_refused(&claimed, refusal(code)).await {
            StoreError::Invalid(error) => {
                assert_eq!(error.field, "reason_code");
                assert!(error.rule.contains("MISSING_REQUIRED_FIELD"), "the answer lists the set: {}", error.rule);
            }
            other => panic!("{code:?} is invalid, not {other:?}"),
        }
    }
    let mut after = db.job(claimed.id).await;
    after.as_of = before.as_of;
    assert_eq!(after, before, "the lease is untouched");
    assert_eq!(db.snapshot().await.late_answers_last_day, 0);
    db.finish(&claimed, refusal("AMBIGUOUS_VALUE")).await;
}

async fn a_kind_s_own_reason_codes_are_its_closed_set(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"reason_codes": ["NOT_MY_DEPARTMENT"]})).await;
    let claimed = db.claimed("a").await;
    assert!(matches!(db.finish_refused(&claimed, refusal("AMBIGUOUS_VALUE")).await, StoreError::Invalid(_)));
    db.finish(&claimed, refusal("NOT_MY_DEPARTMENT")).await;
    db.refused("b", "AMBIGUOUS_VALUE").await;
}

async fn a_permanent_failure_is_parked_at_once(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    let report = FailReport {
        error: "no such customer".into(),
        http_status: Some(404),
        error_code: Some("customer_gone".into()),
        envelope: Some(RawJson::stored(r#"{"trace_id":"t"}"#.into())),
        ..FailReport::default()
    };
    let ended = db.finish(&claimed, AttemptEnd::Fail(report)).await;
    assert!(
        matches!(ended, Ended::Dead { route: Route::Exception, category: Some(Category::Permanent), .. }),
        "{ended:?}"
    );
    let letter = db.letter_of(ended).await;
    assert_eq!(letter.error.as_deref(), Some("no such customer"));
    assert_eq!((letter.http_status, letter.error_code.as_deref()), (Some(404), Some("customer_gone")));
    assert_eq!(letter.category, Some(Category::Permanent));
    assert_eq!((letter.reason_code, letter.evidence), (None, None), "a failure is no refusal");
    assert_eq!(db.letter(letter.id).await.envelope.unwrap().as_str(), r#"{"trace_id":"t"}"#);
    let snapshot = db.snapshot().await;
    assert_eq!((snapshot.kinds[0].failed_last_day, snapshot.kinds[0].refused_last_day), (1, 0));
    let failure = &snapshot.failures[0];
    assert!(failure.is_final && failure.next_run_at.is_none());
    assert_eq!((failure.attempt, failure.max_attempts, failure.http_status), (1, 3, Some(404)));
    assert_eq!((failure.error.as_str(), failure.dead_letter_id), ("no such customer", Some(letter.id)));
}

async fn a_transient_failure_waits_for_its_retry(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    let ended = db.finish(&claimed, fail("503 from the model", 503)).await;
    let Ended::Waiting { run_at, category } = ended else { panic!("it is retried: {ended:?}") };
    assert_eq!(category, Category::Transient);
    let stored = db.job(claimed.id).await;
    assert_eq!((stored.summary.state, stored.summary.attempts), (JobState::Waiting, 1));
    assert_eq!((stored.run_at, stored.summary.due_at), (run_at, Some(run_at)));
    assert_eq!(stored.summary.lease_expires_at, None);
    let attempt = &stored.attempt_history[0];
    assert_eq!((attempt.outcome, attempt.next_run_at), (Some(AttemptOutcome::Failed), Some(run_at)));
    assert_eq!(attempt.failure_reason.as_deref(), Some("service_unavailable"));
    let failure = &db.snapshot().await.failures[0];
    assert_eq!((failure.is_final, failure.next_run_at), (false, Some(run_at)));
    assert_eq!(failure.reason.as_deref(), Some("service_unavailable"));
    assert_eq!(db.snapshot().await.unresolved_dead_letters, 0);
}

async fn the_last_attempt_s_failure_is_parked(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"start_seconds": 0})).await;
    db.enqueue(&[job("a")]).await;
    for error in ["first", "second"] {
        let claimed = db.claim_one("w1").await;
        let ended = db.finish(&claimed, fail_as(error, Category::Unknown)).await;
        assert!(matches!(ended, Ended::Waiting { category: Category::Unknown, .. }), "{ended:?}");
    }
    let claimed = db.claim_one("w1").await;
    let letter = db.letter_of(db.finish(&claimed, fail_as("third", Category::Unknown)).await).await;
    assert_eq!(letter.error.as_deref(), Some("third"));
    let whole = db.letter(letter.id).await;
    let errors: Vec<_> = whole.attempt_history.iter().map(|a| a.error.as_deref().unwrap()).collect();
    assert_eq!(errors, ["first", "second", "third"], "oldest first");
    assert_eq!(db.snapshot().await.kinds[0].failed_last_day, 1, "one job failed, not three");
    assert_eq!(db.snapshot().await.failures.len(), 3, "three attempts failed");
}

async fn failure_and_verdict_share_nothing(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    db.finish(&claimed, done("needs_review")).await;
    let stored = db.job(claimed.id).await;
    let attempt = &stored.attempt_history[0];
    assert_eq!((attempt.category, attempt.failure_reason.as_deref(), attempt.error.as_deref()), (None, None, None));
    assert_eq!(stored.summary.last_error, None);
    let failed = db.claimed("a").await;
    db.finish(&failed, fail("503", 503)).await;
    assert_eq!(db.job(failed.id).await.summary.verdict, None);
    assert_eq!(db.kind("a").await.done_last_hour, 1);
}

async fn a_refused_canary_opens_no_letter(db: Arc<TestDatabase>) {
    let canary = Canary { reason_code: "AMBIGUOUS_VALUE".into(), field: Some("currency".into()) };
    db.enqueue_one(NewJob { canary: Some(canary), ..job("a") }).await;
    let accepts = Accepts { canary: true, pinned: false };
    let claimed = db.store.claim(&ClaimRequest { accepts, ..claim_request("w1", 1) }).await.unwrap().remove(0);
    db.finish(&claimed, refusal("AMBIGUOUS_VALUE")).await;
    assert_eq!(db.door.count("dead_letters").await, 0);
    let snapshot = db.snapshot().await;
    assert_eq!(snapshot.unresolved_dead_letters, 0);
    let kind = &snapshot.kinds[0];
    assert_eq!((kind.refused_last_day, kind.done_last_hour, kind.in_progress, kind.due), (0, 0, 0, 0));
}

async fn an_end_that_cannot_be_stored_whole_is_not_stored_at_all(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    let before = db.job(claimed.id).await;
    db.door.forbid("endings", "outcome", "done").await;
    db.finish_refused(&claimed, done("ok")).await;
    let mut after = db.job(claimed.id).await;
    after.as_of = before.as_of;
    assert_eq!(after, before, "half an end is no end");
    db.door.allow("endings").await;
    assert_eq!(db.finish(&claimed, done("ok")).await, Ended::Done, "the worker may say it again");
}

async fn a_letter_that_cannot_be_stored_leaves_the_job_as_it_was(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    db.door.forbid("dead_letters", "route", "exception").await;
    db.finish_refused(&claimed, fail("400", 400)).await;
    let stored = db.job(claimed.id).await;
    assert_eq!((stored.summary.state, stored.attempt_history[0].ended_at), (JobState::InProgress, None));
    assert_eq!(db.kind("a").await.failed_last_day, 0);
    db.door.allow("dead_letters").await;
    db.letter_of(db.finish(&claimed, fail("400", 400)).await).await;
    assert_eq!(db.kind("a").await.failed_last_day, 1);
}

async fn letters_of_one_trouble_share_a_group(db: Arc<TestDatabase>) {
    let mut groups = Vec::new();
    for error in ["400 bad id req-81", "400 bad id req-99", "400 certificate expired"] {
        let claimed = db.claimed("a").await;
        groups.push(db.letter_of(db.finish(&claimed, fail(error, 400)).await).await.group);
    }
    groups.push(db.refused("a", "AMBIGUOUS_VALUE").await.group);
    groups.push(db.refused("b", "AMBIGUOUS_VALUE").await.group);
    assert_eq!(groups[0], groups[1]);
    let distinct: std::collections::BTreeSet<_> = groups.iter().collect();
    assert_eq!(distinct.len(), 4, "{groups:?}");
}

async fn the_list_shows_the_last_error_of_a_job(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"start_seconds": 0})).await;
    db.enqueue(&[job("a")]).await;
    for error in ["the first error", "the second error"] {
        let claimed = db.claim_one("w1").await;
        db.finish(&claimed, fail(error, 503)).await;
    }
    let filter = app::model::job::JobFilter { limit: 10, ..Default::default() };
    let page = db.store.list_jobs(&filter).await.unwrap();
    assert_eq!(page.jobs[0].last_error.as_deref(), Some("the second error"));
    assert_eq!((page.jobs[0].attempts, page.jobs[0].max_attempts), (2, 3));
}
