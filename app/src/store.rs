//! The only door to data.
//!
//! Implemented by the server for each database; the same suite of tests runs
//! on all of them. Every method is one transaction: state, attempt, ending,
//! audit and answer commit together or not at all. All times come from the
//! database's clock. Any method may answer `Unavailable`,
//! `DatabaseError` or `Internal`.

use crate::error::StoreError;
use crate::model::alert::{AlertPage, HeldChange};
use crate::model::alerting::Finding;
use crate::model::alerting::watch::AlertInput;
use crate::model::artifact::{Artifact, ArtifactHash};
use crate::model::audit::{AuditCheck, AuditEntry, AuditFilter, Noted};
use crate::model::bulk::{Bulk, BulkDetail, BulkItem, Leave, NewBulk, Steer};
use crate::model::canary::{CanaryDetail, CanaryInput, CanaryOverview, RunCause};
use crate::model::delivery::TryOutcome;
use crate::model::evidence::counts::{EvidenceCount, EvidenceCountQuery};
use crate::model::follow_up::{FollowUp, FollowUpFilter, FollowUpPage};
use crate::model::ids::{AlertId, BulkId, CanaryId, DeadLetterId, FollowUpId, JobId, NoticeId, TokenId, UserId};
use crate::model::job::{
    AttemptEnd, ClaimRequest, ClaimedJob, Ended, EnqueuedJob, JobDetail, JobFilter, JobPage, NewJob,
};
use crate::model::letter::{DeadLetterDetail, LetterPage};
use crate::model::letter_export::ExportBatch;
use crate::model::letter_filter::LetterFilter;
use crate::model::letter_group::{CountedLetterPage, GroupCursor, GroupPage};
use crate::model::name::Name;
use crate::model::outbox::{HeldNotice, NoticeFilter, NoticePage, OutboxNotice};
use crate::model::park_rate::{ParkCount, ParkRateQuery};
use crate::model::people::{Actor, ListedToken, Person, Role, Scope, Session, Token, User, Viewer};
use crate::model::policy::{Change, KindPolicy};
use crate::model::policy_edit::PolicyEdit;
use crate::model::reading::Snapshot;
use crate::model::recovery::{Acted, LetterAct};
use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};

/// Answer of a store.
pub type Stored<T> = Result<T, StoreError>;

/// What workers and enqueuers do.
#[async_trait]
pub trait QueueStore {
    /// Stores all jobs or none, answers in the order asked. A unique key that
    /// is held (within the batch too) makes its job a `duplicate` of the holder.
    async fn enqueue(&self, jobs: &[NewJob]) -> Stored<Vec<EnqueuedJob>>;

    /// Hands out the oldest due jobs, `due_at` then id, each to one claim only.
    /// First parks a bounded number of jobs whose lease expired with all
    /// attempts used. Records that the worker was seen.
    async fn claim(&self, request: &ClaimRequest) -> Stored<Vec<ClaimedJob>>;

    /// Extends the lease, at most to the policy's lease and to
    /// `max_attempt_seconds` after the claim. Fails with `LeaseLost`, `NotFound`.
    async fn heartbeat(&self, id: JobId, lease_token: i64, lease_seconds: Option<u32>) -> Stored<DateTime<Utc>>;

    /// Ends an attempt. Fails with `LeaseLost` (counted), `NotFound`, or
    /// `Invalid` for a reason code outside the kind's set (lease untouched).
    async fn finish(&self, id: JobId, lease_token: i64, end: AttemptEnd) -> Stored<Ended>;

    /// Calls off a waiting job. Fails with `Conflict` unless it waits.
    async fn cancel(&self, id: JobId) -> Stored<()>;

    /// Parks up to `limit` jobs whose lease expired with all attempts used;
    /// answers how many.
    async fn reap(&self, limit: u32) -> Stored<u64>;

    /// Deletes up to `limit` jobs done, dropped or cancelled longer ago than
    /// `done_seconds` and letters (with their jobs) resolved longer ago than
    /// `resolved_seconds`, counts in windows unchanged; answers how many jobs.
    async fn purge(&self, done_seconds: u32, resolved_seconds: u32, limit: u32) -> Stored<u64>;

    /// The clock that starts the workers says it ran.
    async fn record_tick(&self, trigger: &Name, every_seconds: u32) -> Stored<()>;

    /// A claim was refused for its token (401).
    async fn record_refused_poll(&self) -> Stored<()>;
}

/// What pages and monitors read.
#[async_trait]
pub trait PanelStore {
    /// Everything the panel shows, at one instant of the database.
    async fn snapshot(&self) -> Stored<Snapshot>;

    /// A page of jobs, newest first.
    async fn list_jobs(&self, filter: &JobFilter) -> Stored<JobPage>;

    /// One job with its attempts.
    async fn find_job(&self, id: JobId) -> Stored<Option<JobDetail>>;

    /// Processed and parked per UTC day (and source, and reason code), by day,
    /// then source, then code; at most 10,000 rows. By reason code a day's
    /// `processed` repeats in each row, and a day (and source) without any
    /// parked job has one row whose `reason_code` is `None`.
    async fn count_park_rate(&self, query: &ParkRateQuery) -> Stored<Vec<ParkCount>>;

    /// What evidence checks looked at and missed, by day, kind, field, rule and
    /// tenant; at most 10,000 rows.
    async fn count_evidence(&self, query: &EvidenceCountQuery) -> Stored<Vec<EvidenceCount>>;
}

/// What people do with dead letters.
#[async_trait]
pub trait LetterStore {
    /// A page of letters, newest first; long texts cut. Going from page to page
    /// neither repeats nor skips a letter, however the queue moves.
    async fn list_letters(&self, filter: &LetterFilter) -> Stored<LetterPage>;

    /// The same with what the filters beside the list would find, at one instant.
    async fn list_counted_letters(&self, filter: &LetterFilter) -> Stored<CountedLetterPage>;

    /// The groups of the letters that a filter finds, last seen first, at most
    /// `filter.limit`, after the group that `after` names.
    async fn list_counted_groups(&self, filter: &LetterFilter, after: Option<&GroupCursor>) -> Stored<GroupPage>;

    /// The next letters of an export, newest first, whole: at most
    /// `filter.limit`, fewer if they are large, none at the end. Nothing stays
    /// open between two batches.
    async fn export_letters(&self, filter: &LetterFilter) -> Stored<ExportBatch>;

    /// One letter whole.
    async fn find_letter(&self, id: DeadLetterId) -> Stored<Option<DeadLetterDetail>>;

    /// Acts once: looks up the idempotency key first (same body: the stored
    /// answer; other body: `Invalid` for `Idempotency-Key`), then the version
    /// (`Conflict` says who did what meanwhile, or who has it). The kind's
    /// workflow decides what is offered to which role (`Conflict`, `Forbidden`).
    /// Letter, replays, decision, notice, follow-up, answer and audit commit together.
    async fn act(&self, act: &LetterAct, actor: &Actor) -> Stored<Acted>;
}

/// What people do with many dead letters at once, and what servers do about it.
#[async_trait]
pub trait BulkStore {
    /// Fixes letters and versions; acts on none. `Invalid` when there is none,
    /// or more than [`MAX_BULK_LETTERS`](crate::model::bulk::MAX_BULK_LETTERS).
    async fn draft_bulk(&self, bulk: &NewBulk, actor: &Actor) -> Stored<BulkId>;

    /// One bulk whole, its trouble after the letter `after`, at most `limit`.
    async fn find_bulk(&self, id: BulkId, after: Option<DeadLetterId>, limit: u32) -> Stored<Option<BulkDetail>>;

    /// The newest bulks, at most `limit`.
    async fn list_bulks(&self, limit: u32) -> Stored<Vec<Bulk>>;

    /// Confirms, stops or lets go on, as `actor` of that role. Only whoever
    /// drafted it, or an admin, may (`Forbidden`). What was done before is
    /// `Conflict`. Audited.
    async fn steer_bulk(&self, id: BulkId, steer: &Steer, actor: &Actor, role: Role) -> Stored<()>;

    /// A running bulk that no other server works on, with what became of its
    /// letters while it is a trial; ours for 10 s.
    async fn take_bulk(&self) -> Stored<Option<BulkDetail>>;

    /// Letters of a bulk that were not tried yet, by id.
    async fn list_outstanding(&self, id: BulkId, limit: u32) -> Stored<Vec<BulkItem>>;

    /// The role of whoever a running bulk acts for: the outer `None` when it does
    /// not run any more, the inner one when they are disabled or gone.
    async fn find_bulk_role(&self, id: BulkId) -> Stored<Option<Option<Role>>>;

    /// Keeps what became of one letter, unless that is kept already.
    async fn keep_outcome(&self, id: BulkId, item: &BulkItem) -> Stored<()>;

    /// Lets other servers have a bulk again, or ends it; changes nothing about
    /// one that does not run any more.
    async fn leave_bulk(&self, id: BulkId, leave: &Leave) -> Stored<()>;
}

/// Customer notices on their way.
#[async_trait]
pub trait OutboxStore {
    /// A page of notices: what is not sent first, then newest first.
    async fn list_notices(&self, filter: &NoticeFilter) -> Stored<NoticePage>;

    /// One notice, with the database's clock at this reading.
    async fn find_notice(&self, id: NoticeId) -> Stored<Option<(OutboxNotice, DateTime<Utc>)>>;

    /// Somebody has sent it. `NotFound`; `Conflict` when it is sent, or is being
    /// sent at this moment. Audited.
    async fn mark_notice_sent(&self, id: NoticeId, note: Option<&str>, actor: &Actor) -> Stored<()>;

    /// It is tried at once, and for another day. `NotFound`; `Conflict` when it
    /// is sent, or is due or being sent already. Audited.
    async fn hurry_notice(&self, id: NoticeId, actor: &Actor) -> Stored<()>;

    /// Holds up to `limit` notices that are due to be tried, the longest due
    /// first, for [`HOLD_SECONDS`]: nobody else gets them before that.
    async fn hold_notices(&self, limit: u32) -> Stored<Vec<HeldNotice>>;

    /// Keeps what a try led to; changes nothing when the hold was lost, or the
    /// notice sent, meanwhile.
    async fn keep_try(&self, held: &HeldNotice, outcome: &TryOutcome) -> Stored<()>;
}

/// How long a server has a notice to itself, in seconds: longer than a try may take.
pub const HOLD_SECONDS: i64 = 30;

/// What is left to somebody by a date.
#[async_trait]
pub trait FollowUpStore {
    /// A page of follow-ups: open ones by their day, then done ones, newest first.
    async fn list_follow_ups(&self, filter: &FollowUpFilter) -> Stored<FollowUpPage>;

    /// One follow-up.
    async fn find_follow_up(&self, id: FollowUpId) -> Stored<Option<FollowUp>>;

    /// It is done. `NotFound`; `Conflict` says who did it before. Audited.
    async fn finish_follow_up(&self, id: FollowUpId, note: Option<&str>, actor: &Actor) -> Stored<()>;
}

/// Prompts and tool definitions, by hash.
#[async_trait]
pub trait ArtifactStore {
    /// Keeps a text under its hash, which the caller has checked; the same again
    /// changes nothing.
    async fn put_artifact(&self, sha256: &ArtifactHash, content: &str) -> Stored<()>;

    /// The text of that hash.
    async fn find_artifact(&self, sha256: &ArtifactHash) -> Stored<Option<Artifact>>;

    /// Which of a few hashes have a text, in any order.
    async fn known_artifacts(&self, hashes: &[ArtifactHash]) -> Stored<Vec<ArtifactHash>>;
}

/// What somebody has to be told of.
#[async_trait]
pub trait AlertStore {
    /// Counts days that are over into roll-ups, a few at a time, and forgets old
    /// deliveries; answers how many days.
    async fn fold_park_days(&self) -> Stored<u64>;

    /// All that the rules judge, at one instant.
    async fn read_alert_input(&self) -> Stored<AlertInput>;

    /// Opens, updates and closes alerts by what the rules found; each change is
    /// written once, with its delivery, whatever the number of servers. Answers
    /// how many opened or closed.
    async fn keep_findings(&self, findings: &[Finding]) -> Stored<u64>;

    /// Alerts that are open, and `limit` closed ones before `before`.
    async fn list_alerts(&self, before: Option<AlertId>, limit: u32) -> Stored<AlertPage>;

    /// Until then an open alert calls nobody. `NotFound`; `Conflict` when it is
    /// closed. Audited.
    async fn acknowledge_alert(&self, id: AlertId, hours: i64, note: Option<&str>, actor: &Actor) -> Stored<()>;

    /// Days that a source is compared with from now on; none: the usual ones.
    /// `Invalid` for days that hold no counts. Audited.
    async fn pin_baseline(&self, source: &str, days: Option<(NaiveDate, NaiveDate)>, actor: &Actor) -> Stored<()>;

    /// Takes hold of changes that are due to be told, oldest first.
    async fn hold_changes(&self, limit: u32) -> Stored<Vec<HeldChange>>;

    /// Keeps what became of a try, if the hold is still ours.
    async fn keep_change_try(&self, held: &HeldChange, outcome: &TryOutcome) -> Stored<()>;
}

/// Known-bad inputs, and how their runs ended.
#[async_trait]
pub trait CanaryStore {
    /// All canaries with their last runs, and what alarms.
    async fn list_canaries(&self) -> Stored<CanaryOverview>;

    /// One canary with its newest runs, those before the run `before`, at most `limit`.
    async fn find_canary(&self, id: CanaryId, before: Option<i64>, limit: u32) -> Stored<Option<CanaryDetail>>;

    /// Adds a canary, or changes the one of that id. `Invalid` for a reason code
    /// outside the kind's set, `Conflict` for a name that is taken, `NotFound`. Audited.
    async fn save_canary(&self, id: Option<CanaryId>, input: &CanaryInput, actor: &Actor) -> Stored<CanaryId>;

    /// Adds all of them, or none; one whose name is there replaces what it says. Audited.
    async fn import_canaries(&self, inputs: &[CanaryInput], actor: &Actor) -> Stored<()>;

    /// Runs a canary now: answers the job. `NotFound`; `Conflict` while it runs
    /// or is disabled. Audited.
    async fn run_canary(&self, id: CanaryId, cause: RunCause, actor: &Actor) -> Stored<JobId>;

    /// Ends runs that nobody takes and starts those that are due, each once
    /// whatever the number of servers; answers how many were started.
    async fn run_due_canaries(&self) -> Stored<u64>;

    /// A run that was done alarms nobody any more. `NotFound`; `Conflict` when
    /// it did not. Audited.
    async fn clear_canary_run(&self, run: i64, actor: &Actor) -> Stored<()>;
}

/// Settings.
#[async_trait]
pub trait PolicyStore {
    /// The policies of all kinds, by kind.
    async fn list_policies(&self) -> Stored<Vec<KindPolicy>>;

    /// The policy of one kind.
    async fn find_policy(&self, kind: &str) -> Stored<Option<KindPolicy>>;

    /// Merges a checked change into a kind's policy (the kind comes into being
    /// if it is new); pausing and resuming included. Audited.
    async fn change_policy(&self, kind: &Name, change: &Change, actor: &Actor) -> Stored<KindPolicy>;

    /// The same for a kind that is there (`NotFound`), unless a setting that
    /// changes is not what was seen any more: `Conflict` says who changed it.
    async fn edit_policy(&self, kind: &Name, edit: &PolicyEdit, actor: &Actor) -> Stored<KindPolicy>;
}

/// People, sessions, tokens. Hashes only: no secret is stored.
#[async_trait]
pub trait PeopleStore {
    /// Whether anybody may sign in yet.
    async fn count_users(&self) -> Stored<i64>;

    /// The user of that name.
    async fn find_user(&self, name: &str) -> Stored<Option<User>>;

    /// Adds a user. Fails with `Conflict` if the name is taken. Audited.
    async fn add_user(&self, name: &Name, role: Role, password_hash: &str, actor: &Actor) -> Stored<UserId>;

    /// Changes role or disables; ends the user's sessions. `NotFound`. Fails
    /// with `Conflict` when a signed-in person would leave no enabled admin;
    /// whoever holds the database itself can make a new one. Audited.
    async fn change_user(&self, name: &str, role: Option<Role>, disabled: Option<bool>, actor: &Actor) -> Stored<()>;

    /// Stores the hash of a one-time set-up secret, replacing an older one.
    async fn put_setup_secret(&self, secret_sha256: &str) -> Stored<()>;

    /// Whether the set-up secret can still be used.
    async fn is_setup_secret(&self, secret_sha256: &str) -> Stored<bool>;

    /// Uses up the set-up secret to add the first admin. `Conflict` when the
    /// secret is wrong or used, or a user exists. Audited.
    async fn use_setup_secret(
        &self,
        secret_sha256: &str,
        name: &Name,
        password_hash: &str,
        actor: &Actor,
    ) -> Stored<UserId>;

    /// Starts a session. Audited as `sign_in`.
    async fn start_session(&self, user: UserId, session_sha256: &str, actor: &Actor) -> Stored<()>;

    /// Who the session belongs to, if it is neither idle for 30 min nor older
    /// than 12 h and the user is not disabled. `touch` counts as activity.
    async fn find_session(&self, session_sha256: &str, touch: bool) -> Stored<Option<Viewer>>;

    /// Ends a session; no error, and no audit, if there is none. Audited as `sign_out`.
    async fn end_session(&self, session_sha256: &str, actor: &Actor) -> Stored<()>;

    /// Users by name, those after `after`, at most `limit`.
    async fn list_users(&self, after: Option<&str>, limit: u32) -> Stored<Vec<Person>>;

    /// One user as the list shows them.
    async fn find_person(&self, name: &str) -> Stored<Option<Person>>;

    /// Adds a user without a password, with the hash of a set-up link that
    /// works for [`SET_UP_LINK_HOURS`](crate::model::people::SET_UP_LINK_HOURS).
    /// `Conflict` if the name is taken. Audited.
    async fn invite_user(&self, name: &Name, role: Role, link_sha256: &str, actor: &Actor) -> Stored<UserId>;

    /// Gives a user a new set-up link; an older one stops working, a password
    /// that is there goes on working. `NotFound`. Audited.
    async fn put_set_up_link(&self, name: &str, link_sha256: &str, actor: &Actor) -> Stored<()>;

    /// Uses up a set-up link: stores the password, ends the user's sessions.
    /// `Conflict` when the link is wrong, used, too old, or the user disabled.
    /// Audited under the user's own name, with the sender's address.
    async fn use_set_up_link(&self, link_sha256: &str, password_hash: &str, sender: &Actor) -> Stored<Viewer>;

    /// Replaces the password that was checked (`seen_hash`); ends the user's
    /// other sessions. `Conflict` if it changed meanwhile. Audited.
    async fn change_password(
        &self,
        user: UserId,
        seen_hash: &str,
        password_hash: &str,
        kept_session_sha256: &str,
        actor: &Actor,
    ) -> Stored<()>;

    /// The user's live sessions, the last used first, at most 200.
    async fn list_sessions(&self, user: &str) -> Stored<Vec<Session>>;

    /// Ends one session of a user, or all; answers how many. Audited if any ended.
    async fn revoke_sessions(&self, user: &str, session_id: Option<&str>, actor: &Actor) -> Stored<u64>;

    /// Adds a token. `Conflict` if the name is taken. Audited.
    async fn add_token(&self, name: &Name, scopes: &[Scope], token_sha256: &str, actor: &Actor) -> Stored<TokenId>;

    /// The token of that hash, if it is not revoked.
    async fn find_token(&self, token_sha256: &str) -> Stored<Option<Token>>;

    /// Tokens by name, those after `after`, at most `limit`; revoked ones too.
    async fn list_tokens(&self, after: Option<&str>, limit: u32) -> Stored<Vec<ListedToken>>;

    /// Revokes a token for good. `NotFound` if there is none that works. Audited.
    async fn revoke_token(&self, id: TokenId, actor: &Actor) -> Stored<()>;

    /// The token was used; written down every five minutes at most.
    async fn record_token_use(&self, id: TokenId) -> Stored<()>;
}

/// What people did. Every other method that says *audited* writes here, too.
#[async_trait]
pub trait AuditStore {
    /// Keeps what happened without any other change.
    async fn note(&self, noted: &Noted, actor: &Actor) -> Stored<()>;

    /// The newest entries that fit the filter.
    async fn list_audit(&self, filter: &AuditFilter) -> Stored<Vec<AuditEntry>>;

    /// Walks the whole chain, at one instant and in bounded memory. A hash in
    /// `contains`, noted at an earlier check, must be in it.
    async fn check_audit(&self, contains: Option<&str>) -> Stored<AuditCheck>;
}

/// All of it, object-safe.
#[async_trait]
pub trait Store:
    QueueStore
    + PanelStore
    + LetterStore
    + BulkStore
    + OutboxStore
    + FollowUpStore
    + ArtifactStore
    + AlertStore
    + CanaryStore
    + PolicyStore
    + PeopleStore
    + AuditStore
    + Send
    + Sync
    + 'static
{
    /// Whether the database answers, and everything of ours is in it.
    async fn ping(&self) -> Stored<()>;

    /// The database's clock.
    async fn now(&self) -> Stored<DateTime<Utc>>;

    /// Closes all connections.
    async fn close(&self);
}

#[cfg(test)]
mod tests {
    /// Compiles only while the trait is object-safe.
    #[test]
    fn the_store_is_object_safe() {
        fn accepts(_: Option<&dyn super::Store>) -> bool {
            true
        }
        assert!(accepts(None));
    }
}
