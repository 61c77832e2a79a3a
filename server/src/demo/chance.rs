//! Chance that comes out the same for the same seed, in any order and in any
//! process: a number is drawn by name, not from a stream.

use sha2::{Digest as _, Sha256};

/// A source of seeded numbers.
#[derive(Debug, Clone, Copy)]
pub struct Chance {
    seed: u64,
}

impl Chance {
    /// The chance of that seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The number named (`label`, `n`), uniform in [0, 1).
    pub fn unit(self, label: &str, n: u64) -> f64 {
        // 53 bits are what a double holds exactly.
        (self.bits(label, n) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The number named (`label`, `n`), uniform below `limit` (which is above 0).
    pub fn below(self, label: &str, n: u64, limit: u64) -> u64 {
        self.bits(label, n) % limit
    }

    /// One of `choices`, which are not empty.
    pub fn pick<'a, T>(self, label: &str, n: u64, choices: &'a [T]) -> &'a T {
        let index = self.below(label, n, choices.len() as u64);
        &choices[usize::try_from(index).expect("an index below a length fits")]
    }

    /// The numbers 1 to `count`, shuffled.
    pub fn shuffled(self, label: &str, count: u64) -> Vec<u64> {
        let mut numbers: Vec<u64> = (1..=count).collect();
        numbers.sort_by_cached_key(|&n| self.bits(label, n));
        numbers
    }

    fn bits(self, label: &str, n: u64) -> u64 {
        let digest = Sha256::new()
            .chain_update(self.seed.to_be_bytes())
            .chain_update(n.to_be_bytes())
            .chain_update(label.as_bytes())
            .finalize();
        u64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_depends_on_seed_and_name_alone() {
        let draw = |seed: u64, label: &str, n: u64| Chance::new(seed).unit(label, n);
        assert_eq!(draw(1, "busy", 7), draw(1, "busy", 7));
        let other = [draw(2, "busy", 7), draw(1, "slow", 7), draw(1, "busy", 8)];
        assert!(other.iter().all(|&x| x != draw(1, "busy", 7)));
    }

    #[test]
    fn numbers_are_spread_evenly() {
        let chance = Chance::new(3);
        let low = (0..10_000).filter(|&n| chance.unit("x", n) < 0.05).count();
        assert!((400..600).contains(&low), "{low}");
        assert!((0..1_000).all(|n| (0.0..1.0).contains(&chance.unit("x", n))));
    }

    #[test]
    fn a_shuffle_keeps_every_number_once() {
        let shuffled = Chance::new(9).shuffled("photos", 465);
        assert_ne!(shuffled, (1..=465).collect::<Vec<_>>());
        let mut sorted = shuffled;
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=465).collect::<Vec<_>>());
    }
}
