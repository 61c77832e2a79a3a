//! Text from outside: made storable, cut at a character, never lost.

use std::borrow::Cow;

/// Most bytes of an error text that are stored (64 KiB).
pub const MAX_ERROR_BYTES: usize = 64 * 1024;
/// Most bytes of a payload that are stored (1 MiB); larger data goes by `payload_ref`.
pub const MAX_PAYLOAD_BYTES: usize = 1024 * 1024;

/// The text with every NUL replaced by U+FFFD: one of our databases cannot hold
/// NUL, and a failure must never be lost over a character.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// At most `max_bytes` of the text, cut before a character, never inside one.
pub fn cut(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let end = (0..=max_bytes).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
    &text[..end]
}

/// Whether a character can hide itself or its neighbours: control characters,
/// those without any width, and those that turn the reading direction.
pub fn is_odd(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether nobody could see anything in a text.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_odd(c))
}

/// Whether a text may be somebody's name to sign in with: nothing odd, and no
/// blanks but single spaces between words, so that no two names look alike by them.
pub fn is_plain(text: &str) -> bool {
    text.trim() == text && !text.contains("  ") && !text.chars().any(|c| is_odd(c) || (c.is_whitespace() && c != ' '))
}

/// A name as a label shows it, on one line: what is odd becomes U+FFFD, and a
/// blank that HTML would swallow becomes `␣`, so that no name can reorder, hide
/// or imitate its neighbours.
pub fn visible(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let last = text.trim_end().len();
    let mut shown = String::with_capacity(text.len() + 16);
    let mut is_after_blank = true;
    for (at, c) in text.char_indices() {
        let is_blank = c.is_whitespace();
        shown.push(match c {
            c if is_odd(c) => '\u{fffd}',
            ' ' if !is_after_blank && at < last => ' ',
            _ if is_blank => '␣',
            c => c,
        });
        is_after_blank = is_blank;
    }
    Cow::Owned(shown)
}

/// A text of several lines as a page shows it: line ends, tabs and blanks stay,
/// what else is odd becomes U+FFFD.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| is_odd(c) && !matches!(c, '\n' | '\r' | '\t');
    if text.contains(is_hidden) { Cow::Owned(text.replace(is_hidden, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// A preview of at most `max_characters` characters, with an ellipsis if cut.
pub fn preview(text: &str, max_characters: usize) -> String {
    match text.char_indices().nth(max_characters) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A request body as JSON text: invalid bytes, and the escapes of surrogates
/// that have no partner, become U+FFFD, so that no parser refuses the whole
/// report over one of them.
pub fn repaired_json(body: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(body);
    if !text.contains("\\u") {
        return text;
    }
    match replace_lone_surrogates(&text) {
        None => text,
        Some(repaired) => Cow::Owned(repaired),
    }
}

fn replace_lone_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut repaired: Option<Vec<u8>> = None;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        let Some(unit) = escaped_unit(bytes, at) else {
            at += 2; // any other escape, `\\` among them: skip both characters
            continue;
        };
        let paired = matches!(unit, 0xD800..=0xDBFF)
            && escaped_unit(bytes, at + 6).is_some_and(|low| (0xDC00..=0xDFFF).contains(&low));
        if paired {
            at += 12;
            continue;
        }
        if (0xD800..=0xDFFF).contains(&unit) {
            repaired.get_or_insert_with(|| bytes.to_vec())[at..at + 6].copy_from_slice(b"\\ufffd");
        }
        at += 6;
    }
    repaired.map(|bytes| String::from_utf8(bytes).expect("ASCII replaced by ASCII stays UTF-8"))
}

/// The UTF-16 unit of the `\uXXXX` escape that starts at `at`, if there is one.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let hex = escape.strip_prefix(b"\\u")?;
    if !hex.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        for (body, expected) in [
            (r#"{"e":"\ud800"}"#, "\u{fffd}"),
            (r#"{"e":"\udc00\ud83d\ude00"}"#, "\u{fffd}😀"),
            (r#"{"e":"\ud83d\ud83d\ude00"}"#, "\u{fffd}😀"),
            (r#"{"e":"\\ud800"}"#, "\\ud800"),
        ] {
            let value: serde_json::Value = serde_json::from_str(&repaired_json(body.as_bytes())).unwrap();
            assert_eq!(value["e"], expected, "{body}");
        }
    }

    #[test]
    fn what_hides_or_reorders_is_shown() {
        for (name, shown) in [
            ("extract-invoice", "extract-invoice"),
            ("two words", "two words"),
            ("Rechnungsprüfung 😀 فاتورة", "Rechnungsprüfung 😀 فاتورة"),
            ("a\u{202e}cba", "a\u{fffd}cba"),
            ("a\u{200b}b\u{feff}\u{ad}", "a\u{fffd}b\u{fffd}\u{fffd}"),
            ("a\nb\tc\u{1b}[2J", "a\u{fffd}b\u{fffd}c\u{fffd}[2J"),
            ("   ", "␣␣␣"),
            (" a  b ", "␣a ␣b␣"),
            ("\u{3000}\u{a0}", "␣␣"),
            ("\u{3164}", "\u{fffd}"),
            ("", ""),
        ] {
            assert_eq!(visible(name), shown, "{name:?}");
        }
        assert_eq!(visible_lines("a\r\n\tb  \u{202e}c\u{7}"), "a\r\n\tb  \u{fffd}c\u{fffd}");
        assert!(["", " \n", "\u{200b}\u{feff}", "\u{3164} \u{ad}"].iter().all(|text| is_blank(text)));
        assert!(!is_blank("\u{200b}.") && !is_blank("ى"));
        assert!(is_plain("Ada Lovelace") && !is_plain(" ada") && !is_plain("a  b") && !is_plain("a\u{a0}b"));
    }

    #[test]
    fn invalid_bytes_become_replacement_characters() {
        assert_eq!(repaired_json(b"\"a\xffb\""), "\"a\u{fffd}b\"");
    }

    proptest! {
        #[test]
        fn a_shown_name_is_plain_to_see(text in "[ab \u{a0}\u{202e}\u{200d}\n]{0,12}") {
            let shown = visible(&text);
            prop_assert!(is_plain(&shown), "{:?}", shown);
            prop_assert_eq!(shown.chars().count(), text.chars().count());
        }

        #[test]
        fn cut_never_panics_and_is_a_prefix(text in "\\PC{0,40}", max in 0usize..100) {
            let short = cut(&text, max);
            prop_assert!(text.starts_with(short) && short.len() <= max);
        }

        #[test]
        fn preview_is_cut_between_characters(text in "[a😀é]{0,30}", max in 0usize..40) {
            let shown = preview(&text, max);
            let kept = shown.strip_suffix('…').unwrap_or(&shown);
            prop_assert!(text.starts_with(kept));
            prop_assert!(kept.chars().count() <= max.max(text.chars().count().min(max)));
        }

        #[test]
        fn repair_leaves_valid_json_alone(text in "\\PC{0,40}") {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(repaired_json(json.as_bytes()), json.as_str());
        }
    }
}
