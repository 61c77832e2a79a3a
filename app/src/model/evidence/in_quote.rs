//! The value stands inside its quote.

use super::plain::Plain;
use super::sent::Sent;
use super::{Code, Fault};

pub(super) fn judge(sent: &Sent<'_>) -> Result<(), Fault> {
    if sent.quote.holds(&Plain::of(&sent.value)) {
        return Ok(());
    }
    Err(Fault::new(Code::Missing, "the value does not stand in its quote"))
}
