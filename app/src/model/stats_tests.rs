//! The reference values, computed elsewhere with 40 digits, and what must hold
//! for any counts.

use super::*;
use proptest::prelude::*;

fn is_close(value: f64, right: f64) -> bool {
    (value - right).abs() < 6e-8
}

#[test]
fn intervals_have_their_reference_values() {
    for (x, n, wilson_low, wilson_high, low, high) in [
        (0, 10, 0.0, 0.277_532_8, 0.0, 0.217_196_3),
        (0, 75, 0.0, 0.048_723_8, 0.0, 0.032_829_8),
        (0, 300, 0.0, 0.012_643_0, 0.0, 0.008_331_3),
        (1, 10, 0.017_876_2, 0.404_150_0, 0.011_011_7, 0.381_314_8),
        (3, 100, 0.010_254_5, 0.084_519_4, 0.008_520_3, 0.077_887_6),
        (12, 100, 0.069_994_1, 0.198_121_0, 0.067_304_1, 0.194_285_4),
        (40, 1_000, 0.029_511_0, 0.054_009_6, 0.029_153_6, 0.053_502_1),
        (75, 75, 0.951_276_2, 1.0, 0.967_170_2, 1.0),
    ] {
        let (l, h) = wilson(x, n);
        assert!(is_close(l, wilson_low) && is_close(h, wilson_high), "Wilson {x}/{n}: {l} {h}");
        let (l, h) = jeffreys(x, n);
        assert!(is_close(l, low) && is_close(h, high), "Jeffreys {x}/{n}: {l} {h}");
    }
    assert_eq!((wilson(0, 0), jeffreys(0, 0)), ((0.0, 1.0), (0.0, 1.0)));
}

#[test]
fn probabilities_have_their_reference_values() {
    for (what, value, right) in [
        ("0 of 75 at a known 4 %", binomial_zero(75, 0.04), 0.046_810_4),
        ("0 of 75 after 40 of 1,000", beta_binomial_zero(75, Share::new(40, 1_000)), 0.050_475_3),
        ("0 of 75 after 4 of 100", beta_binomial_zero(75, Share::new(4, 100)), 0.077_867_6),
        ("9 of 100 at 4 %", binomial_tail(9, 100, 0.04), 0.018_991_9),
        ("10 of 100 at 4 %", binomial_tail(10, 100, 0.04), 0.006_844_5),
        ("12 of 100 at 4 %", binomial_tail(12, 100, 0.04), 0.000_668_35),
        ("12 of 100 after 40 of 1,000", beta_binomial_tail(12, 100, Share::new(40, 1_000)), 0.001_414_1),
    ] {
        assert!(is_close(value, right), "{what}: {value}");
    }
}

#[test]
fn the_minimum_volume_has_its_reference_values() {
    for (percent, n) in [(1, 299), (2, 149), (3, 99), (4, 74), (5, 59), (10, 29)] {
        assert_eq!(minimum_volume(f64::from(percent) / 100.0, 0.05), Some(n), "{percent} %");
    }
    for (p, alpha, n) in [
        (0.0, 0.05, None),
        (-1.0, 0.05, None),
        (f64::NAN, 0.05, None),
        (0.5, 0.0, None),
        (1.0, 0.05, Some(1)),
        (0.5, 1.0, Some(0)),
        (0.5, 0.5, Some(1)),
        (0.5, 0.25, Some(2)),
        (1e-300, 0.05, None),
    ] {
        assert_eq!(minimum_volume(p, alpha), n, "{p} {alpha}");
    }
}

#[test]
fn a_draw_by_chance_has_the_probabilities_of_hand_reckoning() {
    // Four of ten are hits, three are drawn.
    for (x, right) in [(0, 120.0), (1, 100.0), (2, 40.0), (3, 4.0), (4, 0.0)] {
        assert!(is_close(hypergeometric_tail(x, 3, 4, 10), right / 120.0), "{x}");
    }
    assert!(is_close(hypergeometric_tail(2, 3, 3, 4), 1.0), "fewer than two cannot be");
}

#[test]
fn the_largest_counts_are_quick_and_right() {
    let start = std::time::Instant::now();
    let huge = Share::new(i64::MAX / 25, i64::MAX);
    assert!((binomial_tail(i64::MAX / 10, i64::MAX, 0.04)) < 1e-300);
    assert!(beta_binomial_tail(i64::MAX / 10, i64::MAX, huge) < 1e-300);
    assert!((beta_binomial_zero(75, huge) - 0.046_810_4).abs() < 1e-6, "so large a baseline is a known share");
    assert_eq!(beta_binomial_zero(i64::MAX, huge), 0.0);
    assert!(beta_binomial_tail(i64::MAX, i64::MAX, Share::new(0, 0)) < 0.01);
    let (low, high) = jeffreys(i64::MAX / 2, i64::MAX);
    assert!(low > 0.498 && low < 0.5 && high > 0.5 && high < 0.502, "{low} {high}");
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
}

fn counts() -> impl Strategy<Value = (i64, i64)> {
    let any = prop_oneof![0_i64..300, 0_i64..=i64::MAX];
    (any.clone(), any)
}

fn is_probability(p: f64) -> bool {
    (0.0..=1.0).contains(&p)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_counts_give_intervals_and_probabilities((x, n) in counts(), (x0, n0) in counts(), p in 0.0_f64..=1.0) {
        for (low, high) in [wilson(x, n), jeffreys(x, n)] {
            prop_assert!(is_probability(low) && is_probability(high) && low <= high);
        }
        let baseline = Share::new(x0, n0);
        for value in [
            binomial_zero(n, p), binomial_tail(x, n, p), beta_binomial_zero(n, baseline),
            beta_binomial_tail(x, n, baseline), hypergeometric_tail(x, n0, x0, n),
        ] {
            prop_assert!(is_probability(value), "{}", value);
        }
    }

    #[test]
    fn the_interval_holds_the_share(x in 0_i64..500, more in 0_i64..500) {
        let n = (x + more).max(1);
        let share = x as f64 / n as f64;
        for (low, high) in [wilson(x, n), jeffreys(x, n)] {
            prop_assert!(low <= share + 1e-12 && share <= high + 1e-12);
        }
    }

    #[test]
    fn more_hits_are_less_likely_and_move_intervals_up(n in 1_i64..300, x in 0_i64..300, x0 in 0_i64..300, p in 0.0_f64..=1.0) {
        let (x, baseline) = (x.min(n - 1), Share::new(x0, 300));
        prop_assert!(binomial_tail(x + 1, n, p) <= binomial_tail(x, n, p) + 1e-12);
        prop_assert!(beta_binomial_tail(x + 1, n, baseline) <= beta_binomial_tail(x, n, baseline) + 1e-12);
        prop_assert!(wilson(x, n).0 <= wilson(x + 1, n).0 && wilson(x, n).1 <= wilson(x + 1, n).1);
        prop_assert!(jeffreys(x, n).0 <= jeffreys(x + 1, n).0 && jeffreys(x, n).1 <= jeffreys(x + 1, n).1);
    }

    #[test]
    fn no_hit_is_less_likely_the_more_there_are(n in 0_i64..1_000, x0 in 0_i64..300, p in 0.0_f64..=1.0) {
        let baseline = Share::new(x0, 300);
        prop_assert!(binomial_zero(n + 1, p) <= binomial_zero(n, p));
        prop_assert!(beta_binomial_zero(n + 1, baseline) <= beta_binomial_zero(n, baseline));
    }

    #[test]
    fn none_and_at_least_one_sum_to_one(n in 0_i64..2_000, x0 in 0_i64..300, n0 in 0_i64..300, p in 0.001_f64..0.999) {
        let baseline = Share::new(x0, n0);
        prop_assert!((beta_binomial_zero(n, baseline) + beta_binomial_tail(1, n, baseline) - 1.0).abs() < 1e-9);
        prop_assert!((binomial_zero(n, p) + binomial_tail(1, n, p) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_large_baseline_is_a_known_share(x in 0_i64..60, n in 1_i64..200) {
        let known = binomial_tail(x, n, 0.04);
        let learnt = beta_binomial_tail(x, n, Share::new(40_000_000, 1_000_000_000));
        prop_assert!((known - learnt).abs() < 1e-5, "{} {}", known, learnt);
    }

    #[test]
    fn the_minimum_volume_is_the_first_that_is_enough(p in 0.0001_f64..1.0, alpha in 0.001_f64..0.5) {
        let n = minimum_volume(p, alpha).unwrap();
        prop_assert!(binomial_zero(n, p) <= alpha && (n == 1 || binomial_zero(n - 1, p) > alpha));
    }
}
