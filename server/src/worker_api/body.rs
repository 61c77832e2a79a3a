//! Request bodies: read within a stated limit, repaired, parsed.
//!
//! Every call states how many bytes it takes. Within that, text that a strict
//! reader would refuse is made readable first, because a report of a failure
//! must not be lost over a character: invalid UTF-8 and lone surrogates become
//! U+FFFD, raw control characters inside strings become their escapes.
//!
//! 400 means that this is no JSON object; everything that is wrong *inside* one
//! is 422 and names the field.

use super::error::ApiError;
use super::shortener::Shortener;
use app::model::FieldError;
use app::model::text::{preview, repaired_json};
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use futures::StreamExt;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// Most bytes of `POST /jobs`: 10,000 jobs with 6 kB each, or 60 of the largest.
pub const MAX_ENQUEUE_BYTES: usize = 64 * 1024 * 1024;
/// Most bytes of a report that ends an attempt: each part of it has its own, smaller limit.
pub const MAX_REPORT_BYTES: usize = 16 * 1024 * 1024;
/// Most bytes of an action on a dead letter.
pub const MAX_ACTION_BYTES: usize = 4 * 1024 * 1024;
/// Most bytes of everything else.
pub const MAX_SMALL_BYTES: usize = 1024 * 1024;

/// A body over its limit is read to its end up to here, so that the sender
/// gets to see the answer instead of a broken connection. A report of a failure
/// may be this long.
pub const MAX_DRAINED_BYTES: usize = 256 * 1024 * 1024;
/// Bodies longer than this are parsed off the threads that answer others.
const LONG_BYTES: usize = 256 * 1024;
/// Longest field name and rule in an answer, in characters.
const MAX_SHOWN_CHARACTERS: usize = 500;

/// A body that is not read yet; take it last, after the caller's scope is checked.
#[derive(Debug)]
pub struct Incoming {
    headers: HeaderMap,
    body: Body,
}

impl<S: Sync> FromRequest<S> for Incoming {
    type Rejection = std::convert::Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Self::Rejection> {
        let (parts, body) = request.into_parts();
        Ok(Self { headers: parts.headers, body })
    }
}

impl Incoming {
    /// The body as a JSON object.
    ///
    /// # Errors
    /// 413 over `limit_bytes`, 400 for no JSON object, 422 for a wrong field.
    pub async fn json<T: DeserializeOwned + Send + 'static>(self, limit_bytes: usize) -> Result<T, ApiError> {
        check_content_type(&self.headers)?;
        parsed(self.bytes(limit_bytes).await?).await
    }

    /// The body as a JSON object, its long parts cut or left out while it comes
    /// in: see `Shortener`. For reports that must not be lost over their size.
    ///
    /// # Errors
    /// As [`Self::json`], the limit being [`MAX_DRAINED_BYTES`], and
    /// [`MAX_REPORT_BYTES`] for what cannot be shortened.
    pub async fn shortened_json<T: DeserializeOwned + Send + 'static>(self) -> Result<T, ApiError> {
        check_content_type(&self.headers)?;
        let mut shortener = Shortener::default();
        let total = drain(self.body, |chunk| shortener.push(chunk, MAX_REPORT_BYTES)).await?;
        if total > MAX_DRAINED_BYTES {
            return Err(ApiError::TooLarge { limit_bytes: MAX_DRAINED_BYTES });
        }
        let bytes = shortener.into_bytes();
        if bytes.len() > MAX_REPORT_BYTES {
            return Err(ApiError::TooLarge { limit_bytes: MAX_REPORT_BYTES });
        }
        parsed(bytes).await
    }

    /// The body as the text it is, whatever it calls itself.
    ///
    /// # Errors
    /// 413 over `limit_bytes`, 422 for what is no UTF-8.
    pub async fn text(self, limit_bytes: usize) -> Result<String, ApiError> {
        let bytes = self.bytes(limit_bytes).await?;
        String::from_utf8(bytes).map_err(|_| ApiError::invalid("body", "must be UTF-8 text"))
    }

    /// Nothing at all, or an empty JSON object.
    ///
    /// # Errors
    /// As [`Self::json`].
    pub async fn nothing(self) -> Result<(), ApiError> {
        let bytes = self.bytes(MAX_SMALL_BYTES).await?;
        if bytes.is_empty() {
            return Ok(());
        }
        parse::<Nothing>(&bytes).map(|_| ())
    }

    async fn bytes(self, limit_bytes: usize) -> Result<Vec<u8>, ApiError> {
        let mut bytes = Vec::new();
        let total = drain(self.body, |chunk| match bytes.len() + chunk.len() {
            total if total <= limit_bytes => bytes.extend_from_slice(chunk),
            _ => {}
        })
        .await?;
        if total > limit_bytes { Err(ApiError::TooLarge { limit_bytes }) } else { Ok(bytes) }
    }
}

/// Shows `take` the body, chunk by chunk, to its end or just past
/// [`MAX_DRAINED_BYTES`]; answers how many bytes came.
async fn drain(body: Body, mut take: impl FnMut(&[u8])) -> Result<usize, ApiError> {
    let mut total: usize = 0;
    let mut stream = body.into_data_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| ApiError::Malformed("The body ended before it was complete.".to_owned()))?;
        total = total.saturating_add(chunk.len());
        if total > MAX_DRAINED_BYTES {
            break;
        }
        take(&chunk);
    }
    Ok(total)
}

async fn parsed<T: DeserializeOwned + Send + 'static>(bytes: Vec<u8>) -> Result<T, ApiError> {
    if bytes.len() <= LONG_BYTES {
        return parse(&bytes);
    }
    tokio::task::spawn_blocking(move || parse(&bytes))
        .await
        .map_err(|error| ApiError::Internal(format!("parsing a body: {error}")))?
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Absent is taken for JSON; anything else must say so.
fn check_content_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let media_type = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let media_type = media_type.to_ascii_lowercase();
    if media_type == "application/json" || (media_type.starts_with("application/") && media_type.ends_with("+json")) {
        return Ok(());
    }
    Err(ApiError::Malformed("Send the body as JSON, with `Content-Type: application/json`.".to_owned()))
}

/// Parses a whole body: first whether it is a JSON object, then its fields.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let text = repaired_json(bytes);
    let text = match syntax_of(&text) {
        Ok(()) => text,
        Err(error) => match escaped_controls(&text) {
            Some(escaped) if syntax_of(&escaped).is_ok() => Cow::Owned(escaped),
            _ => return Err(ApiError::Malformed(format!("The body is not valid JSON: {error}."))),
        },
    };
    if !text.trim_start().starts_with('{') {
        return Err(ApiError::Malformed("The body must be a JSON object.".to_owned()));
    }
    let deserializer = &mut serde_json::Deserializer::from_str(&text);
    match serde_path_to_error::deserialize::<_, Object<T>>(deserializer) {
        Ok(object) => Ok(object.0),
        Err(error) => Err(ApiError::Invalid(field_error(&error))),
    }
}

fn syntax_of(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<&RawValue>(text).map(|_| ())
}

/// The text with raw control characters inside strings as escapes; `None` if
/// there are none. What a log or a terminal printed ends up in error texts, and
/// not every worker's encoder escapes it.
fn escaped_controls(text: &str) -> Option<String> {
    let mut escaped = String::with_capacity(text.len() + 64);
    let (mut in_string, mut after_backslash, mut found) = (false, false, false);
    for character in text.chars() {
        if in_string && character < ' ' {
            use fmt::Write;
            write!(escaped, "\\u{:04x}", u32::from(character)).expect("writing to a string cannot fail");
            (found, after_backslash) = (true, false);
            continue;
        }
        if character == '"' && !after_backslash {
            in_string = !in_string;
        }
        after_backslash = in_string && character == '\\' && !after_backslash;
        escaped.push(character);
    }
    found.then_some(escaped)
}

/// What serde says, as field and rule.
fn field_error(error: &serde_path_to_error::Error<serde_json::Error>) -> FieldError {
    let message = error.inner().to_string();
    let rule = message.rfind(" at line ").map_or(message.as_str(), |end| &message[..end]);
    let path = match error.path().to_string() {
        root if root == "." => String::new(),
        path => path,
    };
    let (field, rule) = match rule.strip_prefix("missing field ") {
        Some(name) => (within(&path, name.trim_matches('`')), "is required"),
        None => match rule.strip_prefix("duplicate field ") {
            Some(name) => (within(&path, name.trim_matches('`')), "is given twice"),
            None => (path, rule),
        },
    };
    FieldError::new(preview(&field, MAX_SHOWN_CHARACTERS), preview(rule, MAX_SHOWN_CHARACTERS))
}

fn within(outer: &str, name: &str) -> String {
    if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") }
}

/// `T` out of a JSON object only: what serde derives also takes a list of the
/// fields in order, which nobody means.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OnlyMaps<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyMaps<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_map(OnlyMaps(PhantomData)).map(Object)
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
