//! What covers masked values where no payload is at hand. Written once; each
//! database compiles it as a module of its own.

use super::{Db, Tx};
use crate::store::fault::Tried;
use crate::store::rows::{cover_of, masking_payloads};
use app::model::cover::Cover;
use app::model::ids::{DeadLetterId, JobId};
use app::model::job::RawJson;
use sqlx::{FromRow, QueryBuilder};
use std::collections::HashMap;

/// The payloads of what a job was replayed from, through all generations, and of
/// its own replays: a correction's values are said there as well as here.
const RELATED: &str = r#"
WITH RECURSIVE back (job_id, generation) AS (
  SELECT CAST($1 AS bigint), 0
  UNION ALL
  SELECT l.job_id, b.generation + 1
  FROM back b JOIN jobs j ON j.id = b.job_id JOIN dead_letters l ON l.id = j.replay_of WHERE b.generation < 20
), related AS (
  SELECT job_id FROM back WHERE generation > 0
  UNION
  SELECT job_id FROM (
    SELECT r.id AS job_id FROM dead_letters l JOIN jobs r ON r.replay_of = l.id WHERE l.job_id = $1
    ORDER BY r.id DESC LIMIT 100) AS newest
)
SELECT DISTINCT p.payload FROM related JOIN jobs p ON p.id = related.job_id JOIN kinds k ON k.kind = p.kind
WHERE p.payload IS NOT NULL AND k.overrides LIKE '%"masked_fields"%'"#;

/// What else may say a masked value of a job: see [`RELATED`].
pub(super) async fn list_related_payloads(tx: &mut Tx, job: JobId) -> Tried<Vec<RawJson>> {
    let payloads: Vec<String> = sqlx::query_scalar(RELATED).bind(job.0).fetch_all(&mut **tx).await?;
    Ok(payloads.into_iter().map(RawJson::stored).collect())
}

#[derive(Debug, FromRow)]
struct StoredMasking {
    id: i64,
    overrides: Option<String>,
    masking: Option<String>,
}

/// What covers the masked values of each of these letters, where there are any.
pub(super) async fn covers(
    tx: &mut Tx,
    letters: impl Iterator<Item = DeadLetterId>,
) -> Tried<HashMap<DeadLetterId, Cover>> {
    let mut query = QueryBuilder::<Db>::new(concat!(
        "SELECT l.id, k.overrides, ",
        masking_payloads!("j"),
        " AS masking FROM dead_letters l JOIN kinds k ON k.kind = l.kind JOIN jobs j ON j.id = l.job_id \
             WHERE k.overrides LIKE '%\"masked_fields\"%' AND l.id IN (",
    ));
    let mut ids = query.separated(", ");
    let mut is_empty = true;
    for letter in letters {
        ids.push_bind(letter.0);
        is_empty = false;
    }
    if is_empty {
        return Ok(HashMap::new());
    }
    query.push(")");
    let rows: Vec<StoredMasking> = query.build_query_as().fetch_all(&mut **tx).await?;
    Ok(rows
        .into_iter()
        .map(|row| (DeadLetterId(row.id), cover_of(row.overrides.as_deref(), row.masking.as_deref())))
        .collect())
}
