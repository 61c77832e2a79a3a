//! Many letters at once: what was seen is acted on, each letter once, whatever happens meanwhile.

use crate::support::TestDatabase;
use crate::support::calls::{act_on, actor, done, fail, name, person, refusal};
use app::error::StoreError;
use app::model::bulk::{BulkAct, BulkDetail, BulkSelection, BulkState, ItemOutcome, NewBulk, Steer};
use app::model::ids::{BulkId, DeadLetterId};
use app::model::job::{ClaimedJob, ReplayMode};
use app::model::letter::{DeadLetter, LetterStatus, Route};
use app::model::letter_filter::LetterFilter;
use app::model::people::Role;
use app::model::recovery::RecoveryAction;
use drainboard::duties::bulk::work;
use std::sync::Arc;

each_database![
    exactly_the_letters_that_were_chosen_are_tried,
    what_the_model_judged_is_no_part_of_a_requeue,
    a_bulk_whose_first_replays_all_fail_stops_itself,
    the_first_few_are_waited_for,
    letters_changed_since_the_draft_are_shown_and_left_alone,
    a_bulk_is_confirmed_once_and_by_whom_it_belongs_to,
    a_bulk_ends_with_the_role_of_who_started_it,
    a_stopped_bulk_acts_on_no_further_letter,
    closing_many_needs_a_note_and_makes_no_job,
    a_bulk_of_none_or_too_many_is_refused,
    what_was_done_before_a_server_died_is_not_done_again,
    two_servers_act_once_on_each_letter,
    many_letters_with_some_that_fail_again,
];

/// Letters of the large test; the full number with `DRAINBOARD_FULL_BULK=1`.
fn many() -> usize {
    if std::env::var("DRAINBOARD_FULL_BULK").is_ok_and(|value| value == "1") { 5_000 } else { 400 }
}

async fn reviewer(db: &TestDatabase, who: &str) {
    db.store.add_user(&name(who), Role::Reviewer, "no password", &actor("root")).await.unwrap();
}

async fn letters(db: &TestDatabase, kind: &str, count: usize) -> Vec<DeadLetter> {
    let mut parked = Vec::new();
    for _ in 0..count {
        parked.push(db.parked(kind).await);
    }
    parked
}

async fn draft(db: &TestDatabase, selection: BulkSelection) -> BulkId {
    let bulk = NewBulk { selection, scope: "a selection".to_owned() };
    db.store.draft_bulk(&bulk, &person("mila", Role::Reviewer)).await.unwrap()
}

async fn draft_of(db: &TestDatabase, letters: &[DeadLetter]) -> BulkId {
    draft(db, BulkSelection::Ids(letters.iter().map(|letter| (letter.id, letter.version)).collect())).await
}

fn replay() -> Steer {
    Steer::Confirm(BulkAct { action: RecoveryAction::ApproveAndReplay, mode: ReplayMode::Current, note: None })
}

async fn steer(db: &TestDatabase, id: BulkId, steer: &Steer, who: &str, role: Role) -> Result<(), StoreError> {
    db.store.steer_bulk(id, steer, &person(who, role), role).await
}

async fn confirm(db: &TestDatabase, id: BulkId) {
    steer(db, id, &replay(), "mila", Role::Reviewer).await.unwrap();
}

async fn found(db: &TestDatabase, id: BulkId) -> BulkDetail {
    db.store.find_bulk(id, None, 200).await.unwrap().unwrap()
}

/// Works until there is nothing to do at once.
async fn work_on(db: &TestDatabase) {
    while work(&*db.store).await.unwrap() {}
}

/// The replays that are due end well, but for those of a source that is broken.
async fn run_replays(db: &TestDatabase, ends_well: impl Fn(&ClaimedJob) -> bool) -> usize {
    let mut ran = 0;
    loop {
        let claimed = db.claim("w1", 100).await;
        if claimed.is_empty() {
            return ran;
        }
        for job in claimed {
            ran += 1;
            let end = if ends_well(&job) { done("approved") } else { fail("400 still broken", 400) };
            db.finish(&job, end).await;
        }
    }
}

/// Until the bulk has ended; replays run as they come.
async fn drain(db: &TestDatabase, id: BulkId, ends_well: impl Fn(&ClaimedJob) -> bool + Copy) -> BulkDetail {
    for _ in 0..1_000 {
        work_on(db).await;
        run_replays(db, ends_well).await;
        let bulk = found(db, id).await;
        if bulk.bulk.state != BulkState::Running {
            return bulk;
        }
        db.let_time_pass(3).await;
    }
    panic!("the bulk does not end: {:?}", found(db, id).await);
}

async fn exactly_the_letters_that_were_chosen_are_tried(db: Arc<TestDatabase>) {
    reviewer(&db, "mila").await;
    let chosen = letters(&db, "a", 30).await;
    let id =
        draft(&db, BulkSelection::Filter(Box::new(LetterFilter { kind: Some("a".into()), ..letter_filter() }))).await;
    let later = letters(&db, "a", 5).await;
    db.act(&act_on(&chosen[3], RecoveryAction::RejectAndClose), "ada").await.unwrap();
    db.act(&act_on(&chosen[4], RecoveryAction::Take), "ada").await.unwrap();
    confirm(&db, id).await;
    let bulk = drain(&db, id, |_| true).await;

    assert_eq!((bulk.bulk.state, bulk.bulk.total), (BulkState::Done, 30));
    assert_eq!(bulk.counts.of(ItemOutcome::Acted), 28);
    assert_eq!(bulk.counts.of(ItemOutcome::AlreadyResolved), 1);
    assert_eq!(bulk.counts.of(ItemOutcome::Taken), 1);
    assert_eq!((bulk.counts.outstanding, bulk.counts.replays_done), (0, 28));
    let why: Vec<_> = bulk.trouble.iter().map(|item| (item.dead_letter_id, item.said.clone().unwrap())).collect();
    assert_eq!(why.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [chosen[3].id, chosen[4].id]);
    assert!(why.iter().all(|(_, said)| said.contains("ada")), "{why:?}");
    for letter in later {
        assert_eq!(db.letter(letter.id).await.letter.status, LetterStatus::Open, "it was parked after the draft");
    }
    assert_eq!(db.letter(chosen[0].id).await.letter.resolution.unwrap().by, "mila");
}

fn letter_filter() -> LetterFilter {
    crate::support::calls::letter_filter()
}

async fn what_the_model_judged_is_no_part_of_a_requeue(db: Arc<TestDatabase>) {
    reviewer(&db, "mila").await;
    for _ in 0..98 {
        let claimed = db.claimed("moderate-image").await;
        db.finish(&claimed, fail("Image moderation service unavailable", 400)).await;
    }
    let mut judged = Vec::new();
    for _ in 0..24 {
        let claimed = db.claimed("moderate-image").await;
        judged.push(db.letter_of(db.finish(&claimed, refusal("AMBIGUOUS_VALUE")).await).await);
    }
    let filter = LetterFilter { route: Some(Route::Exception), ..letter_filter() };
    let id = draft(&db, BulkSelection::Filter(Box::new(filter))).await;
    assert_eq!(found(&db, id).await.bulk.total, 98);
    confirm(&db, id).await;
    let bulk = drain(&db, id, |_| true).await;
    assert_eq!((bulk.counts.of(ItemOutcome::Acted), bulk.counts.replays_done), (98, 98));
    for letter in judged {
        assert_eq!(db.letter(letter.id).await.letter.status, LetterStatus::Open, "the model judged it");
    }
}

async fn a_bulk_whose_first_replays_all_fail_stops_itself(db: Arc<TestDatabase>) {
    reviewer(&db, "mila").await;
    let id = draft_of(&db, &letters(&db, "a", 20).await).await;
    confirm(&db, id).await;
    let bulk = drain(&db, id, |_| false).await;
    assert_eq!(bulk.bulk.state, BulkState::Halted);
    assert!(bulk.bulk.said.unwrap().contains("none of the first"));
    assert_eq!((bulk.counts.outstanding, bulk.counts.replays_parked), (15, 5));
    let (_, why) = bulk.trouble[0].parked_again.clone().unwrap();
    assert_eq!((bulk.trouble.len(), why.as_str()), (5, "400 still broken"));

    steer(&db, id, &Steer::GoOn, "mila", Role::Reviewer).await.unwrap();
    let bulk = drain(&db, id, |_| true).await;
    assert_eq!((bulk.bulk.state, bulk.counts.replays_done, bulk.counts.replays_parked), (BulkState::Done, 15, 5));
}

async fn the_first_few_are_waited_for(db: Arc<TestDatabase>) {
    reviewer(&db, "mila").await;
    let id = draft_of(&db, &letters(&db, "a", 12).await).await;
    confirm(&db, id).await;
    work_on(&db).await;
    db.let_time_pass(3).await;
    work_on(&db).await;
    assert_eq!(found(&db, id).await.counts.of(ItemOutcome::Acted), 5);
    // One good end is not enough while others have not ended.
    for job in db.claim("w1", 4).await {
        db.finish(&job, done("approved")).await;
    }
    db.let_time_pass(3).await;
    work_on(&db).await;
    assert_eq!(found(&db, id).await.counts.of(ItemOutcome::Acted), 5);
    steer(&db, id, &Steer::GoOn, "mila", Role::Reviewer).await.unwrap();
    work_on(&db).await;
    assert_eq!(found(&db, id).await.counts.of(ItemOutcome::Acted), 12, "a person said go on");
}

async fn letters_changed_since_the_draft_are_shown_and_left_alone(db: Arc<TestDatabase>) {
    reviewer(&db, "mila").await;
    let chosen = letters(&db, "a", 4).await;
    let id = draft_of(&db, &chosen).await;
    // Taken and given back: open as before, in another version.
    let taken = db.act(&act_on(&chosen[2], RecoveryAction::Take), "ada").await.unwrap().letter;
    db.act(&act_on(&taken, RecoveryAction::Release), "ada").await.unwrap();
    let bulk = found(&db, id).await;
    assert_eq!((bulk.changed, bulk.sample[0].dead_letter_id), (1, chosen[2].id));
    confirm(&db, id).await;
    let bulk = drain(&db, id, |_| true).await;
    assert_eq!((bulk.counts.of(ItemOutcome::Acted), bulk.counts.of(ItemOutcome::Changed)), (3, 1));
    assert_eq!(db.letter(chosen[2].id).await.letter.status, LetterStatus::Open);
}

async fn a_bulk_is_confirmed_once_and_by_whom_it_belongs_to(db: Arc<TestDatabase>) {
    reviewer(&db, "mila").await;
    let id = draft_of(&db, &letters(&db, "a", 2).await).await;
    for (who, role) in [("ada", Role::Reviewer), ("mila", Role::OnCall)] {
        let refused = steer(&db, id, &replay(), who, role).await;
        assert!(matches!(refused, Err(StoreError::Forbidden(_))), "{who}: {refused:?}");
    }
    assert_eq!(found(&db, id).await.bulk.state, BulkState::Draft);
    confirm(&db, id).await;
    let again = steer(&db, id, &replay(), "mila", Role::Reviewer).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    let started = db.audit().await.into_iter().filter(|entry| entry.action == "bulk_start").count();
    assert_eq!(started, 1);
    let other = draft_of(&db, &letters(&db, "b", 1).await).await;
    steer(&db, other, &replay(), "root", Role::Admin).await.unwrap();
    let missing = steer(&db, BulkId(99), &replay(), "mila", Role::Admin).await;
    assert!(matches!(missing, Err(StoreError::NotFound(_))), "{missing:?}");
}

async fn a_bulk_ends_with_the_role_of_who_started_it(db: Arc<TestDatabase>) {
    for (who, role, disabled) in [("mila", Some(Role::OnCall), None), ("nils", None, Some(true))] {
        reviewer(&db, who).await;
        let chosen = letters(&db, who, 8).await;
        let ids = chosen.iter().map(|letter| (letter.id, letter.version)).collect();
        let bulk = NewBulk { selection: BulkSelection::Ids(ids), scope: "s".to_owned() };
        let id = db.store.draft_bulk(&bulk, &person(who, Role::Reviewer)).await.unwrap();
        steer(&db, id, &replay(), who, Role::Reviewer).await.unwrap();
        work_on(&db).await;
        db.store.change_user(who, role, disabled, &actor("root")).await.unwrap();
        run_replays(&db, |_| true).await;
        db.let_time_pass(3).await;
        work_on(&db).await;
        let bulk = found(&db, id).await;
        assert_eq!((bulk.bulk.state, bulk.counts.of(ItemOutcome::Acted)), (BulkState::Stopped, 5), "{who}");
        assert!(bulk.bulk.said.unwrap().contains(who));
    }
}

async fn a_stopped_bulk_acts_on_no_further_letter(db: Arc<TestDatabase>) {
    reviewer(&db, "mila").await;
    let id = draft_of(&db, &letters(&db, "a", 9).await).await;
    confirm(&db, id).await;
    work_on(&db).await;
    steer(&db, id, &Steer::Stop, "mila", Role::Reviewer).await.unwrap();
    run_replays(&db, |_| true).await;
    db.let_time_pass(20).await;
    work_on(&db).await;
    let bulk = found(&db, id).await;
    assert_eq!((bulk.bulk.state, bulk.counts.outstanding), (BulkState::Stopped, 4));
    steer(&db, id, &Steer::GoOn, "mila", Role::Reviewer).await.unwrap();
    let bulk = drain(&db, id, |_| true).await;
    assert_eq!((bulk.counts.of(ItemOutcome::Acted), bulk.counts.replays_done), (9, 9), "pressing again finishes it");
}

async fn closing_many_needs_a_note_and_makes_no_job(db: Arc<TestDatabase>) {
    reviewer(&db, "mila").await;
    let id = draft_of(&db, &letters(&db, "a", 7).await).await;
    let close = |note: Option<&str>| {
        let (action, note) = (RecoveryAction::RejectAndClose, note.map(str::to_owned));
        Steer::Confirm(BulkAct { action, mode: ReplayMode::Current, note })
    };
    match steer(&db, id, &close(None), "mila", Role::Reviewer).await {
        Err(StoreError::Invalid(field)) => assert_eq!(field.field, "note"),
        other => panic!("{other:?}"),
    }
    steer(&db, id, &close(Some("spam")), "mila", Role::Reviewer).await.unwrap();
    let bulk = drain(&db, id, |_| true).await;
    assert_eq!((bulk.bulk.state, bulk.counts.of(ItemOutcome::Acted)), (BulkState::Done, 7));
    assert_eq!(run_replays(&db, |_| true).await, 0);
    assert_eq!(db.audit().await.into_iter().filter(|entry| entry.action == "reject_and_close").count(), 7);
}

async fn a_bulk_of_none_or_too_many_is_refused(db: Arc<TestDatabase>) {
    let refused = async |selection| {
        let bulk = NewBulk { selection, scope: "s".to_owned() };
        match db.store.draft_bulk(&bulk, &actor("mila")).await {
            Err(StoreError::Invalid(field)) => field.rule,
            other => panic!("{other:?}"),
        }
    };
    assert!(refused(BulkSelection::Ids(vec![(DeadLetterId(77), 1)])).await.contains("at least one"));
    db.park_many(10_001).await;
    let all = || BulkSelection::Filter(Box::new(letter_filter()));
    assert!(refused(all()).await.contains("10000"), "more than can be looked at");
    assert!(db.store.list_bulks(10).await.unwrap().is_empty(), "what is refused leaves no draft");
}

async fn what_was_done_before_a_server_died_is_not_done_again(db: Arc<TestDatabase>) {
    reviewer(&db, "mila").await;
    let chosen = letters(&db, "a", 3).await;
    let id = draft_of(&db, &chosen).await;
    confirm(&db, id).await;
    work_on(&db).await;
    // As if the server had died between the act and the outcome of the last letter.
    db.door.execute("UPDATE bulk_items SET outcome = NULL, replay_job_id = NULL WHERE dead_letter_id = (SELECT max(dead_letter_id) FROM bulk_items)").await;
    db.door.execute("UPDATE bulks SET state = 'running', is_trial = 0").await;
    let bulk = drain(&db, id, |_| true).await;
    assert_eq!((bulk.counts.of(ItemOutcome::Acted), bulk.counts.replays_done), (3, 3));
    for letter in chosen {
        assert_eq!(db.letter(letter.id).await.replays.len(), 1);
    }
}

async fn two_servers_act_once_on_each_letter(db: Arc<TestDatabase>) {
    reviewer(&db, "mila").await;
    let chosen = letters(&db, "a", 40).await;
    let id = draft_of(&db, &chosen).await;
    confirm(&db, id).await;
    steer(&db, id, &Steer::GoOn, "mila", Role::Reviewer).await.unwrap();
    let other = db.another_store().await;
    // Both have it: what one holds is let go, as if its time had run out.
    let (mine, theirs) = tokio::join!(
        async {
            work(&*db.store).await.unwrap();
        },
        async {
            db.door.execute("UPDATE bulks SET look_at = made_at").await;
            work(&*other).await.unwrap();
        }
    );
    let ((), ()) = (mine, theirs);
    let bulk = drain(&db, id, |_| true).await;
    other.close().await;
    assert_eq!((bulk.counts.of(ItemOutcome::Acted), bulk.counts.replays_done), (40, 40));
    for letter in chosen {
        assert_eq!(db.letter(letter.id).await.replays.len(), 1, "one approval is one replay");
    }
}

async fn many_letters_with_some_that_fail_again(db: Arc<TestDatabase>) {
    reviewer(&db, "mila").await;
    let many = many();
    db.park_many(many).await;
    let id = draft(&db, BulkSelection::Filter(Box::new(letter_filter()))).await;
    confirm(&db, id).await;
    // Every tenth source is broken, for the first 100 of its letters at most.
    let last_broken = i64::try_from(many).unwrap().min(1_000);
    let bulk =
        drain(&db, id, |job| job.source != "s7" || job.replay.as_ref().unwrap().dead_letter_id.0 > last_broken).await;
    let broken = last_broken / 10;
    let all = i64::try_from(many).unwrap();
    assert_eq!((bulk.bulk.state, bulk.counts.of(ItemOutcome::Acted)), (BulkState::Done, all));
    assert_eq!((bulk.counts.replays_done, bulk.counts.replays_parked), (all - broken, broken));
    let first = db.store.find_bulk(id, None, 30).await.unwrap().unwrap();
    let rest = db.store.find_bulk(id, first.next, 200).await.unwrap().unwrap();
    let listed = first.trouble.len() + rest.trouble.len();
    assert_eq!((i64::try_from(listed).unwrap(), rest.next), (broken, None), "each failure is listed once");
}
