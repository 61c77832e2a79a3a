//! A filter as conditions of a statement over `dead_letters l`.

use super::Dialect;
use app::model::letter_filter::{AgeBucket, CanaryFilter, LetterFilter, StatusFilter};
use chrono::{DateTime, Days, NaiveTime, TimeDelta, Utc};
use sqlx::QueryBuilder;

/// A letter's reason, be it a code or a failure reason: a letter has one of
/// them at most. Written as the index has it.
pub(super) const REASON: &str = "coalesce(l.reason_code, l.failure_reason)";

/// All conditions of a filter, joined by AND; at least one.
pub fn push_conditions<DB: Dialect>(query: &mut QueryBuilder<DB>, filter: &LetterFilter, now: DateTime<Utc>) {
    query.push(match filter.canary {
        CanaryFilter::Exclude => "l.is_canary = false",
        CanaryFilter::Only => "l.is_canary = true",
        CanaryFilter::Include => "true",
    });
    query.push(" AND ");
    push_status::<DB>(query, filter.status, now);
    push_age::<DB>(query, filter.age, judged_at(filter, now));
    push_reason::<DB>(query, filter.reason.as_deref());
    for (column, value) in [("reason_code", &filter.reason_code), ("failure_reason", &filter.failure_reason)] {
        if value.is_some() {
            // The first condition finds the index, the second tells a code from a failure.
            push_reason::<DB>(query, value.as_deref());
            push_equal::<DB>(query, column, value.as_deref());
        }
    }
    for (column, value) in
        [("kind", &filter.kind), ("source", &filter.source), ("tenant", &filter.tenant), ("group_key", &filter.group)]
    {
        push_equal::<DB>(query, column, value.as_deref());
    }
    if let Some(route) = filter.route {
        query.push(" AND l.route = '").push(route.as_str()).push("'");
    }
    if let Some(older_than) = filter.older_than {
        push_parked::<DB>(query, "<=", judged_at(filter, now), older_than.age());
    }
    push_day::<DB>(query, filter);
    push_search::<DB>(query, filter);
    if let Some(until) = filter.parked_until {
        push_parked::<DB>(query, "<=", until, TimeDelta::zero());
    }
    if let Some(before) = filter.before {
        query.push(" AND l.id < ");
        DB::push_number(query, before.0);
    }
}

/// The time by which a filter judges ages.
pub(super) fn judged_at(filter: &LetterFilter, now: DateTime<Utc>) -> DateTime<Utc> {
    filter.ages_at.unwrap_or(now)
}

/// Where letters stand, as the indexes have it. Taken is open for a while: it
/// comes back by the clock alone.
pub(super) fn push_status<DB: Dialect>(query: &mut QueryBuilder<DB>, status: Option<StatusFilter>, now: DateTime<Utc>) {
    match status {
        None => query.push("true"),
        Some(StatusFilter::Unresolved) => query.push("l.status <> 'resolved'"),
        Some(StatusFilter::Open) => {
            query.push("l.status <> 'resolved' AND (l.taken_until IS NULL OR l.taken_until <= ");
            DB::push_time(query, now);
            query.push(")")
        }
        Some(StatusFilter::Taken) => {
            query.push("l.status <> 'resolved' AND l.taken_until > ");
            DB::push_time(query, now);
            query
        }
        Some(StatusFilter::Resolved) => query.push("l.status = 'resolved'"),
    };
}

/// ` AND …` for an age bucket, if there is one.
pub(super) fn push_age<DB: Dialect>(query: &mut QueryBuilder<DB>, age: Option<AgeBucket>, now: DateTime<Utc>) {
    let Some(age) = age else { return };
    let (from, to) = age.bounds();
    if let Some(from) = from {
        push_parked::<DB>(query, "<=", now, from);
    }
    if let Some(to) = to {
        push_parked::<DB>(query, ">", now, to);
    }
}

/// ` AND …` for a reason of either kind, if there is one.
pub(super) fn push_reason<DB: Dialect>(query: &mut QueryBuilder<DB>, reason: Option<&str>) {
    if let Some(reason) = reason {
        query.push(" AND ").push(REASON).push(" = ");
        DB::push_text(query, reason);
    }
}

fn push_equal<DB: Dialect>(query: &mut QueryBuilder<DB>, column: &str, value: Option<&str>) {
    if let Some(value) = value {
        query.push(" AND l.").push(column).push(" = ");
        DB::push_text(query, value);
    }
}

fn push_parked<DB: Dialect>(query: &mut QueryBuilder<DB>, operator: &str, now: DateTime<Utc>, age: TimeDelta) {
    query.push(" AND l.dead_lettered_at ").push(operator).push(" ");
    DB::push_time(query, now - age);
}

fn push_day<DB: Dialect>(query: &mut QueryBuilder<DB>, filter: &LetterFilter) {
    let Some(day) = filter.day else { return };
    let start = day.and_time(NaiveTime::MIN).and_utc();
    query.push(" AND l.dead_lettered_at >= ");
    DB::push_time(query, start);
    if let Some(end) = start.checked_add_days(Days::new(1)) {
        query.push(" AND l.dead_lettered_at < ");
        DB::push_time(query, end);
    }
}

/// The error is looked through first: it is at hand, a payload has to be fetched.
fn push_search<DB: Dialect>(query: &mut QueryBuilder<DB>, filter: &LetterFilter) {
    let Some(text) = filter.text.as_deref() else { return };
    query.push(" AND ((");
    push_holds::<DB>(query, "l.error", text);
    if filter.searches_private {
        query.push(" OR ");
        push_holds::<DB>(query, "l.evidence", text);
    }
    push_unmasked::<DB>(query, text);
    if filter.searches_private {
        for spelling in json_spellings(text) {
            // Not where a kind hides fields: a hidden value could be guessed letter by letter.
            query.push(
                " OR EXISTS (SELECT 1 FROM jobs j JOIN kinds k ON k.kind = j.kind WHERE j.id = l.job_id \
                 AND k.overrides NOT LIKE '%\"masked_fields\"%' AND ",
            );
            push_holds::<DB>(query, "j.payload", &spelling);
            query.push(")");
        }
    }
    query.push(")");
}

/// `) AND …`: error and evidence are shown with masked values covered, and must
/// not be found by them, nor by a piece of one. What is searched for is none if
/// the payload does not hold it; the same goes for each word of it with a digit,
/// so that a number is not guessed from the words around it.
fn push_unmasked<DB: Dialect>(query: &mut QueryBuilder<DB>, text: &str) {
    query.push(
        ") AND NOT EXISTS (SELECT 1 FROM jobs j JOIN kinds k ON k.kind = j.kind WHERE j.id = l.job_id \
         AND k.overrides LIKE '%\"masked_fields\"%' AND (false",
    );
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().any(|c| c.is_ascii_digit()));
    for word in std::iter::once(text).chain(words.filter(|word| *word != text)) {
        for spelling in json_spellings(word) {
            query.push(" OR ");
            push_holds::<DB>(query, "j.payload", &spelling);
        }
    }
    query.push("))");
}

fn push_holds<DB: Dialect>(query: &mut QueryBuilder<DB>, column: &str, text: &str) {
    let [before, between, after] = DB::HOLDS;
    query.push(before).push(column).push(between);
    DB::push_text(query, &text.to_ascii_lowercase());
    query.push(after);
}

/// A text as JSON may hold it: as it is, with escapes for quotes and the like,
/// and with an escape for whatever is not ASCII.
fn json_spellings(text: &str) -> Vec<String> {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    let escaped = quoted.trim_start_matches('"').strip_suffix('"').map_or_else(|| text.to_owned(), str::to_owned);
    let mut ascii = String::new();
    for c in escaped.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    let mut spellings = vec![text.to_owned()];
    for spelling in [escaped, ascii] {
        if !spellings.contains(&spelling) {
            spellings.push(spelling);
        }
    }
    spellings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_however_json_spells_it() {
        assert_eq!(json_spellings("plain"), ["plain"]);
        assert_eq!(json_spellings("é😀"), ["é😀", "\\u00e9\\ud83d\\ude00"]);
        assert_eq!(json_spellings("say \"hi\""), ["say \"hi\"", "say \\\"hi\\\""]);
        assert_eq!(json_spellings("\"a"), ["\"a", "\\\"a"]);
    }
}
