//! `drainboard verify`: whether the audit's chain holds, with an exit code for scripts.

use super::Database;
use app::model::audit::AuditCheck;
use std::process::ExitCode;

/// 0 when every entry fits, 1 when one does not, 2 when nobody can say.
pub async fn run(database: &Database, contains: Option<&str>) -> ExitCode {
    match check(database, contains).await {
        Err(error) => {
            eprintln!("drainboard: {error:#}");
            ExitCode::from(2)
        }
        Ok(check) => {
            println!("{}", told(&check));
            if check.broken.is_none() { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
    }
}

async fn check(database: &Database, contains: Option<&str>) -> anyhow::Result<AuditCheck> {
    let store = database.open().await?;
    let check = store.check_audit(contains).await?;
    store.close().await;
    Ok(check)
}

/// What was checked, and what was found.
fn told(check: &AuditCheck) -> String {
    match (&check.broken, check.entries) {
        (Some(broken), fit) => {
            format!("The audit is broken: entry {} {}. Entries that fit before it: {fit}.", broken.seq, broken.what)
        }
        (None, 0) => "The audit is empty; there is nothing to check.".to_owned(),
        (None, entries) => format!(
            "Audit checked: {entries} entries, numbers, contents and order fit their hashes, and the last one is the \
             stored end.\nLast hash: {}",
            check.last_hash
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use app::model::audit::AuditBreak;

    #[test]
    fn it_says_what_was_checked_and_where_it_breaks() {
        let whole = AuditCheck { entries: 12, last_hash: "abc".to_owned(), broken: None };
        assert!(told(&whole).contains("12 entries") && told(&whole).contains("Last hash: abc"), "{}", told(&whole));
        let broken = AuditBreak { seq: 5, what: "is missing".to_owned() };
        let text = told(&AuditCheck { entries: 4, broken: Some(broken), ..whole });
        assert_eq!(text, "The audit is broken: entry 5 is missing. Entries that fit before it: 4.");
    }
}
