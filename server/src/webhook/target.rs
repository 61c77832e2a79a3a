//! Where messages go, with what they are signed, and what it may reach.

use app::model::FieldError;
use secrecy::{ExposeSecret as _, SecretString};
use std::fmt;
use url::{Host, Position, Url};

/// Fewest characters of a secret.
const MIN_SECRET_CHARACTERS: usize = 16;

/// A receiver.
#[derive(Clone)]
pub struct Target {
    url: Url,
    secret: SecretString,
    allows_private: bool,
}

impl Target {
    /// A receiver at `url`, which the setting `name` gave. With `allows_private` it may be in a private network.
    ///
    /// # Errors
    /// `name`: no http or https address, or one that carries a
    /// password. `DRAINBOARD_WEBHOOK_SECRET`: too short.
    pub fn new(name: &str, url: &str, secret: SecretString, allows_private: bool) -> Result<Self, FieldError> {
        let refused = |rule: &str| FieldError::new(name, rule);
        let url = Url::parse(url.trim()).map_err(|_| refused("must be an address such as https://example.com/hook"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(refused("must be an address with http or https"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("must not carry a name or password: what is sent is signed instead"));
        }
        if secret.expose_secret().chars().count() < MIN_SECRET_CHARACTERS {
            let rule = format!("must hold at least {MIN_SECRET_CHARACTERS} characters");
            return Err(FieldError::new("DRAINBOARD_WEBHOOK_SECRET", rule));
        }
        Ok(Self { url, secret, allows_private })
    }

    /// Whether it is reached over TLS.
    pub fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Scheme, host and port. All that may be shown: the path may be a secret.
    pub fn origin(&self) -> String {
        self.url[..Position::BeforePath].to_owned()
    }

    /// Host, and port unless it is the scheme's own.
    pub(super) fn authority(&self) -> &str {
        &self.url[Position::BeforeHost..Position::BeforePath]
    }

    pub(super) fn host(&self) -> Host<&str> {
        self.url.host().expect("a target has a host")
    }

    pub(super) fn port(&self) -> u16 {
        self.url.port_or_known_default().expect("http and https have a port")
    }

    /// Path and query.
    pub(super) fn path(&self) -> &str {
        &self.url[Position::BeforePath..Position::AfterQuery]
    }

    pub(super) fn secret(&self) -> &SecretString {
        &self.secret
    }

    pub(super) fn allows_private(&self) -> bool {
        self.allows_private
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.origin())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "a secret of the test";

    #[test]
    fn what_cannot_be_a_receiver_is_refused_at_start() {
        let refused = |url: &str, secret: &str| {
            Target::new("notice-webhook", url, SecretString::from(secret), false).unwrap_err().field
        };
        for url in ["", "example.com/hook", "ftp://example.com/", "file:///etc/passwd", "https://me:pw@example.com/"] {
            assert_eq!(refused(url, SECRET), "notice-webhook", "{url}");
        }
        assert_eq!(refused("https://example.com", "short"), "DRAINBOARD_WEBHOOK_SECRET");
    }

    #[test]
    fn neither_the_secret_nor_the_path_is_shown() {
        let target = Target::new(
            "notice-webhook",
            "https://example.com:8443/t0ken?k=t0ken#f",
            SecretString::from(SECRET),
            false,
        )
        .unwrap();
        assert_eq!(format!("{target:?}"), "Target(https://example.com:8443)");
        assert_eq!((target.authority(), target.path(), target.port()), ("example.com:8443", "/t0ken?k=t0ken", 8443));
        let v6 = Target::new("notice-webhook", "http://[2606:4700::1]/", SecretString::from(SECRET), false).unwrap();
        assert_eq!((v6.authority(), v6.port(), v6.is_encrypted()), ("[2606:4700::1]", 80, false));
    }
}
