//! Rows as both databases return them, and what they mean.
//!
//! Integers are 64 bits wide, times are [`At`], words are text: a query casts
//! where its columns are narrower. Nothing here runs a query.

use crate::store::fault::{Fault, Tried};
use crate::store::time::{At, time};
use app::model::audit::AuditEntry;
use app::model::classify::Category;
use app::model::cover::Cover;
use app::model::evidence::Miss;
use app::model::ids::{DeadLetterId, JobId, TokenId, UserId};
use app::model::job::{Attempt, AttemptOutcome, JobDetail, JobState, JobSummary, RawJson, ReplayMode};
use app::model::letter_policy::LetterPolicy;
use app::model::people::{ListedToken, Person, Role, Scope, Session, Token, User, session_id};
use app::model::policy::Overrides;
use chrono::{DateTime, Utc};
use sqlx::FromRow;

/// The payloads that tell which values of a job are masked, its own and that of
/// what it replays, as a JSON list; one that is too large to be read for each line
/// of a page leaves no list at all.
macro_rules! masking_payloads {
    ($job:literal) => {
        concat!(
            "CASE WHEN octet_length(",
            $job,
            ".payload) > 65536 THEN '' ELSE '[' || coalesce(",
            $job,
            ".payload, 'null') || coalesce((SELECT ',' || CASE WHEN octet_length(g.payload) > 65536 THEN '' \
             ELSE coalesce(g.payload, 'null') END FROM dead_letters gl JOIN jobs g ON g.id = gl.job_id WHERE gl.id = ",
            $job,
            ".replay_of), '') || ']' END"
        )
    };
}

pub(in crate::store) use masking_payloads;

/// A job as a list shows it.
#[derive(Debug, FromRow)]
pub struct StoredJob {
    pub(super) id: i64,
    pub(super) kind: String,
    pub(super) source: String,
    pub(super) tenant: Option<String>,
    pub(super) state: String,
    pub(super) attempts: i64,
    pub(super) max_attempts: i64,
    pub(super) due_at: Option<At>,
    pub(super) enqueued_at: At,
    pub(super) finished_at: Option<At>,
    pub(super) worker: Option<String>,
    pub(super) verdict: Option<String>,
    pub(super) last_error: Option<String>,
    pub(super) dead_letter_id: Option<i64>,
    pub(super) reason_code: Option<String>,
    pub(super) field: Option<String>,
    /// In lists, where the kind masks fields: its changed settings.
    #[sqlx(default)]
    pub(super) overrides: Option<String>,
    /// In lists, where the kind masks fields: see [`masking_payloads`].
    #[sqlx(default)]
    pub(super) masking: Option<String>,
}

impl StoredJob {
    /// The job, with `last_error` as the query cut it.
    pub fn summary(self) -> Tried<JobSummary> {
        let cover = cover_of(self.overrides.as_deref(), self.masking.as_deref());
        let state = job_state(&self.state)?;
        let due_at = time(self.due_at);
        let mut summary = JobSummary {
            id: JobId(self.id),
            kind: self.kind,
            source: self.source,
            tenant: self.tenant,
            state,
            attempts: narrow(self.attempts),
            max_attempts: narrow(self.max_attempts),
            due_at,
            enqueued_at: self.enqueued_at.0,
            finished_at: time(self.finished_at),
            worker: self.worker,
            lease_expires_at: due_at.filter(|_| state == JobState::InProgress),
            verdict: self.verdict,
            last_error: self.last_error,
            dead_letter_id: self.dead_letter_id.map(DeadLetterId),
            reason_code: self.reason_code,
            field: self.field,
        };
        cover.put_on_summary(&mut summary);
        Ok(summary)
    }
}

/// A job with all it carries, its attempts aside.
#[derive(Debug, FromRow)]
pub struct StoredJobDetail {
    #[sqlx(flatten)]
    pub(super) job: StoredJob,
    pub(super) payload: Option<String>,
    pub(super) payload_ref: Option<String>,
    pub(super) payload_sha256: Option<String>,
    pub(super) received_at: Option<At>,
    pub(super) upstream_handoffs: Option<String>,
    pub(super) run_at: At,
    pub(super) anchor_at: At,
    pub(super) unique_key: Option<String>,
    pub(super) trace_id: Option<String>,
    pub(super) is_canary: bool,
    pub(super) replay_of: Option<i64>,
    pub(super) reason: Option<String>,
    pub(super) result: Option<String>,
    pub(super) evidence: Option<String>,
    pub(super) field_values: Option<String>,
    pub(super) source_text: Option<String>,
    pub(super) envelope: Option<String>,
    pub(super) shadow_misses: Option<String>,
}

impl StoredJobDetail {
    /// The job with its attempts, read at `as_of`.
    pub fn detail(
        self,
        attempts: Vec<StoredAttempt>,
        related_payloads: Vec<RawJson>,
        as_of: DateTime<Utc>,
    ) -> Tried<JobDetail> {
        Ok(JobDetail {
            summary: self.job.summary()?,
            payload: json(self.payload),
            payload_ref: self.payload_ref,
            payload_sha256: self.payload_sha256,
            received_at: time(self.received_at),
            upstream_handoffs: json(self.upstream_handoffs),
            run_at: self.run_at.0,
            anchor_at: Some(self.anchor_at.0),
            unique_key: self.unique_key,
            trace_id: self.trace_id,
            canary: self.is_canary,
            replay_of: self.replay_of.map(DeadLetterId),
            reason: self.reason,
            result: json(self.result),
            evidence: json(self.evidence),
            values: json(self.field_values),
            source_text: self.source_text,
            envelope: json(self.envelope),
            shadow_misses: misses(self.shadow_misses)?,
            attempt_history: attempt_history(attempts)?,
            related_payloads,
            as_of,
        })
    }
}

/// What evidence checks found, as it is kept; `None` for nothing.
pub(super) fn misses(stored: Option<String>) -> Tried<Vec<Miss>> {
    Ok(stored.map(|text| serde_json::from_str(&text)).transpose()?.unwrap_or_default())
}

/// How what evidence checks found is kept.
pub(super) fn kept_misses(misses: &[Miss]) -> Tried<Option<String>> {
    Ok(if misses.is_empty() { None } else { Some(serde_json::to_string(misses)?) })
}

/// One attempt.
#[derive(Debug, FromRow)]
pub struct StoredAttempt {
    pub(super) attempt: i64,
    pub(super) worker: String,
    pub(super) claimed_at: At,
    pub(super) ended_at: Option<At>,
    pub(super) outcome: Option<String>,
    pub(super) category: Option<String>,
    pub(super) failure_reason: Option<String>,
    pub(super) http_status: Option<i64>,
    pub(super) error_code: Option<String>,
    pub(super) error: Option<String>,
    pub(super) reason_code: Option<String>,
    pub(super) next_run_at: Option<At>,
}

pub(super) fn attempt_history(attempts: Vec<StoredAttempt>) -> Tried<Vec<Attempt>> {
    attempts
        .into_iter()
        .map(|row| {
            Ok(Attempt {
                attempt: narrow(row.attempt),
                worker: row.worker,
                claimed_at: row.claimed_at.0,
                ended_at: time(row.ended_at),
                outcome: row.outcome.as_deref().map(attempt_outcome).transpose()?,
                category: category(row.category.as_deref()),
                failure_reason: row.failure_reason,
                http_status: http_status(row.http_status),
                error_code: row.error_code,
                error: row.error,
                reason_code: row.reason_code,
                next_run_at: time(row.next_run_at),
            })
        })
        .collect()
}

/// A person.
#[derive(Debug, FromRow)]
pub struct StoredUser {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) role: String,
    pub(super) password_hash: String,
    pub(super) disabled: bool,
}

impl StoredUser {
    /// The person.
    pub fn user(self) -> Tried<User> {
        Ok(User {
            id: UserId(self.id),
            role: role(&self.role)?,
            name: self.name,
            password_hash: self.password_hash,
            disabled: self.disabled,
        })
    }
}

/// A person as the list of users shows them.
#[derive(Debug, FromRow)]
pub struct StoredPerson {
    pub(super) name: String,
    pub(super) role: String,
    pub(super) disabled: bool,
    pub(super) has_password: bool,
    pub(super) created_at: At,
    pub(super) link_expires_at: Option<At>,
    pub(super) sessions: i64,
}

impl StoredPerson {
    /// The person.
    pub fn person(self) -> Tried<Person> {
        Ok(Person {
            role: role(&self.role)?,
            name: self.name,
            disabled: self.disabled,
            has_password: self.has_password,
            created_at: self.created_at.0,
            link_expires_at: time(self.link_expires_at),
            sessions: self.sessions,
        })
    }
}

/// A session, its secret's hash aside.
#[derive(Debug, FromRow)]
pub struct StoredSession {
    pub(super) session_sha256: String,
    pub(super) created_at: At,
    pub(super) last_active_at: At,
    pub(super) address: Option<String>,
    pub(super) user_agent: Option<String>,
}

impl StoredSession {
    /// The session, named by a part of the hash that signs nobody in.
    pub fn session(self) -> Session {
        Session {
            id: session_id(&self.session_sha256).to_owned(),
            created_at: self.created_at.0,
            last_active_at: self.last_active_at.0,
            address: self.address,
            user_agent: self.user_agent,
        }
    }
}

/// A bearer token.
#[derive(Debug, FromRow)]
pub struct StoredToken {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) scopes: String,
    pub(super) is_use_stale: bool,
}

impl StoredToken {
    /// The token; a scope this binary does not know gives nothing.
    pub fn token(self) -> Token {
        let scopes = scopes(&self.scopes);
        Token { id: TokenId(self.id), name: self.name, scopes, is_use_stale: self.is_use_stale }
    }
}

/// A token as the list of tokens shows it.
#[derive(Debug, FromRow)]
pub struct StoredListedToken {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) scopes: String,
    pub(super) created_at: At,
    pub(super) last_used_at: Option<At>,
    pub(super) revoked_at: Option<At>,
}

impl StoredListedToken {
    /// The token.
    pub fn token(self) -> ListedToken {
        ListedToken {
            id: TokenId(self.id),
            scopes: scopes(&self.scopes),
            name: self.name,
            created_at: self.created_at.0,
            last_used_at: time(self.last_used_at),
            revoked_at: time(self.revoked_at),
        }
    }
}

/// One audited act.
#[derive(Debug, FromRow)]
pub struct StoredAudit {
    pub(super) seq: i64,
    pub(super) at: At,
    pub(super) actor: String,
    pub(super) role: Option<String>,
    pub(super) action: String,
    pub(super) subject: String,
    pub(super) details: Option<String>,
    pub(super) outcome: String,
    pub(super) address: Option<String>,
    pub(super) user_agent: Option<String>,
}

impl StoredAudit {
    /// The entry.
    pub fn entry(self) -> AuditEntry {
        AuditEntry {
            seq: self.seq,
            at: self.at.0,
            actor: self.actor,
            role: self.role,
            action: self.action,
            subject: self.subject,
            details: self.details,
            outcome: self.outcome,
            address: self.address,
            user_agent: self.user_agent,
        }
    }
}

fn scopes(list: &str) -> Vec<Scope> {
    list.split(',').filter_map(Scope::from_word).collect()
}

/// Scopes as a column holds them: words in order, with commas.
pub fn scope_list(scopes: &[Scope]) -> String {
    let sorted: std::collections::BTreeSet<Scope> = scopes.iter().copied().collect();
    sorted.into_iter().map(Scope::as_str).collect::<Vec<_>>().join(",")
}

/// The state of a stored word.
pub fn job_state(word: &str) -> Tried<JobState> {
    JobState::from_word(word).ok_or_else(|| Fault::corrupt("state", word))
}

/// The replay mode of a stored word.
pub fn replay_mode(word: &str) -> Tried<ReplayMode> {
    [ReplayMode::Current, ReplayMode::Pinned]
        .into_iter()
        .find(|mode| mode.as_str() == word)
        .ok_or_else(|| Fault::corrupt("replay mode", word))
}

/// The role of a stored word.
pub fn role(word: &str) -> Tried<Role> {
    Role::from_word(word).ok_or_else(|| Fault::corrupt("role", word))
}

/// The category of an optional stored word.
pub fn category(word: Option<&str>) -> Option<Category> {
    word.map(Category::from_stored)
}

/// What covers masked values in the texts of a list: by the kind's changed
/// settings and by [`masking_payloads`], both absent where the kind masks nothing.
pub fn cover_of(overrides: Option<&str>, masking: Option<&str>) -> Cover {
    let Some(overrides) = overrides.filter(|_| masking.is_some()) else { return Cover::default() };
    match serde_json::from_str::<Overrides>(overrides) {
        Ok(overrides) => Cover::of_list(masking, &LetterPolicy::effective(&overrides).masked_fields),
        Err(_) => Cover::of_everything(),
    }
}

/// JSON that was checked when it was stored.
pub fn json(text: Option<String>) -> Option<RawJson> {
    text.map(RawJson::stored)
}

/// A stored count or number of seconds, which is never negative.
pub fn narrow(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}

/// A stored HTTP status.
pub fn http_status(number: Option<i64>) -> Option<u16> {
    number.and_then(|number| u16::try_from(number).ok())
}

fn attempt_outcome(word: &str) -> Tried<AttemptOutcome> {
    AttemptOutcome::from_word(word).ok_or_else(|| Fault::corrupt("outcome", word))
}
