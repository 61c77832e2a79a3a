//! The audit's next entry: numbered without gaps, whoever writes at the same time.

use super::Transaction;
use crate::store::audit::Entry;
use crate::store::fault::Tried;
use app::model::people::Actor;

/// Held from an entry's number to its commit, so that numbers have no gaps.
const AUDIT_LOCK: i64 = 0x6472_6169_6e62_0004;

/// Writes an audit entry. Comes last in its transaction: whoever holds the
/// audit's lock must not wait for any other.
pub(super) async fn audit(tx: &mut Transaction, actor: &Actor, entry: Entry) -> Tried<()> {
    // A statement of its own: only the next one sees what the last holder committed,
    // and reads the clock after it.
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(AUDIT_LOCK).execute(&mut **tx).await?;
    sqlx::query(
        "INSERT INTO audit (seq, at, actor, action, subject, details, address, user_agent) \
         SELECT coalesce(max(seq), 0) + 1, clock_timestamp(), $1, $2, $3, $4, $5, $6 FROM audit",
    )
    .bind(&actor.name)
    .bind(entry.action)
    .bind(&entry.subject)
    .bind(&entry.details)
    .bind(&actor.address)
    .bind(&actor.user_agent)
    .execute(&mut **tx)
    .await?;
    Ok(())
}
