//! How the stand-in reads an invoice: it calls `extract_invoice` with a verbatim
//! quote for every field, or `cannot_process`. It reads the text and nothing
//! else; that something is wrong with an invoice is not told to it.

use serde_json::{Value, json};
use std::collections::BTreeSet;

const CURRENCIES: [&str; 6] = ["EUR", "AUD", "USD", "GBP", "CHF", "NZD"];

/// The one tool call that answers `text`: `{name, input}`.
pub fn tool_call(text: &str) -> Value {
    match extract(text) {
        Ok(input) => json!({"name": "extract_invoice", "input": input}),
        Err(Refusal { reason_code, field, evidence }) => json!({
            "name": "cannot_process",
            "input": {"reason_code": reason_code, "field": field, "evidence": evidence},
        }),
    }
}

struct Refusal<'a> {
    reason_code: &'static str,
    field: Option<&'static str>,
    evidence: &'a str,
}

fn refusal<'a>(reason_code: &'static str, field: impl Into<Option<&'static str>>, evidence: &'a str) -> Refusal<'a> {
    Refusal { reason_code, field: field.into(), evidence }
}

fn extract(text: &str) -> Result<Value, Refusal<'_>> {
    let first = text.lines().next().unwrap_or_default();
    if first.starts_with("CREDIT NOTE") {
        return Err(refusal("UNSUPPORTED_DOCUMENT", None, first));
    }
    if let Some(garbled) = text.lines().find(|line| line.contains('\u{fffd}')) {
        return Err(refusal("TRUNCATED_OR_UNREADABLE", None, garbled));
    }
    let number =
        first.strip_prefix("INVOICE ").ok_or(refusal("MISSING_REQUIRED_FIELD", "invoice_number", "NOT FOUND"))?;
    let date_line = find_line(text, "Date: ").ok_or(refusal("MISSING_REQUIRED_FIELD", "invoice_date", "NOT FOUND"))?;
    if date_line.chars().all(|c| !c.is_alphabetic() || "Date".contains(c)) {
        return Err(refusal("AMBIGUOUS_VALUE", "invoice_date", date_line));
    }
    let totals: Vec<&str> =
        text.lines().filter(|line| line.starts_with("Total: ") || line.starts_with("Amount due: ")).collect();
    let total_line = *totals.first().ok_or(refusal("MISSING_REQUIRED_FIELD", "total", "NOT FOUND"))?;
    let amounts: BTreeSet<Option<&str>> = totals.iter().map(|line| amount_in(line)).collect();
    if amounts.len() > 1 {
        return Err(refusal("CONFLICTING_EVIDENCE", "total", totals[totals.len() - 1]));
    }
    let currency = CURRENCIES
        .into_iter()
        .find(|code| total_line.split_whitespace().any(|word| word == *code))
        .ok_or(refusal("MISSING_REQUIRED_FIELD", "currency", "NOT FOUND"))?;
    Ok(json!({
        "invoice_number": number,
        "invoice_date": date_line.trim_start_matches("Date: "),
        "currency": currency,
        "total": amount_in(total_line).unwrap_or_default().replace(',', ""),
        "evidence": {"invoice_number": first, "invoice_date": date_line, "currency": total_line, "total": total_line},
    }))
}

fn find_line<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.lines().find(|line| line.starts_with(start))
}

fn amount_in(line: &str) -> Option<&str> {
    line.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::chance::Chance;
    use crate::demo::invoices::{Flaw, invoice};

    #[test]
    fn every_flaw_is_refused_with_its_code_and_everything_else_is_extracted() {
        let mut seen = BTreeSet::new();
        for invoice in (1..=1_000).map(|n| invoice(Chance::new(1), n)) {
            let call = tool_call(&invoice.text);
            let told = (call["input"]["reason_code"].as_str(), call["input"]["field"].as_str());
            let expected = match invoice.flaw {
                None => (None, None),
                Some(Flaw::LostPage) => (Some("MISSING_REQUIRED_FIELD"), Some("currency")),
                Some(Flaw::TwoTotals) => (Some("CONFLICTING_EVIDENCE"), Some("total")),
                Some(Flaw::CreditNote) => (Some("UNSUPPORTED_DOCUMENT"), None),
                Some(Flaw::TwoDates) => (Some("AMBIGUOUS_VALUE"), Some("invoice_date")),
                Some(Flaw::Garbled) => (Some("TRUNCATED_OR_UNREADABLE"), None),
            };
            assert_eq!(told, expected, "{}", invoice.text);
            seen.insert(told.0.map(str::to_owned));
            assert_quotes_are_verbatim(&call["input"], &invoice.text);
        }
        assert_eq!(seen.len(), 6, "the sample shows every flaw");
    }

    fn assert_quotes_are_verbatim(input: &Value, text: &str) {
        let quotes: Vec<&str> = match &input["evidence"] {
            Value::Object(quotes) => quotes.values().filter_map(Value::as_str).collect(),
            quote => quote.as_str().into_iter().filter(|quote| *quote != "NOT FOUND").collect(),
        };
        for quote in quotes {
            assert!(text.contains(quote), "{quote} in {text}");
        }
    }

    #[test]
    fn a_value_stands_in_its_quote() {
        let text = "INVOICE HP-1\nHallberg\nBill to: Sydney\nDate: 3 March 2026\n\nFreight\nTotal: 4,820.00 EUR\n";
        let input = &tool_call(text)["input"];
        assert_eq!((input["currency"].as_str(), input["total"].as_str()), (Some("EUR"), Some("4820.00")));
        assert_eq!(input["evidence"]["currency"], "Total: 4,820.00 EUR");
    }
}
