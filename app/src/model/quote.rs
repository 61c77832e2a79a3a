//! Where a quote stands in a text: word for word, else with any white space
//! between its words.

use std::ops::Range;

/// The bytes of the text that the quote covers.
pub fn find_quote(text: &str, quote: &str) -> Option<Range<usize>> {
    let quote = quote.trim();
    if quote.is_empty() {
        return None;
    }
    if let Some(start) = text.find(quote) {
        return Some(start..start + quote.len());
    }
    let wanted: Vec<char> = quote.chars().filter(|c| !c.is_whitespace()).collect();
    let first = *wanted.first()?;
    let starts = text.char_indices().filter(|&(_, c)| c == first);
    starts.take(MAX_STARTS).find_map(|(start, _)| ends_at(&text[start..], &wanted).map(|end| start..start + end))
}

/// A long text of one letter repeated must not take for ever.
const MAX_STARTS: usize = 20_000;

fn ends_at(text: &str, wanted: &[char]) -> Option<usize> {
    let mut wanted = wanted.iter();
    let mut next = wanted.next()?;
    for (at, c) in text.char_indices() {
        if c.is_whitespace() {
            continue;
        }
        if c != *next {
            return None;
        }
        match wanted.next() {
            None => return Some(at + c.len_utf8()),
            Some(c) => next = c,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_found_whatever_the_white_space() {
        let text = "Rechnung 7\nGesamt:\n  1.234,50 €\nEnde";
        for (quote, found) in [
            ("1.234,50 €", Some("1.234,50 €")),
            ("Gesamt: 1.234,50\t€", Some("Gesamt:\n  1.234,50 €")),
            (" Ende ", Some("Ende")),
            ("NOT FOUND", None),
            ("  ", None),
        ] {
            assert_eq!(find_quote(text, quote).map(|range| &text[range]), found, "{quote}");
        }
    }
}
