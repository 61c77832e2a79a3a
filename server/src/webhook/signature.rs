//! How a receiver can tell that a message is ours and as we sent it.

use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

/// `t=UNIX,v1=HEX`, where HEX is HMAC-SHA256 with the secret over `UNIX.BODY`.
/// The time is signed too, so that an old message cannot be sent again as new.
pub fn signature(secret: &SecretString, unix_seconds: i64, body: &str) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()).expect("HMAC takes keys of any length");
    mac.update(format!("{unix_seconds}.").as_bytes());
    mac.update(body.as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={unix_seconds},v1={hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_what_other_tools_make() {
        // printf '1764597600.{"a":"é"}' | openssl dgst -sha256 -hmac 'a secret of the test'
        let made = signature(&SecretString::from("a secret of the test"), 1_764_597_600, "{\"a\":\"é\"}");
        assert_eq!(made, "t=1764597600,v1=3c6e7cd29f1173a3271166d21f0b9e4a1a415d0a7a027e378902846fb1878be5");
    }

    #[test]
    fn time_body_and_secret_are_all_in_it() {
        let sign = |secret: &str, at, body| signature(&SecretString::from(secret), at, body);
        let one = sign("s", 1, "b");
        assert_eq!(one, sign("s", 1, "b"));
        for other in [sign("t", 1, "b"), sign("s", 2, "b"), sign("s", 1, "c")] {
            assert_ne!(one.split("v1=").nth(1), other.split("v1=").nth(1));
        }
    }
}
