//! The plain form of a text, in which quotes are looked for.
//!
//! Text that was laid out for paper or a screen, and a quote of it, differ in
//! what nobody reads. The rule, in this order and with nothing beyond it:
//!
//! 1. Soft hyphens (U+00AD) are left out, each with the white space that follows
//!    it, if there is a line end in that.
//! 2. Unicode's canonical composition (NFC).
//! 3. Every run of white space, the no-break spaces among it, is one blank; at
//!    both ends there is none.
//!
//! Never folded: upper and lower case, accents, dashes, quotation marks,
//! ligatures, full-width forms. A letter that only looks alike is another one.
//!
//! A text *holds* another if it stands in there as a whole: a match that begins
//! or ends inside a number (`820,00` in `4.820,00`, or without its sign) or
//! inside a word (`EUR` in `EUROPA`) is none.

use std::borrow::Cow;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// The soft hyphen.
const SOFT_HYPHEN: char = '\u{ad}';
/// Bytes that are compared at most, for matches that all turn out to be cut: a
/// text of one digit repeated must not take for ever.
const MAX_COMPARED: usize = 16 * 1024 * 1024;
/// What even the shortest comparison costs, in bytes.
const LEAST_COMPARED: usize = 64;

/// A text in its plain form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plain {
    text: String,
    /// Where blanks stand that were a single no-break space: between digits they
    /// group a number. In rising order.
    no_break: Vec<usize>,
}

impl Plain {
    pub(super) fn of(text: &str) -> Self {
        let text = without_soft_hyphens(text);
        let text = if is_nfc(&text) { text } else { Cow::Owned(text.nfc().collect()) };
        let mut plain = Self { text: String::with_capacity(text.len()), no_break: Vec::new() };
        let mut characters = text.trim().chars().peekable();
        while let Some(c) = characters.next() {
            if !c.is_whitespace() {
                plain.text.push(c);
                continue;
            }
            let mut is_alone = true;
            while characters.next_if(|next| next.is_whitespace()).is_some() {
                is_alone = false;
            }
            if is_alone && matches!(c, '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}') {
                plain.no_break.push(plain.text.len());
            }
            plain.text.push(' ');
        }
        plain
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the other stands in this one, as a whole. An empty one never does.
    pub(super) fn holds(&self, part: &Self) -> bool {
        let Some(first) = part.text.chars().next() else { return false };
        let (mut from, mut compared) = (0, 0);
        while let Some(found) = self.text[from..].find(&part.text) {
            let (start, end) = (from + found, from + found + part.text.len());
            if !self.is_cut(start) && !self.is_cut(end) {
                return true;
            }
            compared += part.text.len().max(LEAST_COMPARED);
            if compared > MAX_COMPARED {
                return false;
            }
            from = start + first.len_utf8();
        }
        false
    }

    /// Whether a number or a word goes on across this place.
    fn is_cut(&self, at: usize) -> bool {
        let (mut before, mut after) = (self.text[..at].chars().rev(), self.text[at..].chars());
        let (Some(left), Some(right)) = (before.next(), after.next()) else { return false };
        let is_digit = |c: Option<char>| c.is_some_and(char::is_numeric);
        let is_joint = |c: char, place: usize| {
            matches!(c, '.' | ',' | '\'' | '’') || (c == ' ' && self.no_break.binary_search(&place).is_ok())
        };
        let is_cased = |c: char| c.is_lowercase() || c.is_uppercase();
        match (left, right) {
            (l, r) if l.is_numeric() && r.is_numeric() => true,
            (l, r) if is_cased(l) && is_cased(r) => true,
            (l, r) if l.is_numeric() && is_joint(r, at) => is_digit(after.next()),
            (l, r) if r.is_numeric() && is_joint(l, at - l.len_utf8()) => is_digit(before.next()),
            ('-' | '−', r) if r.is_numeric() => !before.next().is_some_and(char::is_alphanumeric),
            _ => false,
        }
    }
}

fn without_soft_hyphens(text: &str) -> Cow<'_, str> {
    if !text.contains(SOFT_HYPHEN) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    for (n, part) in text.split(SOFT_HYPHEN).enumerate() {
        let rest = part.trim_start();
        let blank = &part[..part.len() - rest.len()];
        let ends_line = n > 0 && blank.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
        kept.push_str(if ends_line { rest } else { part });
    }
    Cow::Owned(kept)
}
