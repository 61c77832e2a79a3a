//! One reading a second per server, sent to every open page.

/// The stream of readings.
#[derive(Clone, Default)]
pub struct Live;
