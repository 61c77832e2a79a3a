//! The words of the audit. The same whatever the database.

use crate::store::chain::{self, Head};
use crate::store::rows::StoredAudit;
use crate::store::time::At;
use app::model::audit::{Noted, Outcome};
use app::model::bulk::Steer;
use app::model::ids::{AlertId, BulkId, CanaryId, FollowUpId, JobId, NoticeId};
use app::model::people::{Actor, Role, Scope};
use app::model::policy::Change;
use app::model::recovery::LetterAct;
use chrono::{DateTime, NaiveDate, Utc};
use serde_json::{Value, json};

/// What an audit entry says, beside who, when and from where.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What was done.
    pub action: &'static str,
    /// On what.
    pub subject: String,
    /// Further facts, as JSON.
    pub details: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
}

/// Longest subject, in characters: it is in an index, and may come from a stranger.
const MAX_SUBJECT_CHARACTERS: usize = 250;

impl Entry {
    fn new(action: &'static str, subject: String, details: Option<Value>) -> Self {
        let subject = subject.chars().take(MAX_SUBJECT_CHARACTERS).collect();
        Self { action, subject, details: details.map(|value| value.to_string()), outcome: Outcome::Done }
    }

    fn ending(self, outcome: Outcome) -> Self {
        Self { outcome, ..self }
    }

    /// The row after `head`, by `actor` at `at`, with its hash.
    pub fn row(self, actor: &Actor, at: At, head: &Head) -> (StoredAudit, String) {
        let row = StoredAudit {
            seq: head.seq + 1,
            at,
            actor: actor.name.clone(),
            role: actor.role.map(|role| role.as_str().to_owned()),
            action: self.action.to_owned(),
            subject: self.subject,
            details: self.details,
            outcome: self.outcome.as_str().to_owned(),
            address: actor.address.clone(),
            user_agent: actor.user_agent.clone(),
        };
        let hash = chain::hash(&head.hash, &row);
        (row, hash)
    }

    /// What happened without any other change.
    pub fn noted(noted: &Noted) -> Self {
        match noted {
            Noted::SignInFailed { user } => Self::new("sign_in", format!("user {user}"), None).ending(Outcome::Failed),
            Noted::PasswordChangeFailed { user } => {
                Self::new("password_change", format!("user {user}"), None).ending(Outcome::Failed)
            }
            Noted::Refused { method, path } => {
                Self::new("request", format!("{method} {path}"), None).ending(Outcome::Refused)
            }
            Noted::Revealed { subject, fields } => {
                Self::new("reveal", subject.clone(), Some(json!({ "fields": fields })))
            }
            Noted::Exported { format, filter } => {
                Self::new("export", "dead_letters".to_owned(), Some(json!({ "format": format, "filter": filter })))
            }
        }
    }

    /// A person acted on a letter.
    pub fn letter_act(act: &LetterAct, replays: &[JobId]) -> Self {
        let mut details = json!({ "version": act.version });
        if let Some(note) = &act.note {
            details["note"] = json!(note);
        }
        if !replays.is_empty() {
            details["mode"] = json!(act.mode.as_str());
            details["replay_job_ids"] = json!(replays);
        }
        Self::new(act.action.as_str(), format!("dead_letter {}", act.id), Some(details))
    }

    /// A bulk was started, stopped or let go on.
    pub fn bulk(id: BulkId, letters: i64, steer: &Steer) -> Self {
        let (action, details) = match steer {
            Steer::Confirm(act) => (
                "bulk_start",
                json!({ "letters": letters, "action": act.action.as_str(), "mode": act.mode.as_str(), "note": act.note }),
            ),
            Steer::Stop => ("bulk_stop", json!({ "letters": letters })),
            Steer::GoOn => ("bulk_go_on", json!({ "letters": letters })),
        };
        Self::new(action, format!("bulk {id}"), Some(details))
    }

    /// A notice was marked as sent by hand.
    pub fn notice_sent(id: NoticeId, note: Option<&str>) -> Self {
        Self::new("notice_sent", format!("notice {id}"), note.map(|note| json!({ "note": note })))
    }

    /// A notice is to be tried again at once.
    pub fn notice_hurry(id: NoticeId) -> Self {
        Self::new("notice_hurry", format!("notice {id}"), None)
    }

    /// A follow-up is done.
    pub fn follow_up_done(id: FollowUpId, note: Option<&str>) -> Self {
        Self::new("follow_up_done", format!("follow_up {id}"), note.map(|note| json!({ "note": note })))
    }

    /// Somebody knows of an alert.
    pub fn alert_acknowledge(id: AlertId, until: DateTime<Utc>, note: Option<&str>) -> Self {
        Self::new("alert_acknowledge", format!("alert {id}"), Some(json!({ "until": until, "note": note })))
    }

    /// The days that a source is compared with were chosen, or given up.
    pub fn baseline_pin(source: &str, days: Option<(NaiveDate, NaiveDate)>) -> Self {
        let action = if days.is_some() { "baseline_pin" } else { "baseline_unpin" };
        let details = days.map(|(from, to)| json!({ "from": from, "to": to }));
        Self::new(action, format!("source {source}"), details)
    }

    /// A canary was added, changed, run or cleared.
    pub fn canary(action: &'static str, id: CanaryId, details: Value) -> Self {
        Self::new(action, format!("canary {id}"), Some(details))
    }

    /// A run was cleared that alarmed.
    pub fn canary_clear(run: i64) -> Self {
        Self::new("canary_clear", format!("canary_run {run}"), None)
    }

    /// A kind's policy was changed; a change of nothing but the pause is called by its name.
    pub fn policy_change(kind: &str, change: &Change) -> Self {
        let only_paused = change.len() == 1;
        let action = match change.get("paused") {
            Some(Some(Value::Bool(true))) if only_paused => "pause",
            Some(_) if only_paused => "resume",
            _ => "policy_change",
        };
        Self::new(action, format!("kind {kind}"), Some(json!(change)))
    }

    /// A user was added.
    pub fn user_add(name: &str, role: Role) -> Self {
        Self::new("user_add", format!("user {name}"), Some(json!({ "role": role })))
    }

    /// A user was changed.
    pub fn user_change(name: &str, role: Option<Role>, disabled: Option<bool>) -> Self {
        let mut details = json!({});
        if let Some(role) = role {
            details["role"] = json!(role);
        }
        if let Some(disabled) = disabled {
            details["disabled"] = json!(disabled);
        }
        Self::new("user_change", format!("user {name}"), Some(details))
    }

    /// The set-up link was used to add the first admin.
    pub fn set_up(name: &str) -> Self {
        Self::new("set_up", format!("user {name}"), Some(json!({ "role": Role::Admin })))
    }

    /// Somebody signed in.
    pub fn sign_in(name: &str) -> Self {
        Self::new("sign_in", format!("user {name}"), None)
    }

    /// Somebody signed out, or signed in anew from the same browser.
    pub fn sign_out(name: &str) -> Self {
        Self::new("sign_out", format!("user {name}"), None)
    }

    /// A user was added who will choose a password by link.
    pub fn user_invite(name: &str, role: Role) -> Self {
        Self::new("user_invite", format!("user {name}"), Some(json!({ "role": role })))
    }

    /// A user got a new set-up link.
    pub fn set_up_link(name: &str) -> Self {
        Self::new("set_up_link", format!("user {name}"), None)
    }

    /// A user chose a password by link.
    pub fn password_set(name: &str) -> Self {
        Self::new("password_set", format!("user {name}"), None)
    }

    /// A user changed their password.
    pub fn password_change(name: &str, ended_sessions: u64) -> Self {
        Self::new("password_change", format!("user {name}"), Some(json!({ "ended_sessions": ended_sessions })))
    }

    /// Sessions of a user were ended: one, or all.
    pub fn session_revoke(name: &str, session: Option<&str>, ended: u64) -> Self {
        let details = json!({ "session": session.unwrap_or("all"), "ended_sessions": ended });
        Self::new("session_revoke", format!("user {name}"), Some(details))
    }

    /// A token was revoked.
    pub fn token_revoke(name: &str) -> Self {
        Self::new("token_revoke", format!("token {name}"), None)
    }

    /// A token was made.
    pub fn token_add(name: &str, scopes: &[Scope]) -> Self {
        Self::new("token_add", format!("token {name}"), Some(json!({ "scopes": scopes })))
    }
}
