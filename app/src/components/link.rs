//! Addresses of pages. Names travel in the query string, encoded: a kind may
//! hold `/`, `?`, `#`, `..` or anything else.

use crate::model::ids::{DeadLetterId, JobId};
use crate::model::letter::LetterFilter;
use url::form_urlencoded::Serializer;

/// `path` with the parameters that have a value.
pub fn with_query<'a>(path: &str, parameters: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> String {
    let mut query = Serializer::new(String::new());
    let mut is_empty = true;
    for (name, value) in parameters {
        if let Some(value) = value {
            query.append_pair(name, value);
            is_empty = false;
        }
    }
    if is_empty { path.to_owned() } else { format!("{path}?{}", query.finish()) }
}

/// The page of one job.
pub fn job(id: JobId) -> String {
    format!("/jobs/{id}")
}

/// The page of one letter.
pub fn letter(id: DeadLetterId) -> String {
    format!("/dead-letters/{id}")
}

/// The jobs of one kind, in one state if given.
pub fn jobs(kind: &str, state: Option<&str>) -> String {
    with_query("/jobs", [("kind", Some(kind)), ("state", state)])
}

/// The letters that a filter names.
pub fn letters(filter: &LetterFilter) -> String {
    let day = filter.day.map(|day| day.to_string());
    let before = filter.before.map(|id| id.to_string());
    with_query(
        "/dead-letters",
        [
            ("status", filter.status.map(|status| status.as_str())),
            ("kind", filter.kind.as_deref()),
            ("source", filter.source.as_deref()),
            ("tenant", filter.tenant.as_deref()),
            ("route", filter.route.map(|route| route.as_str())),
            ("reason", filter.reason_code.as_deref()),
            ("group", filter.group.as_deref()),
            ("day", day.as_deref()),
            ("before", before.as_deref()),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_kinds_stay_one_value() {
        assert_eq!(jobs("a/b?x=1#z&state=done", None), "/jobs?kind=a%2Fb%3Fx%3D1%23z%26state%3Ddone");
        assert_eq!(jobs("..", Some("dead")), "/jobs?kind=..&state=dead");
        assert_eq!(letters(&LetterFilter::default()), "/dead-letters");
    }
}
