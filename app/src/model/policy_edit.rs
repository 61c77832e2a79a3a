//! Editing a kind's settings on a page: what was typed becomes a checked change,
//! and a change that somebody else made meanwhile is not overwritten unseen.

use super::FieldError;
use super::json_tree::typed_json;
use super::policy::{Change, KindPolicy, Origin, Override, Overrides, checked_change};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Settings that are a number or a word, in the order of their form.
pub const PLAIN_SETTINGS: [&str; 14] = [
    "max_attempts",
    "backoff",
    "start_seconds",
    "multiplier",
    "max_delay_seconds",
    "jitter",
    "jitter_percent",
    "cutoff_seconds",
    "on_cutoff",
    "lease_seconds",
    "max_attempt_seconds",
    "spread_seconds",
    "not_running_after_seconds",
    "may_refuse",
];
/// Settings that are a list, each with a form of its own.
pub const LIST_SETTINGS: [&str; 4] = ["workflow", "notice_templates", "recipient_fields", "reason_codes"];
/// Most bytes of a list as it is typed.
const MAX_LIST_BYTES: usize = 512 * 1024;

/// What each setting's mark was when the form was made.
pub type Seen = BTreeMap<String, String>;

/// A change by somebody who saw what was in force.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyEdit {
    /// What changes.
    pub change: Change,
    /// What was seen of the settings that change.
    pub seen: Seen,
}

/// The words that a plain setting takes, if it is no number.
pub fn choices(setting: &str) -> Option<&'static [&'static str]> {
    match setting {
        "backoff" => Some(&["exponential", "fixed"]),
        "jitter" => Some(&["full", "none", "equal", "additive"]),
        "on_cutoff" => Some(&["dead_letter", "drop"]),
        "may_refuse" => Some(&["true", "false"]),
        _ => None,
    }
}

/// The marks of some settings of a policy.
pub fn seen(policy: &KindPolicy, settings: &[&str]) -> Seen {
    let marked = |name: &&str| policy.settings.get(*name).map(|shown| ((*name).to_owned(), mark(&shown.origin)));
    settings.iter().filter_map(marked).collect()
}

/// Tells one value in force from the next: who set it, and when.
fn mark(origin: &Origin) -> String {
    match origin {
        Origin::Default => "default".to_owned(),
        Origin::SetBy { by, at } => format!("{} {by}", at.timestamp_micros()),
    }
}

/// Whether everything that changes is still as it was seen.
///
/// # Errors
/// A sentence that says who changed what meanwhile.
pub fn check_seen(overrides: &Overrides, edit: &PolicyEdit) -> Result<(), String> {
    let now = |set: Option<&Override>| match set {
        None => mark(&Origin::Default),
        Some(set) => mark(&Origin::SetBy { by: set.by.clone(), at: set.at }),
    };
    for name in edit.change.keys() {
        let set = overrides.get(name);
        if edit.seen.get(name).is_some_and(|seen| *seen == now(set)) {
            continue;
        }
        return Err(match set {
            Some(set) => format!(
                "{name} was changed by {} at {} meanwhile. What is in force now is shown beside what you typed",
                set.by,
                set.at.format("%Y-%m-%d %H:%M:%S UTC")
            ),
            None => format!("{name} was taken back to its default meanwhile"),
        });
    }
    Ok(())
}

/// The change that typed plain settings make: those that are not what is in force.
///
/// # Errors
/// The first setting whose text breaks its rule.
pub fn plain_change<'t>(policy: &KindPolicy, typed: impl Fn(&str) -> Option<&'t str>) -> Result<Change, FieldError> {
    let mut change = Change::new();
    for name in PLAIN_SETTINGS {
        let (Some(text), Some(shown)) = (typed(name), policy.settings.get(name)) else { continue };
        let value = match text.trim() {
            // Nothing is the default, and for the cutoff that is none.
            "" => None,
            text => {
                checked_change(&Map::from_iter([(name.to_owned(), plain_value(name, text))]))?.remove(name).flatten()
            }
        };
        let is_in_force = match &value {
            None => shown.origin == Origin::Default,
            Some(value) => *value == shown.value,
        };
        if !is_in_force {
            change.insert(name.to_owned(), value);
        }
    }
    if change.is_empty() {
        return Err(FieldError::new("settings", "are the same as before: change one"));
    }
    Ok(change)
}

/// A text that is no number stays a text, which the rule of a number refuses.
fn plain_value(name: &str, text: &str) -> Value {
    let number = serde_json::from_str::<Value>(text).ok().filter(Value::is_number);
    match (choices(name), text) {
        (Some(_), "true") => Value::Bool(true),
        (Some(_), "false") => Value::Bool(false),
        (Some(_), word) => Value::from(word),
        (None, text) => number.unwrap_or_else(|| Value::from(text)),
    }
}

/// The change that a typed list makes.
///
/// # Errors
/// No JSON, or a rule that an item breaks: names the line.
pub fn list_change(name: &str, text: &str) -> Result<Change, FieldError> {
    let json = typed_json(name, text, MAX_LIST_BYTES)?;
    let value: Value = serde_json::from_str(json.as_str())
        .map_err(|error| FieldError::new(name, format!("is not valid JSON: {error}")))?;
    if value.is_null() {
        return Err(FieldError::new(name, "must be a list; its default comes back by the button below"));
    }
    checked_change(&Map::from_iter([(name.to_owned(), value)])).map_err(|error| match line_of(text, &error.field) {
        Some(line) => FieldError::new(error.field, format!("(from line {line} on) {}", error.rule)),
        None => error,
    })
}

/// The line on which the item that a field such as `workflow[2].options` is in
/// begins, counted from 1.
fn line_of(text: &str, field: &str) -> Option<usize> {
    let wanted: usize = field.split_once('[')?.1.split_once(']')?.0.parse().ok()?;
    let (mut depth, mut item, mut line) = (0_usize, 0_usize, 1_usize);
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        let begins = depth == 1 && item == wanted && !in_string && !c.is_whitespace() && c != ',' && c != ']';
        if begins {
            return Some(line);
        }
        match c {
            '\n' => line += 1,
            _ if in_string => {
                in_string = escaped || c != '"';
                escaped = !escaped && c == '\\';
            }
            '"' => in_string = true,
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 1 => item += 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::policy::{Policy, merged};
    use chrono::{DateTime, TimeDelta};
    use serde_json::json;

    fn policy() -> KindPolicy {
        Policy::shown("k", &Overrides::new())
    }

    #[test]
    fn only_what_differs_is_a_change() {
        let typed = |name: &str| match name {
            "max_attempts" => Some(" 7 "),
            "multiplier" => Some("2.0"),
            "cutoff_seconds" => Some(""),
            "may_refuse" => Some("false"),
            _ => None,
        };
        let change = plain_change(&policy(), typed).unwrap();
        let expected = [("max_attempts", json!(7)), ("may_refuse", json!(false))];
        assert_eq!(change, expected.map(|(name, value)| (name.to_owned(), Some(value))).into());
        let nothing = plain_change(&policy(), |name| (name == "max_attempts").then_some("3"));
        assert_eq!(nothing.unwrap_err().field, "settings");
        for (name, text) in [("max_attempts", "0"), ("max_attempts", "x"), ("jitter", "wild"), ("multiplier", "\"2\"")]
        {
            let refused = plain_change(&policy(), |asked| (asked == name).then_some(text));
            assert_eq!(refused.unwrap_err().field, name, "{text}");
        }
    }

    #[test]
    fn a_list_names_the_line_of_its_fault() {
        let syntax = list_change("workflow", "[\n  {\"options\": [}\n]").unwrap_err();
        assert!(syntax.field == "workflow" && syntax.rule.contains("line 2"), "{syntax}");
        let rules = "[\n  {\"options\": [{\"action\": \"reject_and_close\"}]},\n\n  {\"options\": []}\n]";
        let rule = list_change("workflow", rules).unwrap_err();
        assert!(rule.field == "workflow[1].options" && rule.rule.contains("line 4"), "{rule}");
        assert_eq!(list_change("reason_codes", "null").unwrap_err().field, "reason_codes");
        assert!(list_change("reason_codes", "[\"A\"]").is_ok());
        assert!(list_change("reason_codes", &format!("[\"{}\"]", "x".repeat(MAX_LIST_BYTES))).is_err());
    }

    #[test]
    fn what_somebody_else_changed_meanwhile_is_not_overwritten_unseen() {
        let at = DateTime::UNIX_EPOCH;
        let change = list_change("reason_codes", "[\"A\"]").unwrap();
        let edit = PolicyEdit { change: change.clone(), seen: seen(&policy(), &LIST_SETTINGS) };
        assert_eq!(check_seen(&Overrides::new(), &edit), Ok(()));
        let other = merged(Overrides::new(), &Change::from([("max_attempts".to_owned(), Some(json!(7)))]), "ada", at);
        assert_eq!(check_seen(&other, &edit), Ok(()), "another setting is no conflict");
        let same = merged(other, &change, "ada", at);
        assert!(check_seen(&same, &edit).unwrap_err().contains("reason_codes was changed by ada at 1970-01-01"));
        let again = PolicyEdit { change: change.clone(), seen: seen(&Policy::shown("k", &same), &LIST_SETTINGS) };
        assert_eq!(check_seen(&same, &again), Ok(()));
        let later = merged(same, &change, "ada", at + TimeDelta::seconds(1));
        assert!(check_seen(&later, &again).is_err());
        assert!(check_seen(&Overrides::new(), &again).unwrap_err().contains("default"));
        let unseen = PolicyEdit { change, seen: Seen::new() };
        assert!(check_seen(&Overrides::new(), &unseen).is_err(), "whoever saw nothing changes nothing");
    }
}
