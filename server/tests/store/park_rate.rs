//! Park rate: what is in it, and what never is.

use crate::support::TestDatabase;
use crate::support::calls::{act_on, claim_request, done, fail, job, name, refusal};
use app::model::job::{Accepts, AttemptEnd, Canary, ClaimRequest, NewJob, ReplayMode};
use app::model::park_rate::{ParkCount, ParkRateQuery};
use app::model::recovery::{LetterAct, RecoveryAction};
use chrono::{NaiveDate, TimeDelta};
use std::sync::Arc;

each_database![
    nothing_processed_is_no_row,
    parked_over_processed_by_day,
    by_source_and_by_reason,
    a_day_without_parked_jobs_has_a_row_without_a_code,
    exceptions_are_in_neither_number,
    replays_are_in_neither_number,
    canaries_are_in_neither_number,
    days_are_utc_days_and_bounds_are_inclusive,
    filters_narrow_both_numbers,
    purging_changes_nothing,
];

async fn run(db: &TestDatabase, kind: &str, source: &str, end: AttemptEnd) {
    db.enqueue(&[NewJob { source: name(source), ..job(kind) }]).await;
    let claimed = db.claim_one("w1").await;
    db.finish(&claimed, end).await;
}

async fn counts(db: &TestDatabase, query: ParkRateQuery) -> Vec<(String, String, i64, i64)> {
    let rows = db.store.count_park_rate(&query).await.unwrap();
    let text = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    rows.into_iter().map(|row| (text(row.source), text(row.reason_code), row.processed, row.parked)).collect()
}

fn row(source: &str, code: &str, processed: i64, parked: i64) -> (String, String, i64, i64) {
    (source.to_owned(), code.to_owned(), processed, parked)
}

fn by(source: bool, reason: bool) -> ParkRateQuery {
    ParkRateQuery { by_source: source, by_reason: reason, ..ParkRateQuery::default() }
}

/// Two sources: `mail` parks 3 of 5 for two codes, `scan` 0 of 2.
async fn two_sources(db: &TestDatabase) {
    for code in ["AMBIGUOUS_VALUE", "AMBIGUOUS_VALUE", "CONFLICTING_EVIDENCE"] {
        run(db, "a", "mail", refusal(code)).await;
    }
    for source in ["mail", "scan", "mail", "scan"] {
        run(db, "a", source, done("ok")).await;
    }
}

async fn nothing_processed_is_no_row(db: Arc<TestDatabase>) {
    db.enqueue(&[job("a")]).await;
    for query in [by(false, false), by(true, true)] {
        assert_eq!(db.store.count_park_rate(&query).await, Ok(Vec::new()));
    }
}

async fn parked_over_processed_by_day(db: Arc<TestDatabase>) {
    two_sources(&db).await;
    let rows = db.store.count_park_rate(&by(false, false)).await.unwrap();
    let day = db.now().await.date_naive();
    assert_eq!(rows, [ParkCount { source: None, reason_code: None, day, processed: 7, parked: 3 }]);
}

async fn by_source_and_by_reason(db: Arc<TestDatabase>) {
    two_sources(&db).await;
    assert_eq!(counts(&db, by(true, false)).await, [row("mail", "-", 5, 3), row("scan", "-", 2, 0)]);
    assert_eq!(
        counts(&db, by(false, true)).await,
        [row("-", "AMBIGUOUS_VALUE", 7, 2), row("-", "CONFLICTING_EVIDENCE", 7, 1)],
        "a day's processed repeats in each row"
    );
    assert_eq!(
        counts(&db, by(true, true)).await,
        [row("mail", "AMBIGUOUS_VALUE", 5, 2), row("mail", "CONFLICTING_EVIDENCE", 5, 1), row("scan", "-", 2, 0)]
    );
}

async fn a_day_without_parked_jobs_has_a_row_without_a_code(db: Arc<TestDatabase>) {
    run(&db, "a", "mail", done("ok")).await;
    assert_eq!(counts(&db, by(false, true)).await, [row("-", "-", 1, 0)], "silence is a number too");
    assert_eq!(counts(&db, by(true, true)).await, [row("mail", "-", 1, 0)]);
}

async fn exceptions_are_in_neither_number(db: Arc<TestDatabase>) {
    two_sources(&db).await;
    for _ in 0..4 {
        run(&db, "a", "mail", fail("400", 400)).await;
    }
    db.set_policy("d", serde_json::json!({"cutoff_seconds": 1, "jitter": "none", "on_cutoff": "drop"})).await;
    run(&db, "d", "mail", fail("503", 503)).await;
    db.set_policy("retry-later", serde_json::json!({"jitter": "none"})).await;
    run(&db, "retry-later", "mail", fail("503", 503)).await;
    let cancelled = db.enqueue_one(job("a")).await.id;
    db.store.cancel(cancelled).await.unwrap();
    run(&db, "a", "broken", fail("400", 400)).await;
    assert_eq!(counts(&db, by(true, false)).await, [row("mail", "-", 5, 3), row("scan", "-", 2, 0)]);
}

async fn replays_are_in_neither_number(db: Arc<TestDatabase>) {
    let letter = db.refused("a", "AMBIGUOUS_VALUE").await;
    let before = counts(&db, by(false, true)).await;
    assert_eq!(before, [row("-", "AMBIGUOUS_VALUE", 1, 1)]);
    db.act(&act_on(&letter, RecoveryAction::ApproveAndReplay), "mila").await.unwrap();
    let replay = db.claim_one("w1").await;
    let again = db.letter_of(db.finish(&replay, refusal("CONFLICTING_EVIDENCE")).await).await;
    let pinned = LetterAct { mode: ReplayMode::Pinned, ..act_on(&again, RecoveryAction::ApproveAndReplay) };
    db.act(&pinned, "mila").await.unwrap();
    let accepts = Accepts { canary: false, pinned: true };
    let replay = db.store.claim(&ClaimRequest { accepts, ..claim_request("w1", 1) }).await.unwrap().remove(0);
    db.finish(&replay, done("ok")).await;
    assert_eq!(counts(&db, by(false, true)).await, before);
}

async fn canaries_are_in_neither_number(db: Arc<TestDatabase>) {
    run(&db, "a", "mail", done("ok")).await;
    let canary = Canary { reason_code: "AMBIGUOUS_VALUE".into(), field: None };
    db.enqueue(&vec![NewJob { canary: Some(canary), source: name("mail"), ..job("a") }; 2]).await;
    let accepts = Accepts { canary: true, pinned: false };
    let claimed = db.store.claim(&ClaimRequest { accepts, ..claim_request("w1", 2) }).await.unwrap();
    db.finish(&claimed[0], refusal("AMBIGUOUS_VALUE")).await;
    db.finish(&claimed[1], done("it should not be")).await;
    assert_eq!(counts(&db, by(true, true)).await, [row("mail", "-", 1, 0)]);
}

async fn days_are_utc_days_and_bounds_are_inclusive(db: Arc<TestDatabase>) {
    // The hours around the night on which clocks change in Berlin, and midnight UTC.
    let times = [
        "2026-10-24T22:30:00Z",
        "2026-10-24T23:59:59.999999Z",
        "2026-10-25T00:00:00Z",
        "2026-10-25T00:30:00Z",
        "2026-10-25T01:30:00Z",
        "2026-10-25T23:30:00Z",
        "2026-10-27T12:00:00Z",
    ];
    for (i, at) in times.iter().enumerate() {
        run(&db, "a", "mail", if i % 2 == 0 { done("ok") } else { refusal("AMBIGUOUS_VALUE") }).await;
        let at = db.door.literal(at.parse().unwrap());
        let newest = db.door.rows(&["max(id)"], "endings").await[0][0].clone().unwrap();
        db.door.execute(&format!("UPDATE endings SET at = {at} WHERE id = {newest}")).await;
    }
    let day = |text: &str| text.parse::<NaiveDate>().unwrap();
    let count = async |from: Option<&str>, to: Option<&str>| {
        let query = ParkRateQuery { from: from.map(day), to: to.map(day), ..by(false, false) };
        let rows = db.store.count_park_rate(&query).await.unwrap();
        rows.into_iter().map(|row| (row.day.to_string(), row.processed, row.parked)).collect::<Vec<_>>()
    };
    let row = |day: &str, processed, parked| (day.to_owned(), processed, parked);
    let all = [row("2026-10-24", 2, 1), row("2026-10-25", 4, 2), row("2026-10-27", 1, 0)];
    assert_eq!(count(None, None).await, all, "each job once, no day twice, a silent day is a gap");
    assert_eq!(count(Some("2026-10-25"), Some("2026-10-25")).await, all[1..2]);
    assert_eq!(count(Some("2026-10-25"), None).await, all[1..]);
    assert_eq!(count(None, Some("2026-10-25")).await, all[..2]);
    assert!(count(Some("2026-10-28"), None).await.is_empty());
    assert!(count(Some("2026-10-27"), Some("2026-10-24")).await.is_empty());
}

async fn filters_narrow_both_numbers(db: Arc<TestDatabase>) {
    two_sources(&db).await;
    run(&db, "b", "mail", refusal("AMBIGUOUS_VALUE")).await;
    run(&db, "B", "Mail", done("ok")).await;
    let query = ParkRateQuery { source: Some("mail".into()), ..by(true, false) };
    assert_eq!(counts(&db, query).await, [row("mail", "-", 6, 4)]);
    let query = ParkRateQuery { kind: Some("b".into()), ..by(true, true) };
    assert_eq!(counts(&db, query).await, [row("mail", "AMBIGUOUS_VALUE", 1, 1)]);
    let query = ParkRateQuery { kind: Some("a".into()), source: Some("scan".into()), ..by(false, false) };
    assert_eq!(counts(&db, query).await, [row("-", "-", 2, 0)]);
    let query = ParkRateQuery { source: Some("%".into()), ..by(false, false) };
    assert!(counts(&db, query).await.is_empty());
}

async fn purging_changes_nothing(db: Arc<TestDatabase>) {
    two_sources(&db).await;
    let letters = db.store.list_letters(&crate::support::calls::letter_filter()).await.unwrap().letters;
    for letter in &letters {
        db.act(&act_on(letter, RecoveryAction::RejectAndClose), "mila").await.unwrap();
    }
    db.let_time_pass(100 * 86_400).await;
    let before = db.store.count_park_rate(&by(true, true)).await.unwrap();
    assert_eq!(before[0].day, (db.now().await - TimeDelta::days(100)).date_naive());
    while db.store.purge(7 * 86_400, 90 * 86_400, 3).await.unwrap() > 0 {}
    assert_eq!(db.door.count("jobs").await, 0);
    assert_eq!(db.store.count_park_rate(&by(true, true)).await.unwrap(), before);
}
