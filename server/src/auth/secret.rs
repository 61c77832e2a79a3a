//! Secrets of 256 random bits: session ids, tokens, the set-up link.
//!
//! Only the SHA-256 of a secret is ever stored. A slow hash is for what people
//! choose; 256 random bits cannot be guessed from their digest.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::Rng as _;
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A secret to be handed out once. Its debug form hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A new secret, from the operating system's generator by way of a
    /// cryptographic one.
    pub fn random() -> Self {
        Self::random_with_prefix("")
    }

    /// A new secret that tells by its prefix what it is, so that a leaked one
    /// is recognised.
    pub fn random_with_prefix(prefix: &str) -> Self {
        let mut bytes = [0_u8; 32];
        rand::rng().fill_bytes(&mut bytes);
        Self(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The text that its owner keeps.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What the database keeps.
    pub fn sha256(&self) -> String {
        sha256_hex(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// SHA-256 of the text, in lower-case hex.
pub fn sha256_hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_published_one() {
        assert_eq!(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn secrets_differ_carry_256_bits_and_hide_in_logs() {
        let (first, second) = (Secret::random(), Secret::random());
        assert_ne!(first, second);
        assert_eq!(URL_SAFE_NO_PAD.decode(first.expose()).unwrap().len(), 32);
        assert!(!format!("{first:?}").contains(first.expose()));
        assert!(Secret::random_with_prefix("drb_").expose().starts_with("drb_"));
    }
}
