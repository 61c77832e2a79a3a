//! What the stand-in says about reports and photos.
//!
//! Of the burst's 465 photos exactly 9 are rejected and 24 need review, of its
//! 178 reports 2 and 5; which ones is up to the seed. What comes later is drawn
//! in about the same shares.

use crate::demo::burst::{PHOTOS, REPORTS};
use crate::demo::chance::Chance;
use std::collections::HashMap;

/// Photos of the burst that are rejected.
pub const PHOTOS_REJECTED: usize = 9;
/// Photos of the burst that a person should look at.
pub const PHOTOS_NEED_REVIEW: usize = 24;
/// Reports of the burst that are rejected.
pub const REPORTS_REJECTED: usize = 2;
/// Reports of the burst that a person should look at.
pub const REPORTS_NEED_REVIEW: usize = 5;
/// Reports of the burst that were deleted before their places were looked for.
pub const REPORTS_DELETED: usize = 2;

const PHOTO_REVIEW_REASONS: [&str; 6] = [
    "The main subject is a child.",
    "People in the picture do not seem to know that they are photographed.",
    "It shows a drawing of a route, not a place.",
    "A house with holiday lights; nothing says where it is or that it is a stop of the trip.",
    "It may be the inside of somebody's home.",
    "A sleeping person in a bus, face recognisable.",
];
const PHOTO_REJECT_REASONS: [&str; 3] = [
    "A boarding pass with name and booking code in plain sight.",
    "An advertisement with prices and a telephone number.",
    "An injured animal, close up.",
];
const TEXT_REVIEW_REASONS: [&str; 3] = [
    "Names a host with street and house number.",
    "A rumour about a named guide that the text does not support.",
    "Half of it is a quarrel with another traveller.",
];
const TEXT_REJECT_REASONS: [&str; 2] =
    ["Offers a rental car for sale; it is no report.", "Tells how to avoid a border control."];
const PLACES: [&str; 12] = [
    "Banff, Canada",
    "Moab, United States",
    "Oaxaca, Mexico",
    "Antigua, Guatemala",
    "Granada, Nicaragua",
    "Monteverde, Costa Rica",
    "Boquete, Panama",
    "Salento, Colombia",
    "Baños, Ecuador",
    "Huaraz, Peru",
    "Uyuni, Bolivia",
    "Pucón, Chile",
];

/// A verdict with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// `approved`, `rejected` or `needs_review`.
    pub verdict: &'static str,
    /// Why, unless approved.
    pub reason: Option<&'static str>,
}

/// All that is decided by the seed.
#[derive(Debug)]
pub struct Judge {
    chance: Chance,
    photos: HashMap<u64, &'static str>,
    reports: HashMap<u64, &'static str>,
    deleted: Vec<u64>,
}

impl Judge {
    /// The judge of that seed.
    pub fn new(chance: Chance) -> Self {
        let shares = |label: &str, count: u64, rejected: usize, review: usize| {
            let order = chance.shuffled(label, count);
            let rejected_ones = order.iter().take(rejected).map(|&n| (n, "rejected"));
            let review_ones = order.iter().skip(rejected).take(review).map(|&n| (n, "needs_review"));
            rejected_ones.chain(review_ones).collect()
        };
        Self {
            chance,
            photos: shares("photo verdicts", PHOTOS, PHOTOS_REJECTED, PHOTOS_NEED_REVIEW),
            reports: shares("report verdicts", REPORTS, REPORTS_REJECTED, REPORTS_NEED_REVIEW),
            deleted: chance.shuffled("deleted reports", REPORTS).into_iter().take(REPORTS_DELETED).collect(),
        }
    }

    /// What it says about a photo.
    pub fn of_photo(&self, photo: u64) -> Judgement {
        let verdict = self.verdict("photo", &self.photos, photo, PHOTOS, 0.02, 0.05);
        self.with_reason("photo reason", photo, verdict, &PHOTO_REVIEW_REASONS, &PHOTO_REJECT_REASONS)
    }

    /// What it says about the text of a report.
    pub fn of_report(&self, report: u64) -> Judgement {
        let verdict = self.verdict("report", &self.reports, report, REPORTS, 0.01, 0.03);
        self.with_reason("report reason", report, verdict, &TEXT_REVIEW_REASONS, &TEXT_REJECT_REASONS)
    }

    /// The places a report names; `None` if the report is gone.
    pub fn places_of(&self, report: u64) -> Option<Vec<&'static str>> {
        if self.deleted.contains(&report) {
            return None;
        }
        let first = self.chance.below("places", report, PLACES.len() as u64);
        let count = 1 + self.chance.below("number of places", report, 3);
        let at = |n: u64| PLACES[usize::try_from(n).expect("a small number fits") % PLACES.len()];
        Some((first..first + count).map(at).collect())
    }

    fn verdict(
        &self,
        label: &str,
        decided: &HashMap<u64, &'static str>,
        n: u64,
        count: u64,
        rejected: f64,
        review: f64,
    ) -> &'static str {
        if n <= count {
            return decided.get(&n).copied().unwrap_or("approved");
        }
        match self.chance.unit(label, n) {
            x if x < rejected => "rejected",
            x if x < rejected + review => "needs_review",
            _ => "approved",
        }
    }

    fn with_reason(
        &self,
        label: &str,
        n: u64,
        verdict: &'static str,
        review: &[&'static str],
        reject: &[&'static str],
    ) -> Judgement {
        let reason = match verdict {
            "needs_review" => Some(*self.chance.pick(label, n, review)),
            "rejected" => Some(*self.chance.pick(label, n, reject)),
            _ => None,
        };
        Judgement { verdict, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(judgements: impl Iterator<Item = Judgement>) -> HashMap<&'static str, usize> {
        let mut counts = HashMap::new();
        for judgement in judgements {
            assert_eq!(judgement.reason.is_none(), judgement.verdict == "approved");
            *counts.entry(judgement.verdict).or_insert(0) += 1;
        }
        counts
    }

    #[test]
    fn the_burst_is_judged_in_fixed_numbers_whatever_the_seed() {
        for seed in [0, 1, 178] {
            let judge = Judge::new(Chance::new(seed));
            let photos = counts((1..=PHOTOS).map(|n| judge.of_photo(n)));
            assert_eq!(photos, HashMap::from([("approved", 432), ("rejected", 9), ("needs_review", 24)]));
            let reports = counts((1..=REPORTS).map(|n| judge.of_report(n)));
            assert_eq!(reports, HashMap::from([("approved", 171), ("rejected", 2), ("needs_review", 5)]));
            assert_eq!((1..=REPORTS).filter(|&n| judge.places_of(n).is_none()).count(), REPORTS_DELETED);
        }
    }

    #[test]
    fn which_ones_depends_on_the_seed() {
        let judged = |seed: u64| {
            let judge = Judge::new(Chance::new(seed));
            (1..=PHOTOS).map(|n| judge.of_photo(n)).collect::<Vec<_>>()
        };
        assert_eq!(judged(5), judged(5));
        assert_ne!(judged(5), judged(6));
    }

    #[test]
    fn what_comes_later_is_judged_in_about_the_same_shares() {
        let judge = Judge::new(Chance::new(4));
        let later = counts((PHOTOS + 1..PHOTOS + 2_001).map(|n| judge.of_photo(n)));
        assert!((60..140).contains(&later["needs_review"]), "{later:?}");
        assert!((15..70).contains(&later["rejected"]), "{later:?}");
    }
}
