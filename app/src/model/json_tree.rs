//! JSON as it was written: every number's digits, the order of keys and
//! repeated keys survive reading, editing and writing.
//!
//! A value parsed into floating point would come back as another one
//! (`9007199254740993`, `0.10`, `1e400`), so scalars stay the text they are.

use super::FieldError;
use super::job::RawJson;
use std::collections::HashMap;
use std::fmt::Write as _;

/// Nesting beyond this is kept as one piece of text, so that no payload can
/// exhaust the stack.
const MAX_DEPTH: usize = 64;

/// A JSON value whose scalars and keys are kept word for word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum JsonTree {
    /// A string (with its quotes), number, `true`, `false` or `null`.
    Scalar(String),
    /// Items in order.
    Array(Vec<JsonTree>),
    /// Members in order; keys with their quotes, repeated ones kept.
    Object(Vec<(String, JsonTree)>),
}

/// JSON that a person typed.
///
/// # Errors
/// Longer than `max_bytes`, or not JSON: names the line and column.
pub fn typed_json(field: &str, text: &str, max_bytes: usize) -> Result<RawJson, FieldError> {
    let text = text.trim();
    if text.len() > max_bytes {
        return Err(FieldError::new(field, format!("must be at most {max_bytes} bytes, got {}", text.len())));
    }
    match serde_json::from_str::<&serde_json::value::RawValue>(text) {
        Ok(value) => Ok(RawJson::stored(value.get().to_owned())),
        Err(error) => {
            let message = error.to_string();
            let what = message.rfind(" at line ").map_or(message.as_str(), |end| &message[..end]);
            let (line, column) = (error.line(), error.column());
            Err(FieldError::new(field, format!("is not valid JSON at line {line}, column {column}: {what}")))
        }
    }
}

/// One step of a path into a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The member of that (decoded) name.
    Key(String),
    /// The item of that number, from 0.
    Item(usize),
}

/// Where in a value something stands.
pub type Path = Vec<Step>;

/// The path as a person reads it: `lines[2].amount`; the whole value is `$`.
pub fn path_text(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Item(at) => write!(text, "[{at}]").expect("writing to a string cannot fail"),
            Step::Key(key) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
        }
    }
    if text.is_empty() { "$".to_owned() } else { text }
}

impl JsonTree {
    /// Reads a value that is known to be JSON; space between tokens is not kept.
    pub fn of(json: &RawJson) -> Self {
        let mut reader = Reader { text: json.as_str(), at: 0 };
        reader.value(0)
    }

    /// A string value.
    pub fn string(text: &str) -> Self {
        Self::Scalar(quoted(text))
    }

    /// The value as compact JSON.
    pub fn to_json(&self) -> RawJson {
        let mut text = String::new();
        self.write(&mut text);
        RawJson::stored(text)
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Scalar(text) => out.push_str(text),
            Self::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (i, (key, value)) in members.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    out.push_str(key);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// The members of an object with their decoded names; nothing for anything else.
    pub fn members(&self) -> Vec<(String, &Self)> {
        match self {
            Self::Object(members) => members.iter().map(|(raw, value)| (unquoted(raw), value)).collect(),
            _ => Vec::new(),
        }
    }

    /// The text of a string value, decoded.
    pub fn as_text(&self) -> Option<String> {
        match self {
            Self::Scalar(raw) if raw.starts_with('"') => Some(unquoted(raw)),
            _ => None,
        }
    }

    /// The value at a path; with repeated keys, the last.
    pub fn get(&self, path: &[Step]) -> Option<&Self> {
        let Some((step, rest)) = path.split_first() else { return Some(self) };
        let inner = match (self, step) {
            (Self::Array(items), Step::Item(at)) => items.get(*at),
            (Self::Object(members), Step::Key(key)) => {
                members.iter().rev().find(|(raw, _)| unquoted(raw) == *key).map(|(_, value)| value)
            }
            _ => None,
        };
        inner.and_then(|inner| inner.get(rest))
    }

    /// Puts a value at a path. A member that is not there is added at the end,
    /// an item right after the last one too; answers whether it could be put.
    pub fn set(&mut self, path: &[Step], value: Self) -> bool {
        let Some((step, rest)) = path.split_first() else {
            *self = value;
            return true;
        };
        match (self, step) {
            (Self::Array(items), Step::Item(at)) if *at < items.len() => items[*at].set(rest, value),
            (Self::Array(items), Step::Item(at)) if *at == items.len() && rest.is_empty() => {
                items.push(value);
                true
            }
            (Self::Object(members), Step::Key(key)) => {
                match members.iter_mut().rev().find(|(raw, _)| unquoted(raw) == *key) {
                    Some((_, inner)) => inner.set(rest, value),
                    None if rest.is_empty() => {
                        members.push((quoted(key), value));
                        true
                    }
                    None => false,
                }
            }
            _ => false,
        }
    }

    /// Whether some object in it has a key twice.
    pub fn has_repeated_keys(&self) -> bool {
        match self {
            Self::Scalar(_) => false,
            Self::Array(items) => items.iter().any(Self::has_repeated_keys),
            Self::Object(members) => {
                let names: std::collections::BTreeSet<String> = members.iter().map(|(raw, _)| unquoted(raw)).collect();
                names.len() < members.len() || members.iter().any(|(_, value)| value.has_repeated_keys())
            }
        }
    }

    /// Every scalar (and empty list or object) with its path, in order, at most `limit`.
    pub fn leaves(&self, limit: usize) -> Vec<(Path, &Self)> {
        let mut found = Vec::new();
        self.collect(&mut Vec::new(), limit, &mut found);
        found
    }

    fn collect<'a>(&'a self, path: &mut Path, limit: usize, found: &mut Vec<(Path, &'a Self)>) {
        if found.len() >= limit {
            return;
        }
        match self {
            Self::Array(items) if !items.is_empty() => {
                for (at, item) in items.iter().enumerate() {
                    path.push(Step::Item(at));
                    item.collect(path, limit, found);
                    path.pop();
                }
            }
            Self::Object(members) if !members.is_empty() => {
                for (raw, value) in members {
                    path.push(Step::Key(unquoted(raw)));
                    value.collect(path, limit, found);
                    path.pop();
                }
            }
            _ => found.push((path.clone(), self)),
        }
    }
}

/// One change from a value to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where.
    pub path: Path,
    /// As it was; absent when it was added.
    pub before: Option<JsonTree>,
    /// As it is; absent when it was removed.
    pub after: Option<JsonTree>,
}

/// What changed, in the order of the first value, then what was added.
pub fn differences(before: &JsonTree, after: &JsonTree) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(&mut Vec::new(), before, after, &mut found);
    found
}

fn compare(path: &mut Path, before: &JsonTree, after: &JsonTree, found: &mut Vec<Difference>) {
    if before == after {
        return;
    }
    match (before, after) {
        (JsonTree::Object(_), JsonTree::Object(_)) => match (by_name(before), by_name(after)) {
            (Some(old), Some(new)) => {
                let names = before.members().into_iter().map(|(name, _)| name);
                let added = after.members().into_iter().map(|(name, _)| name).filter(|name| !old.contains_key(name));
                for name in names.chain(added) {
                    let value_in =
                        |members: &HashMap<String, &JsonTree>| members.get(&name).map(|&value| value.clone());
                    let (was, is) = (value_in(&old), value_in(&new));
                    step_into(path, Step::Key(name), was, is, found);
                }
            }
            _ => {
                found.push(Difference { path: path.clone(), before: Some(before.clone()), after: Some(after.clone()) })
            }
        },
        (JsonTree::Array(old), JsonTree::Array(new)) => {
            for at in 0..old.len().max(new.len()) {
                step_into(path, Step::Item(at), old.get(at).cloned(), new.get(at).cloned(), found);
            }
        }
        _ => found.push(Difference { path: path.clone(), before: Some(before.clone()), after: Some(after.clone()) }),
    }
}

fn step_into(
    path: &mut Path,
    step: Step,
    before: Option<JsonTree>,
    after: Option<JsonTree>,
    found: &mut Vec<Difference>,
) {
    path.push(step);
    match (&before, &after) {
        (Some(old), Some(new)) => compare(path, old, new, found),
        _ => found.push(Difference { path: path.clone(), before, after }),
    }
    path.pop();
}

/// The members of an object by name. `None` when a name is repeated: which of
/// the two changed cannot be told, so such objects are compared whole.
fn by_name(object: &JsonTree) -> Option<HashMap<String, &JsonTree>> {
    let members = object.members();
    let count = members.len();
    let by_name: HashMap<String, &JsonTree> = members.into_iter().collect();
    (by_name.len() == count).then_some(by_name)
}

/// Text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The text of a JSON string.
fn unquoted(raw: &str) -> String {
    serde_json::from_str(raw).unwrap_or_else(|_| raw.trim_matches('"').to_owned())
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or_default()
    }

    fn skip_space(&mut self) {
        while self.peek().is_ascii_whitespace() {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> JsonTree {
        self.skip_space();
        match self.peek() {
            b'{' | b'[' if depth >= MAX_DEPTH => JsonTree::Scalar(self.balanced()),
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => JsonTree::Scalar(self.string()),
            _ => JsonTree::Scalar(self.word()),
        }
    }

    fn object(&mut self, depth: usize) -> JsonTree {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                b'"' => {
                    let key = self.string();
                    self.skip_space();
                    self.at += 1; // the colon
                    members.push((key, self.value(depth + 1)));
                }
                b',' => self.at += 1,
                _ => break,
            }
        }
        self.at += 1;
        JsonTree::Object(members)
    }

    fn array(&mut self, depth: usize) -> JsonTree {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                b']' | 0 => break,
                b',' => self.at += 1,
                _ => items.push(self.value(depth + 1)),
            }
        }
        self.at += 1;
        JsonTree::Array(items)
    }

    fn string(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                b'\\' => self.at += 2,
                b'"' | 0 => break,
                _ => self.at += 1,
            }
        }
        self.at = (self.at + 1).min(self.text.len());
        self.text[start..self.at].to_owned()
    }

    fn word(&mut self) -> String {
        let start = self.at;
        while !matches!(self.peek(), b',' | b']' | b'}' | 0) && !self.peek().is_ascii_whitespace() {
            self.at += 1;
        }
        self.text[start..self.at].to_owned()
    }

    /// From an opening bracket to the one that closes it, as it stands.
    fn balanced(&mut self) -> String {
        let start = self.at;
        let mut open = 0_usize;
        loop {
            match self.peek() {
                0 => break,
                b'"' => {
                    self.string();
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open -= 1,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                break;
            }
        }
        self.text[start..self.at].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tree(text: &str) -> JsonTree {
        JsonTree::of(&RawJson::stored(text.to_owned()))
    }

    fn key(name: &str) -> Step {
        Step::Key(name.to_owned())
    }

    #[test]
    fn digits_order_and_repeated_keys_survive() {
        let text = r#"{"id":9007199254740993,"big":18446744073709551615,"d":0.10,"e":1e400,"s":"007","a":[1,{"x":[]}],"s":"\u00e9\"}"}"#;
        assert_eq!(tree(text).to_json().as_str(), text);
        assert_eq!(tree(" { \"a\" : [ 1 , -2e5 ] } ").to_json().as_str(), r#"{"a":[1,-2e5]}"#);
        assert!(tree(text).has_repeated_keys());
    }

    #[test]
    fn typed_json_says_where_it_is_wrong() {
        assert_eq!(typed_json("payload", " {\"a\": 0.10} ", 100).unwrap().as_str(), "{\"a\": 0.10}");
        let error = typed_json("payload", "{\n \"a\": 1,\n}", 100).unwrap_err();
        assert!(error.rule.starts_with("is not valid JSON at line 3"), "{}", error.rule);
        assert!(typed_json("payload", "", 100).is_err());
        assert!(typed_json("payload", "[1,2,3]", 3).unwrap_err().rule.contains("at most 3 bytes"));
    }

    #[test]
    fn nesting_without_end_is_kept_as_text() {
        let text = format!("{}\"]\"{}", "[".repeat(500), "]".repeat(500));
        assert_eq!(tree(&text).to_json().as_str(), text);
    }

    #[test]
    fn one_value_is_set_and_the_rest_is_untouched() {
        let mut edited = tree(r#"{"id":9007199254740993,"lines":[{"amount":0.10}]}"#);
        assert!(edited.set(&[key("currency")], JsonTree::string("EUR")));
        assert!(edited.set(&[key("lines"), Step::Item(0), key("amount")], JsonTree::Scalar("0.20".into())));
        assert!(!edited.set(&[key("none"), key("x")], JsonTree::string("EUR")), "nowhere to put it");
        assert_eq!(edited.to_json().as_str(), r#"{"id":9007199254740993,"lines":[{"amount":0.20}],"currency":"EUR"}"#);
    }

    #[test]
    fn the_difference_names_what_changed_was_added_and_removed() {
        let before = tree(r#"{"a":1,"b":{"c":[1,2]},"gone":true}"#);
        let after = tree(r#"{"a":1,"b":{"c":[1,3,4]},"new":null}"#);
        let found: Vec<(String, bool, bool)> = differences(&before, &after)
            .into_iter()
            .map(|d| (path_text(&d.path), d.before.is_some(), d.after.is_some()))
            .collect();
        let said = |text: &str, before, after| (text.to_owned(), before, after);
        assert_eq!(
            found,
            [
                said("b.c[1]", true, true),
                said("b.c[2]", false, true),
                said("gone", true, false),
                said("new", false, true)
            ]
        );
    }

    #[test]
    fn leaves_have_paths_and_a_limit() {
        let tree = tree(r#"{"a":{"b":"x"},"c":[],"d":[1,2]}"#);
        let paths: Vec<String> = tree.leaves(10).iter().map(|(path, _)| path_text(path)).collect();
        assert_eq!(paths, ["a.b", "c", "d[0]", "d[1]"]);
        assert_eq!(tree.leaves(2).len(), 2);
    }

    proptest! {
        #[test]
        fn what_serde_writes_comes_back(value in any_json()) {
            let text = value.to_string();
            let written = tree(&text).to_json();
            prop_assert_eq!(written.as_str(), &text);
            prop_assert!(differences(&tree(&text), &tree(&text)).is_empty());
        }
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let scalar = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            "\\PC{0,8}".prop_map(Into::into),
        ];
        scalar.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::btree_map("\\PC{0,4}", inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }
}
