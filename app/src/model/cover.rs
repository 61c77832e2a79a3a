//! Hiding masked values where they occur outside of the payload: in an error, a
//! quote, a handoff's note, an envelope. A mask on a field is no use while its
//! value stands beside it.
//!
//! Values of fewer than [`MIN_CHARACTERS`] characters, `true`, `false` and `null`
//! are not looked for: every text would be full of markers.

use super::job::{Attempt, JobDetail, RawJson};
use super::json_tree::{JsonTree, Step};
use super::letter::DeadLetterDetail;
use super::mask::{FieldPath, MARKER, mask_payload};

/// Shortest value that is looked for, in characters.
pub const MIN_CHARACTERS: usize = 4;
/// With more values than this a text is hidden whole, so that no payload can
/// make a page slow.
const MAX_VALUES: usize = 200;
/// Longest end of a text, in bytes, that is taken for a value cut in two.
const MAX_TAIL: usize = 200;

/// The values that a payload's masked fields hide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cover {
    /// The longest first, so that no rest of a value stays beside a marker.
    values: Vec<String>,
    hides_all: bool,
}

impl Cover {
    /// What the fields hide in a payload. One that cannot be read, or has no end
    /// of values, hides every text whole: hiding too much can be undone.
    pub fn of(payload: Option<&RawJson>, fields: &[String]) -> Self {
        let mut cover = Self::default();
        cover.add(payload, fields);
        cover
    }

    /// Hides every text whole.
    pub fn of_everything() -> Self {
        Self { values: Vec::new(), hides_all: true }
    }

    /// The same for one more place that the fields are hidden in.
    pub fn add(&mut self, json: Option<&RawJson>, fields: &[String]) {
        let Some(json) = json.filter(|_| !fields.is_empty()) else { return };
        let paths: Result<Vec<FieldPath>, _> = fields.iter().map(|field| field.parse()).collect();
        let is_json = serde_json::from_str::<&serde_json::value::RawValue>(json.as_str()).is_ok();
        match paths {
            Ok(paths) if is_json => {
                self.collect(&JsonTree::of(json), &mut Vec::new(), &paths, false);
                self.values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
                self.values.dedup();
                self.hides_all |= self.values.len() > MAX_VALUES;
            }
            _ => self.hides_all = true,
        }
    }

    fn collect(&mut self, tree: &JsonTree, place: &mut Vec<Step>, paths: &[FieldPath], is_hidden: bool) {
        let is_hidden = is_hidden || paths.iter().any(|path| path.is_at(place));
        match tree {
            JsonTree::Scalar(raw) if is_hidden => self.add_scalar(raw, tree.as_text()),
            JsonTree::Scalar(_) => {}
            JsonTree::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    place.push(Step::Item(at));
                    self.collect(item, place, paths, is_hidden);
                    place.pop();
                }
            }
            JsonTree::Object(_) => {
                for (key, value) in tree.members() {
                    place.push(Step::Key(key));
                    self.collect(value, place, paths, is_hidden);
                    place.pop();
                }
            }
        }
    }

    fn add_scalar(&mut self, raw: &str, text: Option<String>) {
        // Nested too deep to be looked into.
        self.hides_all |= raw.starts_with(['[', '{']);
        if ["true", "false", "null"].contains(&raw) || self.values.len() > MAX_VALUES * 10 {
            return;
        }
        let text = text.unwrap_or_else(|| raw.to_owned());
        let text = text.trim();
        if text.chars().count() < MIN_CHARACTERS {
            return;
        }
        // As JSON within a text spells it.
        let quoted = serde_json::Value::from(text).to_string();
        let spelled = &quoted[1..quoted.len() - 1];
        if spelled != text {
            self.values.push(spelled.to_owned());
        }
        if !spelled.is_ascii() {
            self.values.push(in_ascii(spelled, |hex| hex));
            self.values.push(in_ascii(spelled, |hex| hex.to_uppercase()));
        }
        self.values.push(text.to_owned());
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && !self.hides_all
    }

    /// The text with each value covered, also where a cut left its beginning.
    pub fn text(&self, text: &str) -> String {
        if self.hides_all {
            return MARKER.to_owned();
        }
        let mut out = text.to_owned();
        for value in &self.values {
            if out.contains(value.as_str()) {
                out = out.replace(value.as_str(), MARKER);
            }
        }
        if let Some(tail) = self.values.iter().filter_map(|value| beginning_at_end(&out, value)).max() {
            out.truncate(out.len() - tail);
            out.push_str(MARKER);
        }
        out
    }

    /// The JSON with each value covered in its texts, keys and numbers; as it
    /// was, to the last space, where none occurs.
    pub fn json(&self, json: &RawJson) -> RawJson {
        if self.hides_all {
            return JsonTree::string(MARKER).to_json();
        }
        let before = JsonTree::of(json);
        let mut after = before.clone();
        self.tree(&mut after);
        if before == after { json.clone() } else { after.to_json() }
    }

    fn tree(&self, tree: &mut JsonTree) {
        match tree {
            JsonTree::Array(items) => items.iter_mut().for_each(|item| self.tree(item)),
            JsonTree::Object(members) => {
                for (key, value) in members {
                    if let Some(covered) = self.changed(&JsonTree::Scalar(key.clone()).as_text().unwrap_or_default())
                        && let JsonTree::Scalar(quoted) = JsonTree::string(&covered)
                    {
                        *key = quoted;
                    }
                    self.tree(value);
                }
            }
            JsonTree::Scalar(raw) => {
                let text = JsonTree::Scalar(raw.clone()).as_text().unwrap_or_else(|| raw.clone());
                if let Some(covered) = self.changed(&text) {
                    *tree = JsonTree::string(&covered);
                }
            }
        }
    }

    fn changed(&self, text: &str) -> Option<String> {
        let covered = self.text(text);
        (covered != text).then_some(covered)
    }

    /// Covers a text, if there is one.
    pub fn put_on(&self, text: &mut Option<String>) {
        if let Some(text) = text.as_mut().filter(|_| !self.is_empty()) {
            *text = self.text(text);
        }
    }

    /// Covers a JSON value, if there is one.
    pub fn put_on_json(&self, json: &mut Option<RawJson>) {
        if let Some(json) = json.as_mut().filter(|_| !self.is_empty()) {
            *json = self.json(json);
        }
    }

    fn put_on_attempts(&self, attempts: &mut [Attempt]) {
        for attempt in attempts {
            self.put_on(&mut attempt.error);
        }
    }
}

/// As JSON writers spell it that keep to ASCII: `J\u00f6rg`.
fn in_ascii(text: &str, digits: impl Fn(String) -> String) -> String {
    let mut units = [0; 2];
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        match c {
            c if c.is_ascii() => out.push(c),
            c => c.encode_utf16(&mut units).iter().for_each(|unit| {
                out.push_str("\\u");
                out.push_str(&digits(format!("{unit:04x}")));
            }),
        }
    }
    out
}

/// How many bytes at the end of the text are the beginning of the value: what is
/// left of it where a list cut the text.
fn beginning_at_end(text: &str, value: &str) -> Option<usize> {
    let longest = value.len().min(text.len()).min(MAX_TAIL);
    (MIN_CHARACTERS..longest).rev().find(|&bytes| {
        value.get(..bytes).is_some_and(|start| start.chars().count() >= MIN_CHARACTERS && text.ends_with(start))
    })
}

/// Puts the masks on all that a letter carries; answers the fields that hid
/// something in its payload.
pub fn mask_letter(detail: &mut DeadLetterDetail, fields: &[String]) -> Vec<String> {
    let cover = Cover::of(detail.payload.as_ref(), fields);
    let hidden = mask_payload(&mut detail.payload, fields);
    if cover.is_empty() {
        return hidden;
    }
    let letter = &mut detail.letter;
    for text in [&mut letter.evidence, &mut letter.error, &mut detail.payload_ref] {
        cover.put_on(text);
    }
    if let Some(resolution) = &mut letter.resolution {
        cover.put_on(&mut resolution.note);
    }
    cover.put_on_json(&mut detail.upstream_handoffs);
    cover.put_on_json(&mut detail.envelope);
    cover.put_on_attempts(&mut detail.attempt_history);
    for decision in &mut detail.decisions {
        cover.put_on(&mut decision.note);
        cover.put_on_json(&mut decision.difference);
    }
    if let Some(sent) = &mut detail.notice {
        let notice = &mut sent.notice;
        for text in [&mut notice.recipient, &mut notice.subject, &mut notice.body, &mut notice.next_action] {
            *text = cover.text(text);
        }
    }
    if let Some(left) = &mut detail.follow_up {
        left.text = cover.text(&left.text);
    }
    hidden
}

/// Covers what a job says beside its fields. `cover` is of the values before
/// they were masked.
pub(super) fn cover_job(job: &mut JobDetail, cover: &Cover) {
    if cover.is_empty() {
        return;
    }
    for json in [&mut job.result, &mut job.values, &mut job.evidence, &mut job.upstream_handoffs, &mut job.envelope] {
        cover.put_on_json(json);
    }
    for text in [&mut job.reason, &mut job.payload_ref, &mut job.unique_key, &mut job.summary.last_error] {
        cover.put_on(text);
    }
    cover.put_on_attempts(&mut job.attempt_history);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cover(payload: &str, fields: &[&str]) -> Cover {
        let fields: Vec<String> = fields.iter().map(|&field| field.to_owned()).collect();
        Cover::of(Some(&RawJson::stored(payload.to_owned())), &fields)
    }

    #[test]
    fn a_value_is_covered_wherever_a_text_holds_it() {
        let cover = cover(
            r#"{"iban":"DE8937","tax":{"n":[90210,"x\"y/z"]},"ok":true,"pin":"12"}"#,
            &["iban", "tax", "ok", "pin"],
        );
        for (text, expected) in [
            ("pay to DE8937, not DE89370", "pay to •••, not •••0"),
            ("zip 90210", "zip •••"),
            (r#"{"q":"x\"y/z"}"#, r#"{"q":"•••"}"#),
            ("true 12", "true 12"),
            ("cut off at DE89", "cut off at •••"),
            ("cut off at DE8", "cut off at DE8"),
        ] {
            assert_eq!(cover.text(text), expected);
        }
    }

    #[test]
    fn a_value_is_covered_as_ascii_json_spells_it() {
        let cover = cover("{\"n\":\"Jörg \u{1f600}\"}", &["n"]);
        for text in [r#"{"n": "J\u00f6rg \ud83d\ude00"}"#, r#"{"n": "J\u00F6rg \uD83D\uDE00"}"#] {
            assert_eq!(cover.text(text), r#"{"n": "•••"}"#);
        }
    }

    #[test]
    fn json_changes_only_where_a_value_is() {
        let cover = cover(r#"{"iban":"DE8937","n":9007199254740993}"#, &["iban", "n"]);
        let covered = |json: &str| cover.json(&RawJson::stored(json.to_owned())).as_str().to_owned();
        let untouched = r#"{ "a" : 1e400, "a":0.10 }"#;
        assert_eq!(covered(untouched), untouched);
        assert_eq!(
            covered(r#"{"DE8937": "\u0044E8937", "n": 9007199254740993, "m": 0.10}"#),
            r#"{"•••":"•••","n":"•••","m":0.10}"#
        );
    }

    #[test]
    fn what_cannot_be_looked_through_hides_all() {
        let many: Vec<String> = (1_000..1_300).map(|n| n.to_string()).collect();
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100));
        for payload in ["", "{", &format!("{{\"a\":[{}]}}", many.join(",")), &deep] {
            assert_eq!(cover(payload, &["a"]).text("boom"), MARKER, "{payload}");
        }
        assert_eq!(cover("{\"a\":\"bcde\"}", &["a..b"]).text("boom"), MARKER);
        assert_eq!(cover("{\"a\":\"bcde\"}", &[]).text("bcde"), "bcde", "nothing is masked");
    }

    #[test]
    fn a_megabyte_of_values_is_no_danger() {
        let payload = format!("{{\"a\":[{}]}}", vec!["\"aaaaaaaa\""; 90_000].join(","));
        assert_eq!(cover(&payload, &["a"]).text(&"a".repeat(1 << 20)).len(), (1 << 20) / 8 * MARKER.len());
    }

    proptest! {
        #[test]
        fn no_text_keeps_a_value(value in "[a-c\"\\\\é]{4,8}", around in "[a-c\"\\\\é ]{0,12}") {
            let value = value.trim();
            prop_assume!(value.chars().count() >= MIN_CHARACTERS);
            let payload = serde_json::json!({ "v": value }).to_string();
            let text = format!("{around}{value}{around}");
            let covered = cover(&payload, &["v"]).text(&text);
            prop_assert!(!covered.contains(value), "{covered}");
        }
    }
}
