//! The words of the audit. The same whatever the database.

use app::model::ids::JobId;
use app::model::people::{Role, Scope};
use app::model::policy::Change;
use app::model::recovery::LetterAct;
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
}

impl Entry {
    fn new(action: &'static str, subject: String, details: Option<Value>) -> Self {
        Self { action, subject, details: details.map(|value| value.to_string()) }
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

    /// A token was made.
    pub fn token_add(name: &str, scopes: &[Scope]) -> Self {
        Self::new("token_add", format!("token {name}"), Some(json!({ "scopes": scopes })))
    }
}
