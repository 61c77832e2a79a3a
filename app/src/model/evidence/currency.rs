//! The value is a current currency code of ISO 4217, in capitals as the standard
//! writes it.

use super::sent::Sent;
use super::{Code, Fault};

/// Currencies, funds and metals of the standard's list one, late in 2026.
const CURRENT: &str = "\
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF \
    CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD \
    HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD \
    MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN \
    PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD \
    TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD \
    XPF XPT XSU XUA YER ZAR ZMW ZWG";

/// Codes of the standard that were withdrawn.
const WITHDRAWN: &str = "\
    ADP AFA ALK ANG AOK AON AOR ARA ARP ARY ATS AYM AZM BAD BEC BEF BEL BGJ BGK BGL BGN BOP BRB BRC BRE BRN BRR BUK \
    BYB BYR CHC CSD CSJ CSK CUC CYP DDM DEM ECS ECV EEK ESA ESB ESP FIM FRF GEK GHC GHP GNE GNS GQE GRD GWE GWP HRD \
    HRK IEP ILP ILR ISJ ITL LAJ LSM LTL LTT LUC LUF LUL LVL LVR MGF MLF MRO MTL MTP MVQ MXP MZE MZM NIC NLG PEH PEI \
    PES PLZ PTE RHD ROK ROL RUR SDD SDP SIT SKK SLL SRG STD SUR TJR TMM TPE TRL UAK UGS UGW USS UYN UYP VEB VEF VNC \
    XEU XFO XFU XRE YDD YUD YUM YUN ZAL ZMK ZRN ZRZ ZWC ZWD ZWL ZWN ZWR";

/// Codes that stand for no currency at all: none, and tests.
const NO_CURRENCY: &str = "XTS XXX";

pub(super) fn judge(sent: &Sent<'_>) -> Result<(), Fault> {
    let is_one_of = |list: &str| list.split(' ').any(|code| code == sent.value);
    if is_one_of(CURRENT) {
        return Ok(());
    }
    Err(if is_one_of(WITHDRAWN) {
        Fault::new(Code::Conflicting, "the currency code was withdrawn from ISO 4217")
    } else if is_one_of(NO_CURRENCY) {
        Fault::new(Code::Missing, "the ISO 4217 code stands for no currency")
    } else {
        Fault::new(Code::Ambiguous, "the value is no currency code of ISO 4217")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_share_nothing() {
        let all: Vec<&str> = [CURRENT, WITHDRAWN, NO_CURRENCY].into_iter().flat_map(|list| list.split(' ')).collect();
        for list in [CURRENT, WITHDRAWN, NO_CURRENCY] {
            let codes: Vec<&str> = list.split(' ').collect();
            assert!(codes.windows(2).all(|two| two[0] < two[1]), "{list}");
            assert!(codes.iter().all(|code| code.len() == 3 && code.bytes().all(|c| c.is_ascii_uppercase())), "{list}");
        }
        let distinct: std::collections::BTreeSet<&&str> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
