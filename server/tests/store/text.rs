//! Text of any kind, kept exactly, or changed visibly, never a reason to lose a report.

use crate::support::TestDatabase;
use crate::support::calls::{act_on, done, fail, job, name, refusal};
use app::model::job::{AttemptEnd, DoneReport, Ended, FailReport, JobState, NewJob, RawJson, RefuseReport};
use app::model::people::Role;
use app::model::recovery::RecoveryAction;
use app::model::text::{MAX_ERROR_BYTES, clean, cut};
use serde_json::json;
use std::sync::Arc;

each_database![
    payloads_are_kept_byte_for_byte,
    a_payload_of_a_mebibyte_travels,
    errors_of_any_script_are_kept,
    an_error_of_64_kib_is_kept_whole,
    nul_was_replaced_visibly_and_the_failure_is_recorded,
    cuts_fall_between_characters,
    names_of_two_hundred_characters_are_kept,
    upper_and_lower_case_are_two_names,
    text_that_looks_like_sql_or_html_is_text,
    done_text_is_kept,
];

async fn payloads_are_kept_byte_for_byte(db: Arc<TestDatabase>) {
    for text in [
        r#"{"id":9007199254740993,"big":18446744073709551615,"neg":-9223372036854775807,"d":0.1,"e":1e400,"s":"007"}"#,
        r#"{"a":1,"a":2}"#,
        r#"{ "spaces" :  [ 1 , 2 ] ,"z":1,"a":2 }"#,
        r#"{"nul":"\u0000","lone":"\ud800","pair":"\ud83d\ude00"}"#,
        r#"{"text":"ä😀\t\"quoted\"\\"}"#,
        "1.000000000000000000000000000001",
        "null",
        r#""""#,
    ] {
        let sent = Some(RawJson::stored(text.to_owned()));
        let id = db.enqueue_one(NewJob { payload: sent.clone(), ..job("a") }).await.id;
        assert_eq!(db.job(id).await.payload, sent);
        let claimed = db.claim_one("w1").await;
        assert_eq!(claimed.payload, sent, "as the worker gets it");
        let letter = db.letter_of(db.finish(&claimed, refusal("AMBIGUOUS_VALUE")).await).await;
        assert_eq!(db.letter(letter.id).await.payload, sent);
        let replay = db.act(&act_on(&letter, RecoveryAction::ApproveAndReplay), "mila").await.unwrap();
        let claimed = db.claim_one("w1").await;
        assert_eq!((claimed.id, &claimed.payload), (replay.replay_job_ids[0], &sent), "and after its replay");
        let report = DoneReport { result: sent.clone(), ..DoneReport::default() };
        db.finish(&claimed, AttemptEnd::Done(Box::new(report))).await;
        assert_eq!(db.job(claimed.id).await.result, sent);
    }
    let without = db.enqueue_one(NewJob { payload: None, ..job("a") }).await.id;
    assert_eq!(db.job(without).await.payload, None, "no payload is not null");
}

async fn a_payload_of_a_mebibyte_travels(db: Arc<TestDatabase>) {
    let text = format!("\"{}\"", "é".repeat(512 * 1024 - 1));
    let id = db.enqueue_one(NewJob { payload: Some(RawJson::stored(text.clone())), ..job("a") }).await.id;
    let claimed = db.claim_one("w1").await;
    assert_eq!(claimed.id, id);
    assert!(claimed.payload.unwrap().as_str() == text, "every byte");
}

async fn record(db: &TestDatabase, error: &str) -> String {
    let claimed = db.claimed("a").await;
    let report = FailReport { error: error.to_owned(), http_status: Some(400), ..FailReport::default() };
    let letter = db.letter_of(db.finish(&claimed, AttemptEnd::Fail(report)).await).await;
    assert_eq!(db.job(claimed.id).await.summary.state, JobState::Dead, "nothing hangs in progress");
    let attempt = db.job(claimed.id).await.attempt_history.remove(0).error;
    assert_eq!(attempt, letter.error, "attempt and letter say the same");
    letter.error.unwrap()
}

async fn errors_of_any_script_are_kept(db: Arc<TestDatabase>) {
    for error in [
        "",
        "ä😀 \u{200d} e\u{301} ไทย עברית",
        "\u{fffd}",
        "\u{1b}[31mred\u{1b}[0m\r\n\ttab \u{7f}\u{85}\u{2028}",
        "\u{10ffff}\u{feff}",
        "<img src=x onerror=\"document.title='pwn'\"></td></tr></table><script>1</script>",
        "=HYPERLINK(\"http://x\",\"y\")",
        "100%_done ' \" \\ `; DROP TABLE jobs; -- $1 ?1 {}",
    ] {
        assert_eq!(record(&db, error).await, error);
    }
    let shown = &db.snapshot().await.failures[0].error;
    assert_eq!(shown, "100%_done ' \" \\ `; DROP TABLE jobs; -- $1 ?1 {}");
}

async fn an_error_of_64_kib_is_kept_whole(db: Arc<TestDatabase>) {
    let error = cut(&"😀".repeat(MAX_ERROR_BYTES), MAX_ERROR_BYTES).to_owned();
    assert_eq!(error.len(), 64 * 1024);
    assert!(record(&db, &error).await == error);
}

async fn nul_was_replaced_visibly_and_the_failure_is_recorded(db: Arc<TestDatabase>) {
    let error = clean("ab\0cd").into_owned();
    assert_eq!(record(&db, &error).await, "ab\u{fffd}cd");
    let claimed = db.claimed("nul\0kind").await;
    assert_eq!(claimed.kind, "nul\u{fffd}kind");
}

async fn cuts_fall_between_characters(db: Arc<TestDatabase>) {
    for width in 1_990..2_004 {
        for tail in ["😀 and more", "é and more", "e\u{301}\u{301} and more"] {
            let error = format!("{}{tail}{}", "a".repeat(width), "b".repeat(100));
            record(&db, &error).await;
            let shown = db.snapshot().await.failures.remove(0).error;
            let kept = shown.trim_end_matches('…');
            assert!(
                error.starts_with(kept) && kept.chars().count() >= 1_900,
                "{} characters kept",
                kept.chars().count()
            );
        }
    }
}

async fn names_of_two_hundred_characters_are_kept(db: Arc<TestDatabase>) {
    let long = "ä😀".repeat(100);
    let sent = NewJob { source: name(&long), tenant: Some(name(&long)), ..job(&long) };
    db.enqueue(&[sent]).await;
    let claimed = db.claim_kinds(&long, &[&long], 1).await.remove(0);
    assert_eq!((&claimed.kind, &claimed.source, claimed.tenant.as_ref()), (&long, &long, Some(&long)));
    let letter = db.letter_of(db.finish(&claimed, refusal("AMBIGUOUS_VALUE")).await).await;
    assert_eq!(letter.kind, long);
    assert_eq!(db.snapshot().await.workers[0].worker, long);
}

async fn upper_and_lower_case_are_two_names(db: Arc<TestDatabase>) {
    db.enqueue(&[job("A"), job("a"), job("ä"), job("Ä"), job("a\u{308}")]).await;
    assert_eq!(db.snapshot().await.kinds.len(), 5, "no name is folded or normalized into another");
    for kind in ["A", "a", "ä", "Ä", "a\u{308}"] {
        let claimed = db.claim_kinds("w1", &[kind], 10).await;
        assert_eq!((claimed.len(), claimed[0].kind.as_str()), (1, kind));
    }
    db.claim("W1", 1).await;
    assert_eq!(db.snapshot().await.workers.len(), 2, "w1 and W1 are two workers");
}

async fn text_that_looks_like_sql_or_html_is_text(db: Arc<TestDatabase>) {
    let odd = "'; DROP TABLE jobs; --<script>";
    db.store.add_user(&name(odd), Role::OnCall, "hash", &crate::support::actor(odd)).await.unwrap();
    db.enqueue(&[NewJob { unique_key: Some(odd.into()), trace_id: Some(odd.into()), ..job(odd) }]).await;
    db.set_policy(odd, json!({"reason_codes": [odd]})).await;
    db.store.record_tick(&name(odd), 1).await.unwrap();
    let claimed = db.claim_kinds(odd, &[odd], 1).await.remove(0);
    let report = RefuseReport {
        reason_code: odd.into(),
        field: Some(odd.into()),
        evidence: odd.into(),
        envelope: Some(RawJson::stored(json!({ odd: odd }).to_string())),
        cost_micro_usd: None,
    };
    let letter = db.letter_of(db.finish(&claimed, AttemptEnd::Refuse(report)).await).await;
    assert_eq!((letter.evidence.as_deref(), letter.field.as_deref()), (Some(odd), Some(odd)));
    assert_eq!(db.audit().await.last().unwrap().actor, odd);
    assert_eq!(db.door.count("jobs").await, 1);
}

async fn done_text_is_kept(db: Arc<TestDatabase>) {
    let claimed = db.claimed("a").await;
    let verdict = "needs review 😀\u{1b}[31m".to_owned();
    let report = DoneReport {
        verdict: Some(verdict.clone()),
        reason: Some("\u{fffd}".into()),
        source_text: Some(format!("Zeile 1\r\n{}\u{2028}", "ü".repeat(100_000))),
        ..DoneReport::default()
    };
    assert_eq!(db.finish(&claimed, AttemptEnd::Done(Box::new(report.clone()))).await, Ended::Done);
    let stored = db.job(claimed.id).await;
    assert_eq!(stored.summary.verdict, Some(verdict));
    assert_eq!((stored.reason, stored.source_text), (report.reason, report.source_text));
    let failed = db.claimed("a").await;
    db.finish(&failed, fail("x", 503)).await;
    let after = db.claimed("b").await;
    db.finish(&after, done("")).await;
    assert_eq!(db.job(after.id).await.summary.verdict.as_deref(), Some(""), "empty is not absent");
}
