//! What is left to somebody by a date: listed by their day, finished once, counted
//! when it is due.

use crate::support::TestDatabase;
use crate::support::calls::{act_on, actor, person};
use app::error::StoreError;
use app::model::follow_up::{FollowUpFilter, FollowUpShare};
use app::model::ids::FollowUpId;
use app::model::people::Role;
use app::model::recovery::{LetterAct, RecoveryAction};
use chrono::Days;
use std::sync::Arc;

each_database![
    open_ones_come_first_by_their_day,
    a_follow_up_is_done_once_and_audited,
    what_is_due_is_counted_by_the_database_s_day,
];

/// A follow-up of `owner`, due in so many days.
async fn left_to(db: &TestDatabase, owner: &str, days: u64) -> FollowUpId {
    let letter = db.parked("k").await;
    let due = db.now().await.date_naive().checked_add_days(Days::new(days));
    let act = LetterAct { owner: Some(owner.to_owned()), due, ..act_on(&letter, RecoveryAction::PolicyUpdate) };
    db.act(&act, "mila").await.unwrap();
    db.letter(letter.id).await.follow_up.expect("a follow-up").id
}

/// All pages of a list.
async fn listed(db: &TestDatabase, share: FollowUpShare, limit: u32) -> Vec<FollowUpId> {
    let mut filter = FollowUpFilter { share, viewer: "ada".to_owned(), after: None, limit };
    let mut seen = Vec::new();
    loop {
        let page = db.store.list_follow_ups(&filter).await.unwrap();
        assert!(page.follow_ups.len() <= limit as usize);
        seen.extend(page.follow_ups.iter().map(|one| one.id));
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return seen,
        }
    }
}

async fn open_ones_come_first_by_their_day(db: Arc<TestDatabase>) {
    let mut ids = Vec::new();
    for (owner, days) in [("ada", 9), ("mila", 1), ("ada", 1), ("ada", 4), ("mila", 2), ("ada", 0)] {
        ids.push(left_to(&db, owner, days).await);
    }
    for at in [3, 4] {
        db.store.finish_follow_up(ids[at], None, &actor("mila")).await.unwrap();
    }
    let at = |places: &[usize]| places.iter().map(|at| ids[*at]).collect::<Vec<_>>();
    for limit in [1, 2, 3, 50] {
        assert_eq!(listed(&db, FollowUpShare::Open, limit).await, at(&[5, 1, 2, 0]), "{limit}");
        assert_eq!(listed(&db, FollowUpShare::Mine, limit).await, at(&[5, 2, 0]), "{limit}");
        assert_eq!(listed(&db, FollowUpShare::Done, limit).await, at(&[4, 3]), "{limit}");
        assert_eq!(listed(&db, FollowUpShare::All, limit).await, at(&[5, 1, 2, 0, 4, 3]), "{limit}");
    }
}

async fn a_follow_up_is_done_once_and_audited(db: Arc<TestDatabase>) {
    let id = left_to(&db, "ada", 3).await;
    db.store.finish_follow_up(id, Some("limit raised"), &person("ada", Role::OnCall)).await.unwrap();
    let done = db.store.find_follow_up(id).await.unwrap().expect("it is there");
    assert_eq!((done.done_by.as_deref(), done.done_note.as_deref()), (Some("ada"), Some("limit raised")));
    let entry = db.audit().await.into_iter().find(|entry| entry.action == "follow_up_done").expect("audited");
    assert_eq!((entry.actor.as_str(), entry.subject), ("ada", format!("follow_up {id}")));
    let audited = db.audit().await.len();
    match db.store.finish_follow_up(id, None, &actor("mila")).await {
        Err(StoreError::Conflict(sentence)) => assert!(sentence.starts_with("ada finished"), "{sentence}"),
        other => panic!("{other:?}"),
    }
    let none = FollowUpId(999_999);
    assert_eq!(db.store.finish_follow_up(none, None, &actor("mila")).await, Err(StoreError::NotFound("follow-up")));
    assert_eq!(db.store.find_follow_up(none).await.unwrap(), None);
    assert_eq!(db.audit().await.len(), audited);
    assert_eq!(db.store.find_follow_up(id).await.unwrap().unwrap().done_by.as_deref(), Some("ada"));
}

async fn what_is_due_is_counted_by_the_database_s_day(db: Arc<TestDatabase>) {
    let today = left_to(&db, "ada", 0).await;
    left_to(&db, "ada", 1).await;
    assert_eq!(db.snapshot().await.due_follow_ups, 1);
    db.store.finish_follow_up(today, None, &actor("ada")).await.unwrap();
    assert_eq!(db.snapshot().await.due_follow_ups, 0);
}
