//! What was sent about each field, read once per *done*.

use super::{Claimed, Code, Fault, Plain};
use chrono::{DateTime, Utc};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::fmt;

/// The claim about one field, complete.
pub(super) struct Sent<'a> {
    /// The value as text: a text's characters, a number's digits as they were sent.
    pub(super) value: String,
    /// The quote in its plain form.
    pub(super) quote: Plain,
    /// The source text in its plain form.
    pub(super) source: &'a Plain,
    /// When the input was received.
    pub(super) received_at: DateTime<Utc>,
}

/// All that was sent.
pub(super) struct SentFields {
    evidence: Members,
    values: Members,
    source: Option<Plain>,
    received_at: DateTime<Utc>,
}

impl SentFields {
    pub(super) fn of(claimed: &Claimed<'_>) -> Self {
        let members = |json: Option<&crate::model::job::RawJson>| {
            // What cannot be read proves nothing, like what was not sent.
            json.and_then(|json| serde_json::from_str(json.as_str()).ok()).unwrap_or_default()
        };
        Self {
            evidence: members(claimed.evidence),
            values: members(claimed.values),
            source: claimed.source_text.map(Plain::of).filter(|source| !source.as_str().is_empty()),
            received_at: claimed.received_at,
        }
    }

    /// The claim about a field, or what is missing of it.
    pub(super) fn claim(&self, field: &str) -> Result<Sent<'_>, Fault> {
        let missing = |said: &str| Fault::new(Code::Missing, said);
        let value = self.values.text(field, "value")?.ok_or_else(|| missing("no value was sent"))?;
        let quote = self.evidence.text(field, "quote")?.ok_or_else(|| missing("no quote was sent"))?;
        let source = self.source.as_ref().ok_or_else(|| missing("no source text was sent"))?;
        Ok(Sent { value, quote: Plain::of(&quote), source, received_at: self.received_at })
    }

    /// Whether neither a value nor a quote was sent.
    pub(super) fn says_nothing_of(&self, field: &str) -> bool {
        matches!((self.values.text(field, ""), self.evidence.text(field, "")), (Ok(None), Ok(None)))
    }
}

/// The members of an object, repeated ones too.
#[derive(Default)]
pub(super) struct Members(Vec<(String, Box<RawValue>)>);

impl Members {
    /// The one member of that name as text; `None` when it is absent, null or blank.
    pub(super) fn text(&self, field: &str, what: &str) -> Result<Option<String>, Fault> {
        let mut named = self.0.iter().filter(|(name, _)| name == field);
        let Some((_, raw)) = named.next() else { return Ok(None) };
        if named.next().is_some() {
            return Err(Fault::new(Code::Ambiguous, format!("two {what}s were sent")));
        }
        let text = match serde_json::from_str(raw.get()) {
            Ok(serde_json::Value::Null) => return Ok(None),
            Ok(serde_json::Value::String(text)) => text,
            Ok(serde_json::Value::Number(_) | serde_json::Value::Bool(_)) => raw.get().to_owned(),
            _ => return Err(Fault::new(Code::Missing, format!("the {what} is no text and no number"))),
        };
        Ok(Some(text).filter(|text| !text.trim().is_empty()))
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Every;

        impl<'de> Visitor<'de> for Every {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Every)
    }
}
