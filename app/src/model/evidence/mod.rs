//! Evidence checks: whether what an agent claims stands where it says it found it.
//!
//! A kind's checks are data ([`setting`]), each a field and a [`Rule`] of this
//! small library. [`check`] is a total function of what a worker sent with
//! *done*: it knows no database and no clock. A sentence about a miss never
//! holds the value or the quote, so that it can be shown to whoever may not see
//! the payload.
//!
//! A rule is one variant of [`Rule`] with its name, one function in a file of
//! its own, and its rows in the table of tests.

pub mod counts;
mod currency;
mod date;
mod in_quote;
mod in_source;
mod number;
mod plain;
mod routing_number;
mod sent;
pub mod setting;

pub use date::DateFormat;
pub use number::Locale;
pub use setting::{EvidenceRule, Mode};

use super::job::RawJson;
use chrono::{DateTime, Utc};
use plain::Plain;
use sent::{Sent, SentFields};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a field's claim must obey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// There is a value, a quote and a source text; every other rule asks for
    /// them too.
    Required,
    /// The quote stands verbatim in the source text; white space, soft hyphens
    /// and composition (NFC) aside.
    QuoteInSource,
    /// The value stands inside its quote.
    ValueInQuote,
    /// The value is a current ISO 4217 code.
    CurrencyCode,
    /// The value is an ABA routing number whose checksum holds.
    AbaChecksum,
    /// The value is a number that the quote writes in this locale.
    NumberEqualsQuote(Locale),
    /// The value is a date, in one of these formats, that had begun somewhere on
    /// earth when the input was received.
    DateNotAfterReceived(Vec<DateFormat>),
}

impl Rule {
    /// The word used in JSON and in the database.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::QuoteInSource => "quote_in_source",
            Self::ValueInQuote => "value_in_quote",
            Self::CurrencyCode => "currency_code",
            Self::AbaChecksum => "aba_checksum",
            Self::NumberEqualsQuote(_) => "number_equals_quote",
            Self::DateNotAfterReceived(_) => "date_not_after_received",
        }
    }

    /// Whether the claim obeys the rule.
    fn judge(&self, sent: &Sent<'_>) -> Result<(), Fault> {
        match self {
            Self::Required => Ok(()),
            Self::QuoteInSource => in_source::judge(sent),
            Self::ValueInQuote => in_quote::judge(sent),
            Self::CurrencyCode => currency::judge(sent),
            Self::AbaChecksum => routing_number::judge(sent),
            Self::NumberEqualsQuote(locale) => number::judge(sent, *locale),
            Self::DateNotAfterReceived(formats) => date::judge(sent, formats),
        }
    }
}

/// Which of the default reason codes a miss is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    /// Something is not there, or not where it should be.
    Missing,
    /// It can be read in more than one way, or in none that was agreed on.
    Ambiguous,
    /// What was sent contradicts itself, the source or the calendar.
    Conflicting,
    /// It was misread.
    Unreadable,
}

impl Code {
    fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "MISSING_REQUIRED_FIELD",
            Self::Ambiguous => "AMBIGUOUS_VALUE",
            Self::Conflicting => "CONFLICTING_EVIDENCE",
            Self::Unreadable => "TRUNCATED_OR_UNREADABLE",
        }
    }
}

/// Why a claim does not obey a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fault {
    code: Code,
    /// A sentence that begins with what is wrong, without value or quote.
    said: String,
}

impl Fault {
    fn new(code: Code, said: impl Into<String>) -> Self {
        Self { code, said: said.into() }
    }
}

/// What a worker sent with *done*, as far as checks look at it.
#[derive(Debug, Clone, Copy)]
pub struct Claimed<'a> {
    /// Field → quote, a JSON object.
    pub evidence: Option<&'a RawJson>,
    /// Field → value, a JSON object.
    pub values: Option<&'a RawJson>,
    /// What the quotes are from.
    pub source_text: Option<&'a str>,
    /// When the input was received.
    pub received_at: DateTime<Utc>,
}

/// A claim that did not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Miss {
    /// The field.
    pub field: String,
    /// The name of the rule.
    pub rule: String,
    /// A code of the kind's closed set.
    pub reason_code: String,
    /// What is wrong, in a sentence without value or quote.
    pub said: String,
}

/// That a rule looked at a claim, for the count of what it would have parked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The field.
    pub field: String,
    /// The rule with its parameters.
    pub rule: String,
    /// Whether a miss parks the job.
    pub is_on: bool,
    /// Whether it missed.
    pub is_miss: bool,
}

/// What all rules of a kind say of one *done*.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// What parks the job, in the order of the rules.
    pub misses: Vec<Miss>,
    /// What would have, by rules that are still shadows.
    pub shadow_misses: Vec<Miss>,
    /// Every rule that looked.
    pub outcomes: Vec<Outcome>,
}

/// Holds what was sent against a kind's rules.
///
/// A missing quote, value or source text is itself a miss, unless the rule is
/// `optional` and neither quote nor value was sent. One sentence about a field
/// is said once, by the first rule that finds it. `reason_codes` is the kind's
/// closed set: a miss gets the rule's own code if that is in the set, else the
/// library's if that is, else the first of the set.
pub fn check(rules: &[EvidenceRule], claimed: &Claimed<'_>, tenant: Option<&str>, reason_codes: &[String]) -> Checked {
    let mut checked = Checked::default();
    if rules.is_empty() {
        return checked;
    }
    let sent = SentFields::of(claimed);
    let mut claims: BTreeMap<&str, Result<Sent<'_>, Fault>> = BTreeMap::new();
    for rule in rules {
        let claim = claims.entry(&rule.field).or_insert_with(|| sent.claim(&rule.field));
        let judged = match claim {
            Ok(claim) => rule.rule.judge(claim),
            Err(_) if rule.optional && sent.says_nothing_of(&rule.field) => continue,
            Err(fault) => Err(fault.clone()),
        };
        let is_on = rule.is_on_for(tenant);
        let (field, is_miss) = (rule.field.clone(), judged.is_err());
        checked.outcomes.push(Outcome { field, rule: rule.label(), is_on, is_miss });
        let Err(fault) = judged else { continue };
        let misses = if is_on { &mut checked.misses } else { &mut checked.shadow_misses };
        if misses.iter().any(|miss| miss.field == rule.field && miss.said == fault.said) {
            continue;
        }
        misses.push(Miss {
            field: rule.field.clone(),
            rule: rule.rule.name().to_owned(),
            reason_code: code_of(rule, fault.code, reason_codes),
            said: fault.said,
        });
    }
    checked
}

/// The quote that was sent for a field, if one was.
pub fn quote_of(evidence: Option<&RawJson>, field: &str) -> Option<String> {
    let members: sent::Members = serde_json::from_str(evidence?.as_str()).ok()?;
    members.text(field, "quote").ok().flatten()
}

fn code_of(rule: &EvidenceRule, code: Code, reason_codes: &[String]) -> String {
    let wanted = [rule.reason_code.as_deref(), Some(code.as_str())];
    let fits = wanted.into_iter().flatten().find(|code| reason_codes.iter().any(|known| known == code));
    fits.or(reason_codes.first().map(String::as_str)).unwrap_or(code.as_str()).to_owned()
}

#[cfg(test)]
mod tests;
