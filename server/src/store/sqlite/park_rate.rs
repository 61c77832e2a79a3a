//! Processed and parked per UTC day, out of the endings that outlive their jobs.

use super::SqliteStore;
use crate::store::fault::Tried;
use crate::store::readings::StoredParkCount;
use crate::store::time::At;
use app::model::park_rate::{ParkCount, ParkRateQuery};
use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};

impl SqliteStore {
    pub(super) async fn read_park_rate(&self, query: &ParkRateQuery) -> Tried<Vec<ParkCount>> {
        let rows: Vec<StoredParkCount> = sqlx::query_as(
            "WITH counted AS (
               SELECT at / 86400000000 AS day, CASE WHEN ?5 THEN source END AS source,
                 CASE WHEN ?6 AND outcome <> 'done' THEN reason_code END AS reason_code,
                 count(*) AS processed, count(*) FILTER (WHERE outcome <> 'done') AS parked
               FROM endings INDEXED BY endings_park_rate
               WHERE is_canary = 0 AND is_replay = 0 AND outcome IN ('done', 'refused', 'evidence_failed')
                 AND at >= coalesce(?1, 0) AND at < coalesce(?2, 9223372036854775807)
                 AND (?3 IS NULL OR source = ?3) AND (?4 IS NULL OR kind = ?4)
               GROUP BY 1, 2, 3),
             whole AS (
               SELECT day, source, sum(processed) AS processed FROM counted GROUP BY day, source)
             SELECT date(w.day * 86400, 'unixepoch') AS day, w.source, c.reason_code, w.processed,
               coalesce(c.parked, 0) AS parked
             FROM whole w LEFT JOIN counted c ON c.day = w.day AND c.source IS w.source AND c.parked > 0
             ORDER BY w.day, w.source, c.reason_code LIMIT 10000",
        )
        .bind(query.from.map(start_of).map(At))
        .bind(query.to.and_then(|day| day.checked_add_days(Days::new(1))).map(start_of).map(At))
        .bind(query.source.as_deref())
        .bind(query.kind.as_deref())
        .bind(query.by_source)
        .bind(query.by_reason)
        .fetch_all(self.readers()?)
        .await?;
        Ok(rows.into_iter().map(StoredParkCount::count).collect())
    }
}

fn start_of(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc()
}
