//! What each recovery action leaves behind: jobs, decisions, notices, follow-ups.

use crate::support::TestDatabase;
use crate::support::calls::{act_on, done, fail, job, key, letter_filter};
use app::error::StoreError;
use app::model::job::{JobState, NewJob, RawJson};
use app::model::letter::{DeadLetter, LetterStatus};
use app::model::letter_filter::{LetterFilter, StatusFilter};
use app::model::people::Role;
use app::model::recovery::{LetterAct, RecoveryAction};
use chrono::{Days, TimeDelta};
use serde_json::{Value, json};
use std::sync::Arc;

each_database![
    a_correction_runs_the_new_payload_and_keeps_the_old,
    a_correction_that_changes_nothing_is_refused,
    a_correction_inherits_the_unique_key,
    a_split_makes_parts_that_are_tracked_together,
    a_split_happens_once_and_has_at_least_two_parts,
    a_notice_goes_to_the_one_recipient_the_payload_declares,
    a_policy_update_leaves_a_follow_up,
    a_taken_letter_is_left_alone_by_others,
    what_was_taken_comes_back_by_the_clock,
    a_letter_is_taken_over_knowingly_and_released,
    a_workflow_decides_what_is_offered_and_to_whom,
    decisions_are_the_history_of_a_letter,
    nothing_is_left_behind_by_what_was_refused,
];

async fn parked_with(db: &TestDatabase, payload: &str) -> DeadLetter {
    let sent = NewJob { payload: Some(RawJson::stored(payload.to_owned())), ..job("k") };
    parked_job(db, sent).await
}

async fn parked_job(db: &TestDatabase, sent: NewJob) -> DeadLetter {
    db.enqueue(std::slice::from_ref(&sent)).await;
    let claimed = db.claim_one("w1").await;
    db.letter_of(db.finish(&claimed, fail("unprocessable", 422)).await).await
}

fn corrected(letter: &DeadLetter, payload: &str) -> LetterAct {
    LetterAct { payload: Some(RawJson::stored(payload.to_owned())), ..act_on(letter, RecoveryAction::CorrectAndReplay) }
}

fn split(letter: &DeadLetter, parts: &[&str]) -> LetterAct {
    let parts = parts.iter().map(|part| RawJson::stored((*part).to_owned())).collect();
    LetterAct { payloads: Some(parts), ..act_on(letter, RecoveryAction::SplitAndReplay) }
}

fn conflict(answer: Result<app::model::recovery::Acted, StoreError>) -> String {
    match answer {
        Err(StoreError::Conflict(sentence)) => sentence,
        other => panic!("a conflict, not {other:?}"),
    }
}

async fn a_correction_runs_the_new_payload_and_keeps_the_old(db: Arc<TestDatabase>) {
    let original = r#"{"id":9007199254740993,"total":0.10,"s":"007"}"#;
    let letter = parked_with(&db, original).await;
    let mended = r#"{"id":9007199254740993,"total":0.10,"s":"007","currency":"EUR"}"#;
    let acted = db.act(&corrected(&letter, mended), "mila").await.unwrap();
    let claimed = db.claim_one("w1").await;
    assert_eq!(claimed.id, acted.replay_job_ids[0]);
    assert_eq!(claimed.payload.unwrap().as_str(), mended);
    let kept = db.letter(letter.id).await;
    assert_eq!(kept.payload.as_ref().unwrap().as_str(), original);
    let difference: Value = serde_json::from_str(kept.decisions[0].difference.as_ref().unwrap().as_str()).unwrap();
    assert_eq!(
        difference,
        json!({"changes": [{"path": "currency", "before": null, "after": "\"EUR\""}], "left_out": 0})
    );
}

async fn a_correction_that_changes_nothing_is_refused(db: Arc<TestDatabase>) {
    let letter = parked_with(&db, r#"{"a": 1}"#).await;
    match db.act(&corrected(&letter, r#"{"a":1}"#), "mila").await {
        Err(StoreError::Invalid(error)) => assert_eq!(error.field, "payload"),
        other => panic!("{other:?}"),
    }
    assert_eq!(db.letter(letter.id).await.letter.status, LetterStatus::Open);
}

async fn a_correction_inherits_the_unique_key(db: Arc<TestDatabase>) {
    let keyed = || NewJob { unique_key: Some("invoice-7".into()), payload: None, ..job("k") };
    let letter = parked_job(&db, keyed()).await;
    let acted = db.act(&corrected(&letter, "{}"), "mila").await;
    assert!(acted.is_err(), "no payload before, an empty one now: the same");
    let acted = db.act(&corrected(&letter, r#"{"a":1}"#), "mila").await.unwrap();
    let again = db.enqueue_one(keyed()).await;
    assert_eq!((again.duplicate, again.id), (true, acted.replay_job_ids[0]));
}

async fn a_split_makes_parts_that_are_tracked_together(db: Arc<TestDatabase>) {
    let keyed =
        NewJob { payload: Some(RawJson::stored("[1,2,3]".into())), unique_key: Some("whole".into()), ..job("k") };
    let letter = parked_job(&db, keyed.clone()).await;
    let acted = db.act(&split(&letter, &["1.0", "2", "3"]), "mila").await.unwrap();
    assert_eq!((acted.replay_job_ids.len(), acted.letter.status), (3, LetterStatus::Resolved));
    assert!(!db.enqueue_one(keyed).await.duplicate, "parts do not hold the key of the whole");

    let parts = db.claim("w1", 3).await;
    assert_eq!(parts[0].payload.as_ref().unwrap().as_str(), "1.0");
    db.finish(&parts[0], done("approved")).await;
    let dead = db.letter_of(db.finish(&parts[1], fail("unprocessable", 422)).await).await;
    let closed = db.letter_of(db.finish(&parts[2], fail("unprocessable", 422)).await).await;
    db.act(&act_on(&closed, RecoveryAction::RejectAndClose), "ada").await.unwrap();

    let whole = db.letter(letter.id).await;
    let ends: Vec<_> =
        whole.replays.iter().map(|part| (part.state, part.dead_letter_id, part.dead_letter_status)).collect();
    assert_eq!(
        ends,
        [
            (JobState::Done, None, None),
            (JobState::Dead, Some(dead.id), Some(LetterStatus::Open)),
            (JobState::Dead, Some(closed.id), Some(LetterStatus::Resolved)),
        ]
    );
}

async fn a_split_happens_once_and_has_at_least_two_parts(db: Arc<TestDatabase>) {
    let letter = parked_with(&db, "[1,2,3]").await;
    for parts in [&[][..], &["1"]] {
        match db.act(&split(&letter, parts), "mila").await {
            Err(StoreError::Invalid(error)) => assert_eq!(error.field, "payloads"),
            other => panic!("{parts:?}: {other:?}"),
        }
    }
    let press = LetterAct { idempotency: key("k", "a"), ..split(&letter, &["1", "2", "3"]) };
    let (first, second) = tokio::join!(db.act(&press, "mila"), db.act(&press, "mila"));
    assert_eq!(first.unwrap().replay_job_ids, second.unwrap().replay_job_ids);
    assert_eq!(db.letter(letter.id).await.replays.len(), 3);
}

async fn a_notice_goes_to_the_one_recipient_the_payload_declares(db: Arc<TestDatabase>) {
    for (payload, said) in [(r#"{"a":1}"#, "nobody"), (r#"{"recipient":["a@x","b@x"]}"#, "2 different")] {
        let letter = parked_with(&db, payload).await;
        match db.act(&act_on(&letter, RecoveryAction::CloseAndNotify), "mila").await {
            Err(StoreError::Invalid(error)) => {
                assert!(error.field == "recipient" && error.rule.contains(said), "{error}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(db.letter(letter.id).await.letter.status, LetterStatus::Open);
    }
    let letter = parked_with(&db, r#"{"customer_email":"a@example.com"}"#).await;
    db.act(&act_on(&letter, RecoveryAction::CloseAndNotify), "mila").await.unwrap();
    let closed = db.letter(letter.id).await;
    let notice = closed.notice.expect("a notice in the outbox");
    assert_eq!((notice.notice.recipient.as_str(), notice.by.as_str()), ("a@example.com", "mila"));
    assert!(notice.sent_at.is_none() && !notice.notice.subject.is_empty() && !notice.notice.next_action.is_empty());
    assert!(closed.replays.is_empty());
}

async fn a_policy_update_leaves_a_follow_up(db: Arc<TestDatabase>) {
    let today = db.now().await.date_naive();
    let letter = parked_with(&db, "{}").await;
    let yesterday =
        LetterAct { due: today.checked_sub_days(Days::new(2)), ..act_on(&letter, RecoveryAction::PolicyUpdate) };
    match db.act(&yesterday, "mila").await {
        Err(StoreError::Invalid(error)) => assert_eq!(error.field, "due"),
        other => panic!("{other:?}"),
    }
    let due = today.checked_add_days(Days::new(3));
    let act = LetterAct { owner: Some("ada".into()), due, ..act_on(&letter, RecoveryAction::PolicyUpdate) };
    db.act(&act, "mila").await.unwrap();
    let follow_up = db.letter(letter.id).await.follow_up.expect("a follow-up");
    assert_eq!((follow_up.owner.as_str(), Some(follow_up.due), follow_up.text.as_str()), ("ada", due, "seen"));
    assert_eq!((follow_up.kind.as_str(), follow_up.by.as_str(), follow_up.done_at), ("k", "mila", None));

    let other = parked_with(&db, "{}").await;
    db.act(&act_on(&other, RecoveryAction::PolicyUpdate), "mila").await.unwrap();
    let follow_up = db.letter(other.id).await.follow_up.expect("a follow-up");
    assert_eq!((follow_up.owner.as_str(), follow_up.due > today), ("mila", true));
}

async fn a_taken_letter_is_left_alone_by_others(db: Arc<TestDatabase>) {
    let letter = db.parked("k").await;
    let taken = db.act(&act_on(&letter, RecoveryAction::Take), "mila").await.unwrap().letter;
    assert_eq!((taken.status, taken.taken.as_ref().map(|t| t.by.as_str())), (LetterStatus::Taken, Some("mila")));
    assert!(conflict(db.act(&act_on(&letter, RecoveryAction::ApproveAndReplay), "ada").await).contains("mila"));
    let sentence = conflict(db.act(&act_on(&taken, RecoveryAction::ApproveAndReplay), "ada").await);
    assert!(sentence.contains("mila has this dead letter until"), "{sentence}");
    assert!(conflict(db.act(&act_on(&taken, RecoveryAction::Release), "ada").await).contains("mila"));
    let acted = db.act(&act_on(&taken, RecoveryAction::ApproveAndReplay), "mila").await.unwrap();
    assert_eq!((acted.letter.status, acted.letter.taken), (LetterStatus::Resolved, None));
}

async fn what_was_taken_comes_back_by_the_clock(db: Arc<TestDatabase>) {
    let letter = db.parked("k").await;
    let taken = db.act(&act_on(&letter, RecoveryAction::Take), "mila").await.unwrap().letter;
    let until = taken.taken.as_ref().unwrap().until;
    let left = until - db.now().await;
    assert!(left > TimeDelta::minutes(14) && left <= TimeDelta::minutes(15), "{left}");
    db.let_time_pass(14 * 60).await;
    assert_eq!(db.letter(letter.id).await.letter.status, LetterStatus::Taken);
    db.let_time_pass(61).await;
    let back = db.letter(letter.id).await.letter;
    assert_eq!((back.status, &back.taken), (LetterStatus::Open, &None));
    db.act(&act_on(&back, RecoveryAction::ApproveAndReplay), "ada").await.unwrap();
}

async fn a_letter_is_taken_over_knowingly_and_released(db: Arc<TestDatabase>) {
    let letter = db.parked("k").await;
    let first = db.act(&act_on(&letter, RecoveryAction::Take), "mila").await.unwrap().letter;
    conflict(db.act(&act_on(&letter, RecoveryAction::Take), "ada").await);
    let over = db.act(&act_on(&first, RecoveryAction::Take), "ada").await.unwrap().letter;
    assert_eq!(over.taken.as_ref().map(|t| t.by.as_str()), Some("ada"));
    let free = db.act(&act_on(&over, RecoveryAction::Release), "ada").await.unwrap().letter;
    assert_eq!((free.status, &free.taken), (LetterStatus::Open, &None));
    conflict(db.act(&act_on(&free, RecoveryAction::Release), "ada").await);
    let taken = LetterFilter { status: Some(StatusFilter::Taken), ..letter_filter() };
    let page = db.store.list_counted_letters(&taken).await.unwrap();
    let totals = page.counts.unwrap().totals;
    assert!(page.letters.is_empty() && totals.taken == 0 && totals.open == 1, "{totals:?}");
}

async fn a_workflow_decides_what_is_offered_and_to_whom(db: Arc<TestDatabase>) {
    let letter = db.parked("k").await;
    let workflow = json!([{"when": {"route": "exception"}, "options": [
        {"action": "approve_and_replay", "role": "admin", "outcome": "It runs again."}]}]);
    db.set_policy("k", json!({ "workflow": workflow })).await;
    let options = db.letter(letter.id).await.letter.recovery_options;
    assert_eq!(options.len(), 1);
    assert_eq!((options[0].role, options[0].outcome.as_str()), (Role::Admin, "It runs again."));
    let refused = act_on(&letter, RecoveryAction::RejectAndClose);
    assert!(conflict(db.act(&refused, "mila").await).contains("does not offer"));
    let approve = act_on(&letter, RecoveryAction::ApproveAndReplay);
    match db.act(&approve, "mila").await {
        Err(StoreError::Forbidden(sentence)) => assert!(sentence.contains("admin"), "{sentence}"),
        other => panic!("{other:?}"),
    }
    db.act(&LetterAct { role: Role::Admin, ..approve }, "ada").await.unwrap();
}

async fn decisions_are_the_history_of_a_letter(db: Arc<TestDatabase>) {
    let letter = db.parked("k").await;
    let taken = db.act(&act_on(&letter, RecoveryAction::Take), "mila").await.unwrap().letter;
    let acted = db.act(&act_on(&taken, RecoveryAction::ApproveAndReplay), "mila").await.unwrap();
    let decisions = db.letter(letter.id).await.decisions;
    let actions: Vec<_> = decisions.iter().map(|decision| decision.action).collect();
    assert_eq!(actions, [RecoveryAction::Take, RecoveryAction::ApproveAndReplay]);
    assert_eq!(decisions[1].replay_job_ids, acted.replay_job_ids);
    let audited = db.audit().await;
    assert!(
        audited.iter().any(|entry| entry.action == "take") && audited.iter().any(|e| e.action == "approve_and_replay")
    );
}

async fn nothing_is_left_behind_by_what_was_refused(db: Arc<TestDatabase>) {
    let letter = db.parked("k").await;
    let audited = db.audit().await.len();
    let stale = LetterAct { version: letter.version + 1, ..act_on(&letter, RecoveryAction::PolicyUpdate) };
    conflict(db.act(&stale, "mila").await);
    let no_payload = act_on(&letter, RecoveryAction::CorrectAndReplay);
    assert!(matches!(db.act(&no_payload, "mila").await, Err(StoreError::Invalid(_))));
    let after = db.letter(letter.id).await;
    assert!(after.decisions.is_empty() && after.follow_up.is_none() && after.replays.is_empty());
    assert_eq!((after.letter.version, db.audit().await.len()), (letter.version, audited));
}
