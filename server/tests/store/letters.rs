//! What a person does to dead letters: once, seen, on record.

use crate::support::TestDatabase;
use crate::support::calls::{act_on, claim_request, done, fail, job, key, letter_filter, name, refusal};
use app::error::StoreError;
use app::model::ids::DeadLetterId;
use app::model::job::{Accepts, ClaimRequest, JobState, NewJob, RawJson, ReplayMode};
use app::model::letter::{DeadLetter, LetterStatus, LetterTotals, Route};
use app::model::letter_filter::{LetterFilter, StatusFilter};
use app::model::recovery::{LetterAct, RecoveryAction};
use chrono::TimeDelta;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

each_database![
    approving_makes_one_fresh_job,
    a_replay_has_all_its_attempts_and_a_fresh_anchor,
    a_replay_that_dies_is_a_letter_of_its_own,
    rejecting_closes_and_runs_nothing,
    the_second_to_act_is_told_what_happened,
    an_old_version_is_a_conflict,
    a_key_gives_the_stored_answer_once,
    a_key_with_another_body_is_refused,
    an_unknown_letter_is_not_found,
    an_act_that_cannot_be_audited_is_not_done,
    a_pinned_replay_goes_only_to_who_accepts_it,
    a_replay_of_a_paused_kind_waits,
    filters_are_a_conjunction,
    letters_of_a_day_are_those_of_the_utc_day,
    pages_neither_repeat_nor_skip_while_letters_come,
    totals_count_what_the_filter_finds_whatever_its_status,
    lists_cut_long_errors_and_the_letter_keeps_them,
    a_letter_shows_its_replays_and_how_they_ended,
];

async fn approve(db: &TestDatabase, letter: &DeadLetter) -> app::model::recovery::Acted {
    db.act(&act_on(letter, RecoveryAction::ApproveAndReplay), "mila").await.unwrap()
}

async fn approving_makes_one_fresh_job(db: Arc<TestDatabase>) {
    let sent = NewJob {
        tenant: Some(name("acme")),
        payload: Some(RawJson::stored(r#"{"id":9007199254740993,"id":1}"#.into())),
        payload_ref: Some("s3://b/k".into()),
        upstream_handoffs: Some(RawJson::stored("[1]".into())),
        ..job("extract-invoice")
    };
    db.enqueue(std::slice::from_ref(&sent)).await;
    let claimed = db.claim_one("w1").await;
    let letter = db.letter_of(db.finish(&claimed, refusal("AMBIGUOUS_VALUE")).await).await;
    let acted = approve(&db, &letter).await;
    assert_eq!(acted.letter.status, LetterStatus::Resolved);
    assert!(acted.letter.version > letter.version);
    assert!(acted.letter.recovery_options.is_empty());
    let resolution = acted.letter.resolution.as_ref().unwrap();
    assert_eq!((resolution.action, resolution.by.as_str()), (RecoveryAction::ApproveAndReplay, "mila"));
    assert_eq!(resolution.note.as_deref(), Some("seen"));
    assert_eq!(acted.replay_job_ids.len(), 1);
    let replay = db.job(acted.replay_job_ids[0]).await;
    assert_eq!((replay.summary.state, replay.summary.attempts), (JobState::Waiting, 0));
    assert_eq!((replay.replay_of, replay.summary.dead_letter_id), (Some(letter.id), None));
    assert_eq!(replay.payload, sent.payload, "byte for byte");
    assert_eq!(replay.payload_ref, sent.payload_ref);
    assert_eq!(replay.upstream_handoffs, sent.upstream_handoffs);
    assert_eq!(replay.summary.source, "supplier-email-ingest");
    assert_eq!(replay.summary.tenant.as_deref(), Some("acme"));
    assert!(replay.attempt_history.is_empty());
    let parked = db.job(letter.job_id).await;
    assert_eq!((parked.summary.state, parked.attempt_history.len()), (JobState::Dead, 1), "the original stays");
    let handed_out = db.claim_one("w1").await;
    let told = handed_out.replay.unwrap();
    assert_eq!((handed_out.id, handed_out.attempt), (replay.summary.id, 1));
    assert_eq!((told.mode, told.dead_letter_id), (ReplayMode::Current, letter.id));
    let audit = db.audit().await;
    assert_eq!(audit[0].action, "approve_and_replay");
    assert_eq!((audit[0].actor.as_str(), audit[0].address.as_deref()), ("mila", Some("192.0.2.7")));
    assert_eq!(audit[0].subject, format!("dead_letter {}", letter.id));
}

async fn a_replay_has_all_its_attempts_and_a_fresh_anchor(db: Arc<TestDatabase>) {
    db.set_policy("a", json!({"jitter": "none", "start_seconds": 0, "cutoff_seconds": 3_600})).await;
    db.enqueue(&[job("a")]).await;
    for _ in 0..3 {
        let claimed = db.claim_one("w1").await;
        db.finish(&claimed, fail("503", 503)).await;
    }
    db.let_time_pass(2 * 86_400).await;
    let letter = db.store.list_letters(&letter_filter()).await.unwrap().letters.remove(0);
    approve(&db, &letter).await;
    for attempt in [1, 2] {
        let claimed = db.claim_one("w1").await;
        assert_eq!(claimed.attempt, attempt);
        db.finish(&claimed, fail("503", 503)).await;
    }
    let claimed = db.claim_one("w1").await;
    db.finish(&claimed, done("ok")).await;
    assert_eq!(db.job(claimed.id).await.summary.state, JobState::Done);
}

async fn a_replay_that_dies_is_a_letter_of_its_own(db: Arc<TestDatabase>) {
    let mut letter = db.parked("a").await;
    let mut seen = BTreeSet::from([letter.id]);
    for n in 1..=5 {
        let replay = approve(&db, &letter).await.replay_job_ids[0];
        assert!(db.claim("w1", 10).await.iter().map(|job| job.id).eq([replay]), "one replay, and nothing by itself");
        let token = db.job(replay).await.summary.attempts;
        assert_eq!(token, 1);
        let ended = db.store.finish(replay, 1, fail(&format!("400 again {n}"), 400)).await.unwrap();
        letter = db.letter_of(ended).await;
        assert_eq!(letter.error.as_deref(), Some(format!("400 again {n}").as_str()), "the new error, not the old one");
        assert!(seen.insert(letter.id));
    }
    assert_eq!(db.audit().await.iter().filter(|entry| entry.action == "approve_and_replay").count(), 5);
    assert_eq!(db.counts(&letter_filter()).await.totals, LetterTotals { open: 1, taken: 0, resolved: 5 });
}

async fn rejecting_closes_and_runs_nothing(db: Arc<TestDatabase>) {
    let letter = db.refused("a", "AMBIGUOUS_VALUE").await;
    let acted = db.act(&act_on(&letter, RecoveryAction::RejectAndClose), "mila").await.unwrap();
    assert_eq!((acted.letter.status, acted.replay_job_ids.len()), (LetterStatus::Resolved, 0));
    assert_eq!(acted.letter.resolution.unwrap().action, RecoveryAction::RejectAndClose);
    assert!(db.claim("w1", 10).await.is_empty());
    let snapshot = db.snapshot().await;
    assert_eq!(snapshot.unresolved_dead_letters, 0);
    assert_eq!(snapshot.kinds[0].refused_last_day, 1, "what happened today stays counted");
    assert_eq!(db.audit().await[0].action, "reject_and_close");
}

async fn the_second_to_act_is_told_what_happened(db: Arc<TestDatabase>) {
    let letter = db.parked("a").await;
    approve(&db, &letter).await;
    for action in RecoveryAction::ALL {
        match db.act(&act_on(&letter, action), "ada").await {
            Err(StoreError::Conflict(text)) => assert!(text.contains("mila"), "who was first is not said: {text}"),
            other => panic!("{action:?} is a conflict, not {other:?}"),
        }
    }
    let current = db.letter(letter.id).await;
    assert_eq!(current.letter.resolution.as_ref().unwrap().by, "mila");
    assert!(
        matches!(
            db.act(&act_on(&current.letter, RecoveryAction::RejectAndClose), "ada").await,
            Err(StoreError::Conflict(_))
        ),
        "resolved is resolved, whatever the version"
    );
    assert_eq!(db.letter(letter.id).await.replays.len(), 1);
    assert_eq!(db.audit().await.len(), 1, "what was not done is not audited as done");
}

async fn an_old_version_is_a_conflict(db: Arc<TestDatabase>) {
    let letter = db.parked("a").await;
    for version in [letter.version - 1, letter.version + 1, i64::MAX] {
        let act = LetterAct { version, ..act_on(&letter, RecoveryAction::ApproveAndReplay) };
        assert!(matches!(db.act(&act, "mila").await, Err(StoreError::Conflict(_))), "version {version}");
    }
    assert!(db.claim("w1", 10).await.is_empty() && db.audit().await.is_empty());
}

async fn a_key_gives_the_stored_answer_once(db: Arc<TestDatabase>) {
    let letter = db.parked("a").await;
    let act = LetterAct { idempotency: key("k1", "a"), ..act_on(&letter, RecoveryAction::ApproveAndReplay) };
    let first = db.act(&act, "mila").await.unwrap();
    let again = db.act(&act, "mila").await.unwrap();
    assert_eq!(again.replay_job_ids, first.replay_job_ids);
    assert_eq!(again.letter, first.letter);
    let claimed = db.claim_one("w1").await;
    db.finish(&claimed, done("ok")).await;
    let much_later = db.act(&act, "mila").await.unwrap();
    assert_eq!(much_later.replay_job_ids, first.replay_job_ids, "the key is looked up before the version");
    assert_eq!(db.letter(letter.id).await.replays.len(), 1, "one approval is one replay, ever");
    assert_eq!(db.audit().await.len(), 1);
    assert_eq!(db.door.count("jobs").await, 2);
}

async fn a_key_with_another_body_is_refused(db: Arc<TestDatabase>) {
    let (one, two) = (db.parked("a").await, db.parked("a").await);
    let act = LetterAct { idempotency: key("k1", "a"), ..act_on(&one, RecoveryAction::ApproveAndReplay) };
    db.act(&act, "mila").await.unwrap();
    let other = LetterAct { idempotency: key("k1", "b"), ..act_on(&two, RecoveryAction::ApproveAndReplay) };
    match db.act(&other, "mila").await {
        Err(StoreError::Invalid(error)) => assert_eq!(error.field, "Idempotency-Key"),
        answer => panic!("same key, other body is invalid, not {answer:?}"),
    }
    assert_eq!(db.letter(two.id).await.letter.status, LetterStatus::Open);
    let failed = LetterAct { version: 77, idempotency: key("k2", "a"), ..act_on(&two, RecoveryAction::RejectAndClose) };
    assert!(matches!(db.act(&failed, "mila").await, Err(StoreError::Conflict(_))));
    let retried = LetterAct { idempotency: key("k2", "b"), ..act_on(&two, RecoveryAction::RejectAndClose) };
    db.act(&retried, "mila").await.expect("an act that did nothing uses up no key");
}

async fn an_unknown_letter_is_not_found(db: Arc<TestDatabase>) {
    let letter = db.parked("a").await;
    let id = DeadLetterId(i64::MAX);
    assert_eq!(db.store.find_letter(id).await, Ok(None));
    let act = LetterAct { id, ..act_on(&letter, RecoveryAction::RejectAndClose) };
    assert!(matches!(db.act(&act, "mila").await, Err(StoreError::NotFound(_))));
}

async fn an_act_that_cannot_be_audited_is_not_done(db: Arc<TestDatabase>) {
    let letter = db.parked("a").await;
    db.door.forbid("audit", "action", "approve_and_replay").await;
    let act = LetterAct { idempotency: key("k1", "a"), ..act_on(&letter, RecoveryAction::ApproveAndReplay) };
    db.act(&act, "mila").await.unwrap_err();
    assert_eq!(db.letter(letter.id).await.letter, letter, "the letter is as it was");
    assert!(db.claim("w1", 10).await.is_empty(), "no replay without its record");
    db.door.allow("audit").await;
    assert_eq!(db.act(&act, "mila").await.unwrap().replay_job_ids.len(), 1);
}

async fn a_pinned_replay_goes_only_to_who_accepts_it(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    let envelope = RawJson::stored(r#"{"model":{"id":"m-1"},"prompt":{"sha256":"ab"}}"#.into());
    let report = app::model::job::RefuseReport {
        reason_code: "AMBIGUOUS_VALUE".into(),
        field: None,
        evidence: "NOT FOUND".into(),
        envelope: Some(envelope.clone()),
        cost_micro_usd: None,
    };
    let ended = db.finish(&claimed, app::model::job::AttemptEnd::Refuse(report)).await;
    let letter = db.letter_of(ended).await;
    let act = LetterAct { mode: ReplayMode::Pinned, ..act_on(&letter, RecoveryAction::ApproveAndReplay) };
    let replay = db.act(&act, "mila").await.unwrap().replay_job_ids[0];
    assert!(db.claim("w1", 10).await.is_empty(), "an unaware worker would write it as real");
    let accepts = Accepts { canary: false, pinned: true };
    let handed_out = db.store.claim(&ClaimRequest { accepts, ..claim_request("w1", 10) }).await.unwrap().remove(0);
    let told = handed_out.replay.unwrap();
    assert_eq!((handed_out.id, told.mode, told.envelope), (replay, ReplayMode::Pinned, Some(envelope)));
    assert_eq!(db.letter(letter.id).await.replays[0].mode, ReplayMode::Pinned);
}

async fn a_replay_of_a_paused_kind_waits(db: Arc<TestDatabase>) {
    let letter = db.parked("a").await;
    db.set_policy("a", json!({"paused": true})).await;
    approve(&db, &letter).await;
    assert_eq!(db.kind("a").await.held, 1);
    assert!(db.claim("w1", 10).await.is_empty());
}

async fn filters_are_a_conjunction(db: Arc<TestDatabase>) {
    let mut letters = Vec::new();
    for (kind, source, tenant, end) in [
        ("a", "mail", Some("acme"), refusal("AMBIGUOUS_VALUE")),
        ("a", "mail", None, refusal("CONFLICTING_EVIDENCE")),
        ("A", "Mail", Some("acme"), refusal("AMBIGUOUS_VALUE")),
        ("a", "scan", Some("acme"), fail("400", 400)),
        ("a/b.c", "m%l", Some("%"), fail("400", 400)),
    ] {
        db.enqueue(&[NewJob { source: name(source), tenant: tenant.map(name), ..job(kind) }]).await;
        let claimed = db.claim_one("w1").await;
        letters.push(db.letter_of(db.finish(&claimed, end).await).await);
    }
    approve(&db, &letters[1]).await;
    let cases: Vec<(LetterFilter, Vec<usize>)> = vec![
        (letter_filter(), vec![4, 3, 2, 1, 0]),
        (LetterFilter { kind: Some("a".into()), ..letter_filter() }, vec![3, 1, 0]),
        (LetterFilter { kind: Some("a/b.c".into()), ..letter_filter() }, vec![4]),
        (LetterFilter { source: Some("mail".into()), ..letter_filter() }, vec![1, 0]),
        (LetterFilter { source: Some("m%l".into()), ..letter_filter() }, vec![4]),
        (LetterFilter { tenant: Some("acme".into()), ..letter_filter() }, vec![3, 2, 0]),
        (LetterFilter { tenant: Some("%".into()), ..letter_filter() }, vec![4]),
        (LetterFilter { reason_code: Some("AMBIGUOUS_VALUE".into()), ..letter_filter() }, vec![2, 0]),
        (LetterFilter { route: Some(Route::Exception), ..letter_filter() }, vec![4, 3]),
        (LetterFilter { route: Some(Route::FailedEvidenceCheck), ..letter_filter() }, vec![]),
        (LetterFilter { status: Some(StatusFilter::Open), ..letter_filter() }, vec![4, 3, 2, 0]),
        (LetterFilter { status: Some(StatusFilter::Resolved), ..letter_filter() }, vec![1]),
        (LetterFilter { status: Some(StatusFilter::Taken), ..letter_filter() }, vec![]),
        (LetterFilter { group: Some(letters[0].group.clone()), ..letter_filter() }, vec![0]),
        (
            LetterFilter {
                kind: Some("a".into()),
                tenant: Some("acme".into()),
                route: Some(Route::RefusedByAgent),
                status: Some(StatusFilter::Open),
                ..letter_filter()
            },
            vec![0],
        ),
        (LetterFilter { kind: Some("a".into()), source: Some("m%l".into()), ..letter_filter() }, vec![]),
    ];
    for (filter, expected) in cases {
        let page = db.store.list_letters(&filter).await.unwrap();
        let ids: Vec<_> = page.letters.iter().map(|letter| letter.id).collect();
        let expected: Vec<_> = expected.into_iter().map(|i| letters[i].id).collect();
        assert_eq!(ids, expected, "{filter:?}");
        assert_eq!(page.next, None, "{filter:?}");
    }
}

async fn letters_of_a_day_are_those_of_the_utc_day(db: Arc<TestDatabase>) {
    let letters = [db.parked("a").await, db.parked("a").await, db.parked("a").await];
    let midnight = db.now().await.date_naive().and_hms_opt(0, 0, 0).unwrap().and_utc();
    let yesterday = midnight.date_naive().pred_opt().unwrap();
    for (letter, at) in letters.iter().zip([
        midnight - TimeDelta::days(1) - TimeDelta::microseconds(1),
        midnight - TimeDelta::days(1),
        midnight - TimeDelta::microseconds(1),
    ]) {
        let at = db.door.literal(at);
        db.door.execute(&format!("UPDATE dead_letters SET dead_lettered_at = {at} WHERE id = {}", letter.id)).await;
    }
    let filter = LetterFilter { day: Some(yesterday), ..letter_filter() };
    let ids: Vec<_> = db.store.list_letters(&filter).await.unwrap().letters.iter().map(|l| l.id).collect();
    assert_eq!(ids, [letters[2].id, letters[1].id]);
}

async fn pages_neither_repeat_nor_skip_while_letters_come(db: Arc<TestDatabase>) {
    let mut expected = Vec::new();
    for _ in 0..23 {
        expected.push(db.parked("a").await.id);
    }
    let mut filter = LetterFilter { status: Some(StatusFilter::Open), limit: 5, ..LetterFilter::default() };
    let mut seen = Vec::new();
    loop {
        let page = db.store.list_letters(&filter).await.unwrap();
        assert!(page.letters.len() <= 5);
        seen.extend(page.letters.iter().map(|letter| letter.id));
        // Meanwhile one comes, and one of those already seen goes.
        db.parked("a").await;
        approve(&db, &page.letters[0]).await;
        let claimed = db.claim_one("w1").await;
        db.finish(&claimed, done("ok")).await;
        match page.next {
            Some(next) => filter.before = Some(next),
            None => break,
        }
    }
    expected.reverse();
    assert_eq!(seen, expected);
}

async fn totals_count_what_the_filter_finds_whatever_its_status(db: Arc<TestDatabase>) {
    let mut letters = Vec::new();
    for i in 0..7 {
        letters.push(db.parked(if i < 5 { "a" } else { "b" }).await);
    }
    approve(&db, &letters[0]).await;
    db.act(&act_on(&letters[6], RecoveryAction::RejectAndClose), "mila").await.unwrap();
    let unresolved = LetterFilter { status: Some(StatusFilter::Unresolved), limit: 1, ..LetterFilter::default() };
    assert_eq!(db.counts(&unresolved).await.totals, LetterTotals { open: 5, taken: 0, resolved: 2 });
    let of_b = LetterFilter { kind: Some("b".into()), ..unresolved };
    assert_eq!(db.counts(&of_b).await.totals, LetterTotals { open: 1, taken: 0, resolved: 1 });
    assert_eq!(db.snapshot().await.unresolved_dead_letters, 5);
}

async fn lists_cut_long_errors_and_the_letter_keeps_them(db: Arc<TestDatabase>) {
    let long = format!("{}😀{}", "a".repeat(1_999), "é".repeat(10_000));
    let claimed = db.claimed("a").await;
    let letter = db.letter_of(db.finish(&claimed, fail(&long, 400)).await).await;
    assert_eq!(letter.error.as_deref(), Some(long.as_str()));
    let listed = db.store.list_letters(&letter_filter()).await.unwrap().letters.remove(0).error.unwrap();
    assert!(listed.chars().count() <= 2_001, "{} characters in a list", listed.chars().count());
    assert!(listed.starts_with(&"a".repeat(1_999)));
    let shown = &db.snapshot().await.failures[0].error;
    assert!(shown.chars().count() <= 2_001 && shown.starts_with(&"a".repeat(1_999)));
    let jobs = db.store.list_jobs(&app::model::job::JobFilter { limit: 5, ..Default::default() }).await.unwrap();
    assert!(jobs.jobs[0].last_error.as_ref().unwrap().chars().count() <= 2_001);
}

async fn a_letter_shows_its_replays_and_how_they_ended(db: Arc<TestDatabase>) {
    let letter = db.parked("a").await;
    let replay = approve(&db, &letter).await.replay_job_ids[0];
    let state = |detail: app::model::letter::DeadLetterDetail| detail.replays[0].state;
    assert_eq!(state(db.letter(letter.id).await), JobState::Waiting);
    let claimed = db.claim_one("w1").await;
    assert_eq!(state(db.letter(letter.id).await), JobState::InProgress);
    db.finish(&claimed, done("ok")).await;
    let shown = db.letter(letter.id).await;
    assert_eq!((shown.replays[0].job_id, shown.replays.len()), (replay, 1));
    assert_eq!(state(shown), JobState::Done);
}
