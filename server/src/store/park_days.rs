//! Park counts per UTC day: rolled up once a day is over, counted afresh for the
//! days that are not. Written once; each database compiles it as a module of its own.

use super::{COUNTED_ENDINGS, Db, TheStore, Tx};
use crate::store::fault::Tried;
use crate::store::time::At;
use app::model::alerting::baseline::Counts;
use app::model::alerting::watch::DayCount;
use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use sqlx::QueryBuilder;
use std::collections::{BTreeMap, BTreeSet};

/// A day is rolled up this long after its end, in seconds: what began before
/// midnight is committed by then.
const SETTLED_SECONDS: i64 = 3_600;
/// Days that are rolled up at once, so that nobody waits for it.
const DAYS_AT_ONCE: usize = 5;
/// No older day is rolled up.
const OLDEST_DAY: i64 = 400;
/// Rows of one INSERT.
const ROWS_AT_ONCE: usize = 500;

/// Days since 1970.
pub(super) fn number_of(day: NaiveDate) -> i64 {
    day.and_time(chrono::NaiveTime::MIN).and_utc().timestamp().div_euclid(86_400)
}

/// The day of that number.
pub(super) fn day_of(number: i64) -> NaiveDate {
    start_of(number).date_naive()
}

fn start_of(day: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(day.saturating_mul(86_400), 0).unwrap_or_default()
}

/// Rolls up days that are over and not rolled up yet; answers how many.
pub(super) async fn fold(store: &TheStore) -> Tried<u64> {
    let (mut tx, now) = store.read_page().await?;
    let first: Option<At> = sqlx::query_scalar("SELECT min(at) FROM endings").fetch_one(&mut *tx).await?;
    let Some(At(first)) = first else { return Ok(0) };
    let last = number_of((now - TimeDelta::seconds(SETTLED_SECONDS)).date_naive()) - 1;
    let from = number_of(first.date_naive()).max(last - OLDEST_DAY);
    let folded = list_folded(&mut tx, from).await?;
    tx.commit().await?;
    let mut done = 0;
    for day in (from..=last).filter(|day| !folded.contains(day)).take(DAYS_AT_ONCE) {
        let (mut tx, _) = store.write_page().await?;
        // Another server may do the same at this moment.
        let ours = sqlx::query("INSERT INTO folded_days (day) VALUES ($1) ON CONFLICT (day) DO NOTHING")
            .bind(day)
            .execute(&mut *tx)
            .await?;
        if ours.rows_affected() == 0 {
            continue;
        }
        let rows = count(&mut tx, day).await?;
        insert(&mut tx, &rows).await?;
        tx.commit().await?;
        done += 1;
    }
    Ok(done)
}

async fn list_folded(tx: &mut Tx, from: i64) -> Tried<BTreeSet<i64>> {
    let days: Vec<i64> =
        sqlx::query_scalar("SELECT day FROM folded_days WHERE day >= $1").bind(from).fetch_all(&mut **tx).await?;
    Ok(days.into_iter().collect())
}

async fn insert(tx: &mut Tx, rows: &[DayCount]) -> Tried<()> {
    for rows in rows.chunks(ROWS_AT_ONCE) {
        let mut query = QueryBuilder::<Db>::new(
            "INSERT INTO park_days (day, kind, source, reason_code, processed, refused, parked) ",
        );
        query.push_values(rows, |mut values, row| {
            values
                .push_bind(number_of(row.day))
                .push_bind(row.kind.clone())
                .push_bind(row.source.clone())
                .push_bind(row.reason_code.clone().unwrap_or_default())
                .push_bind(row.counts.processed)
                .push_bind(row.counts.refused)
                .push_bind(row.counts.parked);
        });
        query.build().execute(&mut **tx).await?;
    }
    Ok(())
}

/// Every day from `from` until now.
pub(super) async fn list(tx: &mut Tx, from: NaiveDate, now: DateTime<Utc>) -> Tried<Vec<DayCount>> {
    let (from, today) = (number_of(from), number_of(now.date_naive()));
    let rows: Vec<(i64, String, String, String, i64, i64, i64)> = sqlx::query_as(
        "SELECT day, kind, source, reason_code, processed, refused, parked FROM park_days WHERE day >= $1",
    )
    .bind(from)
    .fetch_all(&mut **tx)
    .await?;
    let mut found: Vec<DayCount> = rows
        .into_iter()
        .map(|(day, kind, source, code, processed, refused, parked)| DayCount {
            day: day_of(day),
            kind,
            source,
            reason_code: Some(code).filter(|code| !code.is_empty()),
            counts: Counts { processed, refused, parked },
        })
        .collect();
    let folded = list_folded(tx, from).await?;
    for day in (from..=today).filter(|day| !folded.contains(day)) {
        found.extend(count(tx, day).await?);
    }
    Ok(found)
}

/// One day, out of the endings themselves.
async fn count(tx: &mut Tx, day: i64) -> Tried<Vec<DayCount>> {
    let mut query = QueryBuilder::<Db>::new("SELECT kind, source, coalesce(reason_code, ''), outcome, count(*) FROM ");
    query
        .push(COUNTED_ENDINGS)
        .push(" AND outcome IN ('done', 'refused', 'evidence_failed') AND at >= ")
        .push_bind(At(start_of(day)))
        .push(" AND at < ")
        .push_bind(At(start_of(day + 1)))
        .push(" GROUP BY 1, 2, 3, 4");
    let rows: Vec<(String, String, String, String, i64)> = query.build_query_as().fetch_all(&mut **tx).await?;
    let mut found: BTreeMap<(String, String, Option<String>), Counts> = BTreeMap::new();
    for (kind, source, code, outcome, n) in rows {
        let refused = if outcome == "refused" { n } else { 0 };
        let parked = if outcome == "done" { 0 } else { n };
        let mut add = |code: Option<String>, processed: i64| {
            let sum = found.entry((kind.clone(), source.clone(), code)).or_default();
            *sum = sum.plus(Counts { processed, refused, parked });
        };
        add(None, n);
        if parked > 0 && !code.is_empty() {
            add(Some(code), 0);
        }
    }
    let day = day_of(day);
    let counted = |((kind, source, reason_code), counts)| DayCount { day, kind, source, reason_code, counts };
    Ok(found.into_iter().map(counted).collect())
}
