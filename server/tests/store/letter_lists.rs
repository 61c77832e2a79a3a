//! Which letters a list finds, what is counted beside it, and what an export holds.

use crate::support::calls::{act_on, claim_request, fail, job, letter_filter, name, refusal};
use crate::support::{Backend, TestDatabase};
use app::model::ids::DeadLetterId;
use app::model::job::{Accepts, Canary, ClaimRequest, NewJob, RawJson};
use app::model::letter::{DeadLetter, Route};
use app::model::letter_filter::{AgeBucket, CanaryFilter, LetterFilter, OlderThan, StatusFilter};
use app::model::recovery::RecoveryAction;
use drainboard::store::letter_lists;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

each_database![
    a_reason_is_a_code_or_a_failure,
    ages_are_judged_by_the_database_and_leave_no_gap,
    an_age_can_be_judged_as_of_an_earlier_time,
    a_text_is_found_as_it_is_written,
    whoever_may_not_see_a_payload_cannot_search_it,
    a_canary_s_letter_is_in_nothing_unless_asked_for,
    each_count_leads_to_the_letters_it_counts,
    more_than_twenty_reasons_are_counted_together,
    paging_through_ten_thousand_neither_repeats_nor_skips,
    each_filter_alone_walks_an_index,
    an_export_holds_each_letter_once_and_whole,
    a_batch_of_large_letters_ends_early,
];

async fn parked_as(db: &TestDatabase, new: NewJob, end: app::model::job::AttemptEnd) -> DeadLetter {
    let id = db.enqueue_one(new).await.id;
    let claimed = db.claim_one("w1").await;
    assert_eq!(claimed.id, id);
    db.letter_of(db.finish(&claimed, end).await).await
}

async fn backdate(db: &TestDatabase, letter: &DeadLetter, seconds: i64) {
    let at = db.door.literal(db.now().await - chrono::TimeDelta::seconds(seconds));
    db.door.execute(&format!("UPDATE dead_letters SET dead_lettered_at = {at} WHERE id = {}", letter.id)).await;
}

async fn a_reason_is_a_code_or_a_failure(db: Arc<TestDatabase>) {
    let code = db.refused("a", "AMBIGUOUS_VALUE").await;
    let failure = parked_as(&db, job("a"), fail("404", 404)).await;
    let reason = failure.failure_reason.clone().unwrap();
    for (filter, expected) in [
        (LetterFilter { reason: Some("AMBIGUOUS_VALUE".into()), ..letter_filter() }, vec![code.id]),
        (LetterFilter { reason_code: Some("AMBIGUOUS_VALUE".into()), ..letter_filter() }, vec![code.id]),
        (LetterFilter { failure_reason: Some("AMBIGUOUS_VALUE".into()), ..letter_filter() }, vec![]),
        (LetterFilter { reason: Some(reason.clone()), ..letter_filter() }, vec![failure.id]),
        (LetterFilter { failure_reason: Some(reason.clone()), ..letter_filter() }, vec![failure.id]),
        (LetterFilter { reason_code: Some(reason), ..letter_filter() }, vec![]),
        (LetterFilter { reason: Some("ambiguous_value".into()), ..letter_filter() }, vec![]),
    ] {
        assert_eq!(db.found(&filter).await, expected, "{filter:?}");
    }
}

async fn ages_are_judged_by_the_database_and_leave_no_gap(db: Arc<TestDatabase>) {
    let mut letters = Vec::new();
    for seconds in [0, 3_500, 3_700, 86_300, 86_500, 604_700, 604_900] {
        let letter = db.parked("a").await;
        backdate(&db, &letter, seconds).await;
        letters.push(letter.id);
    }
    let of = |ids: &[usize]| -> Vec<DeadLetterId> { ids.iter().rev().map(|&i| letters[i]).collect() };
    for (age, expected) in [
        (AgeBucket::UnderHour, of(&[0, 1])),
        (AgeBucket::HourToDay, of(&[2, 3])),
        (AgeBucket::DayToWeek, of(&[4, 5])),
        (AgeBucket::OverWeek, of(&[6])),
    ] {
        let filter = LetterFilter { age: Some(age), ..letter_filter() };
        assert_eq!(db.found(&filter).await, expected, "{age:?}");
    }
    for (older_than, expected) in
        [(OlderThan::Hour, of(&[2, 3, 4, 5, 6])), (OlderThan::Day, of(&[4, 5, 6])), (OlderThan::Week, of(&[6]))]
    {
        let filter = LetterFilter { older_than: Some(older_than), ..letter_filter() };
        assert_eq!(db.found(&filter).await, expected, "{older_than:?}");
    }
    assert_eq!(db.counts(&letter_filter()).await.by_age, [2, 2, 2, 1]);
}

async fn an_age_can_be_judged_as_of_an_earlier_time(db: Arc<TestDatabase>) {
    let letter = db.parked("a").await;
    let filter = LetterFilter { age: Some(AgeBucket::UnderHour), ..letter_filter() };
    let as_of = db.now().await - chrono::TimeDelta::hours(2);
    db.let_time_pass(7_200).await;
    assert_eq!(db.found(&filter).await, []);
    assert_eq!(db.found(&LetterFilter { ages_at: Some(as_of), ..filter }).await, [letter.id]);
}

/// `text` in everything that a reviewer may see.
fn search(text: &str) -> LetterFilter {
    LetterFilter { text: Some(text.into()), searches_private: true, ..letter_filter() }
}

async fn a_text_is_found_as_it_is_written(db: Arc<TestDatabase>) {
    let with_payload = |json: &str| NewJob { payload: Some(RawJson::stored(json.into())), ..job("a") };
    let error = parked_as(&db, job("a"), fail("Disk is 100%_full at /dev/sda1", 400)).await.id;
    let other = parked_as(&db, job("a"), fail("Disk is 100 full", 400)).await.id;
    let plain = parked_as(&db, with_payload(r#"{"city":"Köln","say":"\"hi\""}"#), fail("x", 400)).await.id;
    let escaped = parked_as(&db, with_payload(r#"{"city":"K\u00f6ln \ud83d\ude00"}"#), fail("x", 400)).await.id;
    let evidence = db.refused("a", "AMBIGUOUS_VALUE").await.id;
    for (text, expected) in [
        ("100%_FULL", vec![error]),
        ("disk IS", vec![other, error]),
        ("%", vec![error]),
        ("_full", vec![error]),
        ("Köln", vec![escaped, plain]),
        ("kÖln", vec![]),
        ("köln", vec![escaped, plain]),
        ("😀", vec![escaped]),
        ("\"hi\"", vec![plain]),
        ("not found", vec![evidence]),
        ("'; DROP TABLE jobs; --", vec![]),
    ] {
        assert_eq!(db.found(&search(text)).await, expected, "{text}");
    }
}

async fn whoever_may_not_see_a_payload_cannot_search_it(db: Arc<TestDatabase>) {
    let secret = NewJob { payload: Some(RawJson::stored(r#"{"iban":"DE8937"}"#.into())), ..job("a") };
    let letter = parked_as(&db, secret, refusal("AMBIGUOUS_VALUE")).await.id;
    for text in ["DE8937", "NOT FOUND"] {
        assert_eq!(db.found(&search(text)).await, [letter]);
        let masked = LetterFilter { searches_private: false, ..search(text) };
        assert_eq!(db.found(&masked).await, [], "{text} is told by searching");
        assert!(db.groups(&masked).await.groups.is_empty(), "{text} is told by its groups");
        assert!(db.store.export_letters(&masked).await.unwrap().letters.is_empty(), "{text} is told by an export");
        let page = db.store.list_counted_letters(&masked).await.unwrap();
        assert_eq!((page.letters.len(), page.counts), (0, None), "no index knows a text, so nothing is counted");
    }
}

async fn a_canary_s_letter_is_in_nothing_unless_asked_for(db: Arc<TestDatabase>) {
    let real = db.parked("a").await.id;
    let canary = Canary { reason_code: "AMBIGUOUS_VALUE".into(), field: None };
    db.enqueue(&[NewJob { canary: Some(canary), ..job("a") }]).await;
    let accepts = Accepts { canary: true, pinned: false };
    let claimed = db.store.claim(&ClaimRequest { accepts, ..claim_request("w1", 1) }).await.unwrap().remove(0);
    let canary = db.letter_of(db.finish(&claimed, fail("400 no such customer", 400)).await).await.id;
    for (what, expected) in [
        (CanaryFilter::Exclude, vec![real]),
        (CanaryFilter::Include, vec![canary, real]),
        (CanaryFilter::Only, vec![canary]),
    ] {
        let filter = LetterFilter { canary: what, status: Some(StatusFilter::Unresolved), ..letter_filter() };
        let count = i64::try_from(expected.len()).unwrap();
        assert_eq!(db.found(&filter).await, expected, "{what:?}");
        assert_eq!(db.counts(&filter).await.totals.open, count, "{what:?}");
        assert_eq!(db.groups(&filter).await.groups[0].letters, count, "{what:?}");
        let exported = db.store.export_letters(&filter).await.unwrap().letters;
        assert_eq!(exported.iter().map(|one| one.letter.id).collect::<Vec<_>>(), expected, "{what:?}");
    }
    assert_eq!(db.snapshot().await.unresolved_dead_letters, 1, "the head counts as the list does");
}

async fn each_count_leads_to_the_letters_it_counts(db: Arc<TestDatabase>) {
    for i in 0..24_i64 {
        let end = match i % 4 {
            0 => refusal("AMBIGUOUS_VALUE"),
            1 => refusal("CONFLICTING_EVIDENCE"),
            2 => fail("404 gone", 404),
            _ => fail("401 who?", 401),
        };
        let new =
            NewJob { source: name(if i % 3 == 0 { "mail" } else { "scan" }), ..job(if i < 16 { "a" } else { "b" }) };
        let letter = parked_as(&db, new, end).await;
        if i % 5 == 0 {
            db.act(&act_on(&letter, RecoveryAction::RejectAndClose), "mila").await.unwrap();
        }
        backdate(&db, &letter, [10, 7_000, 200_000, 1_000_000][usize::try_from(i % 7 % 4).unwrap()]).await;
    }
    let unresolved = LetterFilter { status: Some(StatusFilter::Unresolved), ..letter_filter() };
    for filter in [
        letter_filter(),
        unresolved.clone(),
        LetterFilter { kind: Some("a".into()), source: Some("scan".into()), ..unresolved.clone() },
        LetterFilter { route: Some(Route::Exception), age: Some(AgeBucket::UnderHour), ..unresolved.clone() },
        LetterFilter { reason: Some("AMBIGUOUS_VALUE".into()), age: Some(AgeBucket::DayToWeek), ..letter_filter() },
        LetterFilter {
            failure_reason: Some("data_not_found".into()),
            older_than: Some(OlderThan::Hour),
            ..letter_filter()
        },
        // The count of a list's second page is that of the whole list.
        LetterFilter { before: Some(DeadLetterId(5)), ..unresolved.clone() },
    ] {
        let counts = db.counts(&filter).await;
        let first = filter.first_page();
        let count = async |filter: LetterFilter| i64::try_from(db.found(&filter).await.len()).unwrap();
        for (status, counted) in [
            (StatusFilter::Open, counts.totals.open),
            (StatusFilter::Taken, counts.totals.taken),
            (StatusFilter::Resolved, counts.totals.resolved),
            (StatusFilter::Unresolved, counts.totals.open + counts.totals.taken),
        ] {
            let found = count(LetterFilter { status: Some(status), ..first.clone() }).await;
            assert_eq!(found, counted, "{status:?} of {filter:?}");
        }
        for (age, counted) in AgeBucket::ALL.into_iter().zip(counts.by_age) {
            let found = count(LetterFilter { age: Some(age), ..first.clone() }).await;
            assert_eq!(found, counted, "{age:?} of {filter:?}");
        }
        for (reason, counted) in counts.by_reason {
            let found = count(LetterFilter { reason: Some(reason.clone()), ..first.clone() }).await;
            assert_eq!(found, counted, "{reason} of {filter:?}");
        }
        let in_groups: i64 = db.groups(&first).await.groups.iter().map(|group| group.letters).sum();
        assert_eq!(in_groups, count(first).await, "groups of {filter:?}");
    }
    let counts = db.counts(&unresolved).await;
    assert_eq!(counts.totals.open + counts.totals.taken, db.snapshot().await.unresolved_dead_letters);
}

async fn more_than_twenty_reasons_are_counted_together(db: Arc<TestDatabase>) {
    db.park_many(30).await;
    db.door.execute("UPDATE dead_letters SET failure_reason = 'r' || (id % 23)").await;
    let counts = db.counts(&letter_filter()).await;
    assert_eq!((counts.by_reason.len(), counts.more_reasons), (20, 3));
    assert!(counts.by_reason.windows(2).all(|pair| pair[0].1 >= pair[1].1), "most first: {:?}", counts.by_reason);
}

async fn paging_through_ten_thousand_neither_repeats_nor_skips(db: Arc<TestDatabase>) {
    db.park_many(10_000).await;
    let all: BTreeSet<DeadLetterId> = {
        let rows = db.door.rows(&["id"], "dead_letters").await;
        rows.into_iter().map(|row| row[0].as_deref().unwrap().parse().unwrap()).collect()
    };
    assert_eq!(all.len(), 10_000);
    let mut filter = LetterFilter { status: Some(StatusFilter::Unresolved), limit: 200, ..LetterFilter::default() };
    let (mut seen, mut gone_before_seen) = (BTreeMap::<DeadLetterId, u32>::new(), BTreeSet::new());
    for step in 0_usize.. {
        let page = db.store.list_letters(&filter).await.unwrap();
        for letter in &page.letters {
            *seen.entry(letter.id).or_default() += 1;
        }
        // Meanwhile letters come, some of those seen are resolved, and some of those that are not.
        db.parked("b").await;
        let resolved = &page.letters[step % page.letters.len()];
        db.act(&act_on(resolved, RecoveryAction::RejectAndClose), "mila").await.unwrap();
        let Some(next) = page.next else { break };
        let ahead = next.0 - [37, 74, 111, 148, 185][step % 5];
        let now = db.door.literal(db.now().await);
        let resolved = db
            .door
            .execute(&format!(
                "UPDATE dead_letters SET status = 'resolved', resolved_at = {now} WHERE id = {ahead} AND status = 'open'"
            ))
            .await;
        if resolved == 1 {
            gone_before_seen.insert(DeadLetterId(ahead));
        }
        filter.before = Some(next);
    }
    assert!(gone_before_seen.len() > 10, "the queue moved ahead of the reader, too");
    assert!(seen.values().all(|&times| times == 1), "no letter is shown twice");
    let expected: BTreeSet<DeadLetterId> = all.difference(&gone_before_seen).copied().collect();
    assert_eq!(seen.into_keys().collect::<BTreeSet<_>>(), expected, "and none is left out");
}

/// The statement of a list, with a value in place of each bound one.
fn list_statement(db: &TestDatabase, filter: &LetterFilter) -> String {
    let now = chrono::DateTime::UNIX_EPOCH;
    match db.backend {
        Backend::Sqlite => letter_lists::page::<sqlx::Sqlite>(filter, now).sql().as_str().to_owned(),
        Backend::Postgres => {
            let sql = letter_lists::page::<sqlx::Postgres>(filter, now).sql().as_str().to_owned();
            let sql = (1..9).rev().fold(sql, |sql, n| sql.replace(&format!("${n}"), "'51'"));
            sql.replace("l.taken_until <= '51'", "l.taken_until <= now()")
        }
    }
}

async fn each_filter_alone_walks_an_index(db: Arc<TestDatabase>) {
    db.park_many(10_000).await;
    db.door.execute("UPDATE dead_letters SET tenant = 't' || (id % 7), failure_reason = 'r' || (id % 9)").await;
    db.door
        .execute("UPDATE dead_letters SET status = 'resolved', resolved_at = dead_lettered_at WHERE id % 10 <> 0")
        .await;
    if db.backend == Backend::Postgres {
        db.door.execute("ANALYZE dead_letters").await;
    }
    let alone = || LetterFilter { limit: 50, ..LetterFilter::default() };
    let value = || Some("x".to_owned());
    for filter in [
        alone(),
        LetterFilter { kind: value(), ..alone() },
        LetterFilter { source: value(), ..alone() },
        LetterFilter { tenant: value(), ..alone() },
        LetterFilter { reason: value(), ..alone() },
        LetterFilter { reason_code: value(), ..alone() },
        LetterFilter { failure_reason: value(), ..alone() },
        LetterFilter { route: Some(Route::RefusedByAgent), ..alone() },
        LetterFilter { group: value(), ..alone() },
    ] {
        for status in [None, Some(StatusFilter::Unresolved), Some(StatusFilter::Open), Some(StatusFilter::Resolved)] {
            let filter = LetterFilter { status, ..filter.clone() };
            let plan = db.door.plan(&list_statement(&db, &filter)).await;
            // Of a few matches PostgreSQL may rather sort them than walk in order.
            let is_walk = match db.backend {
                Backend::Sqlite => !plan.contains("TEMP B-TREE"),
                Backend::Postgres => plan.contains("Index") && !plan.contains("Seq Scan on dead_letters"),
            };
            assert!(is_walk, "{filter:?}:\n{plan}");
        }
    }
}

async fn exported(db: &TestDatabase, mut filter: LetterFilter) -> Vec<app::model::letter_export::ExportedLetter> {
    let mut all = Vec::new();
    loop {
        let batch = db.store.export_letters(&filter).await.unwrap().letters;
        let Some(last) = batch.last() else { return all };
        filter.before = Some(last.letter.id);
        all.extend(batch);
    }
}

async fn an_export_holds_each_letter_once_and_whole(db: Arc<TestDatabase>) {
    let payload = r#"{"id":9007199254740993,"id":1,"e":1e400,"s":"007"}"#;
    let long = "é".repeat(20_000);
    let new =
        NewJob { payload: Some(RawJson::stored(payload.into())), payload_ref: Some("s3://b/k".into()), ..job("a") };
    let whole = parked_as(&db, new, fail(&long, 400)).await;
    for _ in 0..6 {
        db.parked("a").await;
    }
    let filter = LetterFilter { limit: 3, ..LetterFilter::default() };
    let all = exported(&db, filter.clone()).await;
    let ids: Vec<_> = all.iter().map(|one| one.letter.id).collect();
    assert_eq!(ids, db.found(&letter_filter()).await);
    let last = all.last().unwrap();
    assert_eq!(last.letter, whole);
    assert_eq!(last.payload.as_ref().unwrap().as_str(), payload);
    assert_eq!(last.payload_ref.as_deref(), Some("s3://b/k"));
    let none = LetterFilter { kind: Some("b".into()), ..filter };
    assert!(exported(&db, none).await.is_empty());
}

async fn a_batch_of_large_letters_ends_early(db: Arc<TestDatabase>) {
    let large = RawJson::stored(format!("\"{}\"", "x".repeat(1_000_000)));
    for _ in 0..12 {
        parked_as(&db, NewJob { payload: Some(large.clone()), ..job("a") }, fail("400", 400)).await;
    }
    let first = db.store.export_letters(&letter_filter()).await.unwrap().letters.len();
    assert!((1..12).contains(&first), "{first} megabytes at once");
    assert_eq!(exported(&db, letter_filter()).await.len(), 12, "and yet all of them come");
}
