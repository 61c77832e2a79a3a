//! Processed and parked per UTC day, out of the endings that outlive their jobs.

use crate::store::fault::Tried;
use crate::store::readings::StoredParkCount;
use app::model::park_rate::{ParkCount, ParkRateQuery};
use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use sqlx::PgPool;

/// Counts as the query asks.
pub(super) async fn count_park_rate(pool: &PgPool, query: &ParkRateQuery) -> Tried<Vec<ParkCount>> {
    let rows: Vec<StoredParkCount> = sqlx::query_as(
        "WITH counted AS ( \
             SELECT (at AT TIME ZONE 'UTC')::date AS day, CASE WHEN $5 THEN source END AS source, \
                 CASE WHEN $6 AND outcome <> 'done' THEN reason_code END AS reason_code, \
                 count(*) AS processed, count(*) FILTER (WHERE outcome <> 'done') AS parked \
             FROM endings \
             WHERE NOT is_canary AND NOT is_replay AND outcome IN ('done', 'refused', 'evidence_failed') \
                 AND at >= coalesce($1, '-infinity'::timestamptz) AND at < coalesce($2, 'infinity'::timestamptz) \
                 AND ($3::text IS NULL OR source = $3) AND ($4::text IS NULL OR kind = $4) \
             GROUP BY 1, 2, 3 \
         ), whole AS ( \
             SELECT day, source, sum(processed)::bigint AS processed FROM counted GROUP BY day, source \
         ) SELECT w.day, w.source, c.reason_code, w.processed, coalesce(c.parked, 0) AS parked \
         FROM whole w LEFT JOIN counted c \
             ON c.day = w.day AND c.source IS NOT DISTINCT FROM w.source AND c.parked > 0 \
         ORDER BY w.day, w.source, c.reason_code LIMIT 10000",
    )
    .bind(query.from.map(start_of))
    .bind(query.to.and_then(|day| day.checked_add_days(Days::new(1))).map(start_of))
    .bind(&query.source)
    .bind(&query.kind)
    .bind(query.by_source)
    .bind(query.by_reason)
    .fetch_all(&mut *super::acquire(pool).await?)
    .await?;
    Ok(rows.into_iter().map(StoredParkCount::count).collect())
}

fn start_of(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc()
}
