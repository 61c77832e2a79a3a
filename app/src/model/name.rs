//! Names of kinds, sources, tenants and workers: 1 to 200 characters.

use super::FieldError;
use super::text::{clean, is_plain};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest name, in characters.
pub const MAX_NAME_CHARACTERS: usize = 200;

/// What the name of somebody who signs in must not be.
pub const USER_NAME_RULE: &str = "must not hold control characters, invisible characters or such that turn the reading direction, \
     and no blanks but single spaces between words";

/// A name that obeys the rule. Compared byte by byte: `A` and `a` are two.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name(String);

impl Name {
    /// A name out of outside text; NUL is replaced, the length is checked.
    ///
    /// # Errors
    /// Empty, or longer than 200 characters.
    pub fn new(field: &str, text: &str) -> Result<Self, FieldError> {
        let text = clean(text);
        match text.chars().count() {
            0 => Err(FieldError::new(field, "must not be empty")),
            1..=MAX_NAME_CHARACTERS => Ok(Self(text.into_owned())),
            n => Err(FieldError::new(field, format!("must be at most {MAX_NAME_CHARACTERS} characters, got {n}"))),
        }
    }

    /// The name of somebody who signs in. It stands in the audit, so it must not
    /// look like another's.
    ///
    /// # Errors
    /// As [`Self::new`]; holds what cannot be seen or told apart.
    pub fn of_user(field: &str, text: &str) -> Result<Self, FieldError> {
        let name = Self::new(field, text)?;
        if is_plain(name.as_str()) && !text.contains('\0') {
            Ok(name)
        } else {
            Err(FieldError::new(field, USER_NAME_RULE))
        }
    }

    /// A name that was checked when it was stored.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_counted_in_characters() {
        assert!(Name::new("kind", &"ä😀".repeat(100)).is_ok());
        assert_eq!(Name::new("kind", "").unwrap_err().field, "kind");
        let error = Name::new("kind", &"k".repeat(201)).unwrap_err();
        assert_eq!(error.rule, "must be at most 200 characters, got 201");
    }

    #[test]
    fn a_user_name_can_be_told_from_every_other() {
        for name in ["ada", "Ada Lovelace", "josé", "آدا", "ada@example.org"] {
            assert!(Name::of_user("username", name).is_ok(), "{name:?}");
        }
        for name in
            ["a\u{202e}da", "ada\u{200b}", "a\0da", "a\nda", "\u{3164}", "ada  l", "\u{a0}", "ad\u{ad}a", "\u{1b}[2Ja"]
        {
            assert_eq!(Name::of_user("username", name).unwrap_err().rule, USER_NAME_RULE, "{name:?}");
        }
        assert!(Name::of_user("username", "").is_err());
    }

    #[test]
    fn nul_is_replaced_visibly() {
        assert_eq!(Name::new("kind", "a\0b").unwrap().as_str(), "a\u{fffd}b");
    }
}
