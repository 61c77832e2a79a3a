//! Masking fields of a payload, without touching anything else in it: digits,
//! key order and repeated keys stay as they were sent.
//!
//! A field is a dotted path from the payload's root: `customer.iban`,
//! `lines.*.account`, `lines.0.account`. `*` stands for every item of an array and
//! every member of an object; `\` before `.`, `*`, `\`, `[`, `]`, `$` and `/` makes
//! them plain characters. What another notation would write (`lines[0].account`,
//! `$.iban`, `/iban`, `**`) is refused: it would hide nothing, and nobody would know.

use super::FieldError;
use super::cover::{Cover, cover_job, mask_payload};
use super::job::{JobDetail, RawJson};
use super::json_tree;
use std::collections::BTreeSet;
use std::str::FromStr;

/// What stands in a masked field's place.
pub const MARKER: &str = "•••";
/// Most fields of a kind.
pub const MAX_FIELDS: usize = 100;
/// What a backslash makes a plain character.
const ESCAPED: [char; 7] = ['.', '*', '\\', '[', ']', '$', '/'];
/// Longest path, in characters.
const MAX_PATH_CHARACTERS: usize = 200;

/// A payload with its masks on.
#[derive(Debug, Clone, PartialEq)]
pub struct Masked {
    /// The payload; each masked value is the marker.
    pub payload: RawJson,
    /// The paths that hid something.
    pub hidden: Vec<String>,
}

/// A path, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Named(String),
    Every,
}

impl FieldPath {
    /// Whether the value at that place of a payload is the field.
    pub fn is_at(&self, place: &[json_tree::Step]) -> bool {
        let fits = |(step, at): (&Step, &json_tree::Step)| match (step, at) {
            (Step::Every, _) => true,
            (Step::Named(name), json_tree::Step::Key(key)) => name == key,
            (Step::Named(name), json_tree::Step::Item(item)) => *name == item.to_string(),
        };
        self.0.len() == place.len() && self.0.iter().zip(place).all(fits)
    }
}

impl FromStr for FieldPath {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<Self, FieldError> {
        let wrong = |rule: &str| FieldError::new("masked_fields", format!("{text:?} {rule}"));
        let no_path = || wrong("is no path such as customer.iban or lines.*.account");
        if text.chars().count() > MAX_PATH_CHARACTERS {
            return Err(no_path());
        }
        let (mut steps, mut name, mut is_plain) = (Vec::new(), String::new(), true);
        let mut characters = text.chars();
        loop {
            match characters.next() {
                Some('\\') => {
                    name.push(characters.next().filter(|c| ESCAPED.contains(c)).ok_or_else(no_path)?);
                    is_plain = false;
                }
                Some('[' | ']') => {
                    return Err(wrong("is no path: an item of a list is written lines.*.account or lines.0.account"));
                }
                Some('/') if steps.is_empty() && name.is_empty() => {
                    return Err(wrong("is no path: the steps of one are parted by dots, and it starts with a name"));
                }
                end @ (Some('.') | None) => {
                    steps.push(match name.as_str() {
                        "" => return Err(no_path()),
                        "$" if is_plain && steps.is_empty() => {
                            return Err(wrong("is no path: it starts with a name, not with $"));
                        }
                        "*" if is_plain => Step::Every,
                        other if is_plain && other.contains('*') => {
                            return Err(wrong("is no path: * stands for a whole step"));
                        }
                        _ => Step::Named(std::mem::take(&mut name)),
                    });
                    name.clear();
                    is_plain = true;
                    if end.is_none() {
                        return Ok(Self(steps));
                    }
                }
                Some(c) => name.push(c),
            }
        }
    }
}

/// The payload with those fields masked. A path that cannot be read, or a
/// payload that cannot, masks all of it: hiding too much can be undone.
pub fn masked(payload: &RawJson, fields: &[String]) -> Masked {
    if fields.is_empty() {
        return Masked { payload: payload.clone(), hidden: Vec::new() };
    }
    let paths: Result<Vec<FieldPath>, _> = fields.iter().map(|field| field.parse()).collect();
    let walked = paths.ok().and_then(|paths| {
        let mut walk = Walk { text: payload.as_str(), at: 0, out: String::new(), hits: vec![false; paths.len()] };
        let all: Vec<(usize, &[Step])> = paths.iter().enumerate().map(|(n, path)| (n, path.0.as_slice())).collect();
        walk.value(&all)?;
        walk.space();
        (walk.at == walk.text.len()).then_some((walk.out, walk.hits))
    });
    match walked {
        None => Masked { payload: marker(), hidden: fields.to_vec() },
        Some((text, hits)) => {
            let hidden = fields.iter().zip(hits).filter(|(_, hit)| *hit).map(|(field, _)| field.clone()).collect();
            Masked { payload: RawJson::stored(text), hidden }
        }
    }
}

/// Puts masks on all that a job says of its fields: in the payload, the result,
/// the values and the evidence, where a field may be named by its whole path.
/// A source text, in which a hidden value may stand anywhere, is hidden whole;
/// elsewhere the hidden values are covered where they occur.
/// Answers the paths that hid something.
pub fn mask_job(job: &mut JobDetail, fields: &[String]) -> Vec<String> {
    let as_one_key = |field: &String| field.replace('.', "\\.");
    let paths: Vec<String> = fields.iter().cloned().chain(fields.iter().map(as_one_key)).collect();
    let (mut hidden, mut cover) = (BTreeSet::new(), Cover::default());
    for part in [&job.payload, &job.result, &job.values, &job.evidence] {
        cover.add(part.as_ref(), &paths);
    }
    for related in &job.related_payloads {
        cover.add(Some(related), &paths);
    }
    for part in [&mut job.payload, &mut job.result, &mut job.values, &mut job.evidence] {
        hidden.extend(mask_payload(part, &paths));
    }
    if !hidden.is_empty() && job.source_text.is_some() {
        job.source_text = Some(MARKER.to_owned());
    }
    cover_job(job, &cover);
    fields.iter().filter(|field| hidden.contains(*field) || hidden.contains(&as_one_key(field))).cloned().collect()
}

fn marker() -> RawJson {
    RawJson::stored(format!("\"{MARKER}\""))
}

/// Copies a payload from its start to its end. `None` anywhere: it is no JSON.
struct Walk<'a> {
    text: &'a str,
    at: usize,
    out: String,
    hits: Vec<bool>,
}

/// Paths that may still hit, by number, with what is left of each.
type Open<'p> = [(usize, &'p [Step])];

impl<'a> Walk<'a> {
    /// Goes as deep as the longest path, never deeper.
    fn value(&mut self, open: &Open<'_>) -> Option<()> {
        self.space();
        let ended: Vec<usize> = open.iter().filter(|(_, left)| left.is_empty()).map(|(number, _)| *number).collect();
        if !ended.is_empty() {
            self.skipped()?;
            self.out.push_str(&format!("\"{MARKER}\""));
            for number in ended {
                self.hits[number] = true;
            }
            return Some(());
        }
        match self.peek()? {
            b'{' if !open.is_empty() => self.members(open),
            b'[' if !open.is_empty() => self.items(open),
            _ => {
                let whole = self.skipped()?;
                self.out.push_str(whole);
                Some(())
            }
        }
    }

    fn members(&mut self, open: &Open<'_>) -> Option<()> {
        self.take(b'{')?;
        self.space();
        if self.peek()? == b'}' {
            return self.take(b'}');
        }
        loop {
            self.space();
            let key = self.skipped()?;
            self.out.push_str(key);
            // Decoded, so that an escape in a key does not slip past the mask.
            let key: String = serde_json::from_str(key).ok()?;
            self.space();
            self.take(b':')?;
            let inside: Vec<_> = open.iter().filter_map(|(number, left)| next(*number, left, &key)).collect();
            self.value(&inside)?;
            self.space();
            match self.peek()? {
                b',' => self.take(b',')?,
                _ => return self.take(b'}'),
            }
        }
    }

    fn items(&mut self, open: &Open<'_>) -> Option<()> {
        self.take(b'[')?;
        self.space();
        if self.peek()? == b']' {
            return self.take(b']');
        }
        for item in 0_usize.. {
            let item = item.to_string();
            let inside: Vec<_> = open.iter().filter_map(|(number, left)| next(*number, left, &item)).collect();
            self.value(&inside)?;
            self.space();
            match self.peek()? {
                b',' => self.take(b',')?,
                _ => return self.take(b']'),
            }
        }
        None
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| {
            self.out.push(char::from(wanted));
            self.at += 1;
        })
    }

    /// Copies white space.
    fn space(&mut self) {
        while let Some(byte) = self.peek().filter(u8::is_ascii_whitespace) {
            self.out.push(char::from(byte));
            self.at += 1;
        }
    }

    /// Passes one value, however deep, and answers its text.
    fn skipped(&mut self) -> Option<&'a str> {
        let (text, start) = (self.text, self.at);
        let bytes = text.as_bytes();
        let mut depth = 0_usize;
        loop {
            match *bytes.get(self.at)? {
                b'"' => self.at = string_end(bytes, self.at)?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' if depth == 0 => return None,
                byte if depth > 0 && (byte.is_ascii_whitespace() || byte == b',' || byte == b':') => self.at += 1,
                _ => {
                    let rest = &bytes[self.at..];
                    let ends = |byte: &u8| byte.is_ascii_whitespace() || b",:]}".contains(byte);
                    self.at += rest.iter().position(ends).unwrap_or(rest.len());
                }
            }
            if depth == 0 {
                return text.get(start..self.at);
            }
        }
    }
}

/// What is left of a path inside the member, or the item, of that name.
fn next<'p>(number: usize, left: &'p [Step], name: &str) -> Option<(usize, &'p [Step])> {
    let (step, left) = left.split_first()?;
    let fits = match step {
        Step::Every => true,
        Step::Named(wanted) => wanted == name,
    };
    fits.then_some((number, left))
}

/// Behind the string that starts at `at`.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn mask(json: &str, fields: &[&str]) -> (String, Vec<String>) {
        let fields: Vec<String> = fields.iter().map(|&field| field.to_owned()).collect();
        let masked = masked(&RawJson::stored(json.to_owned()), &fields);
        (masked.payload.as_str().to_owned(), masked.hidden)
    }

    #[test]
    fn only_the_named_fields_change() {
        for (json, fields, expected) in [
            (
                r#"{"a": {"iban":"DE89", "n":1e400}, "b":9007199254740993}"#,
                &["a.iban"][..],
                r#"{"a": {"iban":"•••", "n":1e400}, "b":9007199254740993}"#,
            ),
            (r#"{"l":[{"x":1,"y":2},{"x":[3]}, 4]}"#, &["l.*.x"], r#"{"l":[{"x":"•••","y":2},{"x":"•••"}, 4]}"#),
            (r#"{"a":1,"a":2}"#, &["a"], r#"{"a":"•••","a":"•••"}"#),
            (r#"{"\u0061b":"s","A":"s"}"#, &["ab", "a"], r#"{"\u0061b":"•••","A":"s"}"#),
            (r#"{"a.b":1,"a":{"b":2},"*":3}"#, &[r"a\.b", r"\*"], r#"{"a.b":"•••","a":{"b":2},"*":"•••"}"#),
            (r#"{"a":{"b":{"c":[{}]}}}"#, &["a.b", "a.b.c"], r#"{"a":{"b":"•••"}}"#),
            (r#"[{"p":"\"}"},{"p":null}]"#, &["*.p"], r#"[{"p":"•••"},{"p":"•••"}]"#),
            (r#"{"l":[{"x":1},{"x":2}], "1":3}"#, &["l.1.x", "1"], r#"{"l":[{"x":1},{"x":"•••"}], "1":"•••"}"#),
            (
                r#"{"a[0]":1,"$":2,"/b":3,"**":4}"#,
                &[r"a\[0\]", r"\$", r"\/b", r"\*\*"],
                r#"{"a[0]":"•••","$":"•••","/b":"•••","**":"•••"}"#,
            ),
            (r#"{"a/b":1,"c$":2}"#, &["a/b", "c$"], r#"{"a/b":"•••","c$":"•••"}"#),
            (r#"{"p":{"x":1,"y":2}}"#, &["p.*"], r#"{"p":{"x":"•••","y":"•••"}}"#),
            (" {} ", &["a"], " {} "),
            ("\"text\"", &["a"], "\"text\""),
        ] {
            assert_eq!(mask(json, fields).0, expected, "{fields:?}");
        }
    }

    #[test]
    fn it_says_what_it_hid() {
        let hidden = mask(r#"{"a":1,"l":[{"x":1}]}"#, &["a", "b", "l.*.x", "l.*.y"]).1;
        assert_eq!(hidden, ["a", "l.*.x"]);
    }

    #[test]
    fn what_cannot_be_read_is_hidden_whole() {
        for (json, fields) in
            [(r#"{"a":"#, ["a"]), (r#"{"a" 1}"#, ["a"]), ("{} x", ["a"]), ("{}", ["a..b"]), ("", ["a"])]
        {
            assert_eq!(mask(json, &fields), ("\"•••\"".to_owned(), vec![fields[0].to_owned()]), "{json}");
        }
    }

    #[test]
    fn a_wrong_path_is_refused() {
        let long = "x".repeat(201);
        for bad in [
            "", ".", "a.", ".a", "a..b", r"a\b", "a\\", &long, "a[0]", "a[0].k", "a[*]", "**", "a.**", "a*", "$.a",
            "$", "/a/0/k",
        ] {
            assert_eq!(bad.parse::<FieldPath>().unwrap_err().field, "masked_fields", "{bad}");
        }
    }

    #[test]
    fn depth_is_no_danger() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(mask(&deep, &["a"]).0, r#"{"a":"•••"}"#);
        assert_eq!(mask(&deep, &["b"]).0, deep);
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<i64>().prop_map(Value::from), "[a-c\"\\\\]{0,4}".prop_map(Value::from)];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ab]", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn by_value(value: &mut Value, path: &[&str]) {
        let Some((step, rest)) = path.split_first() else {
            *value = MARKER.into();
            return;
        };
        match value {
            Value::Array(items) => items
                .iter_mut()
                .enumerate()
                .filter(|(at, _)| *step == "*" || at.to_string() == *step)
                .for_each(|(_, item)| by_value(item, rest)),
            Value::Object(map) => {
                map.iter_mut()
                    .filter(|(key, _)| *step == "*" || key == step)
                    .for_each(|(_, item)| by_value(item, rest));
            }
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_masking_the_parsed_value(value in json(), path in prop::collection::vec("[ab*01]", 1..4)) {
            let (text, _) = mask(&value.to_string(), &[&path.join(".")]);
            let mut expected = value;
            by_value(&mut expected, &path.iter().map(String::as_str).collect::<Vec<_>>());
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
        }
    }
}
