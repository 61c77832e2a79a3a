//! SQLite: one file, one writer.
