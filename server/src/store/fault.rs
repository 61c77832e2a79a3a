//! What goes wrong inside a store, sorted once into what a caller can act on.

use app::error::StoreError;
use app::model::FieldError;
use sqlx::migrate::MigrateError;

/// Inside a store, `?` works on the database's errors and on our own answers alike.
#[derive(Debug)]
pub enum Fault {
    /// An answer for the caller.
    Answer(StoreError),
    /// The database failed.
    Database(sqlx::Error),
}

/// Answer of a function inside a store.
pub type Tried<T> = Result<T, Fault>;

impl Fault {
    /// Stored data breaks a rule of ours.
    pub fn corrupt(what: &str, value: &str) -> Self {
        Self::Answer(StoreError::Internal(format!("the database holds an unknown {what}: {value:?}")))
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Answer(error)
    }
}

impl From<FieldError> for Fault {
    fn from(error: FieldError) -> Self {
        Self::Answer(StoreError::Invalid(error))
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::Answer(StoreError::Internal(format!("stored JSON cannot be read: {error}")))
    }
}

impl From<MigrateError> for Fault {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => Self::Database(error),
            MigrateError::VersionMissing(version) => Self::Answer(StoreError::Internal(format!(
                "the database's schema (version {version}) is newer than this binary knows; install a newer drainboard"
            ))),
            error => Self::Answer(StoreError::Internal(format!("the schema cannot be migrated: {error}"))),
        }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Answer(error) => error,
            Fault::Database(error) if is_passing(&error) => Self::Unavailable(error.to_string()),
            Fault::Database(error) if is_damage(&error) => Self::DatabaseError(error.to_string()),
            Fault::Database(error) => Self::Internal(error.to_string()),
        }
    }
}

/// Whether the same call may work later: the database is away, busy, full or
/// shutting down, rather than asked something wrong.
fn is_passing(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::BeginFailed => true,
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            if error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
                is_passing_in_sqlite(&code)
            } else {
                is_passing_in_postgres(&code)
            }
        }
        _ => false,
    }
}

/// Busy, locked, read-only, I/O error, full, cannot open; extended codes carry
/// the primary one in their low byte.
fn is_passing_in_sqlite(code: &str) -> bool {
    code.parse::<u32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 8 | 10 | 13 | 14))
}

/// Connection lost or not accepted, out of resources, shutting down, deadlock or
/// serialization failure, lock or statement timed out, a standby that cannot write.
fn is_passing_in_postgres(code: &str) -> bool {
    ["08", "53", "57"].iter().any(|class| code.starts_with(class))
        || matches!(code, "40001" | "40P01" | "55000" | "55P03" | "25006" | "25P03")
}

/// Whether the database is not as it was set up: something of ours is missing,
/// may not be touched, or cannot be read.
fn is_damage(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    let code = error.code().unwrap_or_default();
    if error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
        is_damage_in_sqlite(&code, error.message())
    } else {
        is_damage_in_postgres(&code)
    }
}

/// No permission, out of memory, damaged, no database at all; a missing table or
/// column has no code of its own.
fn is_damage_in_sqlite(code: &str, message: &str) -> bool {
    match code.parse::<u32>().map(|code| code & 0xff) {
        Ok(3 | 7 | 11 | 23 | 26) => true,
        Ok(1) => message.starts_with("no such ") || message.contains(" has no column named "),
        _ => false,
    }
}

/// Missing tables, columns, functions, schemas; rights taken away; system,
/// configuration and internal errors, damaged data among them.
fn is_damage_in_postgres(code: &str) -> bool {
    ["3D", "3F", "58", "F0", "XX"].iter().any(|class| code.starts_with(class))
        || matches!(code, "42P01" | "42703" | "42883" | "42501")
}

/// Whether the statement broke a uniqueness rule.
pub fn is_duplicate(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_told_from_what_is_wrong() {
        for code in ["5", "261", "517", "6", "10", "13", "14", "2570"] {
            assert!(is_passing_in_sqlite(code), "{code}");
        }
        for code in ["1", "11", "19", "1555", "2067", ""] {
            assert!(!is_passing_in_sqlite(code), "{code}");
        }
        for code in ["08006", "57P01", "57014", "53300", "40P01", "55000", "55P03"] {
            assert!(is_passing_in_postgres(code), "{code}");
        }
        assert!(!is_passing_in_postgres("23505"));
        for (code, message) in
            [("1", "no such table: jobs"), ("1", "no such column: x"), ("11", ""), ("267", ""), ("26", "")]
        {
            assert!(is_damage_in_sqlite(code, message), "{code} {message}");
        }
        for (code, message) in [("1", "malformed JSON"), ("19", "no such thing"), ("1811", "forbidden"), ("5", "")] {
            assert!(!is_damage_in_sqlite(code, message), "{code} {message}");
        }
        for code in ["42P01", "42703", "42501", "3F000", "58030", "XX001"] {
            assert!(is_damage_in_postgres(code), "{code}");
        }
        for code in ["23505", "23514", "22001", "42601"] {
            assert!(!is_damage_in_postgres(code), "{code}");
        }
        assert!(matches!(StoreError::from(Fault::from(sqlx::Error::PoolTimedOut)), StoreError::Unavailable(_)));
        assert!(matches!(StoreError::from(Fault::from(sqlx::Error::RowNotFound)), StoreError::Internal(_)));
    }
}
