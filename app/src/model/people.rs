//! Who may do what: people with roles, programs with scopes.

use super::ids::{TokenId, UserId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// What a person may do. Each role may do what the one before may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads; payloads are masked.
    OnCall,
    /// Also acts on dead letters and sees payloads.
    Reviewer,
    /// Also policies, users, tokens, pause.
    Admin,
}

impl Role {
    /// All roles, least first.
    pub const ALL: [Self; 3] = [Self::OnCall, Self::Reviewer, Self::Admin];

    /// The word used in JSON, on the command line and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnCall => "on-call",
            Self::Reviewer => "reviewer",
            Self::Admin => "admin",
        }
    }

    /// The role of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Enqueue and cancel jobs.
    Enqueue,
    /// Claim jobs and end them; report ticks.
    Work,
    /// Read the pipeline, jobs and letters.
    Read,
    /// Act on dead letters.
    Review,
    /// Read and change policies.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 5] = [Self::Enqueue, Self::Work, Self::Read, Self::Review, Self::Admin];

    /// The word used in JSON, on the command line and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enqueue => "enqueue",
            Self::Work => "work",
            Self::Read => "read",
            Self::Review => "review",
            Self::Admin => "admin",
        }
    }

    /// The scope of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

/// Fewest characters of a password. Length is what makes it hard to guess, so
/// there is no rule about kinds of characters.
pub const MIN_PASSWORD_CHARACTERS: usize = 8;
/// Most characters of a password.
pub const MAX_PASSWORD_CHARACTERS: usize = 200;

/// A person as stored. The hash never leaves the server.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    /// Id.
    pub id: UserId,
    /// Unique name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// argon2id, in PHC form.
    pub password_hash: String,
    /// Set when they may no longer sign in.
    pub disabled: bool,
}

/// A signed-in person, as pages see them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Viewer {
    /// Id.
    pub user_id: UserId,
    /// Name.
    pub name: String,
    /// What they may do.
    pub role: Role,
}

impl Viewer {
    /// Whether the viewer may do what `role` may.
    pub fn may(&self, role: Role) -> bool {
        self.role >= role
    }
}

/// A bearer token, found by its hash.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Id.
    pub id: TokenId,
    /// Unique name.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
}

/// Who acts, for the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// A person's name, `token NAME`, or `command line`.
    pub name: String,
    /// From where, if over the network.
    pub address: Option<String>,
    /// With what.
    pub user_agent: Option<String>,
}

/// One audited act.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditEntry {
    /// Its number, without gaps.
    pub seq: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// Who.
    pub actor: String,
    /// What, such as `approve_and_replay` or `user_add`.
    pub action: String,
    /// On what, such as `dead_letter 12`.
    pub subject: String,
    /// Further facts, as JSON.
    pub details: Option<String>,
    /// From where.
    pub address: Option<String>,
}
