//! A kind's checks as a setting: `[{"field", "rule", "mode", "tenants", …}]`.

use super::{DateFormat, Locale, Rule};
use crate::model::FieldError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// Most checks of a kind.
pub const MAX_RULES: usize = 100;
/// Most tenants a check is on for.
const MAX_TENANTS: usize = 1_000;
/// Most formats a date may have.
const MAX_FORMATS: usize = 10;
/// Longest name of a field, a tenant or a code, in characters.
const MAX_CHARACTERS: usize = 200;

/// Whether a miss parks the job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It is counted and shown, and parks nothing.
    #[default]
    Shadow,
    /// It parks the job.
    On,
}

/// One check of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct EvidenceRule {
    /// The field, as `values` and `evidence` name it.
    pub field: String,
    /// What it must obey.
    pub rule: Rule,
    /// Whether a miss parks the job; a new check starts as a shadow.
    pub mode: Mode,
    /// For whom it is on; for all when absent. For all others, and for jobs
    /// without tenant, it stays a shadow.
    pub tenants: Option<Vec<String>>,
    /// Whether nothing sent about the field is no miss.
    pub optional: bool,
    /// The code of a miss, if the library's does not fit the kind.
    pub reason_code: Option<String>,
}

impl EvidenceRule {
    /// Whether a miss parks that tenant's job.
    pub fn is_on_for(&self, tenant: Option<&str>) -> bool {
        self.mode == Mode::On
            && self.tenants.as_ref().is_none_or(|on| tenant.is_some_and(|tenant| on.iter().any(|one| one == tenant)))
    }

    /// The rule's name with its parameters: `number_equals_quote de`.
    pub fn label(&self) -> String {
        let name = self.rule.name();
        match &self.rule {
            Rule::NumberEqualsQuote(locale) => format!("{name} {}", locale.as_str()),
            Rule::DateNotAfterReceived(formats) => {
                let formats: Vec<String> = formats.iter().cloned().map(String::from).collect();
                format!("{name} {}", formats.join(" | "))
            }
            _ => name.to_owned(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RuleName {
    Required,
    QuoteInSource,
    ValueInQuote,
    CurrencyCode,
    AbaChecksum,
    NumberEqualsQuote,
    DateNotAfterReceived,
}

/// A check as JSON writes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    field: String,
    rule: RuleName,
    #[serde(default)]
    mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenants: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    optional: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    locale: Option<Locale>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    formats: Option<Vec<DateFormat>>,
}

impl TryFrom<Written> for EvidenceRule {
    type Error = FieldError;

    fn try_from(written: Written) -> Result<Self, FieldError> {
        let Written { field, rule, mode, tenants, optional, reason_code, locale, formats } = written;
        named("field", &field)?;
        if let Some(code) = &reason_code {
            named("reason_code", code)?;
        }
        if let Some(tenants) = &tenants {
            if !(1..=MAX_TENANTS).contains(&tenants.len()) {
                return Err(FieldError::new("tenants", format!("must be a list of 1 to {MAX_TENANTS} tenants")));
            }
            tenants.iter().enumerate().try_for_each(|(n, tenant)| named(&format!("tenants[{n}]"), tenant))?;
        }
        if locale.is_some() && rule != RuleName::NumberEqualsQuote {
            return Err(FieldError::new("locale", "is for the rule number_equals_quote"));
        }
        if formats.is_some() && rule != RuleName::DateNotAfterReceived {
            return Err(FieldError::new("formats", "is for the rule date_not_after_received"));
        }
        let rule = match rule {
            RuleName::Required => Rule::Required,
            RuleName::QuoteInSource => Rule::QuoteInSource,
            RuleName::ValueInQuote => Rule::ValueInQuote,
            RuleName::CurrencyCode => Rule::CurrencyCode,
            RuleName::AbaChecksum => Rule::AbaChecksum,
            RuleName::NumberEqualsQuote => Rule::NumberEqualsQuote(
                locale.ok_or_else(|| FieldError::new("locale", "is required: one of en, de, fr, ch, in"))?,
            ),
            RuleName::DateNotAfterReceived => {
                let formats = formats.unwrap_or_else(|| vec![DateFormat::iso()]);
                if !(1..=MAX_FORMATS).contains(&formats.len()) {
                    return Err(FieldError::new("formats", format!("must be a list of 1 to {MAX_FORMATS} formats")));
                }
                Rule::DateNotAfterReceived(formats)
            }
        };
        if optional && rule == Rule::Required {
            return Err(FieldError::new("optional", "contradicts the rule required"));
        }
        Ok(Self { field, rule, mode, tenants, optional, reason_code })
    }
}

impl From<EvidenceRule> for Written {
    fn from(rule: EvidenceRule) -> Self {
        let EvidenceRule { field, rule, mode, tenants, optional, reason_code } = rule;
        let (rule, locale, formats) = match rule {
            Rule::Required => (RuleName::Required, None, None),
            Rule::QuoteInSource => (RuleName::QuoteInSource, None, None),
            Rule::ValueInQuote => (RuleName::ValueInQuote, None, None),
            Rule::CurrencyCode => (RuleName::CurrencyCode, None, None),
            Rule::AbaChecksum => (RuleName::AbaChecksum, None, None),
            Rule::NumberEqualsQuote(locale) => (RuleName::NumberEqualsQuote, Some(locale), None),
            Rule::DateNotAfterReceived(formats) => (RuleName::DateNotAfterReceived, None, Some(formats)),
        };
        Self { field, rule, mode, tenants, optional, reason_code, locale, formats }
    }
}

fn named(field: &str, text: &str) -> Result<(), FieldError> {
    if (1..=MAX_CHARACTERS).contains(&text.chars().count()) && !text.contains('\0') {
        return Ok(());
    }
    Err(FieldError::new(field, format!("must be 1 to {MAX_CHARACTERS} characters")))
}

/// Checks the setting `name`.
///
/// # Errors
/// The place that breaks a rule, such as `evidence_checks[2].locale`.
pub fn checked(name: &str, value: &Value) -> Result<Value, FieldError> {
    let rule = format!("must be a list of at most {MAX_RULES} checks");
    let list = value.as_array().ok_or_else(|| FieldError::new(name, rule.as_str()))?;
    if list.len() > MAX_RULES {
        return Err(FieldError::new(name, rule));
    }
    let mut seen = BTreeSet::new();
    let mut rules = Vec::new();
    for (at, item) in list.iter().enumerate() {
        let place = format!("{name}[{at}]");
        let written: Written = serde_path_to_error::deserialize(item).map_err(|error| {
            let inner = match error.path().to_string() {
                root if root == "." => String::new(),
                path => format!(".{path}"),
            };
            FieldError::new(format!("{place}{inner}"), error.inner().to_string())
        })?;
        let rule = EvidenceRule::try_from(written).map_err(|error| error.within(&place))?;
        if !seen.insert((rule.field.clone(), rule.label())) {
            return Err(FieldError::new(place, "is there already, for the same field"));
        }
        rules.push(rule);
    }
    Ok(serde_json::json!(rules))
}
