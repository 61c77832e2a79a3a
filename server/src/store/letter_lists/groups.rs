//! Groups of letters: one statement for a page of them, one for the trends and
//! sources of all groups on it.

use super::conditions::{push_conditions, push_status};
use super::{Dialect, masking_payload};
use crate::store::fault::{Fault, Tried};
use crate::store::time::At;
use app::model::cover::Cover;
use app::model::letter::Route;
use app::model::letter_filter::LetterFilter;
use app::model::letter_group::{GroupCursor, LetterGroup, SOURCES_SHOWN, TREND_DAYS};
use app::model::letter_policy::LetterPolicy;
use app::model::policy::Overrides;
use chrono::{DateTime, Utc};
use sqlx::{FromRow, QueryBuilder};
use std::collections::HashMap;

/// A group as the filter finds it.
#[derive(Debug, FromRow)]
pub struct StoredGroup {
    group_key: String,
    letters: i64,
    first_seen: At,
    last_seen: At,
    kind: String,
    route: String,
    reason_code: Option<String>,
    failure_reason: Option<String>,
    field: Option<String>,
    error: Option<String>,
    /// As in a [`StoredLetter`](crate::store::letter_rows::StoredLetter).
    masking: Option<String>,
    overrides: String,
}

/// One source of a group, or one day.
#[derive(Debug, FromRow)]
pub struct StoredGroupPart {
    group_key: String,
    /// Of a source: its name.
    source: Option<String>,
    /// Of a day: counted from 1970; −1 for all days before the trend.
    day: Option<i64>,
    letters: i64,
    /// Of a source: how many sources the group has. Of a day: its resolved letters.
    beside: i64,
}

/// What a page of groups is made of.
#[derive(Debug)]
pub struct GroupRows {
    rows: Vec<StoredGroup>,
    next: Option<GroupCursor>,
}

/// [`StoredGroup`] rows after `after`, last seen first; one more than asked for
/// tells whether there is a next page.
pub fn groups<DB: Dialect>(filter: &LetterFilter, after: Option<&GroupCursor>, now: DateTime<Utc>) -> QueryBuilder<DB> {
    let mut query = QueryBuilder::new(
        "WITH found AS (SELECT l.group_key, count(*) AS letters, min(l.dead_lettered_at) AS first_seen,
           max(l.dead_lettered_at) AS last_seen, max(l.id) AS newest FROM dead_letters l WHERE ",
    );
    push_conditions(&mut query, &filter.first_page(), now);
    query.push(" GROUP BY l.group_key");
    if let Some(after) = after {
        query.push(" HAVING max(l.dead_lettered_at) < ");
        DB::push_time(&mut query, after.last_seen);
        query.push(" OR (max(l.dead_lettered_at) = ");
        DB::push_time(&mut query, after.last_seen);
        query.push(" AND l.group_key < ");
        DB::push_text(&mut query, &after.key);
        query.push(")");
    }
    query.push(" ORDER BY last_seen DESC, l.group_key DESC LIMIT ");
    DB::push_number(&mut query, i64::from(filter.limit) + 1);
    query.push(
        ") SELECT found.group_key, found.letters, found.first_seen, found.last_seen, l.kind, l.route, l.reason_code,
           l.failure_reason, l.field, substr(l.error, 1, 500) AS error,
           (SELECT overrides FROM kinds k WHERE k.kind = l.kind) AS overrides, ",
    );
    query.push(masking_payload!());
    query.push(
        " AS masking
         FROM found JOIN dead_letters l ON l.id = found.newest ORDER BY found.last_seen DESC, found.group_key DESC",
    );
    query
}

/// The groups of a page, and where the next one starts.
pub fn group_rows(mut rows: Vec<StoredGroup>, filter: &LetterFilter) -> GroupRows {
    let has_more = rows.len() > filter.limit as usize;
    rows.truncate(filter.limit as usize);
    let last = rows.last().map(|row| GroupCursor { last_seen: row.last_seen.0, key: row.group_key.clone() });
    GroupRows { rows, next: last.filter(|_| has_more) }
}

/// [`StoredGroupPart`] rows of all groups of a page: the top sources of the
/// letters found, and the days of all letters whatever their status.
pub fn group_parts<DB: Dialect>(groups: &GroupRows, filter: &LetterFilter, now: DateTime<Utc>) -> QueryBuilder<DB> {
    let [before, after] = DB::DAY;
    let mut query = QueryBuilder::new("WITH found AS MATERIALIZED (SELECT l.group_key, l.source, l.status, ");
    query.push(before).push("l.dead_lettered_at").push(after).push(" AS day, CASE WHEN ");
    push_status::<DB>(&mut query, filter.status, now);
    query.push(" THEN 1 ELSE 0 END AS is_found FROM dead_letters l WHERE ");
    // A search by text reads no more letters than it has to.
    let status = filter.status.filter(|_| filter.text.is_some());
    push_conditions(&mut query, &LetterFilter { status, ..filter.first_page() }, now);
    query.push(" AND l.group_key IN (");
    for (i, row) in groups.rows.iter().enumerate() {
        query.push(if i == 0 { "" } else { ", " });
        DB::push_text(&mut query, &row.group_key);
    }
    let first_day = first_day(now);
    query.push(format_args!(
        ")), per_source AS (
           SELECT group_key, source, count(*) AS letters,
             row_number() OVER (PARTITION BY group_key ORDER BY count(*) DESC, source) AS place,
             count(*) OVER (PARTITION BY group_key) AS sources
           FROM found WHERE is_found = 1 GROUP BY group_key, source
         ), per_day AS (
           SELECT group_key, CASE WHEN day < {first_day} THEN -1 ELSE day END AS day, status FROM found
         )
         SELECT group_key, source, CAST(NULL AS bigint) AS day, letters, sources AS beside FROM per_source
         WHERE place <= {SOURCES_SHOWN}
         UNION ALL
         SELECT group_key, CAST(NULL AS text), day, count(*), count(*) FILTER (WHERE status = 'resolved')
         FROM per_day GROUP BY group_key, day"
    ));
    query
}

/// The first day of the trend, counted from 1970.
fn first_day(now: DateTime<Utc>) -> i64 {
    now.timestamp().div_euclid(86_400) - (TREND_DAYS as i64 - 1)
}

impl GroupRows {
    /// Whether there is nothing to ask the parts of.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The groups with their parts, and where the next page starts.
    pub fn page(
        self,
        parts: Vec<StoredGroupPart>,
        now: DateTime<Utc>,
    ) -> Tried<(Vec<LetterGroup>, Option<GroupCursor>)> {
        let mut groups = self.rows.into_iter().map(StoredGroup::group).collect::<Tried<Vec<_>>>()?;
        let places: HashMap<String, usize> =
            groups.iter().enumerate().map(|(i, group)| (group.key.clone(), i)).collect();
        for part in parts {
            if let Some(group) = places.get(&part.group_key).and_then(|&i| groups.get_mut(i)) {
                part.add_to(group, first_day(now));
            }
        }
        for group in &mut groups {
            group.sources.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        }
        Ok((groups, self.next))
    }
}

impl StoredGroup {
    fn group(mut self) -> Tried<LetterGroup> {
        let overrides: Overrides = serde_json::from_str(&self.overrides)?;
        let fields = LetterPolicy::effective(&overrides).masked_fields;
        let cover = Cover::of_list(self.masking.as_deref(), &fields);
        for text in [&mut self.field, &mut self.error] {
            cover.put_on(text);
        }
        Ok(LetterGroup {
            key: self.group_key,
            kind: self.kind,
            route: Route::from_word(&self.route).ok_or_else(|| Fault::corrupt("route", &self.route))?,
            reason_code: self.reason_code,
            failure_reason: self.failure_reason,
            field: self.field,
            error: self.error,
            letters: self.letters,
            first_seen: self.first_seen.0,
            last_seen: self.last_seen.0,
            per_day: [0; TREND_DAYS],
            sources: Vec::new(),
            more_sources: 0,
            of_any_status: 0,
            resolved: 0,
        })
    }
}

impl StoredGroupPart {
    fn add_to(self, group: &mut LetterGroup, first_day: i64) {
        if let Some(source) = self.source {
            group.sources.push((source, self.letters));
            group.more_sources = self.beside - i64::try_from(group.sources.len()).unwrap_or(0);
            return;
        }
        group.of_any_status += self.letters;
        group.resolved += self.beside;
        let place = self.day.and_then(|day| usize::try_from(day - first_day).ok());
        if let Some(day) = place.and_then(|place| group.per_day.get_mut(place)) {
            *day += self.letters;
        }
    }
}
