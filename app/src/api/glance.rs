//! The verdict and the open letters, for the head of pages that show other things.

use super::Access;
use crate::model::reading::Reading;
use crate::model::verdict::Verdict;
use crate::panel::PanelView;
use chrono::{DateTime, Utc};

/// What every page's head says.
#[derive(Debug, Clone, PartialEq)]
pub struct Glance {
    /// The line.
    pub verdict: Verdict,
    /// The database's clock at the reading behind it, if there ever was one.
    pub as_of: Option<DateTime<Utc>>,
    /// Letters nobody resolved; `None` when that cannot be told now.
    pub unresolved_dead_letters: Option<i64>,
}

impl Glance {
    /// The head's part of a panel.
    pub fn of(view: &PanelView) -> Self {
        let fresh = view.reading.as_ref().filter(|_| view.is_fresh);
        Self {
            verdict: view.verdict.clone(),
            as_of: view.reading.as_ref().map(|reading: &Reading| reading.as_of),
            unresolved_dead_letters: fresh.map(|reading| reading.unresolved_dead_letters),
        }
    }
}

impl Access {
    /// Reads the panel now; while the database is away, the last one that was
    /// read, marked as not fresh.
    pub async fn panel(&self) -> PanelView {
        (self.panel.0)().await
    }

    /// The head of a page, from a reading made now: a remembered line could
    /// claim that a pipeline runs which has just stopped.
    pub async fn glance(&self) -> Glance {
        Glance::of(&self.panel().await)
    }
}
