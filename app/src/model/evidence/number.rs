//! The value is a number that the quote writes in the stated locale.
//!
//! Digits are compared, never binary fractions. The value comes as JSON writes
//! numbers (`4820.00`), as a number or as text. Of several numbers in a quote
//! any may be it. What the locale does not write like that is no number: in
//! `de`, `4,820.00` is not read at all rather than wrongly.

use super::sent::Sent;
use super::{Code, Fault};
use serde::{Deserialize, Serialize};

/// How numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Locale {
    /// `4,820.00`
    En,
    /// `4.820,00`
    De,
    /// `4 820,00`, the blank a no-break one or not.
    Fr,
    /// `4'820.00`, the apostrophe straight or not.
    Ch,
    /// `12,34,820.00`
    In,
}

impl Locale {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::De => "de",
            Self::Fr => "fr",
            Self::Ch => "ch",
            Self::In => "in",
        }
    }

    fn decimal(self) -> char {
        match self {
            Self::En | Self::Ch | Self::In => '.',
            Self::De | Self::Fr => ',',
        }
    }

    fn groups(self) -> &'static [char] {
        match self {
            Self::En | Self::In => &[','],
            Self::De => &['.'],
            Self::Fr => &[' '],
            Self::Ch => &['\'', '’'],
        }
    }

    /// Whether groups of these lengths, the highest first, are written so.
    fn groups_fit(self, lengths: &[usize]) -> bool {
        match lengths {
            [] => false,
            [whole] => *whole > 0,
            [first, middle @ .., last] => {
                let others = if self == Self::In { 2 } else { 3 };
                (1..=others).contains(first) && middle.iter().all(|length| *length == others) && *last == 3
            }
        }
    }
}

pub(super) fn judge(sent: &Sent<'_>, locale: Locale) -> Result<(), Fault> {
    let Some(value) = Decimal::of_json(&sent.value) else {
        return Err(Fault::new(Code::Ambiguous, "the value is no number as JSON writes it"));
    };
    let numbers = numbers(sent.quote.as_str(), locale);
    if numbers.contains(&value) {
        return Ok(());
    }
    Err(if numbers.is_empty() {
        Fault::new(Code::Missing, format!("no number as \"{}\" writes it stands in the quote", locale.as_str()))
    } else {
        Fault::new(Code::Conflicting, "the value is another number than the quote's")
    })
}

/// A decimal number, exactly: 1, 1.0 and 01 are one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    /// Without leading zeros.
    digits: String,
    /// How many of them stand behind the point, none of these a trailing zero.
    behind: usize,
}

impl Decimal {
    fn new(is_negative: bool, whole: &str, behind: &str) -> Self {
        let behind = behind.trim_end_matches('0');
        let digits = format!("{whole}{behind}").trim_start_matches('0').to_owned();
        Self { is_negative: is_negative && !digits.is_empty(), behind: behind.len(), digits }
    }

    /// Largest exponent, either way.
    const MAX_EXPONENT: i32 = 400;

    fn of_json(text: &str) -> Option<Self> {
        let text = text.trim();
        let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            None => (text, 0),
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        };
        let (whole, behind) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || !is_digits(behind) || exponent.abs() > Self::MAX_EXPONENT {
            return None;
        }
        let by = exponent.unsigned_abs() as usize;
        let (mut whole, mut behind) = (whole.to_owned(), behind.to_owned());
        if exponent > 0 {
            behind.extend(std::iter::repeat_n('0', by.saturating_sub(behind.len())));
            whole.extend(behind.drain(..by));
        } else {
            whole.insert_str(0, &"0".repeat(by.saturating_sub(whole.len())));
            behind.insert_str(0, &whole.split_off(whole.len() - by));
        }
        Some(Self::new(is_negative, &whole, &behind))
    }

    /// A run of digits and separators as the locale writes numbers.
    fn of_run(run: &str, locale: Locale, is_negative: bool) -> Option<Self> {
        let (whole, behind) = run.split_once(locale.decimal()).unwrap_or((run, "0"));
        let groups: Vec<&str> = whole.split(locale.groups()).collect();
        let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
        let is_digits = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
        let fits =
            !behind.is_empty() && is_digits(&behind) && groups.iter().all(is_digits) && locale.groups_fit(&lengths);
        fits.then(|| Self::new(is_negative, &groups.concat(), behind))
    }
}

/// The numbers that a text in its plain form writes.
fn numbers(text: &str, locale: Locale) -> Vec<Decimal> {
    let characters: Vec<char> = text.chars().collect();
    let at = |place: usize| characters.get(place).copied();
    let is_digit = |place: usize| at(place).is_some_and(|c| c.is_ascii_digit());
    let is_part_of_word = |place: usize| at(place).is_some_and(char::is_alphanumeric);
    let three_follow = |place: usize| (1..=3).all(|n| is_digit(place + n)) && !is_digit(place + 4);
    let is_dash = |place: usize| matches!(at(place), Some('-' | '−'));
    let (mut found, mut next) = (Vec::new(), 0);
    while next < characters.len() {
        if !is_digit(next) {
            next += 1;
            continue;
        }
        let mut start = next;
        // `,50` in `de` is a half; `.50` there is nothing.
        if start > 0 && matches!(at(start - 1), Some('.' | ',' | '\'' | '’')) {
            start -= 1;
        }
        let (mut end, mut group, mut is_grouped, mut has_point) = (next + 1, 1, false, false);
        while let Some(c) = at(end) {
            match c {
                '0'..='9' => group += 1,
                _ if !is_digit(end + 1) => break,
                '.' | ',' | '\'' | '’' => {
                    has_point |= c == locale.decimal();
                    group = 0;
                }
                // A blank goes on with a number in `fr` alone, between one to
                // three digits and exactly three more.
                ' ' if locale == Locale::Fr && !has_point && (is_grouped || group <= 3) && three_follow(end) => {
                    is_grouped = true;
                    group = 0;
                }
                _ => break,
            }
            end += 1;
        }
        let mut run: String = characters[start..end].iter().collect();
        if run.starts_with(locale.decimal()) {
            run.insert(0, '0');
        }
        let sign_before = start > 0 && is_dash(start - 1) && !(start > 1 && is_part_of_word(start - 2));
        let sign_behind = is_dash(end) && !is_part_of_word(end + 1);
        found.extend(Decimal::of_run(&run, locale, sign_before || sign_behind));
        next = end;
    }
    found
}
