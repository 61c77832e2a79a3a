//! Many letters at once, through the pages: what was seen is what is tried, and
//! every press has an answer in a sentence.

use crate::client::sha256_hex;
use crate::support::TestDatabase;
use crate::support::calls::{act_on, actor, fail, job, name};
use crate::visitor::{Page, Visitor};
use app::model::job::{ClaimedJob, NewJob};
use app::model::letter::{DeadLetter, LetterStatus};
use app::model::people::Role;
use app::model::recovery::RecoveryAction;
use axum::http::Method;
use drainboard::duties::bulk::work;
use std::sync::Arc;

each_database![
    exactly_what_was_seen_is_tried_and_each_letter_has_its_answer,
    what_was_parked_by_a_failure_goes_back_and_what_was_judged_stays,
    a_draft_tells_what_changed_since_it_was_chosen,
    every_press_that_changes_nothing_says_why,
    a_bulk_is_steered_by_whom_it_belongs_to,
    a_bulk_that_fails_stops_itself_and_a_person_decides,
    more_letters_than_one_can_look_at_are_refused,
    nothing_hostile_gets_onto_the_pages_of_a_bulk,
];

/// Presses a button of the form that the page holds, as a browser would.
async fn press(visitor: &Visitor, page: &Page, more: &[(&str, &str)]) -> Page {
    let form = between(&page.html, "<form id=\"bulk\"", "</form>");
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    for hidden in form.split("<input type=\"hidden\"").skip(1) {
        let value = between(hidden, "value=\"", "\"").replace("&quot;", "\"").replace("&lt;", "<");
        let value = value.replace("&gt;", ">").replace("&#x27;", "'").replace("&amp;", "&");
        body.append_pair(between(hidden, "name=\"", "\""), &value);
    }
    visitor.send(Method::POST, "/dead-letters/bulk", body.extend_pairs(more).finish()).await
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    text.split(from).nth(1).and_then(|rest| rest.split(to).next()).unwrap_or_else(|| panic!("no {from} in {text}"))
}

/// Drafts by a press; the path of the bulk.
async fn drafted(visitor: &Visitor, page: &Page, more: &[(&str, &str)]) -> String {
    let answer = press(visitor, page, more).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    answer.location().to_owned()
}

const CONFIRM: &str = "step=confirm&action=approve_and_replay&mode=current";

async fn steer(visitor: &Visitor, bulk: &str, form: &str) -> Page {
    visitor.send(Method::POST, bulk, form.to_owned()).await
}

/// The replays that are due end; other jobs are left with their worker.
async fn run_replays(db: &TestDatabase, ends_well: impl Fn(&ClaimedJob) -> bool) {
    for job in db.claim("w1", 200).await.into_iter().filter(|job| job.replay.is_some()) {
        let end = if ends_well(&job) { crate::support::done("approved") } else { fail("400 <b>still</b> broken", 400) };
        db.finish(&job, end).await;
    }
}

/// Until the bulk does not run any more; its page.
async fn drained(db: &TestDatabase, visitor: &Visitor, bulk: &str, ends_well: impl Fn(&ClaimedJob) -> bool) -> Page {
    for _ in 0..200 {
        while work(&*db.store).await.unwrap() {}
        run_replays(db, &ends_well).await;
        let page = visitor.get(bulk).await;
        assert_eq!(page.status, 200, "{}", page.text());
        if !page.html.contains("http-equiv=\"refresh\"") {
            return page;
        }
        db.let_time_pass(3).await;
    }
    panic!("the bulk does not end: {}", visitor.get(bulk).await.text());
}

async fn parked(db: &TestDatabase, job: NewJob) -> DeadLetter {
    let kind = job.kind.as_str().to_owned();
    db.enqueue_one(job).await;
    let claimed = db.claim_kinds("w1", &[&kind], 1).await.pop().unwrap();
    db.letter_of(db.finish(&claimed, fail("400 no such customer", 400)).await).await
}

async fn exactly_what_was_seen_is_tried_and_each_letter_has_its_answer(db: Arc<TestDatabase>) {
    let visitor = Visitor::signed_in(&db, Role::Reviewer).await;
    let keyed = || NewJob { unique_key: Some("invoice-7".to_owned()), ..job("a") };
    let mut chosen = Vec::new();
    for i in 0..30 {
        chosen.push(if i == 29 { parked(&db, keyed()).await } else { db.parked("a").await });
    }
    let list = visitor.get("/dead-letters?view=list&kind=a").await;
    assert!(list.text().contains("All 30 of this list…"), "{}", list.text());
    // Some come while the list is open, and some while the draft is.
    let mut later = vec![db.parked("a").await, db.parked("a").await];
    let bulk = drafted(&visitor, &list, &[("scope", "filter")]).await;
    for _ in 0..3 {
        later.push(db.parked("a").await);
    }
    let draft = visitor.get(&bulk).await;
    for part in ["Approve &amp; replay 30 letters", "Reject &amp; close 30 letters", "all of the list", "kind: a"] {
        assert!(draft.text().contains(part), "{part}: {}", draft.text());
    }

    // One is closed in another tab. The unique key of one is held while its letter is open …
    db.act(&act_on(&chosen[3], RecoveryAction::RejectAndClose), "ada").await.unwrap();
    let held = db.store.enqueue(&[keyed()]).await.unwrap();
    assert!(held[0].duplicate, "{held:?}");
    // … and were it lost, its replay alone would fail.
    let parked_job = chosen[29].job_id;
    db.door.execute(&format!("UPDATE jobs SET holds_unique_key = false WHERE id = {parked_job}")).await;
    db.enqueue(&[keyed()]).await;

    assert_eq!(steer(&visitor, &bulk, CONFIRM).await.status, 303);
    let page = drained(&db, &visitor, &bulk, |_| true).await;
    let text = page.text();
    assert!(text.contains("28 replayed, 1 already resolved, 1 failed"), "{text}");
    assert!(text.contains("replays done 28") && text.contains("not tried yet 0"), "{text}");
    for letter in [&chosen[3], &chosen[29]] {
        assert!(page.html.contains(&format!("href=\"/dead-letters/{}\"", letter.id)), "{}", page.html);
    }
    for letter in &later {
        assert_eq!(
            db.letter(letter.id).await.letter.status,
            LetterStatus::Open,
            "it was parked after the list was read"
        );
    }
    let replays: usize = {
        let mut sum = 0;
        for letter in &chosen {
            sum += db.letter(letter.id).await.replays.len();
        }
        sum
    };
    assert_eq!(replays, 28);
    assert_eq!(visitor.get("/dead-letters?view=list&kind=a").await.status, 200, "the list stays usable");
    let listed = visitor.get("/bulk").await.text();
    assert!(listed.contains("bulk 1") && listed.contains("30 letters") && listed.contains("done"), "{listed}");
}

async fn what_was_parked_by_a_failure_goes_back_and_what_was_judged_stays(db: Arc<TestDatabase>) {
    let visitor = Visitor::signed_in(&db, Role::Reviewer).await;
    for _ in 0..98 {
        let claimed = db.claimed("moderate-image").await;
        db.finish(&claimed, fail("Image moderation service unavailable", 400)).await;
    }
    let mut judged = Vec::new();
    for _ in 0..24 {
        judged.push(db.refused("moderate-image", "AMBIGUOUS_VALUE").await);
    }
    for view in ["list", "groups"] {
        let text = visitor.get(&format!("/dead-letters?view={view}&kind=moderate-image")).await.text();
        assert!(text.contains("Re-queue these 98 failures…"), "{view}: {text}");
    }
    for none in ["route=refused_by_agent", "kind=other", "status=resolved", "older_than=1h"] {
        let text = visitor.get(&format!("/dead-letters?view=list&{none}")).await.text();
        assert!(!text.contains("Re-queue"), "{none}: {text}");
    }
    let groups = visitor.get("/dead-letters?kind=moderate-image").await;
    let bulk = drafted(&visitor, &groups, &[("scope", "failures")]).await;
    let draft = visitor.get(&bulk).await.text();
    assert!(draft.contains("98 letters") && draft.contains("nothing that was judged"), "{draft}");
    assert!(draft.contains("The first 20 of the 98 letters") && !draft.contains("AMBIGUOUS_VALUE"), "{draft}");
    steer(&visitor, &bulk, CONFIRM).await;
    let page = drained(&db, &visitor, &bulk, |_| true).await.text();
    assert!(page.contains("98 replayed") && page.contains("replays done 98"), "{page}");
    for letter in judged {
        assert_eq!(db.letter(letter.id).await.letter.status, LetterStatus::Open, "the model judged it");
    }
}

async fn a_draft_tells_what_changed_since_it_was_chosen(db: Arc<TestDatabase>) {
    let visitor = Visitor::signed_in(&db, Role::Reviewer).await;
    for _ in 0..4 {
        db.parked("a").await;
    }
    let other = db.refused("a", "AMBIGUOUS_VALUE").await;
    let groups = visitor.get("/dead-letters").await;
    assert!(groups.text().contains("All 4 in this group…"), "{}", groups.text());
    let first = db.letter(app::model::ids::DeadLetterId(1)).await.letter;
    let bulk = drafted(&visitor, &groups, &[("group", &first.group)]).await;
    let taken = db.act(&act_on(&first, RecoveryAction::Take), "ada").await.unwrap().letter;
    let text = visitor.get(&bulk).await.text();
    assert!(text.contains("1 of the 4 letters changed since they were chosen"), "{text}");
    assert!(text.contains("changed meanwhile , ada : not acted on"), "{text}");
    assert!(text.contains("Reject &amp; close 3 letters") && text.contains("all of the group"), "{text}");
    let silent = steer(&visitor, &bulk, "step=confirm&action=reject_and_close&note=+").await;
    assert_eq!(silent.status, 422);
    assert!(silent.text().contains("Nothing was done: note must say why"), "{}", silent.text());
    let long = format!("step=confirm&action=reject_and_close&note={}", "x".repeat(2_001));
    assert!(steer(&visitor, &bulk, &long).await.text().contains("at most 2000 characters"));
    steer(&visitor, &bulk, "step=confirm&action=reject_and_close&note=spam+%3Cb%3E").await;
    let text = drained(&db, &visitor, &bulk, |_| true).await.text();
    assert!(text.contains("3 closed, 1 taken by somebody else") && text.contains("spam &lt;b&gt;"), "{text}");
    assert_eq!(db.letter(taken.id).await.letter.status, LetterStatus::Taken);
    assert_eq!(db.letter(other.id).await.letter.status, LetterStatus::Open, "it is of another group");
}

async fn every_press_that_changes_nothing_says_why(db: Arc<TestDatabase>) {
    let visitor = Visitor::signed_in(&db, Role::Reviewer).await;
    let letter = db.parked("a").await;
    let list = visitor.get("/dead-letters?view=list&kind=a").await;
    let none = press(&visitor, &list, &[("scope", "selection")]).await;
    assert_eq!(none.status, 422);
    assert!(none.text().contains("Nothing was done: no letter was ticked"), "{}", none.text());
    assert!(none.html.contains("Select letter 1") && none.html.contains("kind=a"), "the list is there: {}", none.html);
    let gone = press(&visitor, &list, &[("scope", "selection"), ("ids", "77:1")]).await;
    assert_eq!(gone.status, 422);
    assert!(gone.text().contains("Nothing was done: what you chose must name at least one"), "{}", gone.text());
    for (form, sentence) in [
        ("scope=selection&ids=1", "ids must be dead letters with their versions"),
        ("scope=filter&status=resolved", "nothing of this list waits for anybody"),
        ("scope=failures&route=refused_by_agent", "nothing of this list waits for anybody"),
        ("scope=filter&status=new", "status must be one of"),
        ("scope=filter&kind=nobody", "at least one dead letter"),
        ("scope=everything", "scope must be"),
    ] {
        let answer = visitor.send(Method::POST, "/dead-letters/bulk", form).await;
        assert_eq!(answer.status, 422, "{form}");
        assert!(answer.text().contains(sentence), "{form}: {}", answer.text());
    }
    assert!(visitor.get("/bulk").await.text().contains("Nobody has acted on many letters at once yet"));
    assert_eq!(visitor.get("/bulk/x").await.status, 404);

    let ticked = format!("{}:{}", letter.id, letter.version);
    let bulk = drafted(&visitor, &list, &[("scope", "selection"), ("ids", &ticked)]).await;
    assert!(visitor.get(&bulk).await.text().contains("1 letter ticked in a list of unresolved letters · kind: a"));
    for (form, sentence) in [("step=jump", "step must be"), ("step=confirm&action=take", "action must be")] {
        let answer = steer(&visitor, &bulk, form).await;
        assert_eq!(answer.status, 422, "{form}");
        assert!(answer.text().contains(sentence), "{form}: {}", answer.text());
    }
    let early = steer(&visitor, &bulk, "step=go_on").await;
    assert_eq!(early.status, 409);
    assert!(early.text().contains("Nothing was done: it is not confirmed yet"), "{}", early.text());
    assert_eq!(steer(&visitor, &bulk, "step=stop").await.status, 303);
    assert!(visitor.get(&bulk).await.text().contains("Nothing was done to any letter"));
    let late = steer(&visitor, &bulk, CONFIRM).await;
    assert_eq!(late.status, 409);
    assert!(late.text().contains("Nothing was done: it is stopped"), "{}", late.text());
    assert_eq!(db.letter(letter.id).await.letter.status, LetterStatus::Open);
}

/// Somebody else of that role, on the same server.
async fn somebody(db: &TestDatabase, at: &Visitor, who: &str, role: Role) -> Visitor {
    let id = db.store.add_user(&name(who), role, "no password", &actor("root")).await.unwrap();
    db.store.start_session(id, &sha256_hex(who), &actor(who)).await.unwrap();
    at.with_cookie(&format!("drainboard={who}"))
}

async fn a_bulk_is_steered_by_whom_it_belongs_to(db: Arc<TestDatabase>) {
    let visitor = Visitor::signed_in(&db, Role::Reviewer).await;
    let nils = somebody(&db, &visitor, "nils", Role::Reviewer).await;
    let ona = somebody(&db, &visitor, "ona", Role::OnCall).await;
    let ada = somebody(&db, &visitor, "ada", Role::Admin).await;
    db.parked("a").await;
    let list = visitor.get("/dead-letters?view=list").await;
    let seen = ona.get("/dead-letters?view=list").await;
    assert!(!seen.html.contains("id=\"bulk\"") && !seen.html.contains("form=\"bulk\""), "on-call only reads");
    assert_eq!(press(&ona, &list, &[("scope", "filter")]).await.status, 403);

    let bulk = drafted(&visitor, &list, &[("scope", "filter")]).await;
    for other in [&nils, &ona] {
        let page = other.get(&bulk).await;
        assert!(page.status == 200 && !page.html.contains("name=\"step\""), "{}", page.html);
        assert_eq!(steer(other, &bulk, CONFIRM).await.status, 403);
    }
    let refused = steer(&nils, &bulk, CONFIRM).await.text();
    assert!(refused.contains("Nothing was done: only whoever drafted it, or an admin, may do that"), "{refused}");
    assert!(steer(&ona, &bulk, "step=stop").await.text().contains("Your role is on-call; this needs reviewer"));
    assert_eq!(steer(&visitor, &bulk, CONFIRM).await.status, 303);
    assert_eq!(steer(&visitor, &bulk, CONFIRM).await.status, 303, "the second press finds what the first one did");
    let other = steer(&visitor, &bulk, "step=confirm&action=reject_and_close&note=x").await;
    assert_eq!(other.status, 409);
    assert!(other.text().contains("the reviewer confirmed it before; it is running now"), "{}", other.text());
    let other = steer(&ada, &bulk, CONFIRM).await;
    assert_eq!(other.status, 409, "she did not: {}", other.text());
    let started = db.audit().await.into_iter().filter(|entry| entry.action == "bulk_start").count();
    assert_eq!(started, 1);
    assert_eq!(steer(&ada, &bulk, "step=stop").await.status, 303, "an admin may");
    assert!(visitor.get(&bulk).await.text().contains("ada stopped it"));
    db.store.change_user("the reviewer", Some(Role::OnCall), None, &actor("root")).await.unwrap();
    assert_eq!(steer(&visitor, &bulk, "step=go_on").await.status, 401, "a lost role ends the session");
}

async fn a_bulk_that_fails_stops_itself_and_a_person_decides(db: Arc<TestDatabase>) {
    let visitor = Visitor::signed_in(&db, Role::Reviewer).await;
    for _ in 0..20 {
        db.parked("a").await;
    }
    let list = visitor.get("/dead-letters?view=list").await;
    let bulk = drafted(&visitor, &list, &[("scope", "filter")]).await;
    steer(&visitor, &bulk, CONFIRM).await;
    while work(&*db.store).await.unwrap() {}
    let running = visitor.get(&bulk).await;
    assert!(
        running.text().contains("The first 5 go alone") && running.text().contains("5 of 20 tried"),
        "{}",
        running.text()
    );
    assert!(running.html.contains("http-equiv=\"refresh\" content=\"3\""), "it comes back by itself");
    let halted = drained(&db, &visitor, &bulk, |_| false).await;
    let text = halted.text();
    assert!(
        text.contains("It stopped itself: none of the first replays succeeded") && text.contains("15 were not tried"),
        "{text}"
    );
    for button in ["value=\"go_on\">Go on", "value=\"stop\">Leave it"] {
        assert!(halted.html.contains(button), "{button}: {}", halted.html);
    }
    assert_eq!(text.matches("replay parked again").count(), 5, "{text}");
    assert!(text.contains("400 &lt;b&gt;still&lt;/b&gt; broken"), "{text}");
    assert_eq!(steer(&visitor, &bulk, "step=go_on").await.status, 303);
    let text = drained(&db, &visitor, &bulk, |_| true).await.text();
    assert!(text.contains("20 replayed") && text.contains("replays done 15"), "{text}");
    assert!(text.contains("replays parked again 5"), "{text}");
}

async fn more_letters_than_one_can_look_at_are_refused(db: Arc<TestDatabase>) {
    let visitor = Visitor::signed_in(&db, Role::Reviewer).await;
    db.park_many(10_001).await;
    let list = visitor.get("/dead-letters?view=list").await;
    let refused = press(&visitor, &list, &[("scope", "filter")]).await;
    assert_eq!(refused.status, 422);
    let text = refused.text();
    assert!(text.contains("what you chose must be at most 10000 dead letters at once; narrow the filter"), "{text}");
    let bulk = drafted(&visitor, &list, &[("scope", "filter"), ("source", "s3")]).await;
    assert!(visitor.get(&bulk).await.text().contains("1000 letters"));
}

async fn nothing_hostile_gets_onto_the_pages_of_a_bulk(db: Arc<TestDatabase>) {
    let visitor = Visitor::signed_in(&db, Role::Admin).await;
    let kind = "k\u{202e}</td><script>alert(1)</script>\"'>";
    let error = "\u{1b}[2J</bdi><img src=x onerror=alert(1)>\u{200b}";
    for _ in 0..2 {
        let claimed = db.claimed(kind).await;
        db.finish(&claimed, fail(error, 400)).await;
    }
    db.refused(kind, "AMBIGUOUS_VALUE").await;
    let encoded: String = url::form_urlencoded::byte_serialize(kind.as_bytes()).collect();
    let list = visitor.get(&format!("/dead-letters?view=list&kind={encoded}")).await;
    let bulk = drafted(&visitor, &list, &[("scope", "filter")]).await;
    let groups = visitor.get(&format!("/dead-letters?kind={encoded}")).await;
    let by_failures = drafted(&visitor, &groups, &[("scope", "failures")]).await;
    let group = db.letter(app::model::ids::DeadLetterId(1)).await.letter.group;
    let by_group = drafted(&visitor, &groups, &[("group", &group)]).await;
    steer(&visitor, &by_failures, CONFIRM).await;
    while work(&*db.store).await.unwrap() {}
    for job in db.claim("w1", 10).await {
        db.finish(&job, fail(error, 400)).await;
    }
    let noted = "step=confirm&action=reject_and_close&note=%3Cscript%3Ealert(2)%E2%80%AE";
    let told = steer(&visitor, &by_failures, noted).await;
    for page in [
        list,
        told,
        steer(&visitor, &by_group, &format!("{noted}&mode=%3Cscript%3E")).await,
        visitor.get(&bulk).await,
        visitor.get(&by_failures).await,
        visitor.get(&by_group).await,
        visitor.get("/bulk").await,
    ] {
        for sign in ["<script>alert", "<img src=x"] {
            assert!(!page.html.contains(sign), "{sign}: {}", page.html);
        }
        let text = format!("{} {}", page.title(), page.text());
        for odd in ['\u{202e}', '\u{1b}', '\u{200b}'] {
            assert!(!text.contains(odd), "{odd:?}: {text:?}");
        }
    }
    let text = visitor.get(&by_failures).await.text();
    assert!(text.contains("replay parked again") && text.contains("&lt;img src=x"), "{text}");
}
