//! Claims with their right answers, a row each; and that nothing passes that is
//! not there.

use super::*;
use crate::model::FieldError;
use proptest::prelude::*;
use serde_json::{Value, json};

const CODES: [&str; 5] = [
    "MISSING_REQUIRED_FIELD",
    "AMBIGUOUS_VALUE",
    "CONFLICTING_EVIDENCE",
    "TRUNCATED_OR_UNREADABLE",
    "UNSUPPORTED_DOCUMENT",
];
const MISSING: Option<&str> = Some("MISSING_REQUIRED_FIELD");
const AMBIGUOUS: Option<&str> = Some("AMBIGUOUS_VALUE");
const CONFLICTING: Option<&str> = Some("CONFLICTING_EVIDENCE");
const UNREADABLE: Option<&str> = Some("TRUNCATED_OR_UNREADABLE");
const HOLDS: Option<&str> = None;

fn codes() -> Vec<String> {
    CODES.map(str::to_owned).to_vec()
}

fn raw(value: &Value) -> RawJson {
    RawJson::stored(value.to_string())
}

fn rules(setting: Value) -> Vec<EvidenceRule> {
    serde_json::from_value(setting::checked("evidence_checks", &setting).unwrap()).unwrap()
}

/// What a worker sends; received on 5 September 2024, 02:14 UTC.
fn checked(setting: Value, evidence: Option<Value>, values: Option<Value>, source_text: Option<&str>) -> Checked {
    let (evidence, values) = (evidence.map(|json| raw(&json)), values.map(|json| raw(&json)));
    let received_at = "2024-09-05T02:14:09Z".parse().unwrap();
    let claimed = Claimed { evidence: evidence.as_ref(), values: values.as_ref(), source_text, received_at };
    check(&rules(setting), &claimed, None, &codes())
}

/// The code that one rule that is on gives to one claim.
fn judged(rule: Value, value: Value, quote: &str, source: &str) -> Option<String> {
    let mut setting = json!({"field": "f", "mode": "on"});
    setting.as_object_mut().unwrap().extend(rule.as_object().unwrap().clone());
    let said = checked(json!([setting]), Some(json!({"f": quote})), Some(json!({"f": value})), Some(source));
    assert_eq!(said.outcomes.len(), 1);
    assert_eq!(said.outcomes[0].is_miss, said.misses.len() == 1);
    said.misses.into_iter().next().map(|miss| miss.reason_code)
}

#[test]
fn a_quote_stands_verbatim_in_the_source() {
    let source = "RECHNUNG Nr. 2024-0917\nRechnung an: Harbour Fit-Out Pty Ltd, Sydney NSW\nPos  Menge\t Betrag\n\
                  1   4    3.900,00\nGesamtbetrag:   4.820,00 EUR\nGutschrift -15,00\nfür Müller, Straße 7, Werk\u{ad}zeug, \
                  Hydrau\u{ad}\n  lik, 12\u{202f}345,60 CHF, 3 EUROPA";
    for (quote, right) in [
        ("Gesamtbetrag:   4.820,00 EUR", HOLDS),
        ("Gesamtbetrag: 4.820,00 EUR", HOLDS),
        ("Gesamtbetrag:\n4.820,00\u{a0}EUR", HOLDS),
        ("  Gesamtbetrag:  ", HOLDS),
        ("Pos Menge Betrag", HOLDS),
        ("Betrag\n1 4 3.900,00", HOLDS),
        ("Sydney NSW", HOLDS),
        ("2024-0917", HOLDS),
        ("Werkzeug", HOLDS),
        ("Werk\u{ad}zeug", HOLDS),
        ("Hydraulik", HOLDS),
        ("fu\u{308}r Mu\u{308}ller", HOLDS),
        ("12 345,60 CHF", HOLDS),
        ("3.900,00", HOLDS),
        ("-15,00", HOLDS),
        ("EUR", HOLDS),
        // Another letter is another letter.
        ("gesamtbetrag", CONFLICTING),
        ("SYDNEY NSW", CONFLICTING),
        ("fur Muller", CONFLICTING),
        ("Strasse 7", CONFLICTING),
        ("2024–0917", CONFLICTING),
        ("Gesamt betrag", CONFLICTING),
        ("GesamtbetragEUR", CONFLICTING),
        ("Gesamtbetrag : 4.820,00", CONFLICTING),
        ("NOT FOUND", CONFLICTING),
        ("4.820,00 AUD", CONFLICTING),
        // Cut inside a number or a word.
        ("820,00", CONFLICTING),
        ("4.820", CONFLICTING),
        ("4.820,0", CONFLICTING),
        ("345,60", CONFLICTING),
        ("15,00", CONFLICTING),
        ("917", CONFLICTING),
        ("ydney", CONFLICTING),
        ("EUROP", CONFLICTING),
    ] {
        assert_eq!(
            judged(json!({"rule": "quote_in_source"}), json!("v"), quote, source).as_deref(),
            right,
            "{quote:?}"
        );
    }
}

#[test]
fn a_value_stands_inside_its_quote() {
    for (value, quote, right) in [
        (json!("EUR"), "Gesamtbetrag inkl. MwSt. EUR 4.820,00", HOLDS),
        (json!("EUR"), "EUR4.820,00", HOLDS),
        (json!("EUR"), "4.820,00EUR", HOLDS),
        (json!("Brandt  GmbH"), "Lieferant: Brandt\nGmbH", HOLDS),
        (json!("Mu\u{308}ller"), "Müller AG", HOLDS),
        (json!("2024-0917"), "RECHNUNG Nr. 2024-0917", HOLDS),
        (json!(4), "Menge: 4", HOLDS),
        (json!(true), "bezahlt: true", HOLDS),
        (json!("円"), "合計円", HOLDS),
        // The field report's invoice: the buyer lives in Sydney, no currency stands there.
        (json!("AUD"), "Sydney NSW", MISSING),
        (json!("AUD"), "AUDIT FEE 12", MISSING),
        (json!("EUR"), "EUROPA Industrie", MISSING),
        (json!("EUR"), "eur", MISSING),
        (json!("eur"), "EUR", MISSING),
        (json!("0917"), "2024-09171", MISSING),
        (json!("820,00"), "4.820,00", MISSING),
        (json!("15,00"), "Gutschrift -15,00", MISSING),
        (json!("4820.00"), "4.820,00", MISSING),
        (json!(4820.5), "4.820,50", MISSING),
        (json!(["EUR"]), "EUR", MISSING),
        (json!({"code": "EUR"}), "EUR", MISSING),
    ] {
        let said = judged(json!({"rule": "value_in_quote"}), value.clone(), quote, quote);
        assert_eq!(said.as_deref(), right, "{value} in {quote:?}");
    }
}

#[test]
fn a_currency_is_a_current_code() {
    for (value, right) in [
        ("EUR", HOLDS),
        ("AUD", HOLDS),
        ("SLE", HOLDS),
        ("XCG", HOLDS),
        ("ZWG", HOLDS),
        ("DEM", CONFLICTING),
        ("HRK", CONFLICTING),
        ("BGN", CONFLICTING),
        ("ANG", CONFLICTING),
        ("SLL", CONFLICTING),
        ("XXX", MISSING),
        ("XTS", MISSING),
        ("eur", AMBIGUOUS),
        ("EURO", AMBIGUOUS),
        ("EU", AMBIGUOUS),
        ("€", AMBIGUOUS),
        ("EUR USD", AMBIGUOUS),
        ("US$", AMBIGUOUS),
    ] {
        assert_eq!(judged(json!({"rule": "currency_code"}), json!(value), value, value).as_deref(), right, "{value}");
    }
}

#[test]
fn a_routing_number_has_its_checksum() {
    for (value, right) in [
        (json!("111000025"), HOLDS),
        (json!("021000021"), HOLDS),
        (json!("011401533"), HOLDS),
        (json!(111_000_025), HOLDS),
        (json!("111000026"), UNREADABLE),
        (json!("021000012"), UNREADABLE),
        (json!("000000000"), UNREADABLE),
        (json!("21000021"), UNREADABLE),
        (json!("0210000210"), UNREADABLE),
        (json!("02100002l"), UNREADABLE),
        (json!("021 000 021"), UNREADABLE),
        (json!("٠٢١٠٠٠٠٢١"), UNREADABLE),
    ] {
        assert_eq!(judged(json!({"rule": "aba_checksum"}), value.clone(), "q", "q").as_deref(), right, "{value}");
    }
}

#[test]
fn a_number_is_the_quote_s_in_its_locale() {
    for (locale, value, quote, right) in [
        ("de", json!("4820.00"), "4.820,00", HOLDS),
        ("de", json!(4820.0), "Gesamtbetrag:   4.820,00 EUR", HOLDS),
        ("de", json!(4820), "4820", HOLDS),
        ("de", json!("4.82e3"), "4.820,00", HOLDS),
        ("de", json!("4820000e-3"), "4.820", HOLDS),
        ("de", json!(1234567.89), "1.234.567,89 €", HOLDS),
        ("de", json!(-15), "Gutschrift -15,00", HOLDS),
        ("de", json!(-15), "15,00-", HOLDS),
        ("de", json!("0.5"), ",50 EUR", HOLDS),
        ("de", json!("-0"), "0,00", HOLDS),
        ("de", json!("123456789012345678901234567890.10"), "123456789012345678901234567890,1", HOLDS),
        ("de", json!(920), "2 Versand 1 920,00", HOLDS),
        ("en", json!(4820), "Total 4,820.00", HOLDS),
        ("en", json!("4.82"), "4.820", HOLDS),
        ("fr", json!(4820), "Total 4\u{202f}820,00 €", HOLDS),
        ("fr", json!(1234567.5), "1 234 567,50", HOLDS),
        ("fr", json!(920), "2024 920,00", HOLDS),
        ("ch", json!(4820), "CHF 4'820.00", HOLDS),
        ("ch", json!(4820), "CHF 4’820.00", HOLDS),
        ("in", json!(1234820), "₹ 12,34,820.00", HOLDS),
        ("in", json!(820), "820.00", HOLDS),
        // Another number.
        ("de", json!(4821), "4.820,00", CONFLICTING),
        ("de", json!("4820.001"), "4.820,00", CONFLICTING),
        ("de", json!("123456789012345678901234567890.2"), "123456789012345678901234567890,1", CONFLICTING),
        ("de", json!(15), "Gutschrift -15,00", CONFLICTING),
        ("de", json!(15), "15,00-", CONFLICTING),
        ("en", json!(4820), "4.820", CONFLICTING),
        ("de", json!("4.82"), "4.820", CONFLICTING),
        ("fr", json!(820), "4 820,00", CONFLICTING),
        ("de", json!(50), ",50 EUR", CONFLICTING),
        // Not written like that there.
        ("de", json!(4820), "4.82", MISSING),
        ("de", json!(4820), "4,820.00", MISSING),
        ("de", json!("4.82"), "4,820.00", MISSING),
        ("en", json!(4820), "4.820,00", MISSING),
        ("en", json!(4820), "48,20", MISSING),
        ("en", json!(1234820), "12,34,820.00", MISSING),
        ("in", json!(1234820), "1,234,820.00", MISSING),
        ("ch", json!(4820), "4.820,00", MISSING),
        ("de", json!(50), ".50 EUR", MISSING),
        ("de", json!(4820), "viertausend", MISSING),
        ("de", json!(4820), "٤٨٢٠", MISSING),
        // The value is none.
        ("de", json!("4.820,00"), "4.820,00", AMBIGUOUS),
        ("de", json!("EUR 4820"), "4.820,00", AMBIGUOUS),
        ("de", json!("1e999999999"), "4.820,00", AMBIGUOUS),
        ("de", json!("NaN"), "4.820,00", AMBIGUOUS),
        ("de", json!(true), "4.820,00", AMBIGUOUS),
    ] {
        let said = judged(json!({"rule": "number_equals_quote", "locale": locale}), value.clone(), quote, quote);
        assert_eq!(said.as_deref(), right, "{locale}: {value} in {quote:?}");
    }
}

#[test]
fn a_date_is_not_after_the_receipt() {
    let german = json!(["DD.MM.YYYY"]);
    for (formats, value, right) in [
        (None, "2024-09-03", HOLDS),
        (None, "2024-09-05", HOLDS),
        (None, "2024-09-06", CONFLICTING),
        (None, "2025-01-01", CONFLICTING),
        (None, "2024-09-31", AMBIGUOUS),
        (None, "2024-9-3", AMBIGUOUS),
        (None, "2024-09-03T10:00:00Z", AMBIGUOUS),
        (None, "03.09.2024", AMBIGUOUS),
        (Some(german.clone()), "03.09.2024", HOLDS),
        (Some(german.clone()), "09.03.2025", CONFLICTING),
        (Some(german), "3.9.2024", AMBIGUOUS),
        (Some(json!(["D.M.YYYY"])), "3.9.2024", HOLDS),
        (Some(json!(["DD/MM/YYYY", "MM/DD/YYYY"])), "13/08/2024", HOLDS),
        (Some(json!(["DD/MM/YYYY", "MM/DD/YYYY"])), "01/02/2024", AMBIGUOUS),
        (Some(json!(["DD/MM/YYYY", "MM/DD/YYYY"])), "02/02/2024", HOLDS),
        (Some(json!(["YYYYMMDD"])), "20240903", HOLDS),
        (Some(json!(["DD.MM.YYYY", "YYYY-MM-DD"])), "2024-09-03", HOLDS),
    ] {
        let mut rule = json!({"rule": "date_not_after_received"});
        if let Some(formats) = formats {
            rule["formats"] = formats;
        }
        assert_eq!(judged(rule.clone(), json!(value), value, value).as_deref(), right, "{value} by {rule}");
    }
    // At 12:00 UTC it is the next day already at UTC+14, and nowhere the day after.
    let rules = rules(json!([{"field": "d", "rule": "date_not_after_received", "mode": "on"}]));
    let evidence = raw(&json!({"d": "q"}));
    for (received_at, date, holds) in [
        ("2024-09-05T09:59:59Z", "2024-09-06", false),
        ("2024-09-05T10:00:00Z", "2024-09-06", true),
        ("2024-09-05T23:59:59Z", "2024-09-07", false),
    ] {
        let values = raw(&json!({"d": date}));
        let claimed = Claimed {
            evidence: Some(&evidence),
            values: Some(&values),
            source_text: Some("q"),
            received_at: received_at.parse().unwrap(),
        };
        assert_eq!(check(&rules, &claimed, None, &codes()).misses.is_empty(), holds, "{date} at {received_at}");
    }
}

const INVOICE: &str = "RECHNUNG Nr. 2024-0917\nLieferant: Brandt Industrietechnik GmbH\nRechnung an: Harbour Fit-Out Pty \
                       Ltd, Sydney NSW\nDatum: 03.09.2024\n\nGesamtbetrag:                          4.820,00\n";

fn invoice_checks() -> Value {
    json!([
        {"field": "currency", "rule": "quote_in_source", "mode": "on"},
        {"field": "currency", "rule": "value_in_quote", "mode": "on"},
        {"field": "currency", "rule": "currency_code", "mode": "on"},
        {"field": "total", "rule": "quote_in_source", "mode": "on"},
        {"field": "total", "rule": "number_equals_quote", "locale": "de", "mode": "on"},
    ])
}

#[test]
fn the_invoice_without_a_currency_is_parked_whatever_is_claimed() {
    let values = json!({"currency": "AUD", "total": 4820.00});
    for (evidence, code, rule) in [
        (json!({"currency": "Sydney NSW", "total": "4.820,00"}), "MISSING_REQUIRED_FIELD", "value_in_quote"),
        (json!({"currency": "AUD 4.820,00", "total": "4.820,00"}), "CONFLICTING_EVIDENCE", "quote_in_source"),
        (json!({"currency": "NOT FOUND", "total": "4.820,00"}), "CONFLICTING_EVIDENCE", "quote_in_source"),
        (json!({"total": "4.820,00"}), "MISSING_REQUIRED_FIELD", "quote_in_source"),
        (json!({"currency": null, "total": "4.820,00"}), "MISSING_REQUIRED_FIELD", "quote_in_source"),
        (json!({"currency": "  ", "total": "4.820,00"}), "MISSING_REQUIRED_FIELD", "quote_in_source"),
        (json!({"currency": 7, "total": "4.820,00"}), "CONFLICTING_EVIDENCE", "quote_in_source"),
        (json!({"currency": ["AUD"], "total": "4.820,00"}), "MISSING_REQUIRED_FIELD", "quote_in_source"),
    ] {
        let said = checked(invoice_checks(), Some(evidence.clone()), Some(values.clone()), Some(INVOICE));
        let first = &said.misses[0];
        let seen = (first.field.as_str(), first.reason_code.as_str(), first.rule.as_str());
        assert_eq!(seen, ("currency", code, rule), "{evidence}");
        assert!(said.misses.iter().all(|miss| miss.field == "currency"), "the total is as it should be");
    }
    let with_currency = INVOICE.replace("4.820,00\n", "EUR 4.820,00\n");
    let evidence = json!({"currency": "Gesamtbetrag: EUR 4.820,00", "total": "EUR 4.820,00"});
    let values = json!({"currency": "EUR", "total": 4820.00});
    assert!(checked(invoice_checks(), Some(evidence), Some(values), Some(&with_currency)).misses.is_empty());
}

#[test]
fn what_was_not_sent_is_a_miss() {
    let (evidence, values) = (json!({"currency": "EUR", "total": "4"}), json!({"currency": "EUR", "total": 4}));
    for (evidence, values, source_text, said) in [
        (None, None, None, "no value was sent"),
        (None, Some(values.clone()), Some("EUR 4"), "no quote was sent"),
        (Some(evidence.clone()), None, Some("EUR 4"), "no value was sent"),
        (Some(evidence.clone()), Some(values.clone()), None, "no source text was sent"),
        (Some(evidence.clone()), Some(values), Some(" \u{ad}\n"), "no source text was sent"),
        (Some(evidence.clone()), Some(json!({"currency": null, "total": ""})), Some("EUR 4"), "no value was sent"),
        (Some(evidence), Some(json!([])), Some("EUR 4"), "no value was sent"),
    ] {
        let checked = checked(invoice_checks(), evidence, values, source_text);
        let fields: Vec<&str> = checked.misses.iter().map(|miss| miss.field.as_str()).collect();
        assert_eq!(fields, ["currency", "total"], "once each");
        assert!(checked.misses.iter().all(|miss| miss.said == said && miss.reason_code == "MISSING_REQUIRED_FIELD"));
        assert_eq!(checked.outcomes.len(), 5, "and each rule counts");
    }
    let nothing = checked(json!([{"field": "iban", "rule": "required", "mode": "on"}]), None, None, Some("x"));
    assert_eq!(nothing.misses[0].rule, "required");
}

#[test]
fn of_two_values_or_quotes_neither_is_known_to_be_meant() {
    let rules = rules(invoice_checks());
    let once = RawJson::stored(r#"{"currency":"EUR","total":"4"}"#.to_owned());
    let twice = RawJson::stored(r#"{"currency":"AUD","total":"4","curr\u0065ncy":"EUR"}"#.to_owned());
    for (evidence, values, said) in [(&twice, &once, "two quotes were sent"), (&once, &twice, "two values were sent")] {
        let received_at = DateTime::UNIX_EPOCH;
        let claimed =
            Claimed { evidence: Some(evidence), values: Some(values), source_text: Some("EUR 4"), received_at };
        let misses = check(&rules, &claimed, None, &codes()).misses;
        assert_eq!((misses[0].said.as_str(), misses[0].reason_code.as_str()), (said, "AMBIGUOUS_VALUE"));
        assert_eq!(misses.len(), 1);
    }
}

#[test]
fn a_shadow_parks_nothing_and_a_check_is_on_for_its_tenants() {
    let setting = json!([
        {"field": "currency", "rule": "value_in_quote"},
        {"field": "currency", "rule": "currency_code", "mode": "shadow", "tenants": ["acme"]},
        {"field": "total", "rule": "required", "mode": "on", "tenants": ["acme", "brandt"]},
    ]);
    let rules = rules(setting);
    let (evidence, values) = (raw(&json!({"currency": "Sydney"})), raw(&json!({"currency": "euro"})));
    let claimed = Claimed {
        evidence: Some(&evidence),
        values: Some(&values),
        source_text: Some("Sydney"),
        received_at: DateTime::UNIX_EPOCH,
    };
    for (tenant, parks) in [(None, 0), (Some("acme"), 1), (Some("brandt"), 1), (Some("Acme"), 0), (Some(""), 0)] {
        let checked = check(&rules, &claimed, tenant, &codes());
        assert_eq!((checked.misses.len(), checked.shadow_misses.len()), (parks, 3 - parks), "{tenant:?}");
        assert!(checked.outcomes.iter().all(|outcome| outcome.is_miss));
    }
}

#[test]
fn a_field_that_may_be_absent_is_checked_when_it_is_there() {
    let setting = json!([{"field": "po", "rule": "value_in_quote", "mode": "on", "optional": true}]);
    for (evidence, values, misses, looked) in [
        (json!({}), json!({}), 0, 0),
        (json!({"po": null}), json!({"po": null}), 0, 0),
        (json!({"po": "PO 7"}), json!({"po": "7"}), 0, 1),
        (json!({"po": "PO 7"}), json!({}), 1, 1),
        (json!({}), json!({"po": "7"}), 1, 1),
        (json!({"po": "PO 8"}), json!({"po": "7"}), 1, 1),
    ] {
        let checked = checked(setting.clone(), Some(evidence.clone()), Some(values.clone()), Some("PO 7"));
        assert_eq!((checked.misses.len(), checked.outcomes.len()), (misses, looked), "{evidence} {values}");
    }
}

#[test]
fn a_code_is_always_of_the_kind_s_set() {
    let evidence = raw(&json!({"f": "q"}));
    let values = raw(&json!({"f": "nothing"}));
    let claimed = Claimed {
        evidence: Some(&evidence),
        values: Some(&values),
        source_text: Some("q"),
        received_at: DateTime::UNIX_EPOCH,
    };
    for (own, set, code) in [
        (None, vec!["X", "MISSING_REQUIRED_FIELD"], "MISSING_REQUIRED_FIELD"),
        (Some("X"), vec!["MISSING_REQUIRED_FIELD", "X"], "X"),
        (Some("Y"), vec!["X", "MISSING_REQUIRED_FIELD"], "MISSING_REQUIRED_FIELD"),
        (Some("Y"), vec!["X", "Z"], "X"),
        (None, vec![], "MISSING_REQUIRED_FIELD"),
    ] {
        let setting = match own {
            None => json!([{"field": "f", "rule": "value_in_quote", "mode": "on"}]),
            Some(own) => json!([{"field": "f", "rule": "value_in_quote", "mode": "on", "reason_code": own}]),
        };
        let set: Vec<String> = set.into_iter().map(str::to_owned).collect();
        assert_eq!(check(&rules(setting), &claimed, None, &set).misses[0].reason_code, code, "{own:?} {set:?}");
    }
}

#[test]
fn sentences_never_hold_what_was_sent() {
    let names = ["required", "quote_in_source", "value_in_quote", "currency_code", "aba_checksum"];
    let mut setting: Vec<Value> = names.map(|rule| json!({"field": "f", "rule": rule, "mode": "on"})).to_vec();
    setting.push(json!({"field": "f", "rule": "number_equals_quote", "locale": "de", "mode": "on"}));
    setting.push(json!({"field": "f", "rule": "date_not_after_received", "mode": "on"}));
    let sent = |value: &str| (Some(json!({"f": "SECRET-QUOTE 7"})), Some(json!({"f": value})));
    let mut rules_seen = std::collections::BTreeSet::new();
    for value in ["SECRET-VALUE", "DEM", "8", "2999-01-01", "123456789"] {
        let (evidence, values) = sent(value);
        for miss in checked(json!(setting), evidence, values, Some("SECRET-SOURCE")).misses {
            assert!(!miss.said.contains("SECRET") && !miss.said.contains(value), "{miss:?}");
            rules_seen.insert(miss.rule);
        }
    }
    assert_eq!(rules_seen.len(), 6, "every rule but required missed");
}

#[test]
fn a_bad_setting_names_the_field_and_the_rule() {
    let one = |item: Value| json!([{"field": "a", "rule": "required"}, item]);
    for (setting, field, rule) in [
        (json!("all"), "evidence_checks", "must be a list"),
        (json!({}), "evidence_checks", "must be a list"),
        (json!(vec![json!({"field": "a", "rule": "required"}); 101]), "evidence_checks", "at most 100"),
        (one(json!(7)), "evidence_checks[1]", "struct"),
        (one(json!({})), "evidence_checks[1]", "field"),
        (one(json!({"field": "a"})), "evidence_checks[1]", "rule"),
        (one(json!({"field": "", "rule": "required"})), "evidence_checks[1].field", "1 to 200"),
        (one(json!({"field": "a\u{0}", "rule": "required"})), "evidence_checks[1].field", "1 to 200"),
        (one(json!({"field": 7, "rule": "required"})), "evidence_checks[1].field", "string"),
        (one(json!({"field": "a", "rule": "iso4217"})), "evidence_checks[1].rule", "currency_code"),
        (one(json!({"field": "a", "rule": "required", "mode": "off"})), "evidence_checks[1].mode", "shadow"),
        (one(json!({"field": "a", "rule": "required", "kind": "k"})), "evidence_checks[1].kind", "unknown field"),
        (one(json!({"field": "a", "rule": "number_equals_quote"})), "evidence_checks[1].locale", "en, de, fr, ch, in"),
        (
            one(json!({"field": "a", "rule": "number_equals_quote", "locale": "xx"})),
            "evidence_checks[1].locale",
            "variant",
        ),
        (
            one(json!({"field": "a", "rule": "required", "locale": "de"})),
            "evidence_checks[1].locale",
            "is for the rule",
        ),
        (
            one(json!({"field": "a", "rule": "required", "formats": []})),
            "evidence_checks[1].formats",
            "is for the rule",
        ),
        (
            one(json!({"field": "a", "rule": "date_not_after_received", "formats": []})),
            "evidence_checks[1].formats",
            "1 to 10",
        ),
        (
            one(json!({"field": "a", "rule": "date_not_after_received", "formats": ["YYYY-MM-DD", "%d.%m.%Y"]})),
            "evidence_checks[1].formats[1]",
            "is no format",
        ),
        (
            one(json!({"field": "a", "rule": "date_not_after_received", "formats": ["YYYY-MM"]})),
            "evidence_checks[1].formats[0]",
            "once each",
        ),
        (one(json!({"field": "b", "rule": "required", "tenants": []})), "evidence_checks[1].tenants", "1 to 1000"),
        (one(json!({"field": "b", "rule": "required", "tenants": [""]})), "evidence_checks[1].tenants[0]", "1 to 200"),
        (one(json!({"field": "b", "rule": "required", "optional": true})), "evidence_checks[1].optional", "required"),
        (one(json!({"field": "a", "rule": "required"})), "evidence_checks[1]", "there already"),
    ] {
        let FieldError { field: named, rule: said } = setting::checked("evidence_checks", &setting).unwrap_err();
        assert_eq!(named, field, "{setting}: {said}");
        assert!(said.contains(rule), "{setting}: {said}");
    }
}

#[test]
fn a_setting_reads_as_it_was_written_and_says_its_mode() {
    let setting = json!([
        {"field": "currency", "rule": "value_in_quote"},
        {"field": "total", "rule": "number_equals_quote", "locale": "de", "mode": "on", "tenants": ["acme"]},
        {"field": "total", "rule": "number_equals_quote", "locale": "ch"},
        {"field": "date", "rule": "date_not_after_received", "formats": ["DD.MM.YYYY", "D/M/YYYY"],
            "reason_code": "TOO_LATE", "optional": true},
    ]);
    let stored = setting::checked("evidence_checks", &setting).unwrap();
    assert_eq!(stored[0], json!({"field": "currency", "rule": "value_in_quote", "mode": "shadow"}));
    assert_eq!(stored[1], setting[1]);
    assert_eq!(stored[3]["formats"], setting[3]["formats"]);
    let read: Vec<EvidenceRule> = serde_json::from_value(stored.clone()).unwrap();
    assert_eq!(json!(read), stored);
    assert_eq!(read[3].label(), "date_not_after_received DD.MM.YYYY | D/M/YYYY");
    assert_eq!(setting::checked("evidence_checks", &json!([])), Ok(json!([])));
}

/// Where work grew with the square of the length, this would take hours.
#[test]
fn a_hostile_text_is_judged_in_time() {
    let start = std::time::Instant::now();
    let ones = "1".repeat(200_000);
    for quote in [&ones[..100_000], "11", "1"] {
        assert_eq!(judged(json!({"rule": "quote_in_source"}), json!("v"), quote, &ones).as_deref(), CONFLICTING);
    }
    let grouped = "1.".repeat(100_000);
    assert_eq!(
        judged(json!({"rule": "number_equals_quote", "locale": "de"}), json!(7), &grouped, "q").as_deref(),
        MISSING
    );
    let blanks = "111 ".repeat(50_000);
    let said = judged(json!({"rule": "number_equals_quote", "locale": "fr"}), json!(7), &blanks, "q");
    assert_eq!(said.as_deref(), CONFLICTING);
    let accents = format!("a{}", "\u{301}\u{323}".repeat(50_000));
    judged(json!({"rule": "quote_in_source"}), json!("v"), "b", &accents);
    assert!(start.elapsed() < std::time::Duration::from_secs(120), "{:?}", start.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever is quoted: a value that does not stand in the source never passes.
    #[test]
    fn a_value_that_is_not_in_the_source_never_passes(
        source in "[A-Ca-c0-3 .,\n\u{ad}é-]{0,30}", value in "[A-Ca-c0-3.,é-]{1,4}", quote in "[A-Ca-c0-3 .,\n\u{ad}é-]{0,30}",
        cut in (0_usize..30, 0_usize..30),
    ) {
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace() && *c != '\u{ad}').collect::<String>();
        prop_assume!(!letters(&source).contains(&letters(&value)));
        let piece: String = source.chars().skip(cut.0).take(cut.1).collect();
        for quote in [quote, piece, source.clone(), value.clone()] {
            let setting = json!([
                {"field": "f", "rule": "quote_in_source", "mode": "on"},
                {"field": "f", "rule": "value_in_quote", "mode": "on"},
            ]);
            let checked = checked(setting, Some(json!({"f": quote})), Some(json!({"f": value})), Some(&source));
            prop_assert!(!checked.misses.is_empty(), "{:?} in {:?}", value, source);
        }
    }

    /// Whole words of a source pass, however they are laid out.
    #[test]
    fn words_of_the_source_pass_in_any_layout(words in proptest::collection::vec("[A-Za-zäöü]{1,8}", 1..12), at in 0_usize..12, blanks in "[ \n\t]{1,3}") {
        let at = at.min(words.len() - 1);
        let (source, quote) = (words.join(&blanks), words[at..].join(" "));
        let setting = json!([
            {"field": "f", "rule": "quote_in_source", "mode": "on"},
            {"field": "f", "rule": "value_in_quote", "mode": "on"},
        ]);
        let checked = checked(setting, Some(json!({"f": quote})), Some(json!({"f": words[at]})), Some(&source));
        prop_assert!(checked.misses.is_empty(), "{:?}", checked);
    }

    #[test]
    fn anything_sent_is_judged(evidence in "\\PC{0,40}", values in "\\PC{0,40}", source in "\\PC{0,40}") {
        let mut setting = invoice_checks();
        setting.as_array_mut().unwrap().push(json!({"field": "d", "rule": "date_not_after_received"}));
        for (evidence, values) in [(json!({"currency": evidence, "total": evidence, "d": evidence}), json!({"currency": values, "total": values, "d": values})), (json!(evidence), json!(values))] {
            checked(setting.clone(), Some(evidence), Some(values), Some(&source));
        }
    }

    #[test]
    fn a_number_is_equal_to_itself_in_every_locale(whole in 0_u64..2_000_000_000, cents in 0_u32..100, negative in any::<bool>()) {
        let sign = if negative { "-" } else { "" };
        let value = format!("{sign}{whole}.{cents:02}");
        let digits = whole.to_string();
        for (locale, group, point, others) in [("en", ",", '.', 3), ("de", ".", ',', 3), ("fr", "\u{202f}", ',', 3), ("ch", "'", '.', 3), ("in", ",", '.', 2)] {
            let (head, last) = digits.split_at(digits.len().saturating_sub(3));
            let mut groups: Vec<String> = head.as_bytes().rchunks(others).rev().map(|part| String::from_utf8(part.to_vec()).unwrap()).collect();
            groups.push(last.to_owned());
            let quote = format!("Total {sign}{}{point}{cents:02} x", groups.join(group));
            let said = judged(json!({"rule": "number_equals_quote", "locale": locale}), json!(value), &quote, "q");
            prop_assert!(said.is_none(), "{} {}: {:?}", locale, quote, said);
        }
    }
}
