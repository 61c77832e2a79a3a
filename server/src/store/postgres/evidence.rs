//! What evidence checks looked at and missed.

use super::Transaction;
use super::ending::LockedJob;
use crate::store::fault::Tried;
use crate::store::readings::StoredEvidenceCount;
use app::model::evidence::Outcome;
use app::model::evidence::counts::{EvidenceCount, EvidenceCountQuery};
use sqlx::PgPool;

/// Rows over which the writers of one rule's count are spread.
const SHARDS: i64 = 16;

/// Counts what each rule did. Late in the transaction, and the rows in one order,
/// so that two that end at once wait for each other shortly or not at all.
pub(super) async fn count(tx: &mut Transaction, job: &LockedJob, outcomes: &[Outcome]) -> Tried<()> {
    sqlx::query(
        "INSERT INTO evidence_counts (kind, tenant, field, rule, day, shard, checked, missed) \
         SELECT $1, $2, o.field, o.rule, $3, $4, 1, o.missed \
         FROM unnest($5::text[], $6::text[], $7::bigint[]) AS o (field, rule, missed) ORDER BY o.field, o.rule \
         ON CONFLICT (kind, tenant, field, rule, day, shard) \
         DO UPDATE SET checked = evidence_counts.checked + 1, missed = evidence_counts.missed + excluded.missed",
    )
    .bind(&job.kind)
    .bind(job.tenant.as_deref().unwrap_or_default())
    .bind(job.now.date_naive().to_string())
    .bind(job.id.rem_euclid(SHARDS))
    .bind(outcomes.iter().map(|outcome| outcome.field.as_str()).collect::<Vec<_>>())
    .bind(outcomes.iter().map(|outcome| outcome.rule.as_str()).collect::<Vec<_>>())
    .bind(outcomes.iter().map(|outcome| i64::from(outcome.is_miss)).collect::<Vec<_>>())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Counts as the query asks.
pub(super) async fn count_evidence(pool: &PgPool, query: &EvidenceCountQuery) -> Tried<Vec<EvidenceCount>> {
    let rows: Vec<StoredEvidenceCount> = sqlx::query_as(
        "SELECT c.kind, nullif(c.tenant, '') AS tenant, c.field, c.rule, c.day, \
             sum(c.checked)::bigint AS checked, sum(c.missed)::bigint AS missed \
         FROM evidence_counts c \
         WHERE ($1::text IS NULL OR c.kind = $1) AND ($2::text IS NULL OR c.day >= $2) \
             AND ($3::text IS NULL OR c.day <= $3) \
         GROUP BY c.day, c.kind, c.field, c.rule, c.tenant \
         ORDER BY c.day, c.kind, c.field, c.rule, c.tenant LIMIT 10000",
    )
    .bind(&query.kind)
    .bind(query.from.map(|day| day.to_string()))
    .bind(query.to.map(|day| day.to_string()))
    .fetch_all(&mut *super::acquire(pool).await?)
    .await?;
    rows.into_iter().map(StoredEvidenceCount::count).collect()
}
