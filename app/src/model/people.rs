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
    /// argon2id, in PHC form; empty until they chose a password.
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
    /// Whether its last use was written down too long ago to be shown as its last.
    pub is_use_stale: bool,
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
    /// What they may do, if a signed-in person acts.
    pub role: Option<Role>,
}

/// A person as the list of users shows them.
#[derive(Debug, Clone, PartialEq)]
pub struct Person {
    /// Unique name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Set when they may not sign in.
    pub disabled: bool,
    /// Whether they have chosen a password yet.
    pub has_password: bool,
    /// When they were added.
    pub created_at: DateTime<Utc>,
    /// Until when their set-up link works, if they have one that does.
    pub link_expires_at: Option<DateTime<Utc>>,
    /// Their live sessions.
    pub sessions: i64,
}

/// A live session, as its owner and admins see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Names it among its owner's; useless for signing in.
    pub id: String,
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// When it was last used.
    pub last_active_at: DateTime<Utc>,
    /// From where it began.
    pub address: Option<String>,
    /// With what.
    pub user_agent: Option<String>,
}

/// Characters of a session's hash that name it.
const SESSION_ID_CHARACTERS: usize = 16;

/// What names a session, out of its hash.
pub fn session_id(session_sha256: &str) -> &str {
    session_sha256.get(..SESSION_ID_CHARACTERS).unwrap_or(session_sha256)
}

/// A token as the list of tokens shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedToken {
    /// Id.
    pub id: TokenId,
    /// Unique name.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it was last used, to five minutes.
    pub last_used_at: Option<DateTime<Utc>>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
}

/// How long a set-up link works, in hours.
pub const SET_UP_LINK_HOURS: u32 = 24;
