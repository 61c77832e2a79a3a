//! The audit's chain: each row's hash covers its content and the hash before
//! it, so that a row changed, removed or moved afterwards is found. The same
//! whatever the database; nothing here runs a query.
//!
//! The chain has no key: whoever may write the database can make all of it
//! anew. That shows only to somebody who noted an earlier hash elsewhere.

use crate::store::rows::StoredAudit;
use crate::store::time::At;
use app::model::audit::{AuditBreak, AuditCheck};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use sqlx::FromRow;

/// Rows that a walk over the chain holds at a time.
pub const WALKED_AT_A_TIME: i64 = 500;

/// Says how rows are hashed, so that another way can be told apart some day.
const FORM: &str = "drainboard audit 1";

/// The end of the chain as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Head {
    /// Number of the last row.
    pub seq: i64,
    /// Its hash.
    pub hash: String,
    /// How many rows there are.
    pub entries: i64,
}

/// A row with its hash.
#[derive(Debug, FromRow)]
pub struct StoredLink {
    #[sqlx(flatten)]
    pub(super) row: StoredAudit,
    pub(super) hash: Option<String>,
}

/// The hash of a row after the one whose hash is `previous`, in lower-case hex.
pub fn hash(previous: &str, row: &StoredAudit) -> String {
    let At(at) = row.at;
    let content = json!([
        FORM,
        previous,
        row.seq,
        at.timestamp_micros(),
        row.actor,
        row.role,
        row.action,
        row.subject,
        row.details,
        row.outcome,
        row.address,
        row.user_agent,
    ]);
    Sha256::digest(content.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A walk along the chain, from its first row on.
#[derive(Debug, Default)]
pub struct Walk {
    seq: i64,
    hash: String,
    wanted: Option<String>,
}

impl Walk {
    /// A walk that must come across the hash, if one is given.
    pub fn looking_for(hash: Option<&str>) -> Self {
        Self { wanted: hash.map(str::to_owned), ..Self::default() }
    }

    /// Number of the last row that fits.
    pub fn seq(&self) -> i64 {
        self.seq
    }

    /// Takes the next row, or says what is wrong with it.
    pub fn step(&mut self, link: &StoredLink) -> Result<(), AuditBreak> {
        let next = self.seq + 1;
        if link.row.seq != next {
            return Err(AuditBreak { seq: next, what: "is missing".to_owned() });
        }
        let hash = hash(&self.hash, &link.row);
        if link.hash.as_deref() != Some(&hash) {
            let what = "was changed, moved or put in afterwards: its hash does not fit its content";
            return Err(AuditBreak { seq: next, what: what.to_owned() });
        }
        self.wanted.take_if(|wanted| *wanted == hash);
        (self.seq, self.hash) = (next, hash);
        Ok(())
    }

    /// The same, for rows from before the chain: answers the hash they get.
    pub fn seal(&mut self, row: &StoredAudit) -> String {
        self.hash = hash(&self.hash, row);
        self.seq = row.seq;
        self.hash.clone()
    }

    /// What the walk found, compared with the end that was stored.
    pub fn ended(self, head: Option<&Head>, broken: Option<AuditBreak>) -> AuditCheck {
        let broken = broken.or_else(|| self.compared_with(head));
        AuditCheck { entries: self.seq, last_hash: self.hash, broken }
    }

    fn compared_with(&self, head: Option<&Head>) -> Option<AuditBreak> {
        let next = self.seq + 1;
        let Some(head) = head else {
            return Some(AuditBreak {
                seq: next,
                what: "cannot be told: the chain's stored end is missing".to_owned(),
            });
        };
        if head.seq > self.seq {
            let what = format!("is missing, and all after it up to number {}", head.seq);
            return Some(AuditBreak { seq: next, what });
        }
        if head.seq < self.seq || head.hash != self.hash || head.entries != self.seq {
            let what = "does not fit the chain's stored end".to_owned();
            return Some(AuditBreak { seq: self.seq, what });
        }
        if self.wanted.is_some() {
            let what = "is the last, and the hash that must be in the chain did not come: it was made anew".to_owned();
            return Some(AuditBreak { seq: self.seq, what });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seq: i64, subject: &str) -> StoredAudit {
        StoredAudit {
            seq,
            at: At("2026-11-30T14:02:11.123456Z".parse().unwrap()),
            actor: "mila".to_owned(),
            role: Some("reviewer".to_owned()),
            action: "approve_and_replay".to_owned(),
            subject: subject.to_owned(),
            details: None,
            outcome: "done".to_owned(),
            address: Some("192.0.2.7".to_owned()),
            user_agent: None,
        }
    }

    #[test]
    fn the_form_of_what_is_hashed_never_changes() {
        let content = r#"["drainboard audit 1","",1,1796047331123456,"mila","reviewer","approve_and_replay","dead_letter 1",null,"done","192.0.2.7",null]"#;
        let expected: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash("", &row(1, "dead_letter 1")), expected);
    }

    #[test]
    fn every_part_of_a_row_counts() {
        let whole = hash("p", &row(1, "a"));
        for other in [
            hash("q", &row(1, "a")),
            hash("p", &row(2, "a")),
            hash("p", &row(1, "b")),
            hash("p", &StoredAudit { at: At("2026-11-30T14:02:11.123457Z".parse().unwrap()), ..row(1, "a") }),
            hash("p", &StoredAudit { actor: "milo".to_owned(), ..row(1, "a") }),
            hash("p", &StoredAudit { role: None, ..row(1, "a") }),
            hash("p", &StoredAudit { action: "pause".to_owned(), ..row(1, "a") }),
            hash("p", &StoredAudit { details: Some("{}".to_owned()), ..row(1, "a") }),
            hash("p", &StoredAudit { outcome: "refused".to_owned(), ..row(1, "a") }),
            hash("p", &StoredAudit { address: None, ..row(1, "a") }),
            hash("p", &StoredAudit { user_agent: Some(String::new()), ..row(1, "a") }),
        ] {
            assert_ne!(whole, other);
        }
    }

    #[test]
    fn a_cut_end_is_missed_and_an_unknown_end_is_no_success() {
        let mut walk = Walk::default();
        let hash = hash("", &row(1, "a"));
        walk.step(&StoredLink { row: row(1, "a"), hash: Some(hash.clone()) }).unwrap();
        let fits = Head { seq: 1, hash: hash.clone(), entries: 1 };
        assert_eq!(walk.compared_with(Some(&fits)), None);
        for (head, seq) in [
            (None, 2),
            (Some(Head { seq: 3, entries: 3, ..fits.clone() }), 2),
            (Some(Head { seq: 0, entries: 0, hash: String::new() }), 1),
            (Some(Head { hash: "x".to_owned(), ..fits.clone() }), 1),
            (Some(Head { entries: 2, ..fits }), 1),
        ] {
            assert_eq!(walk.compared_with(head.as_ref()).unwrap().seq, seq, "{head:?}");
        }
    }
}
