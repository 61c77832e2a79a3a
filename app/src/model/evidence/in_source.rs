//! The quote stands verbatim in the source text.

use super::sent::Sent;
use super::{Code, Fault};

pub(super) fn judge(sent: &Sent<'_>) -> Result<(), Fault> {
    if sent.source.holds(&sent.quote) {
        return Ok(());
    }
    Err(Fault::new(Code::Conflicting, "the quote does not stand in the source text"))
}
