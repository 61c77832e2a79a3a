//! How letters are written down: CSV for spreadsheets, JSON for programs.

use app::model::letter_export::{Cell, ExportedLetter};
use csv::{QuoteStyle, Terminator, Writer, WriterBuilder};
use std::io;

/// Which kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One record per letter (RFC 4180, UTF-8), whatever line breaks it holds.
    /// Text that a spreadsheet would take for a formula gets a leading `'`.
    Csv,
    /// An array of objects; what was stored as JSON is in it byte for byte.
    Json,
}

impl Format {
    /// Of the file's name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }

    /// Of the answer.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Json => "application/json",
        }
    }

    /// What a file begins with.
    pub(super) fn head(self) -> Vec<u8> {
        match self {
            Self::Csv => format!("{}\r\n", ExportedLetter::COLUMNS.join(",")).into_bytes(),
            Self::Json => b"[".to_vec(),
        }
    }

    /// Some letters; `is_first` when no others stand before them.
    pub(super) fn records(self, letters: impl Iterator<Item = ExportedLetter>, is_first: bool) -> io::Result<Vec<u8>> {
        match self {
            Self::Csv => csv_records(letters),
            Self::Json => json_records(letters, is_first),
        }
    }

    /// What a complete file ends with.
    pub(super) fn tail(self) -> Vec<u8> {
        match self {
            Self::Csv => Vec::new(),
            Self::Json => b"\n]\n".to_vec(),
        }
    }
}

fn csv_records(letters: impl Iterator<Item = ExportedLetter>) -> io::Result<Vec<u8>> {
    // Quoted throughout: where a list separator is `;`, an unquoted one would end the cell.
    let mut writer: Writer<Vec<u8>> =
        WriterBuilder::new().quote_style(QuoteStyle::NonNumeric).terminator(Terminator::CRLF).from_writer(Vec::new());
    for letter in letters {
        writer.write_record(letter.cells().map(Cell::written))?;
    }
    writer.into_inner().map_err(|error| io::Error::other(error.to_string()))
}

fn json_records(letters: impl Iterator<Item = ExportedLetter>, is_first: bool) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    for (i, letter) in letters.enumerate() {
        out.extend_from_slice(if is_first && i == 0 { b"\n" } else { b",\n" });
        serde_json::to_writer(&mut out, &letter)?;
    }
    Ok(out)
}
