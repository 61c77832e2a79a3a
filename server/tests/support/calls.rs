//! Jobs, reports and calls in one line each, so that a test reads as its story.

use super::database::TestDatabase;
use app::error::StoreError;
use app::model::audit::{AuditEntry, AuditFilter};
use app::model::classify::Category;
use app::model::ids::{DeadLetterId, JobId};
use app::model::job::{
    Accepts, AttemptEnd, ClaimRequest, ClaimedJob, DoneReport, Ended, EnqueuedJob, FailReport, JobDetail, NewJob,
    RawJson, RefuseReport,
};
use app::model::letter::{DeadLetter, DeadLetterDetail};
use app::model::letter_filter::LetterFilter;
use app::model::letter_group::{GroupPage, LetterCounts};
use app::model::name::Name;
use app::model::people::{Actor, Role};
use app::model::policy::{Change, KindPolicy, checked_change};
use app::model::reading::{KindSnapshot, Reading, Snapshot};
use app::model::recovery::{Acted, IdempotencyKey, LetterAct, RecoveryAction};
use app::store::Stored;
use chrono::{DateTime, Utc};
use serde_json::Value;

/// A name that obeys the rule.
pub fn name(text: &str) -> Name {
    Name::new("name", text).expect("a name of 1 to 200 characters")
}

/// Names, sorted and without repeats, as a claim carries them.
pub fn names(texts: &[&str]) -> Vec<Name> {
    let mut names: Vec<Name> = texts.iter().map(|text| name(text)).collect();
    names.sort();
    names.dedup();
    names
}

/// A job of `kind` that is due now.
pub fn job(kind: &str) -> NewJob {
    NewJob {
        kind: name(kind),
        source: name("supplier-email-ingest"),
        tenant: None,
        payload: Some(RawJson::stored(r#"{"n":1}"#.to_owned())),
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

/// *done* with a verdict.
pub fn done(verdict: &str) -> AttemptEnd {
    AttemptEnd::Done(Box::new(DoneReport { verdict: Some(verdict.to_owned()), ..DoneReport::default() }))
}

/// *fail* with an HTTP status.
pub fn fail(error: &str, http_status: u16) -> AttemptEnd {
    AttemptEnd::Fail(FailReport { error: error.to_owned(), http_status: Some(http_status), ..FailReport::default() })
}

/// *fail* as of a category.
pub fn fail_as(error: &str, category: Category) -> AttemptEnd {
    AttemptEnd::Fail(FailReport { error: error.to_owned(), category: Some(category), ..FailReport::default() })
}

/// *refuse* for a reason code.
pub fn refusal(reason_code: &str) -> AttemptEnd {
    AttemptEnd::Refuse(RefuseReport {
        reason_code: reason_code.to_owned(),
        field: Some("currency".to_owned()),
        evidence: "NOT FOUND".to_owned(),
        envelope: None,
        cost_micro_usd: None,
    })
}

/// Who acts.
pub fn actor(name: &str) -> Actor {
    let (address, user_agent) = (Some("192.0.2.7".to_owned()), Some("tests".to_owned()));
    Actor { name: name.to_owned(), address, user_agent, role: None }
}

/// A signed-in person who acts.
pub fn person(name: &str, role: Role) -> Actor {
    Actor { role: Some(role), ..actor(name) }
}

/// A checked change of a policy.
pub fn change(settings: Value) -> Change {
    checked_change(settings.as_object().expect("an object of settings")).expect("settings that obey their rules")
}

/// An act on a letter as it was seen.
pub fn act_on(letter: &DeadLetter, action: RecoveryAction) -> LetterAct {
    LetterAct { note: Some("seen".to_owned()), ..LetterAct::new(letter.id, action, letter.version, Role::Reviewer) }
}

/// An idempotency key with the hash of a body.
pub fn key(key: &str, body: &str) -> Option<IdempotencyKey> {
    Some(IdempotencyKey { key: key.to_owned(), body_sha256: body.repeat(64)[..64].to_owned() })
}

/// A claim of any kind.
pub fn claim_request(worker: &str, limit: u32) -> ClaimRequest {
    ClaimRequest { worker: name(worker), kinds: None, limit, lease_seconds: None, accepts: Accepts::default() }
}

/// All letters, unfiltered.
pub fn letter_filter() -> LetterFilter {
    LetterFilter { limit: 200, ..LetterFilter::default() }
}

impl TestDatabase {
    /// Enqueues jobs; all are new.
    pub async fn enqueue(&self, jobs: &[NewJob]) -> Vec<JobId> {
        let enqueued = self.store.enqueue(jobs).await.expect("the jobs are enqueued");
        assert_eq!(enqueued.len(), jobs.len(), "one answer per job");
        enqueued.into_iter().map(|job| job.id).collect()
    }

    /// Enqueues one job.
    pub async fn enqueue_one(&self, job: NewJob) -> EnqueuedJob {
        let mut enqueued = self.store.enqueue(&[job]).await.expect("the job is enqueued");
        assert_eq!(enqueued.len(), 1, "one answer per job");
        enqueued.remove(0)
    }

    /// Claims up to `limit` jobs of any kind.
    pub async fn claim(&self, worker: &str, limit: u32) -> Vec<ClaimedJob> {
        self.store.claim(&claim_request(worker, limit)).await.expect("the claim is answered")
    }

    /// Claims up to `limit` jobs of the named kinds.
    pub async fn claim_kinds(&self, worker: &str, kinds: &[&str], limit: u32) -> Vec<ClaimedJob> {
        let request = ClaimRequest { kinds: Some(names(kinds)), ..claim_request(worker, limit) };
        self.store.claim(&request).await.expect("the claim is answered")
    }

    /// Claims the one job that is due first.
    pub async fn claim_one(&self, worker: &str) -> ClaimedJob {
        self.claim(worker, 1).await.pop().expect("a job is due")
    }

    /// Enqueues a job of `kind`, and claims it alone.
    pub async fn claimed(&self, kind: &str) -> ClaimedJob {
        let id = self.enqueue_one(job(kind)).await.id;
        let claimed = self.claim_kinds("w1", &[kind], 1).await.pop().expect("the job is due");
        assert_eq!(claimed.id, id);
        claimed
    }

    /// Ends an attempt; the end is accepted.
    pub async fn finish(&self, claimed: &ClaimedJob, end: AttemptEnd) -> Ended {
        self.store.finish(claimed.id, claimed.lease_token, end).await.expect("the end is accepted")
    }

    /// Ends an attempt; the end is not accepted.
    pub async fn finish_refused(&self, claimed: &ClaimedJob, end: AttemptEnd) -> StoreError {
        self.store.finish(claimed.id, claimed.lease_token, end).await.expect_err("the end is not accepted")
    }

    /// A job of `kind` that ended as a letter by exception.
    pub async fn parked(&self, kind: &str) -> DeadLetter {
        let claimed = self.claimed(kind).await;
        self.letter_of(self.finish(&claimed, fail("400 no such customer", 400)).await).await
    }

    /// A job of `kind` that the agent refused.
    pub async fn refused(&self, kind: &str, reason_code: &str) -> DeadLetter {
        let claimed = self.claimed(kind).await;
        self.letter_of(self.finish(&claimed, refusal(reason_code)).await).await
    }

    /// The letter that an end led to.
    pub async fn letter_of(&self, ended: Ended) -> DeadLetter {
        match ended {
            Ended::Dead { dead_letter_id, .. } => self.letter(dead_letter_id).await.letter,
            other => panic!("the job is parked, not {other:?}"),
        }
    }

    /// A letter whole.
    pub async fn letter(&self, id: DeadLetterId) -> DeadLetterDetail {
        self.store.find_letter(id).await.expect("the letter is read").expect("the letter exists")
    }

    /// The ids that a filter finds, newest first.
    pub async fn found(&self, filter: &LetterFilter) -> Vec<DeadLetterId> {
        let page = self.store.list_letters(filter).await.expect("the letters are listed");
        page.letters.into_iter().map(|letter| letter.id).collect()
    }

    /// What the filters beside a list would find.
    pub async fn counts(&self, filter: &LetterFilter) -> LetterCounts {
        let page = self.store.list_counted_letters(filter).await.expect("the letters are listed");
        page.counts.expect("the letters are counted")
    }

    /// The first page of groups.
    pub async fn groups(&self, filter: &LetterFilter) -> GroupPage {
        self.store.list_counted_groups(filter, None).await.expect("the groups are listed")
    }

    /// So many open letters of kind `a`, written past the store, as if each job
    /// had failed once; the sources are `s0` to `s9` in turn.
    pub async fn park_many(&self, count: usize) {
        let jobs: Vec<NewJob> =
            (0..count).map(|i| NewJob { source: name(&format!("s{}", i % 10)), ..job("a") }).collect();
        self.enqueue(&jobs).await;
        self.door
            .execute("UPDATE jobs SET state = 'dead', due_at = NULL, finished_at = enqueued_at WHERE state = 'waiting'")
            .await;
        self.door
            .execute(
                "INSERT INTO dead_letters (job_id, kind, source, route, failure_reason, error, group_key, \
                     fingerprint_version, dead_lettered_at) \
                 SELECT id, kind, source, 'exception', 'rate_limit', '429', 'g', 1, finished_at FROM jobs \
                 WHERE state = 'dead' AND id NOT IN (SELECT job_id FROM dead_letters) ORDER BY id",
            )
            .await;
    }

    /// Acts as `who`.
    pub async fn act(&self, act: &LetterAct, who: &str) -> Stored<Acted> {
        self.store.act(act, &actor(who)).await
    }

    /// Changes a kind's policy as `mila`.
    pub async fn set_policy(&self, kind: &str, settings: Value) -> KindPolicy {
        self.store.change_policy(&name(kind), &change(settings), &actor("mila")).await.expect("the policy is changed")
    }

    /// A job with its attempts.
    pub async fn job(&self, id: JobId) -> JobDetail {
        self.store.find_job(id).await.expect("the job is read").expect("the job exists")
    }

    /// Everything the panel shows.
    pub async fn snapshot(&self) -> Snapshot {
        self.store.snapshot().await.expect("the snapshot is read")
    }

    /// The same with its verdicts.
    pub async fn reading(&self) -> Reading {
        Reading::of(self.snapshot().await)
    }

    /// The line's text.
    pub async fn line(&self) -> String {
        self.reading().await.verdict.text
    }

    /// The figures of one kind.
    pub async fn kind(&self, kind: &str) -> KindSnapshot {
        let kinds = self.snapshot().await.kinds;
        kinds.into_iter().find(|row| row.kind == kind).expect("the kind has a row")
    }

    /// The newest audit entries.
    pub async fn audit(&self) -> Vec<AuditEntry> {
        self.store.list_audit(&AuditFilter { limit: 200, ..AuditFilter::default() }).await.expect("the audit is read")
    }

    /// The database's clock.
    pub async fn now(&self) -> DateTime<Utc> {
        self.store.now().await.expect("the database tells the time")
    }

    /// To the database's clock, so many seconds pass.
    pub async fn let_time_pass(&self, seconds: i64) {
        self.door.let_time_pass(seconds).await;
    }

    /// The lease on the job ends now.
    pub async fn expire_lease(&self, job: JobId) {
        self.door.expire_lease(job, self.now().await).await;
    }
}
