//! Policies of kinds: listed with origins, changed in part.

pub mod change;
pub mod list;
