//! The outbox and the follow-ups as people meet them: who sees what, who may do
//! what, and what an answer says.

use crate::support::TestDatabase;
use crate::support::calls::{act_on, fail, job};
use crate::support::receiver::SECRET;
use crate::visitor::Visitor;
use app::model::ids::{FollowUpId, NoticeId};
use app::model::job::{NewJob, RawJson};
use app::model::people::Role;
use app::model::recovery::{LetterAct, RecoveryAction};
use axum::http::Method;
use drainboard::webhook::Target;
use serde_json::json;
use std::sync::Arc;

each_database![
    a_notice_is_read_and_marked_by_reviewers_and_hidden_from_on_call,
    a_notice_that_failed_says_why_and_is_tried_again_by_a_press,
    the_filters_of_the_outbox_are_in_its_address,
    a_follow_up_is_finished_by_its_owner_or_a_reviewer,
    odd_text_is_visible_in_notices_and_follow_ups,
    what_needs_somebody_leads_to_its_list,
];

async fn notice(db: &TestDatabase, recipient: &str) -> NoticeId {
    let payload = RawJson::stored(json!({ "email": recipient }).to_string());
    db.enqueue(&[NewJob { payload: Some(payload), ..job("k") }]).await;
    let claimed = db.claim_one("w1").await;
    let letter = db.letter_of(db.finish(&claimed, fail("unprocessable", 422)).await).await;
    db.act(&act_on(&letter, RecoveryAction::CloseAndNotify), "mila").await.unwrap();
    db.letter(letter.id).await.notice.expect("a notice").id
}

async fn follow_up(db: &TestDatabase, owner: &str, text: &str) -> FollowUpId {
    let letter = db.parked("k").await;
    let due = Some(db.now().await.date_naive());
    let act = LetterAct {
        owner: Some(owner.to_owned()),
        due,
        note: Some(text.to_owned()),
        ..act_on(&letter, RecoveryAction::PolicyUpdate)
    };
    db.act(&act, "mila").await.unwrap();
    db.letter(letter.id).await.follow_up.expect("a follow-up").id
}

async fn a_notice_is_read_and_marked_by_reviewers_and_hidden_from_on_call(db: Arc<TestDatabase>) {
    let id = notice(&db, "anna@example.com").await;
    let (list, page) = ("/outbox".to_owned(), format!("/outbox/{id}"));
    let on_call = Visitor::signed_in(&db, Role::OnCall).await;
    for path in [&list, &page] {
        let shown = on_call.get(path).await;
        assert_eq!(shown.status, 200);
        assert!(!shown.html.contains("anna@example.com") && !shown.html.contains("could not be processed"), "{path}");
        assert!(shown.text().contains("hidden") && shown.text().contains("not sent yet"), "{}", shown.text());
    }
    let refused = on_call.send(Method::POST, &page, "action=sent").await;
    assert_eq!(refused.status, 403);
    assert!(!on_call.get(&page).await.html.contains("<button name"), "no button that would be refused");

    let reviewer = Visitor::signed_in(&db, Role::Reviewer).await;
    let shown = reviewer.get(&list).await.text();
    for part in ["○ not sent yet", "anna@example.com", "Your request could not be processed", "No webhook is set"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = reviewer.get(&page).await;
    assert!(shown.text().contains("a person looks into it and will contact you"), "{}", shown.text());
    assert!(!shown.html.contains("Try again now"), "nothing sends it");

    let long = format!("action=sent&note={}", "x".repeat(2_001));
    let answer = reviewer.send(Method::POST, &page, long).await;
    assert_eq!(answer.status, 422);
    assert!(answer.text().contains("note must be at most 2000 characters") && answer.html.contains("xxxxx"));
    assert_eq!(reviewer.send(Method::POST, &page, "action=burn").await.status, 422);
    let sent = reviewer.send(Method::POST, &page, "action=sent&note=by+phone").await;
    assert_eq!((sent.status, sent.location()), (303, format!("{page}?notice=notice-sent").as_str()));
    let shown = reviewer.get(&page).await;
    assert!(shown.text().contains("● sent") && shown.text().contains("by phone"), "{}", shown.text());
    assert!(shown.text().contains("by hand, by the reviewer"), "{}", shown.text());
    assert!(!shown.html.contains("<button name=\"action\""), "{}", shown.html);
    let again = reviewer.send(Method::POST, &page, "action=sent").await;
    assert_eq!(again.status, 409);
    assert!(again.text().contains("the reviewer marked this notice as sent"), "{}", again.text());
    let unknown = reviewer.send(Method::POST, "/outbox/999999", "action=sent").await;
    assert_eq!((unknown.status, reviewer.get("/outbox/x").await.status), (404, 404));
}

async fn a_notice_that_failed_says_why_and_is_tried_again_by_a_press(db: Arc<TestDatabase>) {
    use app::model::delivery::TryOutcome;
    let id = notice(&db, "a@x").await;
    let [held] = db.store.hold_notices(1).await.unwrap().try_into().expect("one");
    let why = "the receiver answered <b>410 Gone".to_owned();
    db.store.keep_try(&held, &TryOutcome::GivenUp { why }).await.unwrap();
    let target = Target::new("notice-webhook", "https://example.com/hook", SECRET.into(), false).unwrap();
    let admin = Visitor::configured(&db, Role::Admin, |config| config.notice_webhook = Some(target)).await;
    let listed = admin.get("/outbox?state=failed").await;
    assert!(listed.text().contains("■ failed") && listed.text().contains("&lt;b&gt;410 Gone"), "{}", listed.text());
    let page = format!("/outbox/{id}");
    let shown = admin.get(&page).await;
    assert!(shown.text().contains("Tried once.") && shown.text().contains("given up"), "{}", shown.text());
    assert!(shown.html.contains("value=\"hurry\""), "{}", shown.html);
    let pressed = admin.send(Method::POST, &page, "action=hurry").await;
    assert_eq!((pressed.status, pressed.location()), (303, format!("{page}?notice=notice-hurried").as_str()));
    assert!(admin.get(&page).await.text().contains("not sent yet"));
    assert_eq!(db.store.hold_notices(1).await.unwrap().len(), 1, "it is due at once");
}

async fn the_filters_of_the_outbox_are_in_its_address(db: Arc<TestDatabase>) {
    let visitor = Visitor::signed_in(&db, Role::Reviewer).await;
    let empty = visitor.get("/outbox").await.text();
    assert!(empty.contains("No dead letter has been closed with a notice yet."), "{empty}");
    let first = notice(&db, "first@x").await;
    db.store.mark_notice_sent(first, None, &crate::support::actor("mila")).await.unwrap();
    for n in 0..51 {
        notice(&db, &format!("n{n}@x")).await;
    }
    let page = visitor.get("/outbox").await;
    assert!(page.text().contains("waiting 51 failed 0"), "{}", page.text());
    assert!(page.html.contains("n50@x") && page.html.contains("n1@x") && !page.html.contains("n0@x"));
    let next = page.html.split("rel=\"next\"").next().unwrap().rsplit("href=\"").next().unwrap();
    let next = next.split('"').next().unwrap().replace("&amp;", "&");
    let older = visitor.get(&next).await;
    assert!(older.html.contains("n0@x") && older.html.contains("first@x") && !older.html.contains("n1@x"));
    assert!(!visitor.get("/outbox?state=waiting").await.html.contains("first@x"));
    assert!(visitor.get("/outbox?state=sent").await.html.contains("first@x"));
    assert!(visitor.get("/outbox?state=failed").await.text().contains("No notice failed."));
    for bad in ["state=lost", "after=7", "after=sent-x"] {
        assert_eq!(visitor.get(&format!("/outbox?{bad}")).await.status, 422, "{bad}");
    }
}

async fn a_follow_up_is_finished_by_its_owner_or_a_reviewer(db: Arc<TestDatabase>) {
    let theirs = follow_up(&db, "ada", "raise the limit").await;
    let own = follow_up(&db, "the on-call", "watch the limit").await;
    let on_call = Visitor::signed_in(&db, Role::OnCall).await;
    let page = on_call.get("/follow-ups").await;
    assert!(page.text().contains("raise the limit") && page.text().contains("watch the limit"), "{}", page.text());
    assert_eq!(page.html.matches("<button>Done").count(), 1, "only for one's own");
    assert!(!on_call.get("/follow-ups?show=mine").await.text().contains("raise the limit"));
    assert_eq!(on_call.send(Method::POST, "/follow-ups", format!("id={theirs}")).await.status, 403);
    let done =
        on_call.send(Method::POST, "/follow-ups", format!("id={own}&note=quiet&next=/follow-ups?show=mine")).await;
    assert_eq!((done.status, done.location()), (303, "/follow-ups?show=mine&notice=follow-up-done"));
    let again = on_call.send(Method::POST, "/follow-ups", format!("id={own}")).await;
    assert_eq!(again.status, 409);
    assert!(again.text().contains("the on-call finished this follow-up"), "{}", again.text());

    let reviewer = Visitor::signed_in(&db, Role::Reviewer).await;
    let long = format!("id={theirs}&note={}", "y".repeat(2_001));
    let answer = reviewer.send(Method::POST, "/follow-ups", long).await;
    assert_eq!(answer.status, 422);
    assert!(answer.html.contains("yyyyy"), "what was typed comes back");
    assert_eq!(reviewer.send(Method::POST, "/follow-ups", format!("id={theirs}")).await.status, 303);
    let all = reviewer.get("/follow-ups?show=all").await.text();
    assert!(all.contains("● done") && all.contains("quiet"), "{all}");
    assert!(reviewer.get("/follow-ups").await.text().contains("No follow-up is open."));
    for bad in ["", "id=0", "id=x", "id=999999"] {
        let status = reviewer.send(Method::POST, "/follow-ups", bad.to_owned()).await.status;
        assert_eq!(status, if bad.is_empty() { 422 } else { 404 }, "{bad}");
    }
    assert_eq!(reviewer.get("/follow-ups?show=none").await.status, 422);
    assert_eq!(reviewer.get("/follow-ups?after=open.1").await.status, 422);
}

async fn odd_text_is_visible_in_notices_and_follow_ups(db: Arc<TestDatabase>) {
    let odd = "a\u{202e}b\u{200b}</td><script>alert(1)</script>";
    let id = notice(&db, "ab</td><script>alert(1)</script>").await;
    follow_up(&db, odd, odd).await;
    let visitor = Visitor::signed_in(&db, Role::Admin).await;
    for path in ["/outbox".to_owned(), format!("/outbox/{id}"), "/follow-ups".to_owned(), "/audit".to_owned()] {
        let page = visitor.get(&path).await;
        assert_eq!(page.status, 200, "{path}");
        let text = page.text();
        assert!(!text.contains('\u{202e}') && !text.contains('\u{200b}'), "{path}: {text:?}");
        assert!(!page.html.contains("<script>alert"), "{path}");
        let shown = if path.starts_with("/outbox") { "ab&lt;/td&gt;" } else { "a\u{fffd}b\u{fffd}&lt;/td&gt;" };
        assert!(path == "/audit" || text.contains(shown), "{path}: {text}");
    }
}

async fn what_needs_somebody_leads_to_its_list(db: Arc<TestDatabase>) {
    notice(&db, "a@x").await;
    follow_up(&db, "ada", "t").await;
    db.let_time_pass(400).await;
    let visitor = Visitor::signed_in(&db, Role::OnCall).await;
    let front = visitor.get("/").await.text();
    assert!(front.contains("1 follow-up due.") && front.contains("1 notice is not sent."), "{front}");
    for path in ["/dead-letters", "/groups", "/outbox", "/follow-ups"] {
        let text = visitor.get(path).await.text();
        assert!(text.contains("Letters Outbox 1 not sent Follow-ups 1 due"), "{path}: {text}");
    }
    assert!(!visitor.get("/jobs").await.html.contains("/follow-ups"));
}
