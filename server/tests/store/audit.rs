//! The audit's chain: exact whoever writes at once, and no tampering goes unseen.

use crate::support::TestDatabase;
use crate::support::calls::{actor, name, person};
use app::model::audit::{AuditCheck, AuditFilter, Noted, Outcome};
use app::model::people::{Role, Scope};
use futures::future::join_all;
use std::sync::Arc;

each_database![
    an_empty_audit_fits,
    acts_at_once_make_one_chain,
    an_edited_entry_is_found,
    every_column_is_covered,
    a_removed_entry_is_found,
    a_cut_tail_is_found,
    an_emptied_audit_is_found,
    swapped_entries_are_found,
    an_entry_put_in_is_found,
    a_chain_made_anew_lacks_a_noted_hash,
    without_the_stored_end_nothing_is_done,
    a_long_chain_is_walked_in_parts,
    filters_choose_entries,
    what_happened_by_itself_is_noted,
];

async fn acts(db: &TestDatabase, count: usize) {
    for i in 0..count {
        db.store
            .add_token(&name(&format!("token-{i}")), &[Scope::Read], &format!("{i:064}"), &actor("ada"))
            .await
            .unwrap();
    }
}

async fn check(db: &TestDatabase) -> AuditCheck {
    db.store.check_audit(None).await.unwrap()
}

/// The number of the first entry that does not fit.
async fn broken_at(db: &TestDatabase) -> Option<i64> {
    check(db).await.broken.map(|broken| broken.seq)
}

async fn an_empty_audit_fits(db: Arc<TestDatabase>) {
    assert_eq!(check(&db).await, AuditCheck { entries: 0, last_hash: String::new(), broken: None });
}

async fn acts_at_once_make_one_chain(db: Arc<TestDatabase>) {
    let other = db.another_store().await;
    let acting = (0..60).map(|i| {
        let store = if i % 2 == 0 { Arc::clone(&db.store) } else { Arc::clone(&other) };
        // Every fourth name is taken: what fails leaves no trace.
        let user = name(&format!("user-{}", if i % 4 == 0 { 1 } else { i }));
        tokio::spawn(async move { store.add_user(&user, Role::OnCall, "hash", &actor("ada")).await.is_ok() })
    });
    let done = join_all(acting).await.into_iter().filter(|outcome| *outcome.as_ref().unwrap()).count();
    let found = check(&db).await;
    assert_eq!((found.entries, found.broken), (done as i64, None));
    assert_eq!(db.door.count(&format!("audit_head WHERE seq = {done} AND entries = {done}")).await, 1);
    other.close().await;
}

async fn an_edited_entry_is_found(db: Arc<TestDatabase>) {
    acts(&db, 5).await;
    assert_eq!(broken_at(&db).await, None);
    db.door.execute("UPDATE audit SET actor = 'eve' WHERE seq = 3").await;
    let found = check(&db).await;
    assert_eq!(found.entries, 2, "those before it fit");
    let broken = found.broken.unwrap();
    assert_eq!(broken.seq, 3);
    assert!(broken.what.contains("changed"), "{}", broken.what);
}

async fn every_column_is_covered(db: Arc<TestDatabase>) {
    acts(&db, 2).await;
    for column in ["actor", "role", "action", "subject", "details", "outcome", "address", "user_agent", "hash"] {
        let before = db.door.rows(&[column], "audit WHERE seq = 2").await[0][0].clone();
        db.door.execute(&format!("UPDATE audit SET {column} = 'other' WHERE seq = 2")).await;
        assert_eq!(broken_at(&db).await, Some(2), "{column}");
        let back = before.map_or("NULL".to_owned(), |text| format!("'{text}'"));
        db.door.execute(&format!("UPDATE audit SET {column} = {back} WHERE seq = 2")).await;
        assert_eq!(broken_at(&db).await, None, "{column}");
    }
    let later = db.door.literal(db.now().await);
    db.door.execute(&format!("UPDATE audit SET at = {later} WHERE seq = 1")).await;
    assert_eq!(broken_at(&db).await, Some(1), "the time");
}

async fn a_removed_entry_is_found(db: Arc<TestDatabase>) {
    acts(&db, 5).await;
    db.door.execute("DELETE FROM audit WHERE seq = 3").await;
    assert_eq!(broken_at(&db).await, Some(3));
    db.door.execute("UPDATE audit SET seq = seq - 1 WHERE seq > 3").await;
    assert_eq!(broken_at(&db).await, Some(3), "closing the gap does not hide it");
    db.door.execute("DELETE FROM audit WHERE seq = 1").await;
    assert_eq!(broken_at(&db).await, Some(1), "the first one, too");
}

async fn a_cut_tail_is_found(db: Arc<TestDatabase>) {
    acts(&db, 5).await;
    db.door.execute("DELETE FROM audit WHERE seq > 3").await;
    let broken = check(&db).await.broken.unwrap();
    assert_eq!(broken.seq, 4);
    assert!(broken.what.contains("up to number 5"), "{}", broken.what);
    db.door.execute("UPDATE audit_head SET seq = 3, entries = 3").await;
    assert_eq!(broken_at(&db).await, Some(3), "the end's hash tells");
}

async fn an_emptied_audit_is_found(db: Arc<TestDatabase>) {
    acts(&db, 3).await;
    db.door.execute("DELETE FROM audit").await;
    assert_eq!(broken_at(&db).await, Some(1));
}

async fn swapped_entries_are_found(db: Arc<TestDatabase>) {
    acts(&db, 5).await;
    db.door.execute("UPDATE audit SET seq = -seq WHERE seq IN (2, 4)").await;
    db.door.execute("UPDATE audit SET seq = 6 + seq WHERE seq < 0").await;
    assert_eq!(broken_at(&db).await, Some(2));
}

async fn an_entry_put_in_is_found(db: Arc<TestDatabase>) {
    acts(&db, 3).await;
    let copied = "actor, role, action, subject, details, outcome, address, user_agent, hash";
    for (seq, found) in [(4, 3), (0, 1)] {
        db.door
            .execute(&format!(
                "INSERT INTO audit (seq, at, {copied}) SELECT {seq}, at, {copied} FROM audit WHERE seq = 2"
            ))
            .await;
        assert!(broken_at(&db).await.is_some_and(|at| at == found || at == seq), "{seq}: {:?}", check(&db).await);
        db.door.execute(&format!("DELETE FROM audit WHERE seq = {seq}")).await;
        assert_eq!(broken_at(&db).await, None);
    }
}

async fn a_chain_made_anew_lacks_a_noted_hash(db: Arc<TestDatabase>) {
    acts(&db, 3).await;
    let noted = check(&db).await.last_hash;
    acts_more(&db).await;
    assert_eq!(db.store.check_audit(Some(&noted)).await.unwrap().broken, None, "an earlier end is in it");
    assert!(db.store.check_audit(Some("0000")).await.unwrap().broken.is_some());
}

async fn acts_more(db: &TestDatabase) {
    db.store.add_user(&name("more"), Role::OnCall, "hash", &actor("ada")).await.unwrap();
}

async fn without_the_stored_end_nothing_is_done(db: Arc<TestDatabase>) {
    acts(&db, 2).await;
    db.door.execute("DELETE FROM audit_head").await;
    assert!(db.store.add_user(&name("x"), Role::OnCall, "hash", &actor("ada")).await.is_err());
    assert_eq!(db.store.count_users().await, Ok(0));
    assert_eq!(broken_at(&db).await, Some(3));
}

async fn a_long_chain_is_walked_in_parts(db: Arc<TestDatabase>) {
    for i in 0..1_203 {
        db.store.note(&Noted::SignInFailed { user: format!("u{i}") }, &actor("eve")).await.unwrap();
    }
    assert_eq!(check(&db).await.entries, 1_203);
    db.door.execute("UPDATE audit SET details = '{}' WHERE seq = 1001").await;
    assert_eq!(broken_at(&db).await, Some(1_001));
}

async fn filters_choose_entries(db: Arc<TestDatabase>) {
    acts(&db, 3).await;
    acts_more(&db).await;
    db.store.note(&Noted::SignInFailed { user: "token-1".to_owned() }, &actor("eve")).await.unwrap();
    let found = async |filter: AuditFilter| -> Vec<i64> {
        let filter = AuditFilter { limit: 10, ..filter };
        db.store.list_audit(&filter).await.unwrap().into_iter().map(|entry| entry.seq).collect()
    };
    let all = AuditFilter::default();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(found(all.clone()).await, [5, 4, 3, 2, 1]);
    assert_eq!(found(AuditFilter { actor: text("eve"), ..all.clone() }).await, [5]);
    assert_eq!(found(AuditFilter { action: text("token_add"), before: Some(3), ..all.clone() }).await, [2, 1]);
    assert_eq!(found(AuditFilter { subject: text("token token-1"), ..all.clone() }).await, [2]);
    assert_eq!(found(AuditFilter { subject: text("token token-%"), ..all.clone() }).await, [0_i64; 0]);
    assert_eq!(found(AuditFilter { outcome: Some(Outcome::Failed), ..all.clone() }).await, [5]);
    let entries = db.audit().await;
    let third = entries[2].at;
    assert_eq!(found(AuditFilter { from: Some(third), actor: text("ada"), ..all.clone() }).await.first(), Some(&4));
    assert!(found(AuditFilter { to: Some(third), ..all }).await.iter().all(|seq| *seq < 3));
}

async fn what_happened_by_itself_is_noted(db: Arc<TestDatabase>) {
    let mila = person("mila", Role::Reviewer);
    for noted in [
        Noted::Refused { method: "POST".to_owned(), path: "/x".repeat(400) },
        Noted::Revealed { subject: "dead_letter 7".to_owned(), fields: vec!["customer.iban".to_owned()] },
        Noted::PasswordChangeFailed { user: "mila".to_owned() },
    ] {
        db.store.note(&noted, &mila).await.unwrap();
    }
    let entries = db.audit().await;
    assert!(entries.iter().all(|entry| entry.actor == "mila" && entry.role.as_deref() == Some("reviewer")));
    assert_eq!(entries[2].subject.chars().count(), 250, "a stranger's path is cut");
    assert_eq!((entries[2].outcome.as_str(), entries[0].outcome.as_str()), ("refused", "failed"));
    assert_eq!(entries[1].details.as_deref(), Some(r#"{"fields":["customer.iban"]}"#));
    assert_eq!(entries[1].user_agent.as_deref(), Some("tests"));
    assert_eq!(broken_at(&db).await, None);
}
