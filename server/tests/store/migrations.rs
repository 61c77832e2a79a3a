//! Opening a database: an empty one, one of ours, and one that is too new.

use crate::support::calls::{actor, done, job, name};
use crate::support::{Backend, TestDatabase};
use app::error::StoreError;
use app::model::audit::AuditFilter;
use app::model::job::JobState;
use app::model::people::{Role, Scope};
use app::store::Store;
use drainboard::store::{connect, connect_existing};
use futures::future::join_all;
use std::sync::Arc;

each_database![
    a_database_of_the_first_schema_upgrades_with_all_its_rows,
    a_database_of_this_binary_reopens_with_all_it_holds,
    a_second_opener_changes_nothing,
    several_servers_may_open_an_empty_database_at_once,
    a_newer_schema_refuses_to_start_and_says_so,
    an_unknown_scheme_is_refused,
    a_database_without_ours_is_made_only_when_asked,
    a_database_that_is_not_there_is_unavailable,
    the_database_s_clock_goes_forward,
    a_closed_store_answers_unavailable,
];

async fn a_database_of_this_binary_reopens_with_all_it_holds(db: Arc<TestDatabase>) {
    let letter = db.refused("a", "AMBIGUOUS_VALUE").await;
    let claimed = db.claimed("b").await;
    let waiting = db.enqueue_one(job("a")).await.id;
    let before = db.snapshot().await;
    db.store.close().await;
    let reopened = connect(&db.url).await.expect("it reopens");
    let after = reopened.snapshot().await.unwrap();
    assert_eq!(crate::support::recount::shown(&after), crate::support::recount::shown(&before));
    assert_eq!(reopened.find_letter(letter.id).await.unwrap().unwrap().letter, letter);
    reopened.finish(claimed.id, claimed.lease_token, done("ok")).await.expect("a lease outlives a restart");
    assert_eq!(reopened.find_job(waiting).await.unwrap().unwrap().summary.state, JobState::Waiting);
    reopened.close().await;
}

async fn a_second_opener_changes_nothing(db: Arc<TestDatabase>) {
    let migrations = migrations(&db).await;
    assert!(migrations >= 1);
    let other = db.another_store().await;
    assert_eq!(self::migrations(&db).await, migrations);
    let id = other.enqueue(&[job("a")]).await.unwrap()[0].id;
    assert_eq!(db.claim_one("w1").await.id, id);
    other.close().await;
    assert_eq!(db.store.ping().await, Ok(()), "one server's end is not the other's");
}

async fn several_servers_may_open_an_empty_database_at_once(db: Arc<TestDatabase>) {
    let url = match db.backend {
        Backend::Sqlite => db.url.replace("queue.db", "fresh.db"),
        Backend::Postgres => {
            db.door.execute("DROP SCHEMA drainboard CASCADE").await;
            db.door.execute("DROP TABLE IF EXISTS public._sqlx_migrations").await;
            db.url.clone()
        }
    };
    let opened = join_all((0..4).map(|_| connect(&url))).await;
    let stores: Vec<Arc<dyn Store>> = opened.into_iter().map(|store| store.expect("each of them opens it")).collect();
    stores[0].enqueue(&[job("a")]).await.unwrap();
    for store in &stores {
        assert_eq!(store.snapshot().await.unwrap().kinds[0].due, 1);
        store.close().await;
    }
}

async fn migrations_table(db: &TestDatabase) -> String {
    match db.backend {
        Backend::Sqlite => "_sqlx_migrations".to_owned(),
        Backend::Postgres => {
            let rows =
                db.door.rows(&["schemaname || '.' || tablename"], "pg_tables WHERE tablename = '_sqlx_migrations'");
            rows.await[0][0].clone().expect("the migrations are recorded")
        }
    }
}

async fn migrations(db: &TestDatabase) -> i64 {
    db.door.count(&migrations_table(db).await).await
}

async fn a_newer_schema_refuses_to_start_and_says_so(db: Arc<TestDatabase>) {
    db.enqueue(&[job("a")]).await;
    let table = migrations_table(&db).await;
    let sql = format!(
        "INSERT INTO {table} (version, description, installed_on, success, checksum, execution_time) \
         SELECT 99990101000000, 'from the future', installed_on, success, checksum, execution_time \
         FROM {table} ORDER BY version LIMIT 1"
    );
    assert_eq!(db.door.execute(&sql).await, 1);
    let error = connect(&db.url).await.err().expect("it refuses to start");
    // What start-up shows of it.
    let text = match &error {
        StoreError::Internal(cause) | StoreError::Unavailable(cause) => cause.clone(),
        other => other.to_string(),
    };
    assert!(text.contains("newer"), "it says why: {text:?}");
    assert_eq!(db.door.count("jobs").await, 1, "and touches nothing");
}

async fn a_database_without_ours_is_made_only_when_asked(db: Arc<TestDatabase>) {
    let url = match db.backend {
        Backend::Sqlite => db.url.replace("queue.db", "mistyped.db"),
        Backend::Postgres => {
            db.door.execute("DROP SCHEMA drainboard CASCADE").await;
            db.url.clone()
        }
    };
    let Err(StoreError::Unavailable(said)) = connect_existing(&url).await.map(|_| ()) else {
        panic!("there is nothing to open");
    };
    assert!(said.contains("drainboard migrate") && said.contains("--database-url"), "{said}");
    match db.backend {
        Backend::Sqlite => assert!(!std::path::Path::new(url.trim_start_matches("sqlite:")).exists()),
        Backend::Postgres => assert_eq!(db.door.count("pg_namespace WHERE nspname = 'drainboard'").await, 0),
    }
    connect(&url).await.expect("it is made").close().await;
    connect_existing(&url).await.expect("now it is there").close().await;
}

async fn an_unknown_scheme_is_refused(db: Arc<TestDatabase>) {
    drop(db);
    for url in ["mysql://localhost/x", "drainboard.db", "", "sqlite::memory:"] {
        match connect(url).await.err() {
            Some(StoreError::Invalid(error)) => assert!(!error.rule.is_empty(), "{url}"),
            other => panic!("{url:?} is invalid, not {other:?}"),
        }
    }
}

async fn a_database_that_is_not_there_is_unavailable(db: Arc<TestDatabase>) {
    let url = match db.backend {
        Backend::Sqlite => "sqlite:/nowhere/at/all/queue.db".to_owned(),
        Backend::Postgres => "postgres://nobody@127.0.0.1:1/nothing".to_owned(),
    };
    let error = connect(&url).await.err().expect("there is nothing to open");
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
}

async fn the_database_s_clock_goes_forward(db: Arc<TestDatabase>) {
    let mut last = db.now().await;
    for _ in 0..50 {
        let now = db.now().await;
        assert!(now >= last);
        last = now;
    }
    let rows = match db.backend {
        Backend::Sqlite => db.door.rows(&["strftime('%s', 'now')"], "(SELECT 1) AS one").await,
        Backend::Postgres => db.door.rows(&["floor(extract(epoch FROM clock_timestamp()))"], "(SELECT 1) AS one").await,
    };
    let seconds: i64 = rows[0][0].as_deref().unwrap().parse().unwrap();
    assert!((seconds - last.timestamp()).abs() <= 1, "{seconds} by plain SQL, {last} by the store");
}

async fn a_closed_store_answers_unavailable(db: Arc<TestDatabase>) {
    let other = db.another_store().await;
    other.close().await;
    for outcome in [other.ping().await, other.snapshot().await.map(drop), other.enqueue(&[job("a")]).await.map(drop)] {
        assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
    }
    assert_eq!(db.door.count("jobs").await, 0);
}

/// Takes a database back to what the first migration alone would have made.
async fn back_to_the_first_schema(db: &TestDatabase) {
    let table = migrations_table(db).await;
    let mut statements = match db.backend {
        Backend::Sqlite => vec!["DROP TRIGGER audit_chained"],
        Backend::Postgres => vec!["ALTER TABLE audit DROP CONSTRAINT audit_chained"],
    };
    statements.extend([
        "DROP INDEX audit_by_actor",
        "DROP INDEX audit_by_action",
        "DROP INDEX audit_by_subject",
        "DROP INDEX audit_unhappy",
        "DROP INDEX audit_by_time",
        "DROP TABLE set_up_links",
        "DROP TABLE audit_head",
        "ALTER TABLE tokens DROP COLUMN last_used_at",
        "ALTER TABLE audit DROP COLUMN role",
        "ALTER TABLE audit DROP COLUMN outcome",
        "ALTER TABLE audit DROP COLUMN hash",
    ]);
    for statement in statements {
        db.door.execute(statement).await;
    }
    db.door.execute(&format!("DELETE FROM {table} WHERE version = 2")).await;
}

async fn a_database_of_the_first_schema_upgrades_with_all_its_rows(db: Arc<TestDatabase>) {
    let mila = db.store.add_user(&name("mila"), Role::Admin, "hash", &actor("command line")).await.unwrap();
    db.store.start_session(mila, &"a".repeat(64), &actor("mila")).await.unwrap();
    db.store.add_token(&name("t"), &[Scope::Read], &"b".repeat(64), &actor("mila")).await.unwrap();
    let letter = db.refused("a", "AMBIGUOUS_VALUE").await;
    let mut before = db.audit().await;
    db.store.close().await;
    back_to_the_first_schema(&db).await;
    let upgraded = connect(&db.url).await.expect("it upgrades");
    let filter = AuditFilter { limit: 200, ..AuditFilter::default() };
    // What the first schema did not keep is gone; all else stays.
    before.iter_mut().for_each(|entry| entry.role = None);
    assert_eq!(upgraded.list_audit(&filter).await.unwrap(), before);
    let check = upgraded.check_audit(None).await.unwrap();
    assert_eq!((check.entries, check.broken), (3, None), "older entries are in the chain");
    assert!(upgraded.find_session(&"a".repeat(64), true).await.unwrap().is_some());
    assert!(upgraded.find_token(&"b".repeat(64)).await.unwrap().is_some());
    assert_eq!(upgraded.find_letter(letter.id).await.unwrap().unwrap().letter, letter);
    upgraded.change_user("mila", Some(Role::Reviewer), None, &actor("command line")).await.unwrap();
    assert_eq!(upgraded.check_audit(None).await.unwrap().entries, 4);
    db.door.execute("UPDATE audit SET actor = 'eve' WHERE seq = 1").await;
    upgraded.close().await;
    let reopened = connect(&db.url).await.unwrap();
    let broken = reopened.check_audit(None).await.unwrap().broken;
    assert_eq!(broken.map(|broken| broken.seq), Some(1), "opening again seals nothing anew");
    reopened.close().await;
}
