//! The canaries of the demo: invoices that must be refused. One code is left
//! out, so that a gap can be seen.

use app::model::canary::read_fixture;
use app::model::people::Actor;
use app::store::Store;
use serde_json::json;

/// Adds them, or sets them back to what they were.
///
/// # Errors
/// When the database does not take them.
pub async fn add(store: &dyn Store) -> anyhow::Result<()> {
    let actor = Actor { name: "demo".to_owned(), address: None, user_agent: None, role: None };
    let canary = |name: &str, code: &str, field: Option<&str>, text: &str| {
        json!({
            "name": name, "kind": "extract-invoice", "source": "canaries", "reason_code": code, "field": field,
            "every_seconds": 300, "payload": {"invoice": 0, "text": text},
        })
    };
    let head = "INVOICE CAN-1\nHallberg Pumpen GmbH\nBill to: Nobody\n";
    let fixture = json!({"canaries": [
        canary(
            "page with the currency lost", "MISSING_REQUIRED_FIELD", Some("currency"),
            &format!("{head}Date: 3 March 2026\n\nSeal kit\nTotal: 120.00\nPage 1 of 2\n"),
        ),
        canary(
            "date that reads two ways", "AMBIGUOUS_VALUE", Some("invoice_date"),
            &format!("{head}Date: 03.04.2026\n\nSeal kit\nTotal: 120.00 EUR\n"),
        ),
        canary(
            "two totals", "CONFLICTING_EVIDENCE", Some("total"),
            &format!("{head}Date: 3 March 2026\n\nSeal kit\nTotal: 120.00 EUR\nAmount due: 102.00 EUR\n"),
        ),
        canary(
            "credit note", "UNSUPPORTED_DOCUMENT", None,
            "CREDIT NOTE CAN-2\nHallberg Pumpen GmbH\nDate: 3 March 2026\n\nSeal kit\nTotal: 120.00 EUR\n",
        ),
    ]});
    store.import_canaries(&read_fixture(&fixture.to_string())?, &actor).await?;
    Ok(())
}
