//! Dead letters: listed, looked at, acted on.

pub mod act;
pub mod list;
pub mod show;
