//! Shortens a report of a failure while it comes in, so that however long it is,
//! it is kept in bounded memory and recorded.
//!
//! Only what the report's rules cut or leave out anyway is touched: the texts
//! and the parts of the outermost object. It knows no field by name, repairs
//! nothing and judges nothing: that is for the parser, which reads what is left.

use app::model::text::{MAX_ERROR_BYTES, MAX_PAYLOAD_BYTES};

/// Bytes of a text that are kept as they were sent. An escape of six bytes may
/// stand for one, so the text that is stored is never shorter for it.
const MAX_TEXT_BYTES: usize = 6 * MAX_ERROR_BYTES;
/// Bytes of a part (an object or a list) that are kept; longer is left out.
const MAX_PART_BYTES: usize = 2 * MAX_PAYLOAD_BYTES;
/// What stands for a part that was left out.
const LEFT_OUT: &[u8] = br#"{"left_out":"more than the 1048576 bytes that are stored"}"#;

/// Takes a JSON object byte by byte.
#[derive(Debug, Default)]
pub(super) struct Shortener {
    kept: Vec<u8>,
    /// Objects and lists that are open.
    depth: usize,
    text: Option<Text>,
    /// Where the open part of the outermost object starts in `kept`.
    part_start: usize,
    is_left_out: bool,
    is_after_space: bool,
}

/// A text that is open.
#[derive(Debug, Default)]
struct Text {
    bytes: usize,
    /// Bytes of the open escape that are still to come.
    escape_left: u8,
    is_after_backslash: bool,
    is_cut: bool,
}

impl Shortener {
    /// Takes what came next. Once more than `limit_bytes` are kept, nothing more
    /// is: it is too long already.
    pub(super) fn push(&mut self, chunk: &[u8], limit_bytes: usize) {
        for &byte in chunk {
            if self.kept.len() > limit_bytes {
                return;
            }
            self.take(byte);
        }
    }

    /// What is left of it.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.kept
    }

    fn take(&mut self, byte: u8) {
        let is_outermost = self.depth <= 1;
        if let Some(text) = &mut self.text {
            let ends = text.take(byte, is_outermost);
            if !text.is_cut || ends {
                self.keep(byte);
            }
            if ends {
                self.text = None;
            }
            return;
        }
        let is_space = byte.is_ascii_whitespace();
        let was_after_space = std::mem::replace(&mut self.is_after_space, is_space);
        match byte {
            _ if is_space && was_after_space && is_outermost => {}
            b'"' => {
                self.text = Some(Text::default());
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth == 2 {
                    self.part_start = self.kept.len();
                }
                self.keep(byte);
            }
            b'}' | b']' => {
                self.keep(byte);
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 1 && std::mem::take(&mut self.is_left_out) {
                    self.kept.extend_from_slice(LEFT_OUT);
                }
            }
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.is_left_out {
            return;
        }
        self.kept.push(byte);
        if self.depth >= 2 && self.kept.len() - self.part_start > MAX_PART_BYTES {
            self.kept.truncate(self.part_start);
            self.is_left_out = true;
        }
    }
}

impl Text {
    /// Takes a byte; whether the text ends with it. A text that `may_be_cut` is
    /// cut between two characters, never inside one or inside an escape.
    fn take(&mut self, byte: u8, may_be_cut: bool) -> bool {
        let is_plain = !self.is_after_backslash && self.escape_left == 0;
        if byte == b'"' && !self.is_after_backslash {
            return true;
        }
        let starts_character = is_plain && byte & 0b1100_0000 != 0b1000_0000;
        self.is_cut |= may_be_cut && starts_character && self.bytes >= MAX_TEXT_BYTES;
        self.bytes += 1;
        if self.is_after_backslash {
            self.is_after_backslash = false;
            self.escape_left = if byte == b'u' { 4 } else { 0 };
        } else if self.escape_left > 0 {
            self.escape_left -= 1;
        } else {
            self.is_after_backslash = byte == b'\\';
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// In chunks of `size`, as a network may bring it.
    fn shortened(body: &[u8], size: usize) -> Vec<u8> {
        let mut shortener = Shortener::default();
        body.chunks(size).for_each(|chunk| shortener.push(chunk, usize::MAX));
        shortener.into_bytes()
    }

    fn value(body: &[u8]) -> Value {
        serde_json::from_slice(&shortened(body, 7_001)).unwrap()
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        for unit in ["e", "é", "😀", r"\n", r"\u0041", r"\ud83d\ude00", r#"\""#, r"\\"] {
            let body = format!(r#"{{"error":"x{}","lease_token":7}}"#, unit.repeat(1_000_000));
            let kept = shortened(body.as_bytes(), 4_096);
            assert!(kept.len() < MAX_TEXT_BYTES + 100, "{unit}: {}", kept.len());
            let text = app::model::text::repaired_json(&kept).into_owned();
            let report: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{unit}: {error}"));
            assert_eq!(report["lease_token"], 7, "{unit}");
            let error = report["error"].as_str().unwrap();
            assert!(error.len() >= MAX_ERROR_BYTES, "{unit}: {} bytes are left", error.len());
        }
    }

    #[test]
    fn a_long_part_is_left_out_and_says_so() {
        let body = json!({"error": "e", "envelope": {"calls": vec![json!({"q": "\"]}"}); 400_000]}, "lease_token": 7});
        let report = value(body.to_string().as_bytes());
        assert_eq!((&report["error"], &report["lease_token"]), (&json!("e"), &json!(7)));
        assert!(report["envelope"]["left_out"].as_str().unwrap().contains("more than the 1048576 bytes"));
    }

    #[test]
    fn spaces_between_fields_do_not_count() {
        let body = format!("{{\"error\":{} \"e\"{}}}", " ".repeat(3_000_000), "\n".repeat(3_000_000));
        assert!(shortened(body.as_bytes(), 4_096).len() < 100);
        assert_eq!(value(body.as_bytes()), json!({"error": "e"}));
    }

    #[test]
    fn what_is_too_long_in_another_way_stops_growing() {
        let mut shortener = Shortener::default();
        shortener.push(format!("{{\"lease_token\":{}}}", "1".repeat(10_000)).as_bytes(), 1_000);
        assert_eq!(shortener.into_bytes().len(), 1_001);
    }

    proptest! {
        #[test]
        fn a_report_within_the_limits_stays_as_it_is(
            error in "\\PC{0,60}", inner in "[\\\\\"{}\\[\\] a😀]{0,40}", size in 1_usize..20
        ) {
            let body = json!({"error": error, "envelope": {"a": [inner, {"b": inner}]}, "lease_token": 7}).to_string();
            prop_assert_eq!(shortened(body.as_bytes(), size), body.as_bytes());
        }
    }
}
