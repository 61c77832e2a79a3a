//! The settings of a kind: defaults, what people changed, and the value in force.
//!
//! A setting that is not listed here does not exist: a change that names it is
//! refused, never stored and ignored.

use super::evidence::{EvidenceRule, setting};
use super::letter_policy::LetterPolicy;
use super::{FieldError, customer_notice, mask, workflow};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Reason codes an agent may refuse with, unless a kind has its own set.
pub const DEFAULT_REASON_CODES: [&str; 5] = [
    "MISSING_REQUIRED_FIELD",
    "AMBIGUOUS_VALUE",
    "CONFLICTING_EVIDENCE",
    "TRUNCATED_OR_UNREADABLE",
    "UNSUPPORTED_DOCUMENT",
];

/// Largest number of seconds any setting takes: ten years.
pub const MAX_SECONDS: u64 = 315_360_000;

/// How the base delay grows from retry to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    /// `start · multiplier^(n−1)` before retry n.
    Exponential,
    /// `start` before every retry.
    Fixed,
}

/// How chance changes a base delay d.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// Anywhere in [0, d).
    Full,
    /// Exactly d.
    None,
    /// Anywhere in [d/2, d).
    Equal,
    /// Anywhere in [d, d · (1 + jitter_percent/100)).
    Additive,
}

/// What happens to a job whose next retry would pass the cutoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCutoff {
    /// It becomes a dead letter.
    DeadLetter,
    /// It is dropped; the next sweep of its source may bring it again.
    Drop,
}

/// The settings in force for one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Longest lease a claim or heartbeat gets.
    pub lease_seconds: u32,
    /// Longest time one attempt may live, heartbeats or not.
    pub max_attempt_seconds: u32,
    /// Claims a job gets before it is parked (retries + 1).
    pub max_attempts: u32,
    /// Growth of the delay.
    pub backoff: Backoff,
    /// Base delay before the first retry, in seconds.
    pub start_seconds: u32,
    /// Growth factor, at least 1.
    pub multiplier: f64,
    /// No base delay is longer, in seconds.
    pub max_delay_seconds: u32,
    /// Chance in the delay.
    pub jitter: Jitter,
    /// Width of additive jitter, in percent of the delay.
    pub jitter_percent: f64,
    /// No retry starts later than this after the anchor, in seconds.
    pub cutoff_seconds: Option<u32>,
    /// What the cutoff does.
    pub on_cutoff: OnCutoff,
    /// Width of the uniform random delay of a staged batch, in seconds.
    pub spread_seconds: u32,
    /// Due work unclaimed for so long makes the verdict say so, in seconds.
    pub not_running_after_seconds: u32,
    /// Whether the agent of this kind can refuse at all.
    pub may_refuse: bool,
    /// Whether claims of this kind are held.
    pub paused: bool,
    /// The closed set of reason codes.
    pub reason_codes: Vec<String>,
    /// What is held against the source text when a worker says *done*.
    pub evidence_checks: Vec<EvidenceRule>,
    /// Payload fields that are shown only when a reviewer reveals them: dotted
    /// paths, as [`mask`] reads them.
    pub masked_fields: Vec<String>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            lease_seconds: 300,
            max_attempt_seconds: 3_600,
            max_attempts: 3,
            backoff: Backoff::Exponential,
            start_seconds: 30,
            multiplier: 2.0,
            max_delay_seconds: 3_600,
            jitter: Jitter::Full,
            jitter_percent: 100.0,
            cutoff_seconds: None,
            on_cutoff: OnCutoff::DeadLetter,
            spread_seconds: 0,
            not_running_after_seconds: 180,
            may_refuse: true,
            paused: false,
            reason_codes: DEFAULT_REASON_CODES.map(str::to_owned).to_vec(),
            evidence_checks: Vec::new(),
            masked_fields: Vec::new(),
        }
    }
}

/// Names of all settings, in the order they are shown.
pub const SETTINGS: [&str; 21] = [
    "lease_seconds",
    "max_attempt_seconds",
    "max_attempts",
    "backoff",
    "start_seconds",
    "multiplier",
    "max_delay_seconds",
    "jitter",
    "jitter_percent",
    "cutoff_seconds",
    "on_cutoff",
    "spread_seconds",
    "not_running_after_seconds",
    "may_refuse",
    "paused",
    "reason_codes",
    "evidence_checks",
    "workflow",
    "notice_templates",
    "recipient_fields",
    "masked_fields",
];

/// Where a value in force comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Built in.
    Default,
    /// A person or token set it.
    #[serde(untagged)]
    SetBy {
        /// Who.
        by: String,
        /// When, by the database's clock.
        at: DateTime<Utc>,
    },
}

/// One changed setting as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Override {
    /// The checked value.
    pub value: Value,
    /// Who set it.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// The changed settings of one kind, by name. Stored as JSON.
pub type Overrides = BTreeMap<String, Override>;

/// A checked change: setting → new value, or `None` to go back to the default.
pub type Change = BTreeMap<String, Option<Value>>;

/// A setting as it is shown: value in force and origin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    /// Value in force.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
}

/// The policy of one kind with the origin of every setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindPolicy {
    /// The kind.
    pub kind: String,
    /// Every setting by name.
    pub settings: BTreeMap<String, Shown>,
}

impl Policy {
    /// The defaults with the overrides laid over them.
    pub fn effective(overrides: &Overrides) -> Self {
        let mut merged = defaults();
        for (name, change) in overrides {
            if let Some(slot) = merged.get_mut(name) {
                *slot = change.value.clone();
            }
        }
        serde_json::from_value(Value::Object(merged)).unwrap_or_default()
    }

    /// Every setting of `kind` with its value in force and origin.
    pub fn shown(kind: &str, overrides: &Overrides) -> KindPolicy {
        let settings = defaults()
            .into_iter()
            .chain(LetterPolicy::defaults())
            .map(|(name, default)| {
                let shown = match overrides.get(&name) {
                    None => Shown { value: default, origin: Origin::Default },
                    Some(set) => {
                        Shown { value: set.value.clone(), origin: Origin::SetBy { by: set.by.clone(), at: set.at } }
                    }
                };
                (name, shown)
            })
            .collect();
        KindPolicy { kind: kind.to_owned(), settings }
    }
}

impl KindPolicy {
    /// The closed set of its reason codes.
    pub fn reason_codes(&self) -> Vec<String> {
        let list = self.settings.get("reason_codes").and_then(|shown| shown.value.as_array());
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Whether its agent may refuse at all.
    pub fn may_refuse(&self) -> bool {
        self.settings.get("may_refuse").and_then(|shown| shown.value.as_bool()).unwrap_or(true)
    }

    /// The payload fields that are masked.
    pub fn masked_fields(&self) -> Vec<String> {
        let list = self.settings.get("masked_fields").and_then(|shown| shown.value.as_array());
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

/// The overrides after `change`, made by `by` at `at`.
pub fn merged(mut overrides: Overrides, change: &Change, by: &str, at: DateTime<Utc>) -> Overrides {
    for (name, value) in change {
        match value {
            None => overrides.remove(name),
            // No masks is the default; a kind counts as masked by having the setting at all.
            Some(Value::Array(none)) if name == "masked_fields" && none.is_empty() => overrides.remove(name),
            Some(value) => overrides.insert(name.clone(), Override { value: value.clone(), by: by.to_owned(), at }),
        };
    }
    overrides
}

fn defaults() -> serde_json::Map<String, Value> {
    match json!(Policy::default()) {
        Value::Object(map) => map,
        _ => unreachable!("a struct is an object"),
    }
}

/// Checks a partial change: `null` resets a setting to its default.
///
/// # Errors
/// The first field that is no setting, or whose value breaks its rule.
pub fn checked_change(body: &serde_json::Map<String, Value>) -> Result<Change, FieldError> {
    body.iter()
        .map(|(name, value)| {
            if !SETTINGS.contains(&name.as_str()) {
                return Err(FieldError::new(name, format!("is no setting; settings are {}", SETTINGS.join(", "))));
            }
            let value = if value.is_null() { None } else { Some(checked(name, value)?) };
            Ok((name.clone(), value))
        })
        .collect()
}

fn checked(name: &str, value: &Value) -> Result<Value, FieldError> {
    match name {
        "lease_seconds" | "max_attempt_seconds" | "not_running_after_seconds" => integer(name, value, 1, MAX_SECONDS),
        "max_attempts" => integer(name, value, 1, 1_000),
        "start_seconds" | "max_delay_seconds" | "spread_seconds" => integer(name, value, 0, MAX_SECONDS),
        "cutoff_seconds" => integer(name, value, 1, MAX_SECONDS),
        "multiplier" => number(name, value, 1.0, 1_000.0),
        "jitter_percent" => number(name, value, 0.0, 1_000.0),
        "backoff" => one_of(name, value, &["exponential", "fixed"]),
        "jitter" => one_of(name, value, &["full", "none", "equal", "additive"]),
        "on_cutoff" => one_of(name, value, &["dead_letter", "drop"]),
        "reason_codes" => codes(name, value),
        "evidence_checks" => setting::checked(name, value),
        "workflow" => workflow::checked(name, value),
        "notice_templates" => customer_notice::checked_templates(name, value),
        "recipient_fields" => customer_notice::checked_recipient_fields(name, value),
        "masked_fields" => paths(name, value),
        _ if value.is_boolean() => Ok(value.clone()),
        _ => Err(FieldError::new(name, "must be true or false")),
    }
}

fn integer(name: &str, value: &Value, min: u64, max: u64) -> Result<Value, FieldError> {
    match value.as_u64() {
        Some(n) if (min..=max).contains(&n) => Ok(json!(n)),
        _ => Err(FieldError::new(name, format!("must be a whole number from {min} to {max}"))),
    }
}

fn number(name: &str, value: &Value, min: f64, max: f64) -> Result<Value, FieldError> {
    match value.as_f64() {
        Some(n) if (min..=max).contains(&n) => Ok(json!(n)),
        _ => Err(FieldError::new(name, format!("must be a number from {min} to {max}"))),
    }
}

fn one_of(name: &str, value: &Value, allowed: &[&str]) -> Result<Value, FieldError> {
    match value.as_str() {
        Some(text) if allowed.contains(&text) => Ok(value.clone()),
        _ => Err(FieldError::new(name, format!("must be one of {}", allowed.join(", ")))),
    }
}

fn codes(name: &str, value: &Value) -> Result<Value, FieldError> {
    let rule = "must be a list of 1 to 100 different reason codes of 1 to 200 characters";
    let codes: Vec<&str> = value
        .as_array()
        .and_then(|list| list.iter().map(Value::as_str).collect())
        .ok_or_else(|| FieldError::new(name, rule))?;
    let lengths_fit = codes.iter().all(|code| (1..=200).contains(&code.chars().count()) && !code.contains('\0'));
    let distinct: std::collections::BTreeSet<_> = codes.iter().collect();
    if !(1..=100).contains(&codes.len()) || !lengths_fit || distinct.len() != codes.len() {
        return Err(FieldError::new(name, rule));
    }
    Ok(value.clone())
}

fn paths(name: &str, value: &Value) -> Result<Value, FieldError> {
    let rule = format!(
        "must be a list of at most {} different paths such as customer.iban or lines.*.account",
        mask::MAX_FIELDS
    );
    let paths: Vec<&str> = value
        .as_array()
        .and_then(|list| list.iter().map(Value::as_str).collect())
        .ok_or_else(|| FieldError::new(name, rule.clone()))?;
    let distinct: std::collections::BTreeSet<_> = paths.iter().collect();
    if paths.len() > mask::MAX_FIELDS || distinct.len() != paths.len() || paths.iter().any(|path| path.contains('\0')) {
        return Err(FieldError::new(name, rule));
    }
    paths.iter().try_for_each(|path| path.parse::<mask::FieldPath>().map(drop))?;
    Ok(value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(body: Value) -> Result<Change, FieldError> {
        checked_change(body.as_object().unwrap())
    }

    #[test]
    fn every_setting_is_listed_and_has_a_default() {
        let mut names: Vec<String> = defaults().keys().chain(LetterPolicy::defaults().keys()).cloned().collect();
        names.sort_unstable();
        let mut listed: Vec<&str> = SETTINGS.to_vec();
        listed.sort_unstable();
        assert_eq!(names, listed);
    }

    #[test]
    fn bad_settings_name_the_field_and_the_rule() {
        for (body, field) in [
            (json!({"max_attempts": 0}), "max_attempts"),
            (json!({"max_attempts": -1}), "max_attempts"),
            (json!({"lease_seconds": 1.5}), "lease_seconds"),
            (json!({"multiplier": 0.5}), "multiplier"),
            (json!({"multiplier": 0}), "multiplier"),
            (json!({"jitter": "wild"}), "jitter"),
            (json!({"paused": "yes"}), "paused"),
            (json!({"reason_codes": []}), "reason_codes"),
            (json!({"reason_codes": ["A", "A"]}), "reason_codes"),
            (json!({"evidence_checks": [{"field": "a", "rule": "b"}]}), "evidence_checks[0].rule"),
            (json!({"masked_fields": ["a..b"]}), "masked_fields"),
            (json!({"masked_fields": ["a", "a"]}), "masked_fields"),
            (json!({"masked_fields": "a"}), "masked_fields"),
            (json!({"budgett": 1}), "budgett"),
        ] {
            assert_eq!(change(body.clone()).unwrap_err().field, field, "{body}");
        }
    }

    #[test]
    fn partial_changes_merge_and_null_resets() {
        let at = DateTime::UNIX_EPOCH;
        let first =
            merged(Overrides::new(), &change(json!({"max_attempts": 7, "jitter": "none"})).unwrap(), "mila", at);
        let second = merged(first, &change(json!({"jitter": null, "multiplier": 3})).unwrap(), "ada", at);
        let policy = Policy::effective(&second);
        assert_eq!((policy.max_attempts, policy.jitter, policy.multiplier), (7, Jitter::Full, 3.0));
        let shown = Policy::shown("k", &second);
        assert_eq!(shown.settings["max_attempts"].origin, Origin::SetBy { by: "mila".into(), at });
        assert_eq!(
            serde_json::to_value(&shown.settings["jitter"]).unwrap(),
            json!({"value":"full","origin":"default"})
        );
    }
}
