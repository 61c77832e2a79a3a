//! Data and pure rules, without any input or output.
//!
//! Everything here is a total function over plain values, so that the server,
//! the pages and the tests all use the very same rule.

pub mod age;
pub mod alert;
pub mod alerting;
pub mod artifact;
pub mod audit;
pub mod bulk;
pub mod canary;
pub mod classify;
pub mod correction;
pub mod cover;
pub mod customer_notice;
pub mod delivery;
pub mod envelope;
pub mod evidence;
pub mod field_edits;
pub mod fingerprint;
pub mod follow_up;
pub mod forecast;
pub mod hints;
pub mod ids;
pub mod job;
pub mod json_tree;
pub mod letter;
pub mod letter_export;
pub mod letter_filter;
pub mod letter_group;
pub mod letter_policy;
pub mod mask;
pub mod name;
pub mod outbox;
pub mod park_rate;
pub mod people;
pub mod policy;
pub mod policy_edit;
pub mod quote;
pub mod reading;
pub mod recovery;
pub mod retry;
pub mod stats;
pub mod text;
pub mod trace_url;
pub mod verdict;
pub mod workflow;

use serde::Serialize;

/// A value that a person or a program sent and that breaks a rule: names the
/// field and the rule, so that the answer can be acted on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct FieldError {
    /// The field as the sender wrote it, for example `jobs[3].kind`.
    pub field: String,
    /// The rule it breaks, in a sentence without the field's name.
    pub rule: String,
}

impl FieldError {
    /// An error for `field` that breaks `rule`.
    pub fn new(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { field: field.into(), rule: rule.into() }
    }

    /// The same error, seen from the object that holds the field.
    #[must_use]
    pub fn within(self, outer: &str) -> Self {
        Self { field: format!("{outer}.{}", self.field), rule: self.rule }
    }
}
