//! What happens to calls when the database is busy, broken or gone for a while.

use crate::panel::{assert_equals_recount, live};
use crate::support::calls::{claim_request, done, job, name};
use crate::support::recount::shown;
use crate::support::{Backend, HeldWriters, SideDoor, TestDatabase};
use app::error::StoreError;
use app::model::audit::AuditFilter;
use app::model::evidence::counts::EvidenceCountQuery;
use app::model::ids::JobId;
use app::model::job::JobFilter;
use app::model::letter_filter::LetterFilter;
use app::model::park_rate::ParkRateQuery;
use futures::future::try_join_all;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

each_database![
    a_reading_that_cannot_be_made_is_an_error_never_zeros,
    writers_wait_for_a_lock_and_readers_do_not,
    calls_cut_off_half_way_leave_nothing_half_done,
    lost_connections_lose_no_job,
    gone_is_said_and_back_is_noticed,
    everything_of_ours_must_be_there,
    a_file_that_is_taken_away_is_noticed,
    a_file_that_was_replaced_is_noticed,
];

async fn a_reading_that_cannot_be_made_is_an_error_never_zeros(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 20]).await;
    let before = db.snapshot().await;
    db.door.execute("ALTER TABLE jobs RENAME TO jobs_away").await;
    for outcome in [
        db.store.snapshot().await.map(drop),
        db.store.claim(&claim_request("w1", 1)).await.map(drop),
        db.store.enqueue(&[job("a")]).await.map(drop),
    ] {
        assert!(matches!(outcome, Err(StoreError::DatabaseError(_))), "unknown is not zero: {outcome:?}");
    }
    db.door.execute("ALTER TABLE jobs_away RENAME TO jobs").await;
    assert_eq!(shown(&db.snapshot().await)["a"].due, shown(&before)["a"].due);
    assert_eq!(db.claim("w1", 20).await.len(), 20);
}

async fn writers_wait_for_a_lock_and_readers_do_not(db: Arc<TestDatabase>) {
    db.enqueue(&[job("a")]).await;
    let held = HeldWriters::hold(&db.door).await.expect("nobody else writes");
    let mut claim = {
        let db = Arc::clone(&db);
        tokio::spawn(async move { db.store.claim(&claim_request("w1", 1)).await })
    };
    assert_eq!(db.kind("a").await.due, 1, "a reading is there at once");
    let early = tokio::time::timeout(Duration::from_millis(300), &mut claim).await;
    assert!(early.is_err(), "the claim waits: {early:?}");
    assert_eq!(db.kind("a").await.due, 1);
    held.release().await;
    assert_eq!(claim.await.unwrap().expect("it waited and went on").len(), 1);
}

/// A client that goes away drops its call at any point.
async fn calls_cut_off_half_way_leave_nothing_half_done(db: Arc<TestDatabase>) {
    let ids = db.enqueue(&vec![job("a"); 400]).await;
    for round in 0_u32..300 {
        let cut_off = {
            let db = Arc::clone(&db);
            tokio::spawn(async move {
                let claimed = db.store.claim(&claim_request("gone", 1)).await?;
                for job in claimed {
                    db.store.finish(job.id, job.lease_token, done("ok")).await?;
                }
                Ok::<(), StoreError>(())
            })
        };
        tokio::time::sleep(Duration::from_micros(u64::from(round % 30) * 150)).await;
        cut_off.abort();
        drop(cut_off.await);
    }
    // A commit that was already sent may still be on its way: wait behind it.
    loop {
        if let Some(held) = HeldWriters::hold(&db.door).await {
            held.release().await;
            break;
        }
    }
    let kind = assert_equals_recount(&db).await.kinds.remove(0);
    assert_eq!(live(&kind) + kind.done_last_hour, ids.len() as i64);
    let leased = db.door.count("jobs WHERE state = 'in_progress'").await;
    assert_eq!(leased, db.door.count("attempts WHERE ended_at IS NULL").await, "a lease and its attempt go together");
    assert_eq!(kind.done_last_hour, db.door.count("endings").await);
    // Nobody sits on a lock or a connection: the rest is done at once.
    let rest = db.claim("alive", 400).await;
    assert_eq!(rest.len() as i64, kind.due);
    for claimed in &rest {
        db.finish(claimed, done("ok")).await;
    }
}

/// Takes every connection away from the stores on this database.
async fn cut_connections(db: &TestDatabase) {
    if db.backend == Backend::Postgres {
        db.door
            .rows(
                &["count(pg_terminate_backend(pid))"],
                "pg_stat_activity WHERE datname = current_database() AND application_name = 'drainboard'",
            )
            .await;
    }
}

/// On PostgreSQL connections break; on SQLite another process takes the write lock.
async fn lost_connections_lose_no_job(db: Arc<TestDatabase>) {
    db.enqueue(&vec![job("a"); 120]).await;
    let working = Arc::new(AtomicBool::new(true));
    let workers: Vec<_> = (0..3)
        .map(|i| {
            let (db, working) = (Arc::clone(&db), Arc::clone(&working));
            tokio::spawn(async move {
                let mut ended = 0;
                while working.load(Ordering::Relaxed) {
                    match db.store.claim(&claim_request(&format!("w{i}"), 2)).await {
                        Ok(claimed) if claimed.is_empty() => break,
                        Ok(claimed) => {
                            for job in claimed {
                                match db.store.finish(job.id, job.lease_token, done("ok")).await {
                                    Ok(_) => ended += 1,
                                    Err(error) => assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}"),
                                }
                            }
                        }
                        Err(error) => assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}"),
                    }
                }
                ended
            })
        })
        .collect();
    for _ in 0..5 {
        cut_connections(&db).await;
        if let (SideDoor::Sqlite(_), Some(held)) = (&db.door, HeldWriters::hold(&db.door).await) {
            held.release().await;
        }
        tokio::task::yield_now().await;
    }
    let deadline = Instant::now() + Duration::from_secs(40);
    while db.door.count("jobs WHERE state = 'waiting'").await > 0 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    working.store(false, Ordering::Relaxed);
    let ended: i64 = try_join_all(workers).await.unwrap().into_iter().sum();
    let kind = assert_equals_recount(&db).await.kinds.remove(0);
    assert_eq!((kind.due, live(&kind) + kind.done_last_hour), (0, 120));
    assert!(kind.done_last_hour >= ended, "{ended} ends were accepted, {} are stored", kind.done_last_hour);
    assert_eq!(db.door.count("endings").await, kind.done_last_hour);
}

async fn gone_is_said_and_back_is_noticed(db: Arc<TestDatabase>) {
    let id = db.enqueue_one(job("a")).await.id;
    let SideDoor::Postgres(_) = &db.door else {
        return a_write_lock_that_is_not_given_back(db).await;
    };
    db.allow_connections(false).await;
    cut_connections(&db).await;
    for outcome in [
        db.store.ping().await,
        db.store.snapshot().await.map(drop),
        db.store.claim(&claim_request("w1", 1)).await.map(drop),
    ] {
        assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
    }
    db.allow_connections(true).await;
    assert_eq!(db.store.ping().await, Ok(()), "back without a restart");
    assert_eq!(db.claim_one("w1").await.id, id);
}

async fn a_write_lock_that_is_not_given_back(db: Arc<TestDatabase>) {
    let held = HeldWriters::hold(&db.door).await.expect("nobody else writes");
    let begun = Instant::now();
    let outcome = db.store.claim(&claim_request("w1", 1)).await;
    assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
    assert!(begun.elapsed() > Duration::from_secs(1), "it waited before it gave up");
    assert!(db.store.snapshot().await.is_ok(), "reading goes on");
    held.release().await;
    assert_eq!(db.claim("w1", 10).await.len(), 1);
}

async fn everything_of_ours_must_be_there(db: Arc<TestDatabase>) {
    let tables = match &db.door {
        SideDoor::Sqlite(_) => "sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
        SideDoor::Postgres(_) => {
            "(SELECT tablename AS name FROM pg_tables WHERE schemaname = 'drainboard') t WHERE true"
        }
    };
    let tables = db.door.rows(&["name"], &format!("{tables} AND name <> '_sqlx_migrations' ORDER BY name")).await;
    assert!(tables.len() >= 18, "{tables:?}");
    for table in tables.into_iter().filter_map(|mut row| row.remove(0)) {
        db.door.execute(&format!("ALTER TABLE {table} RENAME TO {table}_away")).await;
        let asked = db.store.ping().await;
        assert!(matches!(asked, Err(StoreError::DatabaseError(_))), "add {table} to EVERY_TABLE: {asked:?}");
        db.door.execute(&format!("ALTER TABLE {table}_away RENAME TO {table}")).await;
        assert_eq!(db.store.ping().await, Ok(()), "{table} is back");
    }
}

/// Every way to ask the store that a file which is gone could answer.
async fn each_answer(db: &TestDatabase, lease: (JobId, i64)) -> Vec<Result<(), StoreError>> {
    let store = &db.store;
    vec![
        store.ping().await,
        store.now().await.map(drop),
        store.snapshot().await.map(drop),
        store.find_job(lease.0).await.map(drop),
        store.list_jobs(&JobFilter { limit: 5, ..JobFilter::default() }).await.map(drop),
        store.list_letters(&LetterFilter { limit: 5, ..LetterFilter::default() }).await.map(drop),
        store.list_policies().await.map(drop),
        store.count_park_rate(&ParkRateQuery::default()).await.map(drop),
        store.count_evidence(&EvidenceCountQuery::default()).await.map(drop),
        store.list_audit(&AuditFilter { limit: 5, ..AuditFilter::default() }).await.map(drop),
        store.find_token("x").await.map(drop),
        store.find_user("x").await.map(drop),
        store.find_session("x", true).await.map(drop),
        store.count_users().await.map(drop),
        store.enqueue(&[job("late")]).await.map(drop),
        store.claim(&claim_request("w1", 1)).await.map(drop),
        store.heartbeat(lease.0, lease.1, None).await.map(drop),
        store.finish(lease.0, lease.1, done("late")).await.map(drop),
        store.record_tick(&name("cron"), 60).await,
        store.reap(10).await.map(drop),
        store.purge(0, 0, 10).await.map(drop),
    ]
}

fn file_of(db: &TestDatabase) -> Option<PathBuf> {
    (db.backend == Backend::Sqlite).then(|| PathBuf::from(db.url.trim_start_matches("sqlite:")))
}

/// Only a file can be taken away under a server that has it open.
async fn a_file_that_is_taken_away_is_noticed(db: Arc<TestDatabase>) {
    let Some(file) = file_of(&db) else { return };
    let claimed = db.claimed("a").await;
    let away = file.with_file_name("away.db");
    std::fs::rename(&file, &away).unwrap();
    for (i, outcome) in each_answer(&db, (claimed.id, claimed.lease_token)).await.into_iter().enumerate() {
        assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "answer {i}: {outcome:?}");
    }
    std::fs::rename(&away, &file).unwrap();
    assert_eq!(db.door.count("jobs").await, 1, "nothing was written into the file that was away");
    db.finish(&claimed, done("ok")).await;
    assert_eq!(db.store.ping().await, Ok(()), "back without a restart");
}

async fn a_file_that_was_replaced_is_noticed(db: Arc<TestDatabase>) {
    let Some(file) = file_of(&db) else { return };
    let claimed = db.claimed("a").await;
    std::fs::copy(&file, file.with_file_name("backup.db")).unwrap();
    std::fs::rename(file.with_file_name("backup.db"), &file).unwrap();
    for (i, outcome) in each_answer(&db, (claimed.id, claimed.lease_token)).await.into_iter().enumerate() {
        assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "answer {i}: {outcome:?}");
    }
    std::fs::remove_file(&file).unwrap();
    assert!(matches!(db.store.snapshot().await, Err(StoreError::Unavailable(_))), "deleted");
}
