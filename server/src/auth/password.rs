//! Passwords: argon2id, off the async threads, at most a few at a time.
//!
//! Each check costs about 19 MiB and tens of milliseconds on purpose; without
//! the bound a handful of clients could use up the memory of the server.

use app::model::FieldError;
use app::model::people::{MAX_PASSWORD_CHARACTERS, MIN_PASSWORD_CHARACTERS};
use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use std::sync::LazyLock;
use tokio::sync::Semaphore;

static AT_A_TIME: Semaphore = Semaphore::const_new(4);

/// What an unknown name is checked against, so that it takes as long as a known one.
static NOBODYS_HASH: LazyLock<String> =
    LazyLock::new(|| hashed("nobody's password").expect("hashing with fixed parameters works"));

/// Hashing failed; only a fault of ours or a lack of memory can cause it.
#[derive(Debug, thiserror::Error)]
#[error("the password could not be hashed: {0}")]
pub struct HashingFailed(String);

/// Whether the password may be chosen.
///
/// # Errors
/// Names the rule it breaks.
pub fn check_rule(password: &str) -> Result<(), FieldError> {
    match password.chars().count() {
        MIN_PASSWORD_CHARACTERS..=MAX_PASSWORD_CHARACTERS => Ok(()),
        _ => Err(FieldError::new(
            "password",
            format!("must be {MIN_PASSWORD_CHARACTERS} to {MAX_PASSWORD_CHARACTERS} characters"),
        )),
    }
}

/// The password's argon2id hash in PHC form, with a new salt.
///
/// # Errors
/// See [`HashingFailed`].
pub async fn hash(password: String) -> Result<String, HashingFailed> {
    let _permit = AT_A_TIME.acquire().await;
    tokio::task::spawn_blocking(move || hashed(&password)).await.map_err(|e| HashingFailed(e.to_string()))?
}

/// Whether the password fits the hash. `None` stands for a name that nobody
/// has: the same work is done, and the answer is no.
pub async fn verify(password: String, phc: Option<String>) -> bool {
    let _permit = AT_A_TIME.acquire().await;
    tokio::task::spawn_blocking(move || {
        let known = phc.is_some();
        let phc = phc.unwrap_or_else(|| NOBODYS_HASH.clone());
        let fits = PasswordHash::new(&phc)
            .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok());
        fits && known
    })
    .await
    .unwrap_or(false)
}

fn hashed(password: &str) -> Result<String, HashingFailed> {
    Argon2::default()
        .hash_password(password.as_bytes())
        .map(|hash| hash.to_string())
        .map_err(|e| HashingFailed(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_hash_is_salted_argon2id_and_fits_only_its_password() {
        let (first, second) =
            (hash("correct horse".into()).await.unwrap(), hash("correct horse".into()).await.unwrap());
        assert!(first.starts_with("$argon2id$"), "{first}");
        assert_ne!(first, second);
        assert!(verify("correct horse".into(), Some(first.clone())).await);
        assert!(!verify("battery staple".into(), Some(first)).await);
        assert!(!verify("nobody's password".into(), None).await);
        assert!(!verify("x".into(), Some("not a hash".into())).await);
    }

    #[test]
    fn length_is_counted_in_characters() {
        assert!(check_rule("ääääääää").is_ok());
        assert!(check_rule(&"x".repeat(200)).is_ok());
        for bad in ["", "1234567", &"x".repeat(201)] {
            assert_eq!(check_rule(bad).unwrap_err().field, "password");
        }
    }
}
