//! What evidence checks looked at and missed.

use super::{SqliteStore, Tx};
use crate::store::fault::Tried;
use crate::store::readings::StoredEvidenceCount;
use app::model::evidence::Outcome;
use app::model::evidence::counts::{EvidenceCount, EvidenceCountQuery};

/// Counts what each rule did. One writer: one shard is enough.
pub(super) async fn count(tx: &mut Tx, kind: &str, tenant: Option<&str>, outcomes: &[Outcome]) -> Tried<()> {
    let day = tx.now.date_naive().to_string();
    for outcome in outcomes {
        sqlx::query(
            "INSERT INTO evidence_counts (kind, tenant, field, rule, day, shard, checked, missed)
             VALUES (?1, ?2, ?3, ?4, ?5, 0, 1, ?6)
             ON CONFLICT (kind, tenant, field, rule, day, shard)
             DO UPDATE SET checked = checked + 1, missed = missed + excluded.missed",
        )
        .bind(kind)
        .bind(tenant.unwrap_or_default())
        .bind(&outcome.field)
        .bind(&outcome.rule)
        .bind(&day)
        .bind(i64::from(outcome.is_miss))
        .execute(&mut **tx)
        .await?;
    }
    Ok(())
}

impl SqliteStore {
    pub(super) async fn read_evidence_counts(&self, query: &EvidenceCountQuery) -> Tried<Vec<EvidenceCount>> {
        let rows: Vec<StoredEvidenceCount> = sqlx::query_as(
            "SELECT c.kind, nullif(c.tenant, '') AS tenant, c.field, c.rule, c.day, sum(c.checked) AS checked,
               sum(c.missed) AS missed
             FROM evidence_counts c
             WHERE (?1 IS NULL OR c.kind = ?1) AND (?2 IS NULL OR c.day >= ?2) AND (?3 IS NULL OR c.day <= ?3)
             GROUP BY c.day, c.kind, c.field, c.rule, c.tenant
             ORDER BY c.day, c.kind, c.field, c.rule, c.tenant LIMIT 10000",
        )
        .bind(query.kind.as_deref())
        .bind(query.from.map(|day| day.to_string()))
        .bind(query.to.map(|day| day.to_string()))
        .fetch_all(self.readers()?)
        .await?;
        rows.into_iter().map(StoredEvidenceCount::count).collect()
    }
}
