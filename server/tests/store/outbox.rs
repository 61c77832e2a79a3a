//! Customer notices on their way: delivered to a real receiver at least once,
//! never by two servers at a time, and never lost from sight.

use crate::support::TestDatabase;
use crate::support::calls::{act_on, actor, fail, job, person};
use crate::support::receiver::{Got, Receiver, Reply, SECRET, status};
use app::error::StoreError;
use app::model::delivery::TryOutcome;
use app::model::ids::NoticeId;
use app::model::job::{NewJob, RawJson};
use app::model::outbox::{NoticeFilter, NoticeShare, NoticeState, OutboxNotice};
use app::model::people::Role;
use app::model::recovery::RecoveryAction;
use app::model::text::is_odd;
use app::store::Store;
use chrono::TimeDelta;
use drainboard::duties::outbox::deliver;
use drainboard::webhook::{Sender, Target};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

each_database![
    a_notice_is_delivered_once_and_signed,
    a_receiver_that_fails_gets_it_again_under_the_same_key,
    a_dead_receiver_is_tried_for_a_day_then_the_notice_is_shown_as_failed,
    what_the_receiver_will_not_have_fails_at_once,
    a_receiver_says_when_to_come_again,
    a_slow_receiver_is_given_up_in_time_and_tried_again,
    a_private_receiver_is_refused_unless_it_is_allowed,
    hostile_text_arrives_as_it_is,
    two_servers_share_the_notices,
    what_a_dead_server_held_is_delivered_again_under_the_same_key,
    a_notice_sent_by_hand_is_audited_and_stays_sent,
    the_outbox_lists_what_is_not_sent_first,
    what_waits_for_somebody_is_counted,
];

fn sender(url: &str) -> Sender {
    let target = Target::new("notice-webhook", url, SecretString::from(SECRET), true).unwrap();
    Sender::new(target).with_patience(Duration::from_secs(5))
}

/// A letter closed with a notice to `recipient`.
async fn notice_to(db: &TestDatabase, recipient: &str, source: &str) -> NoticeId {
    let payload = RawJson::stored(json!({ "email": recipient }).to_string());
    let sent = NewJob { payload: Some(payload), source: crate::support::name(source), ..job("k") };
    db.enqueue(std::slice::from_ref(&sent)).await;
    let claimed = db.claim_one("w1").await;
    let letter = db.letter_of(db.finish(&claimed, fail("unprocessable", 422)).await).await;
    db.act(&act_on(&letter, RecoveryAction::CloseAndNotify), "mila").await.unwrap();
    db.letter(letter.id).await.notice.expect("a notice").id
}

async fn notice(db: &TestDatabase) -> NoticeId {
    notice_to(db, "a@example.com", "portal").await
}

async fn found(db: &TestDatabase, id: NoticeId) -> OutboxNotice {
    db.store.find_notice(id).await.unwrap().expect("the notice is there").0
}

async fn deliver_to(db: &TestDatabase, receiver: &Receiver) -> usize {
    deliver(&*db.store, &sender(&receiver.url)).await.unwrap()
}

/// Until its next try.
async fn until_next_try(db: &TestDatabase, id: NoticeId) -> i64 {
    let wait = (found(db, id).await.next_try_at.expect("there is a next try") - db.now().await).num_seconds() + 1;
    db.let_time_pass(wait).await;
    wait
}

async fn a_notice_is_delivered_once_and_signed(db: Arc<TestDatabase>) {
    let id = notice(&db).await;
    let receiver = Receiver::answering([]).await;
    let url = format!("{}/hook?from=drainboard", receiver.url);
    assert_eq!(deliver(&*db.store, &sender(&url)).await, Ok(1));
    assert_eq!(deliver(&*db.store, &sender(&url)).await, Ok(0), "once");
    let [got] = receiver.got().try_into().expect("one request");
    assert_eq!((got.path.as_str(), got.header("content-type")), ("/hook?from=drainboard", "application/json"));
    assert_eq!(
        (got.header("drainboard-event"), got.header("host")),
        ("notice", receiver.url.trim_start_matches("http://"))
    );
    let signed_at = got.verified(SECRET).expect("our signature");
    assert!((db.now().await.timestamp() - signed_at).abs() < 60, "by the database's clock");
    assert_eq!(got.verified("another secret of the test"), None);
    let body: Value = serde_json::from_str(&got.body).unwrap();
    let sent = found(&db, id).await;
    assert_eq!(
        body,
        json!({"event": "notice", "id": id, "dead_letter_id": sent.dead_letter_id, "made_at": sent.at,
            "recipient": "a@example.com", "subject": sent.notice.subject, "body": sent.notice.body,
            "next_action": sent.notice.next_action, "when": sent.notice.when})
    );
    assert_eq!((sent.state(), sent.tries, sent.sent_by, sent.last_error), (NoticeState::Sent, 1, None, None));
    let letter = db.letter(sent.dead_letter_id).await.notice.expect("the letter shows it");
    assert_eq!(letter.sent_at, sent.sent_at);
}

async fn a_receiver_that_fails_gets_it_again_under_the_same_key(db: Arc<TestDatabase>) {
    let id = notice(&db).await;
    let receiver = Receiver::answering([status(500)]).await;
    deliver_to(&db, &receiver).await;
    let failed = found(&db, id).await;
    assert_eq!((failed.state(), failed.tries), (NoticeState::Retrying, 1));
    assert!(failed.last_error.unwrap().contains("500 Internal Server Error"));
    assert_eq!(deliver_to(&db, &receiver).await, 0, "not at once");
    until_next_try(&db, id).await;
    assert_eq!(deliver_to(&db, &receiver).await, 1);
    assert_eq!(found(&db, id).await.state(), NoticeState::Sent);
    let [first, second] = receiver.got().try_into().expect("two requests");
    assert_eq!(first.header("idempotency-key"), second.header("idempotency-key"));
    // The test made the notice older, so that one time differs.
    let body = |got: &Got| {
        let mut body: Value = serde_json::from_str(&got.body).unwrap();
        body["made_at"] = Value::Null;
        body
    };
    assert_eq!(body(&first), body(&second));
    assert!(first.header("idempotency-key").len() > 30, "no other database makes the same");
}

async fn a_dead_receiver_is_tried_for_a_day_then_the_notice_is_shown_as_failed(db: Arc<TestDatabase>) {
    let id = notice(&db).await;
    // A port that was free a moment ago.
    let gone = Receiver::answering([]).await.url;
    let (mut waited, mut tries) = (0, 0);
    while found(&db, id).await.failed_at.is_none() {
        if tries > 0 {
            waited += until_next_try(&db, id).await;
        }
        assert_eq!(deliver(&*db.store, &sender(&gone)).await, Ok(1));
        tries += 1;
        assert!(tries < 100);
    }
    assert!((22 * 3_600..=24 * 3_600).contains(&waited), "{waited} s, {tries} tries");
    let failed = found(&db, id).await;
    assert_eq!((failed.state(), failed.tries, failed.next_try_at), (NoticeState::Failed, tries, None));
    assert!(failed.last_error.unwrap().contains("no connection to the receiver"));
    assert_eq!(db.snapshot().await.stuck_notices, 1);

    let receiver = Receiver::answering([]).await;
    db.let_time_pass(86_400).await;
    assert_eq!(deliver_to(&db, &receiver).await, 0, "it is not tried any more");
    db.store.hurry_notice(id, &person("mila", Role::Reviewer)).await.unwrap();
    assert_eq!(deliver_to(&db, &receiver).await, 1);
    assert_eq!(found(&db, id).await.state(), NoticeState::Sent);
    assert!(
        db.audit().await.iter().any(|entry| entry.action == "notice_hurry" && entry.subject == format!("notice {id}"))
    );
}

async fn what_the_receiver_will_not_have_fails_at_once(db: Arc<TestDatabase>) {
    let elsewhere = Receiver::answering([]).await;
    let redirect = Reply { header: Some(("location", elsewhere.url.clone())), ..status(307) };
    for (reply, said) in
        [(status(400), "400 Bad Request"), (status(410), "410 Gone"), (status(422), "422"), (redirect, "not followed")]
    {
        let id = notice(&db).await;
        let receiver = Receiver::answering([reply]).await;
        deliver_to(&db, &receiver).await;
        let failed = found(&db, id).await;
        assert_eq!((failed.state(), failed.tries), (NoticeState::Failed, 1), "{said}");
        assert!(failed.last_error.as_ref().unwrap().contains(said), "{failed:?}");
    }
    assert!(elsewhere.got().is_empty(), "nobody else is told");
}

async fn a_receiver_says_when_to_come_again(db: Arc<TestDatabase>) {
    for code in [408, 429, 503] {
        let id = notice(&db).await;
        let busy = Reply { header: Some(("retry-after", "3600".to_owned())), ..status(code) };
        let receiver = Receiver::answering([busy]).await;
        deliver_to(&db, &receiver).await;
        let left = found(&db, id).await.next_try_at.expect("it is tried again") - db.now().await;
        assert!(left > TimeDelta::seconds(3_500) && left <= TimeDelta::seconds(3_600), "{code}: {left}");
        until_next_try(&db, id).await;
        deliver_to(&db, &receiver).await;
        assert_eq!(found(&db, id).await.state(), NoticeState::Sent, "{code}");
    }
}

async fn a_slow_receiver_is_given_up_in_time_and_tried_again(db: Arc<TestDatabase>) {
    let id = notice(&db).await;
    let receiver = Receiver::answering([Reply { delay: Duration::from_secs(60), ..status(200) }]).await;
    let hasty = sender(&receiver.url).with_patience(Duration::from_millis(300));
    assert_eq!(deliver(&*db.store, &hasty).await, Ok(1));
    let late = found(&db, id).await;
    assert_eq!(late.state(), NoticeState::Retrying);
    assert!(late.last_error.unwrap().contains("did not answer within 0.3 s"));
    until_next_try(&db, id).await;
    deliver_to(&db, &receiver).await;
    assert_eq!(found(&db, id).await.state(), NoticeState::Sent);
}

async fn a_private_receiver_is_refused_unless_it_is_allowed(db: Arc<TestDatabase>) {
    let receiver = Receiver::answering([]).await;
    let port = receiver.url.rsplit(':').next().unwrap().to_owned();
    // Names and every spelling of the address: what counts is where it leads.
    for host in ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"] {
        let id = notice(&db).await;
        let target =
            Target::new("notice-webhook", &format!("http://{host}:{port}/"), SecretString::from(SECRET), false)
                .unwrap();
        assert_eq!(deliver(&*db.store, &Sender::new(target)).await, Ok(1));
        let refused = found(&db, id).await;
        assert_eq!(refused.state(), NoticeState::Retrying, "{host}");
        assert!(refused.last_error.unwrap().contains("not a public one"), "{host}");
        db.store.mark_notice_sent(id, None, &actor("mila")).await.unwrap();
    }
    assert!(receiver.got().is_empty());
    let id = notice(&db).await;
    deliver_to(&db, &receiver).await;
    assert_eq!(found(&db, id).await.state(), NoticeState::Sent);
}

async fn hostile_text_arrives_as_it_is(db: Arc<TestDatabase>) {
    let receiver = Receiver::answering([]).await;
    for text in ["</script><img src=x>\"'", "\u{202e}gn\u{2028}p.\u{7f}x", "a\\u0000b %0d%0a {}", "😀\u{200b}é𝒳"]
    {
        let recipient = text.replace(|c: char| is_odd(c) || c.is_whitespace(), "");
        let id = notice_to(&db, &recipient, text).await;
        assert_eq!(deliver_to(&db, &receiver).await, 1);
        let got = receiver.got().pop().unwrap();
        let (body, sent) = (serde_json::from_str::<Value>(&got.body).unwrap(), found(&db, id).await);
        assert_eq!((&body["recipient"], &body["body"]), (&json!(recipient), &json!(sent.notice.body)));
        assert!(got.verified(SECRET).is_some(), "{text:?}");
    }
}

async fn two_servers_share_the_notices(db: Arc<TestDatabase>) {
    let mut ids = BTreeSet::new();
    for _ in 0..12 {
        ids.insert(notice(&db).await.to_string());
    }
    let (receiver, other) = (Receiver::answering([]).await, db.another_store().await);
    let sender = sender(&receiver.url);
    let work = async |store: &dyn Store| while deliver(store, &sender).await.unwrap() > 0 {};
    tokio::join!(work(&*db.store), work(&*other), work(&*db.store), work(&*other));
    let mut got: Vec<String> = receiver
        .got()
        .iter()
        .map(|got| serde_json::from_str::<Value>(&got.body).unwrap()["id"].as_str().unwrap().to_owned())
        .collect();
    got.sort();
    assert_eq!(got.len(), 12, "each once: {got:?}");
    assert_eq!(got.into_iter().collect::<BTreeSet<_>>(), ids);
    other.close().await;
}

async fn what_a_dead_server_held_is_delivered_again_under_the_same_key(db: Arc<TestDatabase>) {
    let id = notice(&db).await;
    let other = db.another_store().await;
    let [held] = db.store.hold_notices(4).await.unwrap().try_into().expect("one");
    assert_eq!(other.hold_notices(4).await.unwrap(), [], "nobody else has it meanwhile");
    match db.store.mark_notice_sent(id, None, &actor("mila")).await {
        Err(StoreError::Conflict(sentence)) => assert!(sentence.contains("being sent at this moment"), "{sentence}"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(db.store.hurry_notice(id, &actor("mila")).await, Err(StoreError::Conflict(_))));
    db.let_time_pass(31).await;
    let [again] = other.hold_notices(4).await.unwrap().try_into().expect("it comes back by the clock");
    assert_eq!((&again.idempotency_key, again.notice.tries), (&held.idempotency_key, 2));
    // The first server was only slow: what it says comes too late.
    db.store.keep_try(&held, &TryOutcome::GivenUp { why: "late".to_owned() }).await.unwrap();
    assert_eq!(found(&db, id).await.state(), NoticeState::Retrying);
    other.keep_try(&again, &TryOutcome::Delivered).await.unwrap();
    assert_eq!(found(&db, id).await.state(), NoticeState::Sent);
    other.close().await;
}

async fn a_notice_sent_by_hand_is_audited_and_stays_sent(db: Arc<TestDatabase>) {
    let id = notice(&db).await;
    let mila = person("mila", Role::Reviewer);
    db.store.mark_notice_sent(id, Some("told them on the phone"), &mila).await.unwrap();
    let sent = found(&db, id).await;
    assert_eq!((sent.state(), sent.sent_by.as_deref()), (NoticeState::Sent, Some("mila")));
    assert_eq!(sent.sent_note.as_deref(), Some("told them on the phone"));
    let entry = db.audit().await.into_iter().find(|entry| entry.action == "notice_sent").expect("audited");
    assert_eq!((entry.actor.as_str(), entry.subject), ("mila", format!("notice {id}")));
    assert!(entry.details.unwrap().contains("on the phone"));

    let audited = db.audit().await.len();
    for answer in
        [db.store.mark_notice_sent(id, None, &actor("ada")).await, db.store.hurry_notice(id, &actor("ada")).await]
    {
        match answer {
            Err(StoreError::Conflict(sentence)) => assert!(sentence.contains("mila marked this notice"), "{sentence}"),
            other => panic!("{other:?}"),
        }
    }
    let none = NoticeId(999_999);
    assert_eq!(db.store.mark_notice_sent(none, None, &mila).await, Err(StoreError::NotFound("notice")));
    assert_eq!(db.store.hurry_notice(none, &mila).await, Err(StoreError::NotFound("notice")));
    assert_eq!(db.audit().await.len(), audited, "what was refused leaves nothing");
    let receiver = Receiver::answering([]).await;
    db.let_time_pass(3_600).await;
    assert_eq!(deliver_to(&db, &receiver).await, 0);
}

async fn the_outbox_lists_what_is_not_sent_first(db: Arc<TestDatabase>) {
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(notice(&db).await);
    }
    db.store.mark_notice_sent(ids[5], None, &actor("mila")).await.unwrap();
    db.store.mark_notice_sent(ids[2], None, &actor("mila")).await.unwrap();
    let [held] = db.store.hold_notices(1).await.unwrap().try_into().expect("one");
    assert_eq!(held.notice.id, ids[0], "the longest due first");
    db.store.keep_try(&held, &TryOutcome::GivenUp { why: "no".to_owned() }).await.unwrap();

    let all = NoticeFilter { share: None, after: None, limit: 2 };
    let (mut filter, mut seen) = (all, Vec::new());
    loop {
        let page = db.store.list_notices(&filter).await.unwrap();
        assert_eq!((page.waiting, page.failed), (3, 1));
        seen.extend(page.notices.iter().map(|notice| notice.id));
        match page.next {
            Some(next) => filter.after = Some(next),
            None => break,
        }
    }
    assert_eq!(seen, [4, 3, 1, 0, 5, 2].map(|at: usize| ids[at]));
    for (share, expected) in
        [(NoticeShare::Waiting, &[4, 3, 1][..]), (NoticeShare::Failed, &[0]), (NoticeShare::Sent, &[5, 2])]
    {
        let page = db.store.list_notices(&NoticeFilter { share: Some(share), limit: 50, ..all }).await.unwrap();
        let listed: Vec<NoticeId> = page.notices.iter().map(|notice| notice.id).collect();
        assert_eq!(listed, expected.iter().map(|at| ids[*at]).collect::<Vec<_>>(), "{share:?}");
    }
    assert_eq!(db.store.find_notice(NoticeId(999_999)).await.unwrap(), None);
}

async fn what_waits_for_somebody_is_counted(db: Arc<TestDatabase>) {
    let id = notice(&db).await;
    assert_eq!(db.snapshot().await.stuck_notices, 0, "a server that sends it has some time");
    db.let_time_pass(301).await;
    assert_eq!(db.snapshot().await.stuck_notices, 1, "nobody does");
    db.store.mark_notice_sent(id, None, &actor("mila")).await.unwrap();
    assert_eq!(db.snapshot().await.stuck_notices, 0);
}
