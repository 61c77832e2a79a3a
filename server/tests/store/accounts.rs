//! Set-up links, passwords, listed sessions and tokens, and the last admin.

use crate::support::TestDatabase;
use crate::support::calls::{actor, name, person};
use app::error::StoreError;
use app::model::people::{Role, Scope, session_id};
use futures::future::join_all;
use std::sync::Arc;

each_database![
    a_set_up_link_sets_one_password_once,
    a_set_up_link_runs_out,
    a_newer_link_replaces_the_older,
    a_disabled_user_s_link_is_worthless,
    twenty_who_use_one_link_set_one_password,
    the_last_admin_cannot_be_lost_by_people,
    two_admins_who_demote_each_other_leave_one,
    a_password_is_replaced_only_if_it_is_the_one_that_was_seen,
    sessions_are_listed_while_they_live_and_ended_by_their_names,
    users_are_listed_by_name_page_by_page,
    tokens_are_listed_with_their_last_use,
    signing_out_is_audited_once,
];

fn sha(letter: &str) -> String {
    letter.repeat(64)
}

async fn add(db: &TestDatabase, user: &str, role: Role) -> app::model::ids::UserId {
    db.store.add_user(&name(user), role, "old hash", &actor("command line")).await.unwrap()
}

async fn invited(db: &TestDatabase) {
    db.store.invite_user(&name("mila"), Role::Reviewer, &sha("a"), &person("ada", Role::Admin)).await.unwrap();
}

fn is_conflict<T: std::fmt::Debug>(outcome: Result<T, StoreError>) {
    assert!(matches!(outcome, Err(StoreError::Conflict(_))), "{outcome:?}");
}

async fn a_set_up_link_sets_one_password_once(db: Arc<TestDatabase>) {
    invited(&db).await;
    let listed = db.store.find_person("mila").await.unwrap().unwrap();
    assert!(!listed.has_password && listed.link_expires_at.is_some());
    assert_eq!(db.store.find_user("mila").await.unwrap().unwrap().password_hash, "");
    is_conflict(db.store.use_set_up_link(&sha("b"), "new hash", &actor("link")).await);
    let viewer = db.store.use_set_up_link(&sha("a"), "new hash", &actor("link")).await.unwrap();
    assert_eq!((viewer.name.as_str(), viewer.role), ("mila", Role::Reviewer));
    is_conflict(db.store.use_set_up_link(&sha("a"), "third hash", &actor("link")).await);
    assert_eq!(db.store.find_user("mila").await.unwrap().unwrap().password_hash, "new hash");
    let entry = db.audit().await.remove(0);
    assert_eq!(
        (entry.action.as_str(), entry.actor.as_str(), entry.role.as_deref()),
        ("password_set", "mila", Some("reviewer"))
    );
    is_conflict(db.store.invite_user(&name("mila"), Role::Admin, &sha("c"), &actor("ada")).await);
    assert!(!db.audit().await.iter().any(|entry| format!("{entry:?}").contains(&sha("a"))), "no secret's hash");
}

async fn a_set_up_link_runs_out(db: Arc<TestDatabase>) {
    invited(&db).await;
    db.let_time_pass(24 * 3600 + 1).await;
    assert_eq!(db.store.find_person("mila").await.unwrap().unwrap().link_expires_at, None);
    is_conflict(db.store.use_set_up_link(&sha("a"), "new hash", &actor("link")).await);
    db.store.put_set_up_link("mila", &sha("b"), &actor("ada")).await.unwrap();
    db.let_time_pass(23 * 3600).await;
    db.store.use_set_up_link(&sha("b"), "new hash", &actor("link")).await.unwrap();
}

async fn a_newer_link_replaces_the_older(db: Arc<TestDatabase>) {
    let mila = add(&db, "mila", Role::OnCall).await;
    db.store.start_session(mila, &sha("s"), &actor("mila")).await.unwrap();
    for link in ["a", "b"] {
        db.store.put_set_up_link("mila", &sha(link), &actor("ada")).await.unwrap();
    }
    is_conflict(db.store.use_set_up_link(&sha("a"), "new hash", &actor("link")).await);
    assert!(db.store.find_session(&sha("s"), false).await.unwrap().is_some(), "made is not used");
    db.store.use_set_up_link(&sha("b"), "new hash", &actor("link")).await.unwrap();
    assert_eq!(db.store.find_session(&sha("s"), false).await, Ok(None));
    let nobody = db.store.put_set_up_link("nobody", &sha("c"), &actor("ada")).await;
    assert!(matches!(nobody, Err(StoreError::NotFound(_))), "{nobody:?}");
}

async fn a_disabled_user_s_link_is_worthless(db: Arc<TestDatabase>) {
    invited(&db).await;
    db.store.change_user("mila", None, Some(true), &actor("ada")).await.unwrap();
    is_conflict(db.store.use_set_up_link(&sha("a"), "new hash", &actor("link")).await);
    db.store.change_user("mila", None, Some(false), &actor("ada")).await.unwrap();
    db.store.use_set_up_link(&sha("a"), "new hash", &actor("link")).await.unwrap();
}

async fn twenty_who_use_one_link_set_one_password(db: Arc<TestDatabase>) {
    invited(&db).await;
    let using = (0..20).map(|i| {
        let db = Arc::clone(&db);
        tokio::spawn(
            async move { db.store.use_set_up_link(&sha("a"), &format!("hash {i}"), &actor("link")).await.is_ok() },
        )
    });
    let used = join_all(using).await.into_iter().filter(|outcome| *outcome.as_ref().unwrap()).count();
    assert_eq!(used, 1);
    assert_eq!(db.store.check_audit(None).await.unwrap().broken, None);
}

async fn the_last_admin_cannot_be_lost_by_people(db: Arc<TestDatabase>) {
    add(&db, "ada", Role::Admin).await;
    add(&db, "rob", Role::Reviewer).await;
    // Who never chose a password, or is disabled, cannot be the one who is left.
    db.store.invite_user(&name("new"), Role::Admin, &sha("a"), &actor("ada")).await.unwrap();
    add(&db, "off", Role::Admin).await;
    db.store.change_user("off", None, Some(true), &actor("command line")).await.unwrap();
    let ada = person("ada", Role::Admin);
    let before = db.audit().await.len();
    for (role, disabled) in [(Some(Role::Reviewer), None), (None, Some(true)), (Some(Role::OnCall), Some(false))] {
        let refused = db.store.change_user("ada", role, disabled, &ada).await;
        assert!(matches!(&refused, Err(StoreError::Conflict(why)) if why.contains("last admin")), "{refused:?}");
    }
    assert_eq!(db.store.find_user("ada").await.unwrap().unwrap().role, Role::Admin);
    assert_eq!(db.audit().await.len(), before);
    db.store.change_user("rob", Some(Role::OnCall), None, &ada).await.expect("others may be changed");
    db.store.change_user("ada", Some(Role::Admin), None, &ada).await.expect("she stays what she is");
    db.store.change_user("ada", None, Some(true), &actor("command line")).await.expect("the operator may");
}

async fn two_admins_who_demote_each_other_leave_one(db: Arc<TestDatabase>) {
    for round in 0..10 {
        let (first, second) = (format!("a{round}"), format!("b{round}"));
        add(&db, &first, Role::Admin).await;
        add(&db, &second, Role::Admin).await;
        let (one, two) = (person(&first, Role::Admin), person(&second, Role::Admin));
        let outcomes = tokio::join!(
            db.store.change_user(&second, Some(Role::OnCall), None, &one),
            db.store.change_user(&first, None, Some(true), &two),
        );
        assert!(outcomes.0.is_ok() != outcomes.1.is_ok(), "{outcomes:?}");
        for user in [&first, &second] {
            db.store.change_user(user, Some(Role::OnCall), None, &actor("command line")).await.unwrap();
        }
    }
}

async fn a_password_is_replaced_only_if_it_is_the_one_that_was_seen(db: Arc<TestDatabase>) {
    let mila = add(&db, "mila", Role::OnCall).await;
    for session in ["k", "x", "y"] {
        db.store.start_session(mila, &sha(session), &actor("mila")).await.unwrap();
    }
    db.store.put_set_up_link("mila", &sha("a"), &actor("eve")).await.unwrap();
    let by = person("mila", Role::OnCall);
    is_conflict(db.store.change_password(mila, "other hash", "new hash", &sha("k"), &by).await);
    db.store.change_password(mila, "old hash", "new hash", &sha("k"), &by).await.unwrap();
    assert!(db.store.find_session(&sha("k"), false).await.unwrap().is_some());
    assert_eq!(db.store.find_session(&sha("x"), false).await, Ok(None));
    is_conflict(db.store.use_set_up_link(&sha("a"), "third hash", &actor("eve")).await);
    let entry = db.audit().await.remove(0);
    assert_eq!((entry.action.as_str(), entry.details.as_deref()), ("password_change", Some(r#"{"ended_sessions":2}"#)));
    assert!(!format!("{:?}", db.audit().await).contains("new hash"));
}

async fn sessions_are_listed_while_they_live_and_ended_by_their_names(db: Arc<TestDatabase>) {
    let (mila, rob) = (add(&db, "mila", Role::OnCall).await, add(&db, "rob", Role::OnCall).await);
    for (user, session) in [(mila, "a"), (mila, "b"), (rob, "c")] {
        db.store.start_session(user, &sha(session), &actor("x")).await.unwrap();
    }
    let ids = async |user: &str| -> Vec<String> {
        let mut ids: Vec<_> = db.store.list_sessions(user).await.unwrap().into_iter().map(|one| one.id).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids("mila").await, [session_id(&sha("a")), session_id(&sha("b"))]);
    let listed = &db.store.list_sessions("rob").await.unwrap()[0];
    assert_eq!((listed.address.as_deref(), listed.user_agent.as_deref()), (Some("192.0.2.7"), Some("tests")));
    let ada = person("ada", Role::Admin);
    let (a, c, whole) = (sha("a"), sha("c"), sha("a"));
    for none in [session_id(&c), "", "a", "%", whole.as_str()] {
        assert_eq!(db.store.revoke_sessions("mila", Some(none), &ada).await, Ok(0), "{none:?}");
    }
    assert_eq!(db.audit().await[0].action, "sign_in", "nothing ended is nothing to audit");
    assert_eq!(db.store.revoke_sessions("mila", Some(session_id(&a)), &ada).await, Ok(1));
    assert_eq!(db.store.find_session(&a, false).await, Ok(None));
    assert_eq!(db.audit().await[0].action, "session_revoke");
    assert_eq!(db.store.revoke_sessions("mila", None, &ada).await, Ok(1));
    assert_eq!((ids("mila").await.len(), ids("rob").await.len()), (0, 1));
    db.let_time_pass(1_801).await;
    assert!(db.store.list_sessions("rob").await.unwrap().is_empty(), "it ran out");
    assert_eq!(db.store.find_person("rob").await.unwrap().unwrap().sessions, 0);
}

async fn users_are_listed_by_name_page_by_page(db: Arc<TestDatabase>) {
    for user in ["b", "a", "C", "ä", "a b"] {
        add(&db, user, Role::OnCall).await;
    }
    let (mut after, mut found) = (None::<String>, Vec::new());
    loop {
        let page = db.store.list_users(after.as_deref(), 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.name.clone());
        found.extend(page.into_iter().map(|user| user.name));
    }
    assert_eq!(found, ["C", "a", "a b", "b", "ä"], "byte by byte on every database");
    assert_eq!(db.store.find_person("d").await, Ok(None));
}

async fn tokens_are_listed_with_their_last_use(db: Arc<TestDatabase>) {
    let id = db.store.add_token(&name("t"), &[Scope::Read, Scope::Work], &sha("a"), &actor("ada")).await.unwrap();
    let listed = async || db.store.list_tokens(None, 10).await.unwrap().remove(0);
    let is_stale = async || db.store.find_token(&sha("a")).await.unwrap().unwrap().is_use_stale;
    assert_eq!(listed().await.last_used_at, None);
    assert!(is_stale().await);
    db.store.record_token_use(id).await.unwrap();
    let first = listed().await.last_used_at.unwrap();
    assert!(!is_stale().await, "so that a busy token costs no writes");
    db.store.record_token_use(id).await.unwrap();
    assert_eq!(listed().await.last_used_at, Some(first));
    db.let_time_pass(301).await;
    assert!(is_stale().await);
    db.store.record_token_use(id).await.unwrap();
    assert!(listed().await.last_used_at.unwrap() > first - chrono::TimeDelta::seconds(300));
    assert!(!is_stale().await);
}

async fn signing_out_is_audited_once(db: Arc<TestDatabase>) {
    let mila = add(&db, "mila", Role::OnCall).await;
    db.store.start_session(mila, &sha("a"), &actor("mila")).await.unwrap();
    for _ in 0..2 {
        db.store.end_session(&sha("a"), &person("mila", Role::OnCall)).await.unwrap();
    }
    let outs = db.audit().await.into_iter().filter(|entry| entry.action == "sign_out");
    assert_eq!(outs.map(|entry| entry.subject).collect::<Vec<_>>(), ["user mila"]);
}
