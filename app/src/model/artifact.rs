//! Prompts and tool definitions: each text is kept once, under its own hash, so
//! that an envelope names it by the hash alone.

use super::FieldError;
use chrono::{DateTime, Utc};
use std::fmt;
use std::str::FromStr;

/// Largest text, in bytes.
pub const MAX_ARTIFACT_BYTES: usize = 1024 * 1024;

/// The SHA-256 of a text, in lower-case hex.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactHash(String);

impl ArtifactHash {
    /// The 64 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ArtifactHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ArtifactHash {
    type Err = FieldError;

    /// Takes digits of either case.
    fn from_str(text: &str) -> Result<Self, FieldError> {
        if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self(text.to_ascii_lowercase()));
        }
        Err(FieldError::new("sha256", "must be a SHA-256 of 64 hex digits"))
    }
}

/// A text of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its hash.
    pub sha256: ArtifactHash,
    /// The text, word for word.
    pub content: String,
    /// When it was put there first.
    pub at: DateTime<Utc>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_64_hex_digits() {
        let upper = "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD";
        assert_eq!(upper.parse::<ArtifactHash>().unwrap().as_str(), upper.to_ascii_lowercase());
        for bad in ["", "ba78", &"g".repeat(64), &"a".repeat(65), &"é".repeat(32), " ba"] {
            assert_eq!(bad.parse::<ArtifactHash>().unwrap_err().field, "sha256", "{bad}");
        }
    }
}
