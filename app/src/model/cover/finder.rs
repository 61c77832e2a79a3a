//! Finding values in a text however it spells them: in other letters' case, with
//! accents apart or lost, in groups (`DE89 3704 …`), as JSON, a JSON that keeps to
//! ASCII, or an address spells them.

use crate::model::text::is_odd;
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use std::collections::BTreeSet;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Shortest spelling that is looked for, in characters.
pub const MIN_CHARACTERS: usize = 4;
/// With so many letters and digits a value is found in groups, too. A shorter
/// one would be found in every time and amount.
const MIN_GROUPED: usize = 8;
/// Most characters between two groups.
const MAX_GAP: usize = 3;
/// Lists cut a text after so many characters or more. The beginning of a value at
/// the end of a shorter text, which is whole, is a word of its own.
const SHORTEST_CUT: usize = 200;
/// Longest end of a text, in bytes, that is taken for a value cut in two.
const MAX_TAIL: usize = 200;

/// Finds a set of values.
#[derive(Debug, Clone)]
pub struct Finder {
    spellings: Vec<String>,
    grouped: Vec<String>,
    by_spelling: Option<AhoCorasick>,
    by_group: Option<AhoCorasick>,
}

impl Finder {
    /// For values whose spellings are of [`MIN_CHARACTERS`] or more; others are passed over.
    /// `None`: there are too many, or too long ones, to be looked for.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let (mut spellings, mut grouped) = (BTreeSet::new(), BTreeSet::new());
        for value in values {
            for spelling in spellings_of(value) {
                let in_groups = Folded::groups_of(&spelling).text;
                if in_groups.chars().count() >= MIN_GROUPED {
                    grouped.insert(in_groups);
                }
                spellings.insert(Folded::of(&spelling).text);
            }
        }
        spellings.retain(|spelling: &String| spelling.chars().count() >= MIN_CHARACTERS);
        let (spellings, grouped) = (Vec::from_iter(spellings), Vec::from_iter(grouped));
        Some(Self { by_spelling: automaton(&spellings)?, by_group: automaton(&grouped)?, spellings, grouped })
    }

    /// Where a value stands in the text, or the beginning of one where it was cut:
    /// in order and apart.
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        let (text, is_cut) = match text.strip_suffix('…') {
            Some(text) => (text, true),
            None => (text, text.chars().nth(SHORTEST_CUT - 1).is_some()),
        };
        let mut found = Vec::new();
        for (patterns, automaton, folded) in [
            (&self.spellings, &self.by_spelling, Folded::of as fn(&str) -> Folded),
            (&self.grouped, &self.by_group, Folded::groups_of),
        ] {
            let Some(automaton) = automaton else { continue };
            let folded = folded(text);
            for hit in automaton.find_overlapping_iter(&folded.text) {
                note(&mut found, folded.place(hit.range()));
            }
            found.extend(tail(&folded, patterns).filter(|_| is_cut).map(|hit| folded.place(hit).start..text.len()));
        }
        found.sort_by_key(|place| place.start);
        let mut apart = Vec::new();
        found.into_iter().for_each(|place| note(&mut apart, place));
        apart
    }
}

/// `None` for one that cannot be built; nothing to find for no pattern at all.
#[expect(clippy::option_option, reason = "failing and having nothing to look for are two things")]
fn automaton(patterns: &[String]) -> Option<Option<AhoCorasick>> {
    if patterns.is_empty() {
        return Some(None);
    }
    AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .match_kind(MatchKind::Standard)
        .build(patterns)
        .ok()
        .map(Some)
}

/// Adds a place, or grows the last one that it touches.
fn note(places: &mut Vec<Range<usize>>, place: Range<usize>) {
    match places.last_mut() {
        Some(last) if place.start <= last.end && place.end >= last.start => {
            last.start = last.start.min(place.start);
            last.end = last.end.max(place.end);
        }
        _ => places.push(place),
    }
}

/// What is left of a value where a list cut the text.
fn tail(folded: &Folded, patterns: &[String]) -> Option<Range<usize>> {
    let longest = patterns.iter().filter_map(|pattern| beginning_at_end(&folded.text, pattern)).max()?;
    Some(folded.text.len() - longest..folded.text.len())
}

/// How many bytes at the end of the text are the beginning of the value.
fn beginning_at_end(text: &str, value: &str) -> Option<usize> {
    let longest = value.len().min(text.len() + 1).min(MAX_TAIL);
    (MIN_CHARACTERS..longest).rev().find(|&bytes| {
        value.get(..bytes).is_some_and(|start| start.chars().count() >= MIN_CHARACTERS && text.ends_with(start))
    })
}

/// A text made comparable, with the way back to its bytes.
struct Folded {
    text: String,
    /// For each byte, where its character starts and ends in the original.
    places: Vec<(usize, usize)>,
}

impl Folded {
    /// The same, of letters and digits alone; a wide gap between them stays one.
    fn groups_of(text: &str) -> Self {
        let whole = Self::of(text);
        let mut groups = Self { text: String::with_capacity(text.len()), places: Vec::with_capacity(text.len()) };
        let mut gap = 0;
        for (at, c) in whole.text.char_indices() {
            if c.is_alphanumeric() {
                gap = 0;
            } else {
                gap += 1;
            }
            if gap == 0 || gap == MAX_GAP + 1 {
                groups.push(if gap == 0 { c } else { ' ' }, whole.places[at]);
            }
        }
        groups
    }

    /// Lower case, compatible forms as one, without accents and what cannot be seen.
    fn of(text: &str) -> Self {
        let mut folded = Self { text: String::with_capacity(text.len()), places: Vec::with_capacity(text.len()) };
        for (start, c) in text.char_indices() {
            let place = (start, start + c.len_utf8());
            if c.is_ascii() {
                folded.push(c.to_ascii_lowercase(), place);
            } else if !is_odd(c) {
                // Twice: a compatible form may be a capital letter, and the small letter of one has accents.
                let plain = std::iter::once(c).nfkd().flat_map(char::to_lowercase).nfkd();
                plain.filter(|&c| !is_combining_mark(c)).for_each(|c| folded.push(c, place));
            }
        }
        folded
    }

    fn push(&mut self, c: char, place: (usize, usize)) {
        self.text.push(c);
        self.places.resize(self.text.len(), place);
    }

    fn place(&self, bytes: Range<usize>) -> Range<usize> {
        let (start, _) = self.places[bytes.start];
        let (_, end) = self.places[bytes.end - 1];
        start..end
    }
}

/// All ways in which a text may come to hold a value.
fn spellings_of(value: &str) -> Vec<String> {
    let quoted = serde_json::Value::from(value).to_string();
    let escaped = &quoted[1..quoted.len() - 1];
    let mut spellings = vec![value.to_owned(), escaped.to_owned(), in_ascii(escaped)];
    let encoded = in_address(value, false);
    spellings.extend([encoded.replace("%20", "+"), encoded, in_address(value, true)]);
    spellings.sort();
    spellings.dedup();
    spellings
}

/// As JSON writers spell it that keep to ASCII: `J\u00f6rg`.
fn in_ascii(text: &str) -> String {
    let mut units = [0; 2];
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        match c {
            c if c.is_ascii() => out.push(c),
            c => c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    out
}

/// As an address holds it: `J%C3%B6rg`; whole addresses leave `/`, `:` and the like.
fn in_address(text: &str, is_whole: bool) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for &byte in text.as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            byte if is_whole && b"!#$&'()*+,/:;=?@[]".contains(&byte) => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
