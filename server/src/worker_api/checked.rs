//! The rules of single fields, checked while a body is parsed, so that an error
//! knows its place (`jobs[3].run_at`) and request types hold checked values only.
//!
//! Used as `#[serde(deserialize_with = "checked::optional::<Time, _>")]`.
//! `null` is the same as absent.

use app::model::job::RawJson;
use app::model::name::Name;
use app::model::text::{self, MAX_PAYLOAD_BYTES};
use chrono::{DateTime, NaiveDate, Utc};
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// What a field may hold.
pub trait Rule {
    /// What is made of it.
    type Value;

    /// Reads and checks a value.
    ///
    /// # Errors
    /// Says the rule, in a sentence without the field's name.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Value, D::Error>;
}

struct Ruled<R: Rule>(R::Value);

impl<'de, R: Rule> Deserialize<'de> for Ruled<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        R::read(deserializer).map(Self)
    }
}

/// A field that must be there.
pub(super) fn required<'de, R: Rule, D: Deserializer<'de>>(deserializer: D) -> Result<R::Value, D::Error> {
    R::read(deserializer)
}

/// A field that may be absent; add `default`.
pub(super) fn optional<'de, R: Rule, D: Deserializer<'de>>(deserializer: D) -> Result<Option<R::Value>, D::Error> {
    Ok(Option::<Ruled<R>>::deserialize(deserializer)?.map(|value| value.0))
}

/// A field that only advises: what breaks its rule is the same as absent, because
/// the report that carries it must not be lost over it. Add `default`.
pub(super) fn advisory<'de, R: Rule, D: Deserializer<'de>>(deserializer: D) -> Result<Option<R::Value>, D::Error> {
    let json = RawJson::deserialize(deserializer)?;
    Ok(serde_json::from_str::<Option<Ruled<R>>>(json.as_str()).ok().flatten().map(|value| value.0))
}

/// Whatever `T` takes.
pub struct Plain<T>(PhantomData<T>);

impl<T: for<'de> Deserialize<'de>> Rule for Plain<T> {
    type Value = T;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }
}

/// A list of 1 to `MAX` items that each obey a rule. Stops reading at the first too many.
pub struct List<R, const MAX: usize>(PhantomData<R>);

impl<R: Rule, const MAX: usize> Rule for List<R, MAX> {
    type Value = Vec<R::Value>;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(ListVisitor::<R, MAX>(PhantomData))
    }
}

struct ListVisitor<R, const MAX: usize>(PhantomData<R>);

impl<'de, R: Rule, const MAX: usize> Visitor<'de> for ListVisitor<R, MAX> {
    type Value = Vec<R::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of 1 to {MAX} items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < MAX {
            match seq.next_element::<Ruled<R>>()? {
                Some(item) => items.push(item.0),
                None if items.is_empty() => return Err(A::Error::custom("must not be empty")),
                None => return Ok(items),
            }
        }
        match seq.next_element::<IgnoredAny>()? {
            None => Ok(items),
            Some(_) => Err(A::Error::custom(format!("must have at most {MAX} items"))),
        }
    }
}

/// A JSON object whose fields are `T`'s.
pub struct Fields<T>(PhantomData<T>);

impl<T: for<'de> Deserialize<'de>> Rule for Fields<T> {
    type Value = T;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        super::body::Object::<T>::deserialize(deserializer).map(|object| object.0)
    }
}

/// A name: 1 to 200 characters.
pub struct NameText;

impl Rule for NameText {
    type Value = Name;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        let text = String::deserialize(deserializer)?;
        Name::new("", &text).map_err(|error| D::Error::custom(error.rule))
    }
}

/// Text of `MIN` to `MAX` characters, NUL replaced.
pub struct Text<const MIN: usize, const MAX: usize>;

impl<const MIN: usize, const MAX: usize> Rule for Text<MIN, MAX> {
    type Value = String;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        let text = String::deserialize(deserializer)?;
        let characters = text.chars().count();
        if characters < MIN {
            return Err(D::Error::custom("must not be empty"));
        }
        if characters > MAX {
            return Err(D::Error::custom(format!("must be at most {MAX} characters, got {characters}")));
        }
        Ok(text::clean(&text).into_owned())
    }
}

/// Text of any length, NUL replaced, cut before the character that passes `MAX_BYTES`.
pub struct CutText<const MAX_BYTES: usize>;

impl<const MAX_BYTES: usize> Rule for CutText<MAX_BYTES> {
    type Value = String;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(text::cut(&text::clean(&text), MAX_BYTES).to_owned())
    }
}

/// As [`CutText`], or a number, which becomes its digits: many codes are numbers.
pub struct CodeText<const MAX_BYTES: usize>;

impl<const MAX_BYTES: usize> Rule for CodeText<MAX_BYTES> {
    type Value = String;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        let text = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => text,
            serde_json::Value::Number(number) => number.to_string(),
            _ => return Err(D::Error::custom("must be text or a number")),
        };
        Ok(text::cut(&text::clean(&text), MAX_BYTES).to_owned())
    }
}

/// As [`CutText`], but not empty.
pub struct SomeCutText<const MAX_BYTES: usize>;

impl<const MAX_BYTES: usize> Rule for SomeCutText<MAX_BYTES> {
    type Value = String;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        let text = CutText::<MAX_BYTES>::read(deserializer)?;
        if text.is_empty() { Err(D::Error::custom("must not be empty")) } else { Ok(text) }
    }
}

/// Text of at most `MAX_BYTES`, NUL replaced; longer is refused.
pub struct WholeText<const MAX_BYTES: usize>;

impl<const MAX_BYTES: usize> Rule for WholeText<MAX_BYTES> {
    type Value = String;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        let text = text::clean(&String::deserialize(deserializer)?).into_owned();
        if text.len() > MAX_BYTES {
            return Err(D::Error::custom(format!("must be at most {MAX_BYTES} bytes, got {}", text.len())));
        }
        Ok(text)
    }
}

/// A whole number from `MIN` to `MAX`, as a JSON number without fraction.
pub struct Whole<const MIN: u32, const MAX: u32>;

impl<const MIN: u32, const MAX: u32> Rule for Whole<MIN, MAX> {
    type Value = u32;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        deserializer
            .deserialize_i64(WholeVisitor { min: MIN.into(), max: MAX.into() })
            .map(|n| u32::try_from(n).expect("the visitor keeps within the bounds of u32"))
    }
}

/// An amount from 0 to 2^63 − 1.
pub struct Amount;

impl Rule for Amount {
    type Value = i64;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        deserializer.deserialize_i64(WholeVisitor { min: 0, max: i64::MAX })
    }
}

/// A whole number that a signed 64-bit integer holds.
pub struct Integer;

impl Rule for Integer {
    type Value = i64;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        deserializer.deserialize_i64(WholeVisitor { min: i64::MIN, max: i64::MAX })
    }
}

struct WholeVisitor {
    min: i64,
    max: i64,
}

impl Visitor<'_> for WholeVisitor {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {} to {}", self.min, self.max)
    }

    fn visit_i64<E: Error>(self, n: i64) -> Result<i64, E> {
        if (self.min..=self.max).contains(&n) {
            return Ok(n);
        }
        Err(E::custom(format!("must be a whole number from {} to {}, got {n}", self.min, self.max)))
    }

    fn visit_u64<E: Error>(self, n: u64) -> Result<i64, E> {
        match i64::try_from(n) {
            Ok(n) => self.visit_i64(n),
            Err(_) => Err(E::custom(format!("must be a whole number from {} to {}, got {n}", self.min, self.max))),
        }
    }
}

/// A time as RFC 3339 writes it, with its offset.
pub struct Time;

impl Rule for Time {
    type Value = DateTime<Utc>;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DateTime<Utc>, D::Error> {
        let text = String::deserialize(deserializer)?;
        DateTime::parse_from_rfc3339(&text)
            .map(|time| time.with_timezone(&Utc))
            .map_err(|_| D::Error::custom("must be a time as RFC 3339 writes it, such as 2026-03-09T14:02:11Z"))
    }
}

/// A day as `2026-03-09`.
pub struct Day;

impl Rule for Day {
    type Value = NaiveDate;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NaiveDate, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_written_in_full = text.len() == 10;
        match NaiveDate::parse_from_str(&text, "%Y-%m-%d") {
            Ok(day) if is_written_in_full => Ok(day),
            _ => Err(D::Error::custom("must be a day, such as 2026-03-09")),
        }
    }
}

/// SHA-256 in hex; stored in lower case.
pub struct Sha256Hex;

impl Rule for Sha256Hex {
    type Value = String;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(text.to_ascii_lowercase());
        }
        Err(D::Error::custom("must be 64 hexadecimal digits"))
    }
}

/// A currency as ISO 4217 writes it: three capital letters.
pub struct Currency;

impl Rule for Currency {
    type Value = String;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Ok(text);
        }
        Err(D::Error::custom("must be three capital letters, such as EUR"))
    }
}

/// `Retry-After` as the other side sent it: text, or a number of seconds.
/// Whether it makes sense is for the retry rule to say; junk is ignored there.
pub struct RetryAfter;

impl Rule for RetryAfter {
    type Value = String;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(RetryAfterVisitor)
    }
}

/// Longest `Retry-After` that is stored, in bytes; what is longer is junk.
const MAX_RETRY_AFTER_BYTES: usize = 200;

struct RetryAfterVisitor;

impl<'de> Visitor<'de> for RetryAfterVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a number of seconds")
    }

    // A failure is not lost over an odd header: two of them, or none at all, are junk.
    fn visit_bool<E: Error>(self, _: bool) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<String, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(String::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<String, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(String::new())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text::cut(&text::clean(text), MAX_RETRY_AFTER_BYTES).to_owned())
    }

    fn visit_u64<E: Error>(self, seconds: u64) -> Result<String, E> {
        Ok(seconds.to_string())
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<String, E> {
        Ok(seconds.to_string())
    }

    fn visit_f64<E: Error>(self, seconds: f64) -> Result<String, E> {
        if !seconds.is_finite() {
            return Err(E::invalid_value(Unexpected::Float(seconds), &self));
        }
        // A floor for the wait: a fraction is rounded up.
        Ok(format!("{:.0}", seconds.ceil()))
    }
}

/// Any JSON, kept as it was written, of at most 1 MiB.
pub struct AnyJson;

impl Rule for AnyJson {
    type Value = RawJson;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
        sized_json(deserializer, "")
    }
}

/// As [`AnyJson`], for input that may lie elsewhere.
pub struct Payload;

impl Rule for Payload {
    type Value = RawJson;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
        sized_json(deserializer, "; put larger input elsewhere and name the place in payload_ref")
    }
}

/// A JSON object, kept as it was written, of at most 1 MiB.
pub struct JsonObject;

impl Rule for JsonObject {
    type Value = RawJson;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
        shaped_json(sized_json(deserializer, "")?, '{', "must be an object")
    }
}

/// A JSON list, kept as it was written, of at most 1 MiB.
pub struct JsonList;

impl Rule for JsonList {
    type Value = RawJson;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
        shaped_json(sized_json(deserializer, "")?, '[', "must be a list")
    }
}

/// A JSON object of any size; one over 1 MiB, or what is no object, is left out
/// and says so, because the report that carries it must not be lost over it.
pub struct JsonObjectOrNote;

impl Rule for JsonObjectOrNote {
    type Value = RawJson;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
        let json = RawJson::deserialize(deserializer)?;
        match json.as_str().len() {
            _ if !json.as_str().starts_with('{') => {
                Ok(RawJson::stored(r#"{"left_out":"was no JSON object"}"#.to_owned()))
            }
            bytes if bytes > MAX_PAYLOAD_BYTES => Ok(RawJson::stored(format!(
                r#"{{"left_out":"{bytes} bytes, more than the {MAX_PAYLOAD_BYTES} that are stored"}}"#
            ))),
            _ => Ok(json),
        }
    }
}

fn sized_json<'de, D: Deserializer<'de>>(deserializer: D, way_out: &str) -> Result<RawJson, D::Error> {
    let json = RawJson::deserialize(deserializer)?;
    match json.as_str().len() {
        bytes if bytes > MAX_PAYLOAD_BYTES => {
            Err(D::Error::custom(format!("must be at most {MAX_PAYLOAD_BYTES} bytes of JSON, got {bytes}{way_out}")))
        }
        _ => Ok(json),
    }
}

fn shaped_json<E: Error>(json: RawJson, opening: char, rule: &str) -> Result<RawJson, E> {
    if json.as_str().starts_with(opening) { Ok(json) } else { Err(E::custom(rule)) }
}
