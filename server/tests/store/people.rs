//! Users, sessions, tokens, the set-up secret and the audit.

use crate::support::TestDatabase;
use crate::support::calls::{actor, name};
use app::error::StoreError;
use app::model::audit::AuditFilter;
use app::model::people::{Role, Scope};
use futures::future::join_all;
use std::sync::Arc;

each_database![
    users_have_unique_names,
    nobody_is_called_what_looks_like_another,
    a_session_shows_its_user,
    a_session_ends_after_thirty_idle_minutes,
    a_session_ends_after_twelve_hours_however_active,
    looking_without_touching_is_no_activity,
    a_demotion_or_a_ban_ends_all_sessions,
    ending_a_session_ends_it,
    tokens_are_found_by_their_hash,
    the_set_up_secret_makes_one_admin_once,
    a_set_up_secret_used_by_twenty_at_once_makes_one_admin,
    a_set_up_secret_is_worthless_once_somebody_is_there,
    audit_numbers_have_no_gaps,
    audit_pages_go_back_in_time,
    nothing_is_stored_in_the_clear,
];

fn sha(letter: &str) -> String {
    letter.repeat(64)
}

async fn add(db: &TestDatabase, user: &str, role: Role) -> app::model::ids::UserId {
    db.store.add_user(&name(user), role, "$argon2id$hash", &actor("command line")).await.unwrap()
}

async fn viewer(db: &TestDatabase, session: &str, touch: bool) -> Option<app::model::people::Viewer> {
    db.store.find_session(&sha(session), touch).await.unwrap()
}

async fn users_have_unique_names(db: Arc<TestDatabase>) {
    assert_eq!(db.store.count_users().await, Ok(0));
    assert_eq!(db.store.find_user("mila").await, Ok(None));
    let id = add(&db, "mila", Role::Reviewer).await;
    let again = db.store.add_user(&name("mila"), Role::Admin, "other", &actor("command line")).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    let user = db.store.find_user("mila").await.unwrap().unwrap();
    assert_eq!((user.id, user.role, user.disabled), (id, Role::Reviewer, false));
    assert_eq!(user.password_hash, "$argon2id$hash");
    assert_eq!(db.store.count_users().await, Ok(1));
    assert_eq!(db.audit().await.len(), 1, "the refused one is not audited as added");
    let unknown = db.store.change_user("nobody", Some(Role::Admin), None, &actor("x")).await;
    assert!(matches!(unknown, Err(StoreError::NotFound(_))), "{unknown:?}");
}

async fn nobody_is_called_what_looks_like_another(db: Arc<TestDatabase>) {
    add(&db, "mila", Role::OnCall).await;
    for look_alike in ["Mila", "mi1a", "m\u{456}la", "ｍｉｌａ", "command line", "System", "token ci", "Token x"] {
        let added = db.store.add_user(&name(look_alike), Role::Admin, "hash", &actor("ada")).await;
        assert!(matches!(&added, Err(StoreError::Invalid(e)) if e.field == "username"), "{look_alike}: {added:?}");
        let invited = db.store.invite_user(&name(look_alike), Role::Admin, &sha("a"), &actor("ada")).await;
        assert!(matches!(invited, Err(StoreError::Invalid(_))), "{look_alike}: {invited:?}");
    }
    assert_eq!((db.store.count_users().await, db.audit().await.len()), (Ok(1), 1), "nothing was stored");
    add(&db, "milan", Role::OnCall).await;
    assert_eq!(db.store.find_user("Mila").await, Ok(None), "signing in takes the very name");
    assert_eq!(db.store.find_user("mil%").await, Ok(None));
}

async fn a_session_shows_its_user(db: Arc<TestDatabase>) {
    let id = add(&db, "mila", Role::Reviewer).await;
    db.store.start_session(id, &sha("a"), &actor("mila")).await.unwrap();
    let found = viewer(&db, "a", true).await.unwrap();
    assert_eq!((found.user_id, found.name.as_str(), found.role), (id, "mila", Role::Reviewer));
    assert_eq!(viewer(&db, "b", true).await, None);
    let entry = &db.audit().await[0];
    assert_eq!((entry.action.as_str(), entry.actor.as_str()), ("sign_in", "mila"));
}

async fn a_session_ends_after_thirty_idle_minutes(db: Arc<TestDatabase>) {
    let id = add(&db, "mila", Role::Reviewer).await;
    db.store.start_session(id, &sha("a"), &actor("mila")).await.unwrap();
    db.let_time_pass(1_790).await;
    assert!(viewer(&db, "a", true).await.is_some());
    db.let_time_pass(1_790).await;
    assert!(viewer(&db, "a", true).await.is_some(), "it was active in between");
    db.let_time_pass(1_801).await;
    assert_eq!(viewer(&db, "a", true).await, None);
    assert_eq!(viewer(&db, "a", true).await, None, "asking does not wake it");
}

async fn a_session_ends_after_twelve_hours_however_active(db: Arc<TestDatabase>) {
    let id = add(&db, "mila", Role::Reviewer).await;
    db.store.start_session(id, &sha("a"), &actor("mila")).await.unwrap();
    for _ in 0..28 {
        db.let_time_pass(1_540).await; // 28 times make 11 h 58 min 40 s
        assert!(viewer(&db, "a", true).await.is_some());
    }
    db.let_time_pass(81).await;
    assert_eq!(viewer(&db, "a", true).await, None);
}

async fn looking_without_touching_is_no_activity(db: Arc<TestDatabase>) {
    let id = add(&db, "mila", Role::Reviewer).await;
    db.store.start_session(id, &sha("a"), &actor("mila")).await.unwrap();
    db.let_time_pass(1_000).await;
    assert!(viewer(&db, "a", false).await.is_some());
    db.let_time_pass(801).await;
    assert_eq!(viewer(&db, "a", false).await, None);
}

async fn a_demotion_or_a_ban_ends_all_sessions(db: Arc<TestDatabase>) {
    let (mila, ada) = (add(&db, "mila", Role::Admin).await, add(&db, "ada", Role::Admin).await);
    for session in ["a", "b"] {
        db.store.start_session(mila, &sha(session), &actor("mila")).await.unwrap();
    }
    db.store.start_session(ada, &sha("c"), &actor("ada")).await.unwrap();
    db.store.change_user("mila", Some(Role::OnCall), None, &actor("ada")).await.unwrap();
    assert_eq!((viewer(&db, "a", true).await, viewer(&db, "b", true).await), (None, None));
    assert!(viewer(&db, "c", true).await.is_some(), "only hers");
    db.store.start_session(mila, &sha("d"), &actor("mila")).await.unwrap();
    assert_eq!(viewer(&db, "d", true).await.unwrap().role, Role::OnCall);
    db.store.change_user("mila", None, Some(true), &actor("ada")).await.unwrap();
    assert_eq!(viewer(&db, "d", true).await, None);
    let user = db.store.find_user("mila").await.unwrap().unwrap();
    assert_eq!((user.disabled, user.role), (true, Role::OnCall), "the role stays");
    db.store.change_user("mila", None, Some(false), &actor("ada")).await.unwrap();
    assert!(!db.store.find_user("mila").await.unwrap().unwrap().disabled);
    assert_eq!(viewer(&db, "d", true).await, None, "an ended session stays ended");
    let changes = db.audit().await.into_iter().filter(|entry| entry.actor == "ada" && entry.action != "sign_in");
    assert_eq!(changes.count(), 3);
}

async fn ending_a_session_ends_it(db: Arc<TestDatabase>) {
    let id = add(&db, "mila", Role::Reviewer).await;
    db.store.start_session(id, &sha("a"), &actor("mila")).await.unwrap();
    db.store.end_session(&sha("a"), &actor("mila")).await.unwrap();
    assert_eq!(viewer(&db, "a", true).await, None);
    db.store.end_session(&sha("a"), &actor("mila")).await.expect("ending what is not there is no error");
}

async fn tokens_are_found_by_their_hash(db: Arc<TestDatabase>) {
    let scopes = [Scope::Work, Scope::Enqueue];
    let id = db.store.add_token(&name("worker"), &scopes, &sha("a"), &actor("command line")).await.unwrap();
    let taken = db.store.add_token(&name("worker"), &scopes, &sha("b"), &actor("command line")).await;
    assert!(matches!(taken, Err(StoreError::Conflict(_))), "{taken:?}");
    let token = db.store.find_token(&sha("a")).await.unwrap().unwrap();
    let mut found = token.scopes.clone();
    found.sort();
    assert_eq!((token.id, token.name.as_str(), found), (id, "worker", vec![Scope::Enqueue, Scope::Work]));
    assert_eq!(db.store.find_token(&sha("b")).await, Ok(None));
    let now = db.door.literal(db.now().await);
    db.door.execute(&format!("UPDATE tokens SET revoked_at = {now}")).await;
    assert_eq!(db.store.find_token(&sha("a")).await, Ok(None), "revoked");
    assert_eq!(db.audit().await.len(), 1);
}

async fn the_set_up_secret_makes_one_admin_once(db: Arc<TestDatabase>) {
    let use_it = async |secret: &str| {
        db.store.use_setup_secret(&sha(secret), &name("root"), "$argon2id$hash", &actor("set-up link")).await
    };
    assert!(matches!(use_it("a").await, Err(StoreError::Conflict(_))), "there is none yet");
    db.store.put_setup_secret(&sha("a")).await.unwrap();
    db.store.put_setup_secret(&sha("b")).await.unwrap();
    assert_eq!(
        (db.store.is_setup_secret(&sha("a")).await, db.store.is_setup_secret(&sha("b")).await),
        (Ok(false), Ok(true))
    );
    assert!(matches!(use_it("a").await, Err(StoreError::Conflict(_))), "replaced by a newer one");
    assert!(db.audit().await.is_empty());
    let id = use_it("b").await.unwrap();
    let user = db.store.find_user("root").await.unwrap().unwrap();
    assert_eq!((user.id, user.role), (id, Role::Admin));
    assert!(matches!(use_it("b").await, Err(StoreError::Conflict(_))), "used");
    assert_eq!(db.store.is_setup_secret(&sha("b")).await, Ok(false), "used");
    assert_eq!((db.store.count_users().await, db.audit().await.len()), (Ok(1), 1));
}

async fn a_set_up_secret_used_by_twenty_at_once_makes_one_admin(db: Arc<TestDatabase>) {
    db.store.put_setup_secret(&sha("a")).await.unwrap();
    let attempts = (0..20).map(|i| {
        let db = Arc::clone(&db);
        tokio::spawn(async move {
            let user = name(&format!("root-{i}"));
            db.store.use_setup_secret(&sha("a"), &user, "hash", &actor("set-up link")).await
        })
    });
    let outcomes: Vec<_> = join_all(attempts).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    assert!(outcomes.iter().all(|o| matches!(o, Ok(_) | Err(StoreError::Conflict(_)))), "{outcomes:?}");
    assert_eq!((db.store.count_users().await, db.audit().await.len()), (Ok(1), 1));
}

async fn a_set_up_secret_is_worthless_once_somebody_is_there(db: Arc<TestDatabase>) {
    db.store.put_setup_secret(&sha("a")).await.unwrap();
    add(&db, "mila", Role::Admin).await;
    assert_eq!(db.store.is_setup_secret(&sha("a")).await, Ok(false));
    let used = db.store.use_setup_secret(&sha("a"), &name("root"), "hash", &actor("set-up link")).await;
    assert!(matches!(used, Err(StoreError::Conflict(_))), "{used:?}");
    assert_eq!(db.store.count_users().await, Ok(1));
}

async fn audit_numbers_have_no_gaps(db: Arc<TestDatabase>) {
    let acts = (0..30).map(|i| {
        let db = Arc::clone(&db);
        // Every third name is taken: those acts fail and must leave no gap.
        let user = name(&format!("user-{}", if i % 3 == 0 { 1 } else { i }));
        tokio::spawn(async move { db.store.add_user(&user, Role::OnCall, "hash", &actor("ada")).await.is_ok() })
    });
    let added = join_all(acts).await.into_iter().filter(|outcome| *outcome.as_ref().unwrap()).count();
    assert_eq!(added as i64, db.store.count_users().await.unwrap());
    let audit = db.audit().await;
    let numbers: Vec<i64> = audit.iter().map(|entry| entry.seq).collect();
    let expected: Vec<i64> = (1..=added as i64).rev().collect();
    assert_eq!(numbers, expected);
    assert!(audit.windows(2).all(|pair| pair[0].at >= pair[1].at), "in the order of their times");
}

async fn audit_pages_go_back_in_time(db: Arc<TestDatabase>) {
    for i in 0..7 {
        add(&db, &format!("user-{i}"), Role::OnCall).await;
    }
    let mut before = None;
    let mut subjects = Vec::new();
    loop {
        let page = db.store.list_audit(&AuditFilter { before, limit: 3, ..AuditFilter::default() }).await.unwrap();
        assert!(page.len() <= 3);
        let Some(last) = page.last() else { break };
        before = Some(last.seq);
        subjects.extend(page.into_iter().map(|entry| entry.subject));
    }
    assert_eq!(subjects.len(), 7);
    for (i, subject) in subjects.iter().rev().enumerate() {
        assert!(subject.contains(&format!("user-{i}")), "{subject}");
    }
}

async fn nothing_is_stored_in_the_clear(db: Arc<TestDatabase>) {
    let id = add(&db, "mila", Role::Admin).await;
    db.store.start_session(id, &sha("a"), &actor("mila")).await.unwrap();
    db.store.add_token(&name("t"), &[Scope::Read], &sha("b"), &actor("mila")).await.unwrap();
    for entry in db.audit().await {
        let text = format!("{entry:?}");
        assert!(!text.contains(&sha("a")) && !text.contains(&sha("b")) && !text.contains("argon2"), "{text}");
    }
}
