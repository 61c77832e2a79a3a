//! The value is an ABA routing number: nine digits whose weighted sum (3, 7, 1
//! over and over) is a multiple of ten, and not all of them 0.

use super::sent::Sent;
use super::{Code, Fault};

pub(super) fn judge(sent: &Sent<'_>) -> Result<(), Fault> {
    let digits: Vec<u32> = sent.value.chars().map_while(|c| c.to_digit(10)).collect();
    if digits.len() != 9 || sent.value.chars().count() != 9 {
        return Err(Fault::new(Code::Unreadable, "the routing number is not nine digits"));
    }
    let sum: u32 = digits.iter().zip([3, 7, 1].into_iter().cycle()).map(|(digit, weight)| digit * weight).sum();
    if sum == 0 || !sum.is_multiple_of(10) {
        return Err(Fault::new(Code::Unreadable, "the checksum of the routing number does not hold"));
    }
    Ok(())
}
