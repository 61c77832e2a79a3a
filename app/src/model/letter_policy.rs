//! The settings of a kind that tell what may be done about its dead letters.
//!
//! Apart from [`Policy`](super::policy::Policy), because claims and endings read
//! that one thousands of times a second and never look at these.

use super::customer_notice::{DEFAULT_RECIPIENT_FIELDS, NoticeTemplate, default_templates};
use super::mask::FieldPath;
use super::policy::{KindPolicy, Overrides};
use super::workflow::{WorkflowRule, built_in};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The settings in force.
#[derive(Debug, Clone, PartialEq)]
pub struct LetterPolicy {
    /// Which options a letter offers.
    pub workflow: Vec<WorkflowRule>,
    /// What somebody outside is told.
    pub notice_templates: Vec<NoticeTemplate>,
    /// Payload fields, as dotted paths, that may name who is told.
    pub recipient_fields: Vec<String>,
    /// Payload fields, as dotted paths, that are masked.
    pub masked_fields: Vec<String>,
}

impl Default for LetterPolicy {
    fn default() -> Self {
        Self {
            workflow: built_in(),
            notice_templates: default_templates(),
            recipient_fields: DEFAULT_RECIPIENT_FIELDS.map(str::to_owned).to_vec(),
            masked_fields: Vec::new(),
        }
    }
}

impl LetterPolicy {
    /// The defaults with the overrides laid over them.
    pub fn effective(overrides: &Overrides) -> Self {
        let defaults = Self::default();
        Self {
            workflow: set(overrides, "workflow").unwrap_or(defaults.workflow),
            notice_templates: set(overrides, "notice_templates").unwrap_or(defaults.notice_templates),
            recipient_fields: set(overrides, "recipient_fields").unwrap_or(defaults.recipient_fields),
            masked_fields: set(overrides, "masked_fields").unwrap_or(defaults.masked_fields),
        }
    }

    /// The masked fields, read. They were checked when they were set.
    pub fn masks(&self) -> Vec<FieldPath> {
        self.masked_fields.iter().filter_map(|field| field.parse().ok()).collect()
    }

    /// The settings in force as a kind's policy shows them.
    pub fn of_kind(policy: &KindPolicy) -> Self {
        let defaults = Self::default();
        Self {
            workflow: in_force(policy, "workflow").unwrap_or(defaults.workflow),
            notice_templates: in_force(policy, "notice_templates").unwrap_or(defaults.notice_templates),
            recipient_fields: in_force(policy, "recipient_fields").unwrap_or(defaults.recipient_fields),
            masked_fields: in_force(policy, "masked_fields").unwrap_or(defaults.masked_fields),
        }
    }

    /// Every setting that is a letter's alone with its default, by name.
    pub fn defaults() -> Map<String, Value> {
        let Self { workflow, notice_templates, recipient_fields, masked_fields: _ } = Self::default();
        Map::from_iter([
            ("workflow".to_owned(), json!(workflow)),
            ("notice_templates".to_owned(), json!(notice_templates)),
            ("recipient_fields".to_owned(), json!(recipient_fields)),
        ])
    }
}

/// A value that was checked when it was set; `None` means the default.
fn set<T: DeserializeOwned>(overrides: &Overrides, name: &str) -> Option<T> {
    overrides.get(name).and_then(|change| serde_json::from_value(change.value.clone()).ok())
}

fn in_force<T: DeserializeOwned>(policy: &KindPolicy, name: &str) -> Option<T> {
    policy.settings.get(name).and_then(|shown| serde_json::from_value(shown.value.clone()).ok())
}
