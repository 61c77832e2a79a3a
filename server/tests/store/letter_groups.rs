//! Groups: what letters of one trouble have in common, how many, since when.

use crate::support::TestDatabase;
use crate::support::calls::{act_on, fail, job, letter_filter, name, refusal};
use app::model::job::NewJob;
use app::model::letter::Route;
use app::model::letter_filter::{LetterFilter, StatusFilter};
use app::model::letter_group::TREND_DAYS;
use app::model::recovery::RecoveryAction;
use chrono::TimeDelta;
use std::collections::BTreeSet;
use std::sync::Arc;

each_database![
    a_group_says_what_its_letters_share,
    a_trend_is_of_all_letters_by_utc_day,
    counts_and_sources_follow_the_filter,
    pages_of_groups_hold_each_group_once,
    an_empty_queue_has_no_groups,
];

async fn a_group_says_what_its_letters_share(db: Arc<TestDatabase>) {
    for n in 0..3 {
        let claimed = db.claimed("a").await;
        db.finish(&claimed, fail(&format!("400 customer {n} is unknown"), 400)).await;
    }
    db.refused("a", "AMBIGUOUS_VALUE").await;
    let page = db.groups(&letter_filter()).await;
    assert_eq!(page.groups.len(), 2);
    let refused = &page.groups[0];
    assert_eq!((refused.route, refused.letters), (Route::RefusedByAgent, 1));
    assert_eq!(refused.heading(), "AMBIGUOUS_VALUE · currency");
    let failed = &page.groups[1];
    assert_eq!((failed.kind.as_str(), failed.route, failed.letters), ("a", Route::Exception, 3));
    assert_eq!(failed.heading(), "… customer … is unknown");
    assert!(failed.first_seen <= failed.last_seen && failed.last_seen <= page.as_of);
    let listed = db.found(&LetterFilter { group: Some(failed.key.clone()), ..letter_filter() }).await;
    assert_eq!(listed.len(), 3, "it opens as the list of its letters");
}

async fn a_trend_is_of_all_letters_by_utc_day(db: Arc<TestDatabase>) {
    let midnight = db.now().await.date_naive().and_hms_opt(0, 0, 0).unwrap().and_utc();
    for at in [
        midnight,
        midnight - TimeDelta::microseconds(1),
        midnight - TimeDelta::days(13),
        midnight - TimeDelta::days(13) - TimeDelta::microseconds(1),
    ] {
        let letter = db.parked("a").await;
        let at = db.door.literal(at);
        db.door.execute(&format!("UPDATE dead_letters SET dead_lettered_at = {at} WHERE id = {}", letter.id)).await;
    }
    let resolved = db.store.list_letters(&letter_filter()).await.unwrap().letters.pop().unwrap();
    db.act(&act_on(&resolved, RecoveryAction::RejectAndClose), "mila").await.unwrap();
    let filter = LetterFilter { status: Some(StatusFilter::Unresolved), ..letter_filter() };
    let group = db.groups(&filter).await.groups.remove(0);
    let mut per_day = [0; TREND_DAYS];
    (per_day[0], per_day[12], per_day[13]) = (1, 1, 1);
    assert_eq!(group.per_day, per_day, "the resolved one is in the trend, the one of a day before is not");
    assert_eq!((group.letters, group.of_any_status, group.resolved), (3, 4, 1));
}

async fn counts_and_sources_follow_the_filter(db: Arc<TestDatabase>) {
    for (source, count) in [("mail", 4), ("scan", 3), ("portal", 2), ("fax", 1), ("telex", 1)] {
        for _ in 0..count {
            db.enqueue(&[NewJob { source: name(source), ..job("a") }]).await;
            let claimed = db.claim_one("w1").await;
            db.finish(&claimed, refusal("AMBIGUOUS_VALUE")).await;
        }
    }
    let group = db.groups(&letter_filter()).await.groups.remove(0);
    let top = |names: &[(&str, i64)]| names.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<Vec<_>>();
    assert_eq!((group.letters, group.more_sources), (11, 2));
    assert_eq!(group.sources, top(&[("mail", 4), ("scan", 3), ("portal", 2)]));
    let of_scan = LetterFilter { source: Some("scan".into()), ..letter_filter() };
    let group = db.groups(&of_scan).await.groups.remove(0);
    assert_eq!((group.letters, group.of_any_status, group.more_sources), (3, 3, 0));
    assert_eq!(group.sources, top(&[("scan", 3)]));
}

async fn pages_of_groups_hold_each_group_once(db: Arc<TestDatabase>) {
    db.park_many(230).await;
    // 115 groups of two; all of one instant, so that only the key orders them.
    db.door.execute("UPDATE dead_letters SET group_key = 'g' || (id % 115)").await;
    db.door
        .execute("UPDATE dead_letters SET dead_lettered_at = (SELECT min(dead_lettered_at) FROM dead_letters)")
        .await;
    let filter = LetterFilter { limit: 50, ..LetterFilter::default() };
    let (mut after, mut sizes, mut keys) = (None, Vec::new(), BTreeSet::new());
    loop {
        let page = db.store.list_counted_groups(&filter, after.as_ref()).await.unwrap();
        sizes.push(page.groups.len());
        for group in page.groups {
            assert_eq!((group.letters, group.per_day.iter().sum::<i64>()), (2, 2), "{}", group.key);
            assert!(keys.insert(group.key), "a group comes twice");
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!((sizes, keys.len()), (vec![50, 50, 15], 115));
}

async fn an_empty_queue_has_no_groups(db: Arc<TestDatabase>) {
    let page = db.groups(&letter_filter()).await;
    assert_eq!((page.groups.len(), page.next, page.counts), (0, None, Some(Default::default())));
}
