//! What a server remembers between readings: the last good one, since when the
//! database is away, and the due work of the last minutes.
//!
//! Pages read the database when asked; this is only for when that fails, and
//! for the forecast.

use crate::error::StoreError;
use crate::model::forecast::{self, Sample};
use crate::model::reading::{Reading, Snapshot};
use crate::model::verdict::{NoReading, Verdict};
use chrono::{DateTime, TimeDelta, Utc};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// Shared by all pages and streams of one server.
#[derive(Debug, Clone, Default)]
pub struct PanelMemory(Arc<Mutex<Remembered>>);

#[derive(Debug, Default)]
struct Remembered {
    last: Option<(Reading, Instant)>,
    away_since: Option<DateTime<Utc>>,
    samples: VecDeque<Sample>,
}

/// The panel as it is to be shown now.
#[derive(Debug, Clone, PartialEq)]
pub struct PanelView {
    /// The numbers: fresh, or the last that were read, or none yet.
    pub reading: Option<Reading>,
    /// The line; `Unknown` while there is no fresh reading.
    pub verdict: Verdict,
    /// Whether the numbers are fresh.
    pub is_fresh: bool,
    /// When due work will be gone, if that can be told.
    pub forecast: Option<String>,
}

impl PanelView {
    /// The database's clock at the reading, if there ever was one.
    pub fn as_of(&self) -> Option<DateTime<Utc>> {
        self.reading.as_ref().map(|reading| reading.as_of)
    }

    /// Letters nobody resolved; `None` when that cannot be told now.
    pub fn unresolved_dead_letters(&self) -> Option<i64> {
        self.reading.as_ref().filter(|_| self.is_fresh).map(|reading| reading.unresolved_dead_letters)
    }
}

impl PanelMemory {
    /// Takes in the outcome of a reading and says what to show.
    pub fn view_of(&self, outcome: Result<Snapshot, StoreError>) -> PanelView {
        let mut memory = self.lock();
        match outcome {
            Ok(snapshot) => memory.fresh(Reading::of(snapshot)),
            Err(StoreError::Unavailable(_)) => memory.stale(NoReading::Unreachable),
            // It is read without anybody's input, so whatever is wrong is wrong in the database.
            Err(_) => memory.stale(NoReading::DatabaseError),
        }
    }

    /// The last reading's line, without asking anybody; for places that only
    /// remind of it.
    pub fn last_verdict(&self) -> Option<Verdict> {
        self.lock().last.as_ref().map(|(reading, _)| reading.verdict.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Remembered {
    fn fresh(&mut self, reading: Reading) -> PanelView {
        self.away_since = None;
        self.remember_due(&reading);
        let samples: Vec<Sample> = self.samples.iter().copied().collect();
        let view = PanelView {
            verdict: reading.verdict.clone(),
            forecast: forecast::forecast(&samples),
            reading: Some(reading.clone()),
            is_fresh: true,
        };
        self.last = Some((reading, Instant::now()));
        view
    }

    /// Samples at most one a second, in the order of the database's clock; a
    /// clock that steps back starts the series afresh.
    fn remember_due(&mut self, reading: &Reading) {
        let sample = Sample { at: reading.as_of, due: reading.kinds.iter().map(|kind| kind.due).sum() };
        if self.samples.back().is_some_and(|last| last.at > sample.at) {
            self.samples.clear();
        }
        if self.samples.back().is_none_or(|last| sample.at - last.at >= TimeDelta::milliseconds(900)) {
            self.samples.push_back(sample);
        }
        while self.samples.front().is_some_and(|first| sample.at - first.at > forecast::WINDOW) {
            self.samples.pop_front();
        }
    }

    fn stale(&mut self, cause: NoReading) -> PanelView {
        let since = *self.away_since.get_or_insert_with(|| match &self.last {
            // The database's clock, carried on by elapsed time: no second clock is asked.
            Some((reading, at)) => reading.as_of + TimeDelta::from_std(at.elapsed()).unwrap_or_default(),
            None => Utc::now(),
        });
        PanelView {
            verdict: Verdict::unknown(since, cause),
            reading: self.last.as_ref().map(|(reading, _)| reading.clone()),
            is_fresh: false,
            forecast: None,
        }
    }
}
