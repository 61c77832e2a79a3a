//! The invoices of the demo: who sends them, what is wrong with some, and what
//! happened to them on the way.
//!
//! Supplier e-mails come through a PDF splitter that now and then loses a page;
//! the portal accepts only what is whole, so its agent never has to say no.

use super::chance::Chance;
use serde_json::{Value, json};

/// Invoices out of e-mails of suppliers.
pub const SUPPLIER_EMAIL: &str = "supplier-email-ingest";
/// Invoices that suppliers type in.
pub const PORTAL: &str = "portal-upload";

/// What is wrong with an invoice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// The page with the currency was lost.
    LostPage,
    /// Two totals that differ.
    TwoTotals,
    /// It is a credit note.
    CreditNote,
    /// A date that can be read in two ways.
    TwoDates,
    /// Cut off and garbled.
    Garbled,
}

/// One invoice as it is enqueued.
#[derive(Debug, Clone, PartialEq)]
pub struct Invoice {
    /// Its number in the demo, from 1.
    pub number: u64,
    /// Where it came from.
    pub source: &'static str,
    /// For whom.
    pub tenant: &'static str,
    /// What is wrong with it, if anything.
    pub flaw: Option<Flaw>,
    /// What the agent gets to see.
    pub text: String,
}

const SUPPLIERS: [(&str, &str, &str); 6] = [
    ("Hallberg Pumpen GmbH", "HP", "EUR"),
    ("Yarra Coatings Pty Ltd", "YC", "AUD"),
    ("Great Lakes Fasteners Inc.", "GLF", "USD"),
    ("Severn Bearings Ltd", "SB", "GBP"),
    ("Ateliers du Rhône SA", "AR", "CHF"),
    ("Kaituna Timber Ltd", "KT", "NZD"),
];
const BUYERS: [&str; 4] = [
    "Harbour Shopfitters, Sydney NSW",
    "Elbe Yachtbau, Hamburg",
    "Prairie Grain Co-op, Winnipeg",
    "Tyne Offshore, Newcastle",
];
const TENANTS: [&str; 3] = ["northwind", "harbour", "elbe"];
const GOODS: [&str; 6] =
    ["Sea freight", "Seal kit", "Two-part paint, 10 l", "Hex bolts M12, 500", "Calibration", "Larch boards, 40 m"];
const MONTHS: [&str; 4] = ["January", "March", "June", "October"];

/// The invoice of that number.
pub fn invoice(chance: Chance, number: u64) -> Invoice {
    let source = if chance.unit("invoice source", number) < 0.6 { SUPPLIER_EMAIL } else { PORTAL };
    let flaw = if source == SUPPLIER_EMAIL { flaw_of(chance, number) } else { None };
    let tenant = chance.pick("invoice tenant", number, &TENANTS);
    Invoice { number, source, tenant, flaw, text: text_of(chance, number, flaw) }
}

fn flaw_of(chance: Chance, number: u64) -> Option<Flaw> {
    match chance.unit("invoice flaw", number) {
        x if x < 0.07 => Some(Flaw::LostPage),
        x if x < 0.10 => Some(Flaw::TwoTotals),
        x if x < 0.12 => Some(Flaw::CreditNote),
        x if x < 0.14 => Some(Flaw::TwoDates),
        x if x < 0.15 => Some(Flaw::Garbled),
        _ => None,
    }
}

fn text_of(chance: Chance, number: u64, flaw: Option<Flaw>) -> String {
    let (supplier, prefix, currency) = chance.pick("supplier", number, &SUPPLIERS);
    let buyer = chance.pick("buyer", number, &BUYERS);
    let goods = chance.pick("goods", number, &GOODS);
    let cents = 4_000 + chance.below("amount", number, 900_000);
    let day = 1 + chance.below("day", number, 12);
    let title = if flaw == Some(Flaw::CreditNote) { "CREDIT NOTE" } else { "INVOICE" };
    let date = match flaw {
        Some(Flaw::TwoDates) => format!("0{}.0{}.2026", 1 + number % 4, 5 + number % 5),
        _ => format!("{day} {} 2026", chance.pick("month", number, &MONTHS)),
    };
    let head = format!("{title} {prefix}-{number:05}\n{supplier}\nBill to: {buyer}\nDate: {date}\n\n{goods}\n");
    let total = amount(cents);
    match flaw {
        Some(Flaw::LostPage) => format!("{head}Total: {total}\nPage 1 of 2\n"),
        Some(Flaw::TwoTotals) => {
            format!(
                "{head}Total: {total} {currency}\nPlease pay in 14 days.\nAmount due: {} {currency}\n",
                amount(cents - 1_800)
            )
        }
        Some(Flaw::Garbled) => format!("{head}T\u{fffd}\u{fffd}al: {}\u{fffd}", &total[..total.len() - 2]),
        _ => format!("{head}Total: {total} {currency}\nPage 1 of 1\n"),
    }
}

fn amount(cents: u64) -> String {
    let (whole, rest) = (cents / 100, cents % 100);
    match (whole / 1_000, whole % 1_000) {
        (0, hundreds) => format!("{hundreds}.{rest:02}"),
        (thousands, hundreds) => format!("{thousands},{hundreds:03}.{rest:02}"),
    }
}

impl Invoice {
    /// What the splitter of the mail source says it did; nothing for the portal.
    pub fn upstream_handoffs(&self) -> Option<Value> {
        let note = match (self.source, self.flaw) {
            (PORTAL, _) => return None,
            (_, Some(Flaw::LostPage)) => "pages_emitted=1 of 2",
            _ => "pages_emitted=1 of 1",
        };
        let version = if self.flaw == Some(Flaw::LostPage) { "1.4.2" } else { "1.4.3" };
        Some(json!([{"agent": "pdf-splitter", "version": version, "note": note}]))
    }

    /// Where the file is said to lie.
    pub fn payload_ref(&self) -> String {
        format!("s3://demo-invoices/{}/{:05}.pdf", self.source, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_sends_the_same_invoices() {
        let all = |seed: u64| (1..=50).map(|n| invoice(Chance::new(seed), n)).collect::<Vec<_>>();
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
    }

    #[test]
    fn only_the_mail_source_sends_flawed_ones_and_not_too_many() {
        let all: Vec<_> = (1..=2_000).map(|n| invoice(Chance::new(1), n)).collect();
        assert!(all.iter().filter(|invoice| invoice.source == PORTAL).all(|invoice| invoice.flaw.is_none()));
        let mailed = all.iter().filter(|invoice| invoice.source == SUPPLIER_EMAIL).count();
        let flawed = all.iter().filter(|invoice| invoice.flaw.is_some()).count();
        assert!((0.10..0.20).contains(&(flawed as f64 / mailed as f64)), "{flawed} of {mailed}");
    }

    #[test]
    fn a_lost_page_is_told_by_the_splitter() {
        let lost = (1..2_000).map(|n| invoice(Chance::new(1), n)).find(|i| i.flaw == Some(Flaw::LostPage)).unwrap();
        assert_eq!(lost.upstream_handoffs().unwrap()[0]["note"], "pages_emitted=1 of 2");
        assert!(lost.text.contains("Page 1 of 2"));
    }
}
