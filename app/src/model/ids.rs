//! Identifiers. In JSON they are decimal *strings*: a browser reads numbers as
//! doubles and changes the last digits of anything above 2^53.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            /// Decimal digits without sign or leading zero, from 1 to 2^63 − 1.
            fn from_str(text: &str) -> Result<Self, NotAnId> {
                parse(text).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id_type!(
    /// A job.
    JobId
);
id_type!(
    /// The record of a job parked for a person.
    DeadLetterId
);
id_type!(
    /// A person who signs in.
    UserId
);
id_type!(
    /// A worker's or script's bearer token.
    TokenId
);

id_type!(
    /// What is done to many dead letters at once.
    BulkId
);
id_type!(
    /// A notice in the outbox.
    NoticeId
);
id_type!(
    /// Something left to somebody by a date.
    FollowUpId
);

id_type!(
    /// Something that somebody has to be told.
    AlertId
);

id_type!(
    /// A known-bad input that must be refused.
    CanaryId
);

/// The text is not a decimal id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an id is a decimal string from 1 to 9223372036854775807")]
pub struct NotAnId;

fn parse(text: &str) -> Result<i64, NotAnId> {
    let canonical = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    match text.parse() {
        Ok(id) if canonical => Ok(id),
        _ => Err(NotAnId),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_above_two_to_the_53_survive_json() {
        let id = JobId(9_007_199_254_740_993);
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, "\"9007199254740993\"");
        assert_eq!(serde_json::from_str::<JobId>(&json).unwrap(), id);
    }

    #[test]
    fn only_canonical_decimals_are_ids() {
        for text in ["", "0", "-1", "+1", "01", "1.0", "1e3", " 1", "x", "9223372036854775808"] {
            assert_eq!(text.parse::<JobId>(), Err(NotAnId), "{text:?}");
        }
        assert!(serde_json::from_str::<JobId>("7").is_err(), "a number is not an id");
    }
}
