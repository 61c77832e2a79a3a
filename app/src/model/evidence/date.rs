//! The value is a date that is not after the input was received.
//!
//! A date has no time zone: it is after the receipt only if it had not begun
//! anywhere on earth by then, that is, at UTC+14.

use super::sent::Sent;
use super::{Code, Fault};
use chrono::{NaiveDate, TimeDelta};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A format such as `DD.MM.YYYY`: `YYYY`, `MM` and `DD` stand for four and two
/// digits, `M` and `D` for one or two, anything else for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DateFormat {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Year,
    Month { is_two: bool },
    Day { is_two: bool },
    Literal(char),
}

impl TryFrom<String> for DateFormat {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let rule = || {
            format!(
                "{text:?} is no format such as YYYY-MM-DD, DD.MM.YYYY or M/D/YYYY, with year, month and day once each"
            )
        };
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let run = rest.chars().take_while(|c| *c == first).count();
            let (piece, length) = match (first, run) {
                ('Y', 4) => (Piece::Year, 4),
                ('M', 1 | 2) => (Piece::Month { is_two: run == 2 }, run),
                ('D', 1 | 2) => (Piece::Day { is_two: run == 2 }, run),
                (c, _) if !c.is_alphanumeric() => (Piece::Literal(c), c.len_utf8()),
                _ => return Err(rule()),
            };
            pieces.push(piece);
            rest = &rest[length..];
        }
        let count = |wanted: fn(&Piece) -> bool| pieces.iter().filter(|piece| wanted(piece)).count();
        let once_each = [
            count(|piece| matches!(piece, Piece::Year)),
            count(|piece| matches!(piece, Piece::Month { .. })),
            count(|piece| matches!(piece, Piece::Day { .. })),
        ];
        if once_each != [1, 1, 1] || text.chars().count() > 20 {
            return Err(rule());
        }
        Ok(Self { pieces })
    }
}

impl From<DateFormat> for String {
    fn from(format: DateFormat) -> Self {
        format
            .pieces
            .into_iter()
            .map(|piece| match piece {
                Piece::Year => "YYYY".to_owned(),
                Piece::Month { is_two } => if is_two { "MM" } else { "M" }.to_owned(),
                Piece::Day { is_two } => if is_two { "DD" } else { "D" }.to_owned(),
                Piece::Literal(c) => c.to_string(),
            })
            .collect()
    }
}

impl DateFormat {
    /// `2024-09-03`, which a rule reads that states no format.
    pub fn iso() -> Self {
        let (month, day) = (Piece::Month { is_two: true }, Piece::Day { is_two: true });
        Self { pieces: vec![Piece::Year, Piece::Literal('-'), month, Piece::Literal('-'), day] }
    }

    fn read(&self, text: &str) -> Option<NaiveDate> {
        let (mut year, mut month, mut day) = (0, 0, 0);
        let mut rest = text;
        for piece in &self.pieces {
            let (slot, least, most) = match piece {
                Piece::Literal(c) => {
                    rest = rest.strip_prefix(*c)?;
                    continue;
                }
                Piece::Year => (&mut year, 4, 4),
                Piece::Month { is_two } => (&mut month, if *is_two { 2 } else { 1 }, 2),
                Piece::Day { is_two } => (&mut day, if *is_two { 2 } else { 1 }, 2),
            };
            let length = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
            if length < least {
                return None;
            }
            *slot = rest[..length].parse().ok()?;
            rest = &rest[length..];
        }
        if !rest.is_empty() {
            return None;
        }
        NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)
    }
}

/// The zone whose calendar is furthest ahead.
const FURTHEST_AHEAD: TimeDelta = TimeDelta::hours(14);

pub(super) fn judge(sent: &Sent<'_>, formats: &[DateFormat]) -> Result<(), Fault> {
    let text = sent.value.trim();
    let days: BTreeSet<NaiveDate> = formats.iter().filter_map(|format| format.read(text)).collect();
    let Some(day) = days.first() else {
        return Err(Fault::new(Code::Ambiguous, "the value is no date in a stated format"));
    };
    if days.len() > 1 {
        return Err(Fault::new(Code::Ambiguous, "the value is another date in another stated format"));
    }
    let last = sent.received_at.checked_add_signed(FURTHEST_AHEAD).unwrap_or(sent.received_at).date_naive();
    if *day > last {
        return Err(Fault::new(Code::Conflicting, "the date is after the input was received"));
    }
    Ok(())
}
