//! What the answer to a form shows once, and no address shows again.

use leptos::prelude::use_context;
use std::fmt;

/// Something that is on one answer only.
#[derive(Clone, PartialEq, Eq)]
pub enum Once {
    /// A link by which a user chooses a password.
    SetUpLink {
        /// Whose.
        user: String,
        /// The link.
        link: String,
    },
    /// A token that was just made.
    Token {
        /// Its name.
        name: String,
        /// The text that its owner keeps.
        secret: String,
    },
    /// Masked fields, shown to a reviewer; the audit has them already.
    Revealed {
        /// Of what, such as `dead_letter 12`.
        subject: String,
        /// Which.
        fields: Vec<String>,
    },
}

impl Once {
    /// What comes with the request being answered.
    pub fn current() -> Option<Self> {
        use_context::<Option<Self>>().flatten()
    }

    /// The fields of `subject` that this answer may show.
    pub fn revealed(subject: &str) -> Vec<String> {
        match Self::current() {
            Some(Self::Revealed { subject: revealed, fields }) if revealed == subject => fields,
            _ => Vec::new(),
        }
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Once(…)")
    }
}

/// Names the session of the request being answered among its owner's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentSession(pub String);
