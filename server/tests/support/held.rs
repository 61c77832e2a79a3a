//! Writers stopped in the middle of their work by a lock that readers do not feel.

use super::side_door::SideDoor;
use sqlx::{Postgres, Sqlite, Transaction};

/// While it lives, nobody writes jobs or kinds.
pub enum HeldWriters {
    /// By the file's write lock.
    Sqlite(Transaction<'static, Sqlite>),
    /// By a lock on both tables.
    Postgres(Transaction<'static, Postgres>),
}

impl HeldWriters {
    /// `None` if writers could not be held without standing in their way.
    pub async fn hold(door: &SideDoor) -> Option<Self> {
        match door {
            SideDoor::Sqlite(pool) => Some(Self::Sqlite(pool.begin_with("BEGIN IMMEDIATE").await.ok()?)),
            SideDoor::Postgres(pool) => {
                let mut transaction = pool.begin().await.expect("a transaction");
                sqlx::query("SET LOCAL lock_timeout = '300ms'").execute(&mut *transaction).await.expect("a setting");
                let lock = "LOCK TABLE kinds, jobs IN SHARE MODE";
                match sqlx::query(lock).execute(&mut *transaction).await {
                    Ok(_) => Some(Self::Postgres(transaction)),
                    Err(_) => None,
                }
            }
        }
    }

    /// Lets them go on.
    pub async fn release(self) {
        match self {
            Self::Sqlite(transaction) => transaction.rollback().await.expect("nothing was written"),
            Self::Postgres(transaction) => transaction.rollback().await.expect("nothing was written"),
        }
    }
}
