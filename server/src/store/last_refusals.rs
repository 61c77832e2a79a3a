//! When the agent last said no, per source and kind. Written once; each database
//! compiles it as a module of its own.

use super::Tx;
use crate::store::fault::Tried;
use crate::store::time::At;
use chrono::{DateTime, Utc};

/// Notes an ending that counts for a park rate, in its transaction: a refusal
/// starts the count of what was processed since anew.
pub(super) async fn note(
    tx: &mut Tx,
    now: DateTime<Utc>,
    job: i64,
    outcome: &str,
    reason_code: Option<&str>,
) -> Tried<()> {
    if !["done", "refused", "evidence_failed"].contains(&outcome) {
        return Ok(());
    }
    let is_no = outcome == "refused";
    sqlx::query(
        "INSERT INTO last_refusals (source, kind, last_no_at, reason_code, processed_since, last_processed_at) \
         SELECT source, kind, $2, $3, $4, $5 FROM jobs \
         WHERE id = $1 AND canary_reason_code IS NULL AND replay_mode IS NULL \
         ON CONFLICT (source, kind) DO UPDATE SET \
             last_no_at = coalesce(excluded.last_no_at, last_refusals.last_no_at), \
             reason_code = CASE WHEN excluded.last_no_at IS NULL THEN last_refusals.reason_code \
                 ELSE excluded.reason_code END, \
             processed_since = CASE WHEN excluded.last_no_at IS NULL THEN last_refusals.processed_since + 1 ELSE 0 END, \
             last_processed_at = excluded.last_processed_at",
    )
    .bind(job)
    .bind(is_no.then_some(At(now)))
    .bind(reason_code.filter(|_| is_no))
    .bind(i64::from(!is_no))
    .bind(At(now))
    .execute(&mut **tx)
    .await?;
    Ok(())
}
