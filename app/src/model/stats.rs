//! The statistics of refusal: intervals of a share, and how likely a count is
//! when the share is known, or known from a baseline only.
//!
//! Everything is total: counts are clamped to 0 ≤ x ≤ n, every answer lies in
//! [0, 1], nothing is ever NaN, and nothing takes longer than a few milliseconds
//! however large the counts are.

/// 97.5 % point of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;
/// Probabilities of larger samples are those of a sample of this size with the
/// same share: a little more cautious, never less, and quick.
const MAX_TERMS: i64 = 100_000;
/// Jeffreys' interval of more is that of so many, which is a little wider.
const MAX_SAMPLE: i64 = 1_000_000;

/// `x` out of `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    x: i64,
    n: i64,
}

impl Share {
    /// `x` out of `n`, clamped to 0 ≤ x ≤ n.
    pub fn new(x: i64, n: i64) -> Self {
        let n = n.max(0);
        Self { x: x.clamp(0, n), n }
    }

    /// The same share of a sample of at most `most`, rounded down.
    fn of_at_most(self, most: i64) -> Self {
        if self.n <= most {
            return self;
        }
        let x = i128::from(self.x) * i128::from(most) / i128::from(self.n);
        Self { x: i64::try_from(x).unwrap_or(most), n: most }
    }

    /// Parameters a and b of Jeffreys' posterior: x + ½ and n − x + ½.
    fn posterior(self) -> (f64, f64) {
        (self.x as f64 + 0.5, (self.n - self.x) as f64 + 0.5)
    }
}

/// Wilson's 95 % interval for `x` out of `n`; the whole of [0, 1] when n is 0.
pub fn wilson(x: i64, n: i64) -> (f64, f64) {
    let Share { x, n } = Share::new(x, n);
    if n == 0 {
        return (0.0, 1.0);
    }
    let (hits, size) = (x as f64, n as f64);
    let (p, z2) = (hits / size, Z * Z);
    let centre = (p + z2 / (2.0 * size)) / (1.0 + z2 / size);
    let half = Z / (1.0 + z2 / size) * (p * (1.0 - p) / size + z2 / (4.0 * size * size)).sqrt();
    let low = if x == 0 { 0.0 } else { (centre - half).clamp(0.0, 1.0) };
    let high = if x == n { 1.0 } else { (centre + half).clamp(0.0, 1.0) };
    (low, high)
}

/// Jeffreys' 95 % interval for `x` out of `n`: from 0 when x is 0, up to 1 when
/// x is n, the whole of [0, 1] when n is 0.
pub fn jeffreys(x: i64, n: i64) -> (f64, f64) {
    let share = Share::new(x, n).of_at_most(MAX_SAMPLE);
    let (a, b) = share.posterior();
    let low = if share.x == 0 { 0.0 } else { beta_quantile(a, b, 0.025) };
    let high = if share.x == share.n { 1.0 } else { beta_quantile(a, b, 0.975) };
    (low, high)
}

/// How likely none of `n` is a hit when each is one with probability `p`.
pub fn binomial_zero(n: i64, p: f64) -> f64 {
    let p = probability(p);
    if n <= 0 {
        return 1.0;
    }
    probability((n as f64 * (-p).ln_1p()).exp())
}

/// How likely at least `x` of `n` are hits when each is one with probability `p`.
pub fn binomial_tail(x: i64, n: i64, p: f64) -> f64 {
    let p = probability(p);
    if let Some(certain) = certain(x, n) {
        return certain;
    }
    if p == 0.0 || p == 1.0 {
        return p;
    }
    let Share { x, n } = Share::new(x, n).of_at_most(MAX_TERMS);
    let size = n as f64;
    upper_tail(0, n, x, |k| (size - k) / (k + 1.0) * (p / (1.0 - p)))
}

/// How likely none of `n` is a hit, by what the baseline says of the share: the
/// beta-binomial with a = x₀ + ½ and b = n₀ − x₀ + ½.
pub fn beta_binomial_zero(n: i64, baseline: Share) -> f64 {
    let (a, b) = baseline.posterior();
    let ln: f64 = (0..n.clamp(0, MAX_TERMS)).map(|i| (-a / (a + b + i as f64)).ln_1p()).sum();
    probability(ln.exp())
}

/// How likely at least `x` of `n` are hits, by what the baseline says of the share.
pub fn beta_binomial_tail(x: i64, n: i64, baseline: Share) -> f64 {
    if let Some(certain) = certain(x, n) {
        return certain;
    }
    let (a, b) = baseline.posterior();
    let Share { x, n } = Share::new(x, n).of_at_most(MAX_TERMS);
    let size = n as f64;
    upper_tail(0, n, x, |k| (size - k) / (k + 1.0) * ((a + k) / (b + size - k - 1.0)))
}

/// How likely at least `x` hits are among `drawn` of `total` things of which
/// `hits` are hits, when chance alone draws: Fisher's one-sided test, for at most
/// 100,000 things.
pub fn hypergeometric_tail(x: i64, drawn: i64, hits: i64, total: i64) -> f64 {
    let total = total.clamp(0, MAX_TERMS);
    let (drawn, hits) = (drawn.clamp(0, total), hits.clamp(0, total));
    let (low, high) = ((drawn + hits - total).max(0), drawn.min(hits));
    if x <= low {
        return 1.0;
    }
    if x > high {
        return 0.0;
    }
    let (drawn, hits, total) = (drawn as f64, hits as f64, total as f64);
    upper_tail(low, high, x, |k| (hits - k) * (drawn - k) / ((k + 1.0) * (total - hits - drawn + k + 1.0)))
}

/// The smallest n for which no hit at all has a probability of at most `alpha`
/// when each is one with probability `p`; `None` when no n is enough.
pub fn minimum_volume(p: f64, alpha: f64) -> Option<i64> {
    if !(p > 0.0 && p <= 1.0 && alpha > 0.0) {
        return None;
    }
    if alpha >= 1.0 {
        return Some(0);
    }
    if p == 1.0 {
        return Some(1);
    }
    let estimate = (alpha.ln() / (-p).ln_1p()).ceil();
    if estimate >= i64::MAX as f64 {
        return None;
    }
    // One more or less where the logarithm was rounded.
    let n = estimate as i64;
    Some(if binomial_zero(n - 1, p) <= alpha { n - 1 } else { n }.max(1))
}

/// What is sure without counting.
fn certain(x: i64, n: i64) -> Option<f64> {
    match (x <= 0, x > n) {
        (true, _) => Some(1.0),
        (_, true) => Some(0.0),
        _ => None,
    }
}

/// NaN counts as 0.
fn probability(p: f64) -> f64 {
    if p.is_nan() { 0.0 } else { p.clamp(0.0, 1.0) }
}

/// The share of the weights from `x` up, of all from `low` to `high`, where
/// `ratio(k)` leads from the weight of k to that of k + 1.
fn upper_tail(low: i64, high: i64, x: i64, ratio: impl Fn(f64) -> f64) -> f64 {
    let (mut below, mut above) = (LogSum::default(), LogSum::default());
    let mut ln_weight = 0.0;
    for k in low..=high {
        if k < x {
            below.add(ln_weight)
        } else {
            above.add(ln_weight)
        }
        if k < high {
            ln_weight += ratio(k as f64).ln();
        }
    }
    let (below, above) = (below.relative_to(above.largest), above.sum);
    probability(above / (above + below))
}

/// A sum of numbers that are given by their logarithms, so that none overflows.
struct LogSum {
    largest: f64,
    /// In units of the largest.
    sum: f64,
}

impl Default for LogSum {
    fn default() -> Self {
        Self { largest: f64::NEG_INFINITY, sum: 0.0 }
    }
}

impl LogSum {
    fn add(&mut self, ln: f64) {
        if ln > self.largest {
            self.sum = self.sum * (self.largest - ln).exp() + 1.0;
            self.largest = ln;
        } else {
            self.sum += (ln - self.largest).exp();
        }
    }

    /// The sum in units of another largest.
    fn relative_to(&self, largest: f64) -> f64 {
        if self.sum == 0.0 { 0.0 } else { self.sum * (self.largest - largest).exp() }
    }
}

/// The x below which a Beta(a, b) variable lies with probability `p`, by halving:
/// it ends whatever the parameters.
fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..60 {
        let middle = low.midpoint(high);
        if beta_regularised(a, b, middle) < p { low = middle } else { high = middle }
    }
    low.midpoint(high)
}

/// The regularised incomplete beta function, by its continued fraction on the
/// side where that converges fast.
fn beta_regularised(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        probability(front * beta_fraction(a, b, x) / a)
    } else {
        probability(1.0 - front * beta_fraction(b, a, 1.0 - x) / b)
    }
}

/// Most steps of the continued fraction: it needs some √max(a, b).
const MAX_STEPS: u32 = 10_000;

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..=MAX_STEPS {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for numerator in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + numerator * d);
            c = away_from_zero(1.0 + numerator / c);
            fraction *= c * d;
        }
        if (fraction / before - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// ln Γ(x) for x ≥ ½, by Lanczos's approximation (g = 7, nine terms).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let series: f64 = TERMS.iter().enumerate().map(|(i, term)| term / (x + i as f64 + 1.0)).sum();
    let t = x + 7.5;
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * t.ln() - t + (0.999_999_999_999_809_9 + series).ln()
}

#[cfg(test)]
#[path = "stats_tests.rs"]
mod tests;
