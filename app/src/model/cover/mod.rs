//! Hiding masked values where they occur outside of the payload: in an error, a
//! quote, a handoff's note, an envelope. A mask on a field is no use while its
//! value stands beside it.
//!
//! Values of fewer than four characters, `true`, `false` and `null`
//! are not looked for: every text would be full of markers.

mod finder;

use self::finder::{Finder, MIN_CHARACTERS};
use super::customer_notice::CustomerNotice;
use super::job::{Attempt, JobDetail, JobSummary, RawJson};
use super::json_tree::{JsonTree, Step};
use super::letter::{DeadLetter, DeadLetterDetail};
use super::mask::{FieldPath, MARKER, masked};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// With more values than this a text is hidden whole, so that no payload can
/// make a page slow.
const MAX_VALUES: usize = 200;
/// Nor is a longer value looked for, in bytes.
const MAX_VALUE_BYTES: usize = 64 * 1024;

/// The values that a payload's masked fields hide.
#[derive(Debug, Clone, Default)]
pub struct Cover {
    values: BTreeSet<String>,
    hides_all: bool,
    finder: OnceLock<Option<Finder>>,
}

impl Cover {
    /// What the fields hide in a payload. One that cannot be read, or has no end
    /// of values, hides every text whole: hiding too much can be undone.
    pub fn of(payload: Option<&RawJson>, fields: &[String]) -> Self {
        let mut cover = Self::default();
        cover.add(payload, fields);
        cover
    }

    /// What the fields hide in each payload of a list, as text; of one that cannot
    /// be read, as [`Self::of`].
    pub fn of_list(payloads: Option<&str>, fields: &[String]) -> Self {
        let Some(payloads) = payloads.filter(|_| !fields.is_empty()) else { return Self::default() };
        match serde_json::from_str::<Vec<&RawValue>>(payloads) {
            Err(_) => Self::of_everything(),
            Ok(payloads) => {
                let mut cover = Self::default();
                for payload in payloads {
                    cover.add(Some(&RawJson::stored(payload.get().to_owned())), fields);
                }
                cover
            }
        }
    }

    /// Hides every text whole.
    pub fn of_everything() -> Self {
        Self { hides_all: true, ..Self::default() }
    }

    /// The same for one more place that the fields are hidden in.
    pub fn add(&mut self, json: Option<&RawJson>, fields: &[String]) {
        let Some(json) = json.filter(|_| !fields.is_empty()) else { return };
        let paths: Result<Vec<FieldPath>, _> = fields.iter().map(|field| field.parse()).collect();
        let is_json = serde_json::from_str::<&RawValue>(json.as_str()).is_ok();
        match paths {
            Ok(paths) if is_json => {
                self.collect(&JsonTree::of(json), &mut Vec::new(), &paths, false);
                self.hides_all |= self.values.len() > MAX_VALUES;
                self.finder = OnceLock::new();
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
        self.hides_all |= text.len() > MAX_VALUE_BYTES;
        if text.chars().count() >= MIN_CHARACTERS {
            self.values.insert(text.to_owned());
        }
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && !self.hides_all
    }

    /// Whether every text is hidden whole, because there is too much to look for.
    pub fn hides_all(&self) -> bool {
        self.hides_all
    }

    /// The text with each value covered, however the text spells it, and also
    /// where a cut left its beginning.
    pub fn text(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        let finder = self.finder.get_or_init(|| Finder::of(self.values.iter().map(String::as_str)));
        let Some(finder) = finder.as_ref().filter(|_| !self.hides_all) else { return MARKER.to_owned() };
        let (mut out, mut rest) = (String::with_capacity(text.len()), 0);
        for place in finder.find(text) {
            out.push_str(&text[rest..place.start]);
            out.push_str(MARKER);
            rest = place.end;
        }
        out.push_str(&text[rest..]);
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

    /// Covers each value in a tree's texts, keys and numbers.
    pub fn tree(&self, tree: &mut JsonTree) {
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

    /// Covers what a letter says in a list.
    pub fn put_on_letter(&self, letter: &mut DeadLetter) {
        for text in [&mut letter.field, &mut letter.evidence, &mut letter.error, &mut letter.error_code] {
            self.put_on(text);
        }
        if let Some(resolution) = &mut letter.resolution {
            self.put_on(&mut resolution.note);
        }
    }

    /// Covers what a job says in a list.
    pub fn put_on_summary(&self, job: &mut JobSummary) {
        for text in [&mut job.verdict, &mut job.last_error, &mut job.field, &mut job.worker] {
            self.put_on(text);
        }
    }

    /// Covers a notice, its recipient included.
    pub fn put_on_notice(&self, notice: &mut CustomerNotice) {
        let CustomerNotice { recipient, subject, body, next_action, when } = notice;
        for text in [recipient, subject, body, next_action, when] {
            *text = self.text(text);
        }
    }

    /// Covers what was masked already, field by field: with too much to look for
    /// it stays as it is.
    pub fn put_on_masked(&self, json: &mut Option<RawJson>) {
        if !self.hides_all {
            self.put_on_json(json);
        }
    }

    fn put_on_attempts(&self, attempts: &mut [Attempt]) {
        for attempt in attempts {
            for text in [&mut attempt.error, &mut attempt.error_code] {
                self.put_on(text);
            }
            attempt.worker = self.text(&attempt.worker);
        }
    }
}

/// Puts the masks on a payload, and covers what they hide where it stands once
/// more in it; answers the fields that hid something.
pub fn mask_payload(payload: &mut Option<RawJson>, fields: &[String]) -> Vec<String> {
    let Some(json) = payload else { return Vec::new() };
    let cover = Cover::of(Some(json), fields);
    let masked = masked(json, fields);
    *payload = Some(masked.payload);
    cover.put_on_masked(payload);
    masked.hidden
}

/// Puts the masks on all that a letter carries; answers the fields that hid
/// something in its payload.
pub fn mask_letter(detail: &mut DeadLetterDetail, fields: &[String]) -> Vec<String> {
    let mut cover = Cover::of(detail.payload.as_ref(), fields);
    let hidden = mask_payload(&mut detail.payload, fields);
    for related in &detail.related_payloads {
        cover.add(Some(related), fields);
    }
    if cover.is_empty() {
        return hidden;
    }
    cover.put_on_masked(&mut detail.payload);
    cover.put_on_letter(&mut detail.letter);
    for text in [&mut detail.payload_ref, &mut detail.trace_id] {
        cover.put_on(text);
    }
    cover.put_on_json(&mut detail.upstream_handoffs);
    cover.put_on_json(&mut detail.envelope);
    cover.put_on_attempts(&mut detail.attempt_history);
    for decision in &mut detail.decisions {
        cover.put_on(&mut decision.note);
        cover.put_on_json(&mut decision.difference);
    }
    for replay in &mut detail.replays {
        cover.put_on(&mut replay.verdict);
    }
    if let Some(sent) = &mut detail.notice {
        cover.put_on_notice(&mut sent.notice);
    }
    if let Some(left) = &mut detail.follow_up {
        for text in [&mut left.text, &mut left.owner] {
            *text = cover.text(text);
        }
    }
    hidden
}

/// Covers what a job says beside its fields. `cover` is of the values before
/// they were masked.
pub(super) fn cover_job(job: &mut JobDetail, cover: &Cover) {
    if cover.is_empty() {
        return;
    }
    for json in [&mut job.payload, &mut job.result, &mut job.values, &mut job.evidence] {
        cover.put_on_masked(json);
    }
    for json in [&mut job.upstream_handoffs, &mut job.envelope] {
        cover.put_on_json(json);
    }
    for text in [&mut job.reason, &mut job.payload_ref, &mut job.unique_key, &mut job.trace_id] {
        cover.put_on(text);
    }
    cover.put_on_summary(&mut job.summary);
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
            ("cut off at DE89…", "cut off at •••…"),
            ("cut off at DE8…", "cut off at DE8…"),
            ("DE89 is a whole word", "DE89 is a whole word"),
            ("DE89", "DE89"),
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
    fn a_value_is_covered_however_a_text_spells_it() {
        let cover = cover(
            r#"{"iban":"DE89370400440532013000","name":"Jörg Ölm","mail":"anna.b+x@example.org","sum":1234567.89,"n":"1407"}"#,
            &["iban", "name", "mail", "sum", "n"],
        );
        for (text, expected) in [
            ("IBAN de89370400440532013000.", "IBAN •••."),
            ("IBAN DE89 3704 0044 0532 0130 00.", "IBAN •••."),
            ("IBAN DE89-3704-0044-0532-0130-00", "IBAN •••"),
            ("IBAN DE89\u{a0}3704\u{a0}0044\u{200b}0532 0130 00", "IBAN •••"),
            ("for JÖRG ÖLM", "for •••"),
            ("for jo\u{308}rg o\u{308}lm", "for •••"),
            ("for Jorg Olm", "for •••"),
            ("?name=J%C3%B6rg%20%C3%96lm&x=1", "?name=•••&x=1"),
            ("?name=j%c3%b6rg+%c3%96lm", "?name=•••"),
            ("mailto:anna.b%2Bx%40example.org", "mailto:•••"),
            ("mailto:anna.b+x@EXAMPLE.org", "mailto:•••"),
            ("sum 1,234,567.89", "sum •••"),
            ("ＤＥ８９３７０４００４４０５３２０１３０００", "•••"),
            ("at 14:07, in 1,407 ways", "at 14:07, in 1,407 ways"),
            ("cut off at DE89 3704 00…", "cut off at •••…"),
            ("DE89 is not 3704, and 0044 no 0532", "DE89 is not 3704, and 0044 no 0532"),
        ] {
            assert_eq!(cover.text(text), expected);
        }
    }

    #[test]
    fn what_a_list_cut_is_covered_at_its_end() {
        let cover = cover(r#"{"iban":"DE89370400"}"#, &["iban"]);
        let long = format!("{} DE8937", "x".repeat(193));
        assert_eq!(cover.text(&long), format!("{} •••", "x".repeat(193)));
    }

    #[test]
    fn a_word_that_a_masked_value_begins_with_stays() {
        let mut payload = Some(RawJson::stored(r#"{"invoice":34,"text":"INVOICE 34\nTotal: 120.00"}"#.to_owned()));
        mask_payload(&mut payload, &["text".to_owned()]);
        assert_eq!(payload.unwrap().as_str(), r#"{"invoice":34,"text":"•••"}"#);
    }

    #[test]
    fn a_payload_says_a_masked_value_nowhere_else() {
        let mut payload = Some(RawJson::stored(
            r#"{"iban":"DE89370400","memo":"pay to DE89 3704 00","n":0.10,"DE89370400":[1e400]}"#.to_owned(),
        ));
        assert_eq!(mask_payload(&mut payload, &["iban".to_owned()]), ["iban"]);
        assert_eq!(payload.unwrap().as_str(), r#"{"iban":"•••","memo":"pay to •••","n":0.10,"•••":[1e400]}"#);
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
        assert_eq!(cover(&payload, &["a"]).text(&"a".repeat(1 << 20)).len(), MARKER.len());
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
