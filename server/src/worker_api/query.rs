//! Query strings: every parameter is known, given once, and checked.

use super::error::ApiError;
use app::model::letter_filter::{LetterFilter, day};
use app::model::name::Name;
use app::model::text::preview;
use chrono::NaiveDate;
use std::collections::BTreeMap;
use std::str::FromStr;

/// Most rows of a list.
pub const MAX_LIMIT: u32 = 200;
/// Rows of a list unless the caller says otherwise.
pub const DEFAULT_LIMIT: u32 = 50;

/// The parameters of a request.
#[derive(Debug, Default)]
pub(super) struct Query(BTreeMap<String, String>);

impl Query {
    /// Takes a query string apart.
    ///
    /// # Errors
    /// 422 naming a parameter that is not `known` or is given twice.
    pub(super) fn parse(query: Option<&str>, known: &[&str]) -> Result<Self, ApiError> {
        let mut parameters = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if !known.contains(&name.as_ref()) {
                let rule = match known {
                    [] => "is no parameter of this call; it takes none".to_owned(),
                    _ => format!("is no parameter of this call; it takes {}", known.join(", ")),
                };
                return Err(ApiError::invalid(preview(&name, 200), rule));
            }
            if parameters.insert(name.to_string(), value.into_owned()).is_some() {
                return Err(ApiError::invalid(name, "is given twice"));
            }
        }
        Ok(Self(parameters))
    }

    /// The parameter as it was given.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A parameter that obeys the rule of names.
    pub(super) fn name(&self, name: &str) -> Result<Option<String>, ApiError> {
        Ok(self.text(name).map(|text| Name::new(name, text)).transpose()?.map(|name| name.as_str().to_owned()))
    }

    /// A day, `YYYY-MM-DD`.
    pub(super) fn day(&self, name: &str) -> Result<Option<NaiveDate>, ApiError> {
        Ok(self.text(name).map(|text| day(name, text)).transpose()?)
    }

    /// The dead letters that are asked for. A program that may read sees
    /// payloads, so it may search them.
    pub(super) fn letter_filter(&self) -> Result<LetterFilter, ApiError> {
        let filter = LetterFilter::parse(|name| self.text(name))?;
        Ok(LetterFilter { searches_private: true, ..filter })
    }

    /// Where the next page starts, as the page before said.
    pub(super) fn cursor<T: FromStr>(&self) -> Result<Option<T>, ApiError> {
        let Some(text) = self.text("cursor") else { return Ok(None) };
        text.parse().map(Some).map_err(|_| ApiError::invalid("cursor", "must be a next_cursor of an earlier answer"))
    }

    /// Rows wanted.
    pub(super) fn limit(&self) -> Result<u32, ApiError> {
        let Some(text) = self.text("limit") else { return Ok(DEFAULT_LIMIT) };
        match text.parse() {
            Ok(limit) if (1..=MAX_LIMIT).contains(&limit) && text.bytes().all(|b| b.is_ascii_digit()) => Ok(limit),
            _ => Err(ApiError::invalid("limit", format!("must be a whole number from 1 to {MAX_LIMIT}"))),
        }
    }
}
