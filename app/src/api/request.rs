//! What the address of a request says, decoded once.

use crate::error::AppError;
use crate::model::FieldError;
use leptos::prelude::use_context;
use leptos_router::location::RequestUrl;
use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What was posted to a page that is shown again, so that nothing typed is lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Posted {
    /// The form's fields in their order.
    pub fields: Arc<Vec<(String, String)>>,
    /// Why nothing was done; absent when the page only shows what would be done.
    pub sentence: Option<String>,
}

impl Posted {
    /// The first value of a field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Path and query of the request. Remembers which parameters a page looked for,
/// so that what nobody reads can be named instead of being ignored in silence.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The path, as it came.
    pub path: String,
    query: Vec<(String, String)>,
    /// The form that was posted to this page, if it is shown in answer to one.
    pub posted: Option<Posted>,
    looked_for: Arc<Mutex<BTreeSet<String>>>,
}

impl Request {
    /// The request being answered.
    pub fn current() -> Self {
        let asked = use_context::<RequestUrl>().map(|url| Self::parse(url.as_ref())).unwrap_or_default();
        Self { posted: use_context::<Posted>(), ..asked }
    }

    /// Reads an address, with or without its host.
    pub fn parse(address: &str) -> Self {
        let address = address.split('#').next().unwrap_or_default();
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let path = path.split_once("://").map_or(path, |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
        let query = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Self { path: path.to_owned(), query, posted: None, looked_for: Arc::default() }
    }

    /// The value of a parameter; an empty one counts as absent.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.looked_for().insert(name.to_owned());
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()).filter(|v| !v.is_empty())
    }

    /// Names of parameters that no page has looked for so far, each once.
    pub fn unread(&self) -> BTreeSet<&str> {
        let looked_for = self.looked_for();
        self.query.iter().map(|(name, _)| name.as_str()).filter(|name| !looked_for.contains(*name)).collect()
    }

    /// Names of parameters that came with more than one value, of which the
    /// first counts.
    pub fn repeated(&self) -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        self.query.iter().map(|(name, _)| name.as_str()).filter(|name| !seen.insert(*name)).collect()
    }

    fn looked_for(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.looked_for.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value as an owned text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// The value, parsed.
    ///
    /// # Errors
    /// Names the parameter and the rule it breaks.
    pub fn parsed<T: FromStr>(&self, name: &str, rule: &str) -> Result<Option<T>, FieldError> {
        self.word(name, rule, |text| text.parse().ok())
    }

    /// The value, as one of a closed set of words.
    ///
    /// # Errors
    /// Names the parameter and the rule it breaks.
    pub fn word<T>(&self, name: &str, rule: &str, of: impl Fn(&str) -> Option<T>) -> Result<Option<T>, FieldError> {
        self.get(name).map(|text| of(text).ok_or_else(|| FieldError::new(name, rule))).transpose()
    }

    /// The id that ends the path; what is no id does not exist.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn id<T: FromStr>(&self, what: &'static str) -> Result<T, AppError> {
        self.id_from_end(0, what)
    }

    /// The id in front of the path's last word, as in `/dead-letters/7/correct`.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn id_above<T: FromStr>(&self, what: &'static str) -> Result<T, AppError> {
        self.id_from_end(1, what)
    }

    fn id_from_end<T: FromStr>(&self, place: usize, what: &'static str) -> Result<T, AppError> {
        let word = self.path.rsplit('/').nth(place).unwrap_or_default();
        word.parse().map_err(|_| AppError::NotFound(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::JobId;

    #[test]
    fn hostile_kinds_come_out_of_the_query_as_they_are() {
        let request = Request::parse("http://leptos.dev/jobs?kind=a%2Fb%3Fx%3D1%23z+%F0%9F%98%80&state=#x");
        assert_eq!(request.path, "/jobs");
        assert_eq!(request.get("kind"), Some("a/b?x=1#z 😀"));
        assert_eq!(request.get("state"), None, "empty is absent");
    }

    #[test]
    fn what_no_page_looks_for_can_be_named() {
        let request = Request::parse("/jobs?knd=x&state=dead&knd=y&kind=");
        assert_eq!((request.get("kind"), request.get("state")), (None, Some("dead")));
        assert_eq!(request.unread().into_iter().collect::<Vec<_>>(), ["knd"]);
        assert_eq!(request.repeated().into_iter().collect::<Vec<_>>(), ["knd"]);
    }

    #[test]
    fn a_path_that_ends_in_no_id_does_not_exist() {
        assert_eq!(Request::parse("/jobs/9007199254740993").id("job"), Ok(JobId(9_007_199_254_740_993)));
        assert_eq!(Request::parse("/jobs/x").id::<JobId>("job"), Err(AppError::NotFound("job")));
    }

    #[test]
    fn a_value_outside_its_set_names_the_parameter() {
        let request = Request::parse("/jobs?before=x");
        assert_eq!(request.parsed::<JobId>("before", "must be an id").unwrap_err().field, "before");
    }
}
