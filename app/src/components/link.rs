//! Addresses of pages. Names travel in the query string, encoded: a kind may
//! hold `/`, `?`, `#`, `..` or anything else.

use crate::model::artifact::ArtifactHash;
use crate::model::ids::{BulkId, CanaryId, DeadLetterId, JobId, NoticeId};
use crate::model::letter_filter::LetterFilter;
use crate::model::letter_group::GroupCursor;
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

/// The page of one bulk, its trouble after the letter given.
pub fn bulk(id: BulkId, after: Option<DeadLetterId>) -> String {
    with_query(&format!("/bulk/{id}"), [("after", after.map(|id| id.to_string()).as_deref())])
}

/// The customer notices.
pub const OUTBOX: &str = "/outbox";
/// What is left to somebody by a date.
pub const FOLLOW_UPS: &str = "/follow-ups";

/// What somebody has to be told of.
pub const ALERTS: &str = "/alerts";

/// Known-bad inputs, and whether they are refused.
pub const CANARIES: &str = "/canaries";

/// The page of one canary.
pub fn canary(id: CanaryId) -> String {
    format!("{CANARIES}/{id}")
}

/// The page of one notice.
pub fn notice(id: NoticeId) -> String {
    format!("{OUTBOX}/{id}")
}

/// The text of the registry with that hash.
pub fn artifact(sha256: &ArtifactHash) -> String {
    format!("/artifacts/{sha256}")
}

/// Two envelopes side by side, each named as `letter:12` or `job:57`.
pub fn compare(left: &str, right: &str) -> String {
    with_query("/compare", [("left", Some(left)), ("right", Some(right))])
}

/// The settings of one kind.
pub fn policy(kind: &str) -> String {
    with_query("/policies/kind", [("kind", Some(kind))])
}

/// The jobs of one kind, in one state if given.
pub fn jobs(kind: &str, state: Option<&str>) -> String {
    with_query("/jobs", [("kind", Some(kind)), ("state", state)])
}

/// The list of the letters that a filter names.
pub fn letters(filter: &LetterFilter) -> String {
    let before = filter.before.map(|id| id.to_string());
    with_filter("/dead-letters", filter, &[("view", Some("list")), ("before", before.as_deref())])
}

/// The groups of the letters that a filter names, after the group given.
pub fn letter_groups(filter: &LetterFilter, after: Option<&GroupCursor>) -> String {
    let after = after.map(GroupCursor::to_string);
    with_filter(
        "/dead-letters",
        filter,
        &[("after", after.as_deref()), ("view", filter.group.is_some().then_some("groups"))],
    )
}

/// The file with the letters that a filter names; `extension` is `csv` or `json`.
pub fn letter_export(filter: &LetterFilter, extension: &str) -> String {
    with_filter(&format!("/export/dead-letters.{extension}"), filter, &[])
}

fn with_filter(path: &str, filter: &LetterFilter, others: &[(&str, Option<&str>)]) -> String {
    let pairs = filter.pairs();
    let filter = pairs.iter().map(|(name, value)| (*name, Some(value.as_str())));
    with_query(path, filter.chain(others.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_kinds_stay_one_value() {
        assert_eq!(jobs("a/b?x=1#z&state=done", None), "/jobs?kind=a%2Fb%3Fx%3D1%23z%26state%3Ddone");
        assert_eq!(jobs("..", Some("dead")), "/jobs?kind=..&state=dead");
        let filter = LetterFilter { kind: Some("a&status=open".to_owned()), ..LetterFilter::default() };
        assert_eq!(letters(&filter), "/dead-letters?status=all&kind=a%26status%3Dopen&view=list");
        assert_eq!(letter_export(&filter, "csv"), "/export/dead-letters.csv?status=all&kind=a%26status%3Dopen");
    }
}
