//! What the filters beside a list would find: each part with its own parameter
//! changed, so that a number leads to exactly the letters it counts.

use super::Dialect;
use super::conditions::{REASON, judged_at, push_age, push_conditions, push_status};
use app::model::letter::LetterTotals;
use app::model::letter_filter::{AgeBucket, LetterFilter, StatusFilter};
use app::model::letter_group::{LetterCounts, REASONS_SHOWN};
use chrono::{DateTime, Utc};
use sqlx::{FromRow, QueryBuilder};

/// By status and by age.
#[derive(Debug, FromRow)]
pub struct StoredCounts {
    open: i64,
    taken: i64,
    resolved: i64,
    under_hour: i64,
    hour_to_day: i64,
    day_to_week: i64,
    over_week: i64,
}

/// By one reason.
#[derive(Debug, FromRow)]
pub struct StoredReason {
    reason: String,
    letters: i64,
    reasons: i64,
}

/// Whether there is an answer in reasonable time: no index knows a text, and a
/// list stops at the end of its page where a count cannot.
pub fn can_count(filter: &LetterFilter) -> bool {
    filter.text.is_none()
}

/// One [`StoredCounts`] row.
pub fn counts<DB: Dialect>(filter: &LetterFilter, now: DateTime<Utc>) -> QueryBuilder<DB> {
    let judged_at = judged_at(filter, now);
    let mut query = QueryBuilder::new("SELECT ");
    for (status, name) in
        [(StatusFilter::Open, "open"), (StatusFilter::Taken, "taken"), (StatusFilter::Resolved, "resolved")]
    {
        query.push("count(*) FILTER (WHERE ");
        push_status::<DB>(&mut query, Some(status), now);
        push_age::<DB>(&mut query, filter.age, judged_at);
        query.push(") AS ").push(name).push(", ");
    }
    let names = ["under_hour", "hour_to_day", "day_to_week", "over_week"];
    for (i, (age, name)) in AgeBucket::ALL.into_iter().zip(names).enumerate() {
        query.push(if i == 0 { "" } else { ", " });
        query.push("count(*) FILTER (WHERE ");
        push_status::<DB>(&mut query, filter.status, now);
        push_age::<DB>(&mut query, Some(age), judged_at);
        query.push(") AS ").push(name);
    }
    query.push(" FROM dead_letters l WHERE ");
    push_conditions(&mut query, &LetterFilter { status: None, age: None, ..filter.first_page() }, now);
    query
}

/// [`StoredReason`] rows, most first.
pub fn by_reason<DB: Dialect>(filter: &LetterFilter, now: DateTime<Utc>) -> QueryBuilder<DB> {
    let mut query = QueryBuilder::new("SELECT ");
    query.push(REASON).push(" AS reason, count(*) AS letters, count(*) OVER () AS reasons FROM dead_letters l WHERE ");
    push_conditions(&mut query, &LetterFilter { reason: None, ..filter.first_page() }, now);
    query.push(" AND ").push(REASON).push(" IS NOT NULL GROUP BY ").push(REASON);
    query.push(" ORDER BY letters DESC, reason LIMIT ").push(REASONS_SHOWN);
    query
}

/// One number: how many of the letters could be re-queued because nothing but a
/// failure parked them. A statement of its own: the index of the others knows no route.
pub fn failures<DB: Dialect>(filter: &LetterFilter, now: DateTime<Utc>) -> Option<QueryBuilder<DB>> {
    let failures = filter.failures()?;
    let mut query = QueryBuilder::new("SELECT count(*) FROM dead_letters l WHERE ");
    push_conditions(&mut query, &failures, now);
    Some(query)
}

/// All of it, as a page shows it.
pub fn letter_counts(counts: &StoredCounts, reasons: Vec<StoredReason>, failures: i64) -> LetterCounts {
    let distinct = reasons.first().map_or(0, |row| row.reasons);
    let more_reasons = distinct - i64::try_from(reasons.len()).unwrap_or(distinct);
    LetterCounts {
        totals: LetterTotals { open: counts.open, taken: counts.taken, resolved: counts.resolved },
        by_age: [counts.under_hour, counts.hour_to_day, counts.day_to_week, counts.over_week],
        by_reason: reasons.into_iter().map(|row| (row.reason, row.letters)).collect(),
        more_reasons,
        failures,
    }
}
