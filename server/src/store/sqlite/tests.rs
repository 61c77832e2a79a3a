//! What only SQLite can get wrong: its file, its settings, its one writer. The
//! rest is asked by the suite that runs on every database.

use super::*;
use app::model::job::{Accepts, AttemptEnd, ClaimRequest, DoneReport, NewJob, RawJson};
use app::model::name::Name;
use app::store::{PanelStore, QueueStore};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tempfile::TempDir;

struct Folder {
    dir: TempDir,
}

impl Folder {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    async fn open(&self) -> Stored<SqliteStore> {
        SqliteStore::open(self.file("queue.db").to_str().unwrap(), IfMissing::Make).await
    }
}

fn name(text: &str) -> Name {
    Name::stored(text.to_owned())
}

fn job(kind: &str) -> NewJob {
    NewJob {
        kind: name(kind),
        source: name("s"),
        tenant: None,
        payload: Some(RawJson::stored(format!(r#"{{"text":"{}"}}"#, "x".repeat(500)))),
        payload_ref: None,
        payload_sha256: None,
        received_at: None,
        upstream_handoffs: None,
        run_at: None,
        spread_seconds: None,
        unique_key: None,
        anchor_at: None,
        canary: None,
        trace_id: None,
    }
}

fn asking(worker: &str, limit: u32) -> ClaimRequest {
    ClaimRequest { worker: name(worker), kinds: None, limit, lease_seconds: None, accepts: Accepts::default() }
}

#[tokio::test]
async fn a_new_file_is_private_and_survives_a_power_cut() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&folder.file("queue.db").metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    let journal: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&store.writer).await.unwrap();
    let synchronous: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(&store.writer).await.unwrap();
    let foreign_keys: i64 = sqlx::query_scalar("PRAGMA foreign_keys").fetch_one(&store.writer).await.unwrap();
    assert_eq!((journal.as_str(), synchronous, foreign_keys), ("wal", 2, 1));
}

#[tokio::test]
async fn a_log_without_its_file_is_never_wiped() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    store.enqueue(&[job("k"), job("k")]).await.unwrap();
    // As a crash leaves it: the file is moved away, the log stays.
    let (file, away, log) = (folder.file("queue.db"), folder.file("away.db"), folder.file("queue.db-wal"));
    std::fs::copy(&log, folder.file("kept")).unwrap();
    std::fs::rename(&file, &away).unwrap();
    let refused = folder.open().await.err().unwrap();
    assert!(matches!(&refused, StoreError::Unavailable(text) if text.contains("put the file back")), "{refused:?}");
    store.close().await;
    std::fs::copy(folder.file("kept"), &log).unwrap();
    std::fs::rename(&away, &file).unwrap();
    assert_eq!(folder.open().await.unwrap().snapshot().await.unwrap().kinds[0].due, 2);
}

#[tokio::test]
async fn readers_cannot_write() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    assert!(sqlx::query("DELETE FROM jobs").execute(&store.readers).await.is_err());
}

#[tokio::test]
async fn a_newer_schema_is_refused_by_name() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    sqlx::query("INSERT INTO _sqlx_migrations VALUES (9999, 'later', 0, 1, x'00', 0)")
        .execute(&store.writer)
        .await
        .unwrap();
    store.close().await;
    match folder.open().await {
        Err(StoreError::Internal(text)) => {
            assert!(text.contains("9999") && text.contains("newer"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_unavailable() {
    let path = Folder::new().file("missing/queue.db");
    assert!(matches!(
        SqliteStore::open(path.to_str().unwrap(), IfMissing::Make).await,
        Err(StoreError::Unavailable(_))
    ));
}

#[tokio::test]
async fn opening_twice_at_once_migrates_once() {
    let folder = Folder::new();
    let (one, two) = tokio::join!(folder.open(), folder.open());
    assert!(one.unwrap().ping().await.is_ok() && two.unwrap().ping().await.is_ok());
}

#[tokio::test]
async fn a_large_batch_is_in_within_a_second() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let jobs: Vec<NewJob> = (0..821).map(|n| job(if n < 356 { "text" } else { "photo" })).collect();
    let start = Instant::now();
    let answers = store.enqueue(&jobs).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    let ids: HashSet<_> = answers.iter().map(|answer| answer.id).collect();
    assert_eq!(ids.len(), 821);
    assert!(store.claim(&asking("w", 500)).await.unwrap().iter().all(|job| ids.contains(&job.id)));
}

/// Two processes on one file: each has a writer of its own, and neither sees a
/// locked database or the other's job.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_processes_share_one_file() {
    let folder = Folder::new();
    let stores = [Arc::new(folder.open().await.unwrap()), Arc::new(folder.open().await.unwrap())];
    stores[0].enqueue(&vec![job("a"); 120]).await.unwrap();
    let workers = (0..8).map(|n| {
        let store = Arc::clone(&stores[n % 2]);
        tokio::spawn(async move {
            let mut done = Vec::new();
            loop {
                let jobs = store.claim(&asking(&format!("w{n}"), 3)).await.unwrap();
                if jobs.is_empty() {
                    return done;
                }
                for job in jobs {
                    store
                        .finish(job.id, job.lease_token, AttemptEnd::Done(Box::<DoneReport>::default()))
                        .await
                        .unwrap();
                    done.push(job.id);
                }
            }
        })
    });
    let mut done = Vec::new();
    for worker in workers.collect::<Vec<_>>() {
        done.extend(worker.await.unwrap());
    }
    assert_eq!((done.len(), done.iter().collect::<HashSet<_>>().len()), (120, 120));
}

/// SQLite may give up a transaction by itself, for instance when the disk is full.
#[tokio::test]
async fn the_writer_outlives_a_transaction_that_sqlite_gave_up() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let mut tx = store.write().await.unwrap();
    sqlx::query("ROLLBACK").execute(&mut *tx).await.unwrap();
    drop(tx);
    store.enqueue(&[job("a")]).await.unwrap();
    assert_eq!(store.claim(&asking("w", 10)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_full_disk_is_unavailable_and_comes_back() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    store.enqueue(&[job("a")]).await.unwrap();
    let limit = async |pages: i64| {
        sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}")))
            .fetch_one(&store.writer)
            .await
            .unwrap()
    };
    limit(1).await;
    assert!(matches!(store.enqueue(&vec![job("a"); 2_000]).await, Err(StoreError::Unavailable(_))));
    limit(1_000_000).await;
    store.enqueue(&vec![job("a"); 2_000]).await.unwrap();
    assert_eq!(store.snapshot().await.unwrap().kinds[0].due, 2_001);
}

/// Whoever opens a store may do so from any thread.
#[tokio::test]
async fn opening_may_be_spawned() {
    let folder = Arc::new(Folder::new());
    let opened = tokio::spawn(async move { folder.open().await.map(|_| ()) });
    assert_eq!(opened.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn a_purge_cuts_the_log_back() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    store.enqueue(&vec![job("a"); 2_000]).await.unwrap();
    let log = || folder.file("queue.db-wal").metadata().unwrap().len();
    assert!(log() > 500_000, "{}", log());
    assert_eq!(store.purge(0, 0, 100).await.unwrap(), 0);
    assert_eq!(log(), 0);
}

#[test]
fn versions_are_compared_by_number() {
    for (version, too_old) in
        [("3.51.3", false), ("3.51.2", true), ("3.9.9", true), ("3.100.0", false), ("4.0.0", false), ("", true)]
    {
        assert_eq!(is_too_old(version), too_old, "{version}");
    }
}

#[test]
fn a_url_must_name_a_file() {
    for (path, file) in [
        ("drainboard.db", Some("drainboard.db")),
        ("///var/lib/q.db", Some("/var/lib/q.db")),
        ("file:q.db?mode=ro", Some("./file:q.db?mode=ro")),
        (":memory:", None),
        ("//:memory:", None),
        ("", None),
    ] {
        assert_eq!(file_path(path).ok().as_deref(), file, "{path}");
    }
}
