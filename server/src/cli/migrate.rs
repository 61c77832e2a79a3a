//! `drainboard migrate`.

use super::Database;

/// Opening applies what is missing; a schema newer than this binary is refused.
pub async fn run(database: &Database) -> anyhow::Result<()> {
    let store = database.open_or_make().await?;
    store.ping().await?;
    eprintln!("The database is up to date.");
    store.close().await;
    Ok(())
}
