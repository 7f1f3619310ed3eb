//! Estimates of a relative change, with confidence intervals.
//!
//! Intervals use the critical values of the permutation test, so that they share its validity for
//! samples that are not normal.

use super::change::Estimate;
use super::permutation::Permutation;

/// Returns the relative change of the mean of independent samples. The interval is that of Fieller
/// (1954) for a ratio of means. `None` if the mean before is not positive.
pub(super) fn mean_unpaired(before: &[f64], after: &[f64], test: &Permutation) -> Option<Estimate> {
    let variance = |values: &[f64]| deviations(values, values) / values.len() as f64;
    fieller(mean(before), mean(after), (variance(before), variance(after), 0.0), test)
}

/// Returns the relative change of the mean of paired samples, with Fieller's interval.
pub(super) fn mean_paired(before: &[f64], after: &[f64], test: &Permutation) -> Option<Estimate> {
    let n = before.len() as f64;
    let of_means = |a: &[f64], b: &[f64]| deviations(a, b) / n;
    let variances = (of_means(before, before), of_means(after, after), of_means(before, after));
    fieller(mean(before), mean(after), variances, test)
}

/// Returns the interval of `after / before - 1`: every ratio `r` for which `after - r * before` is
/// not significant. `variances` are those of both means, and their covariance.
fn fieller(
    before: f64,
    after: f64,
    variances: (f64, f64, f64),
    test: &Permutation,
) -> Option<Estimate> {
    if before.is_nan() || before <= 0.0 {
        return None;
    }
    let interval = test.mean_critical.and_then(|critical| {
        let q = critical * critical;
        let (of_before, of_after, covariance) = variances;
        let a = before * before - q * of_before;
        let b = before * after - q * covariance;
        let c = after * after - q * of_after;
        // The mean before may be so uncertain that no ratio can be excluded.
        let root = (b * b - a * c).max(0.0).sqrt();
        (a > 0.0).then(|| ((b - root) / a - 1.0, (b + root) / a - 1.0))
    });
    Some(Estimate::new(after / before - 1.0, interval))
}

/// Returns the relative change of a typical run of independent samples: the median of the ratios of
/// all pairs of runs, with the interval of Moses from the rank-sum test. `None` if a value is not
/// positive.
pub(super) fn typical_unpaired(
    before: &[f64],
    after: &[f64],
    test: &Permutation,
) -> Option<Estimate> {
    let (before, after) = (logarithms(before)?, logarithms(after)?);
    let (n, m) = (before.len() as f64, after.len() as f64);
    let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
    let count = |limit: f64| {
        // Both are sorted, so that the number of smaller values after grows with each before.
        let mut below = 0;
        let mut pairs = 0u64;
        for value in &before {
            while below < after.len() && after[below] - value <= limit {
                below += 1;
            }
            pairs += below as u64;
        }
        pairs
    };
    let range = (after.first()? - before.last()?, after.last()? - before.first()?);
    let outside = test.rank_critical.map(|critical| n * m / 2.0 - critical * deviation);
    Some(hodges_lehmann(&count, range, n * m, outside))
}

/// Returns the relative change of a typical run of paired samples: the median of the geometric
/// means of each two ratios (Hodges and Lehmann 1963), with the interval of Tukey from the
/// signed-rank test. `None` if a value is not positive.
pub(super) fn typical_paired(ratios: &[f64], test: &Permutation) -> Option<Estimate> {
    let mut sorted = ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let (&first, &last) = (sorted.first()?, sorted.last()?);
    let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 6.0).sqrt();
    let count = |limit: f64| {
        let mut above = sorted.len();
        let mut pairs = 0u64;
        for (index, value) in sorted.iter().enumerate() {
            while above > 0 && (value + sorted[above - 1]) / 2.0 > limit {
                above -= 1;
            }
            pairs += above.saturating_sub(index) as u64;
        }
        pairs
    };
    let total = n * (n + 1.0) / 2.0;
    let outside = test.rank_critical.map(|critical| (total - critical * deviation) / 2.0);
    Some(hodges_lehmann(&count, (first, last), total, outside))
}

/// Returns the median of `total` values that `count` counts up to a limit, as a relative change.
/// The values are logarithms in `range`; the interval leaves `outside` of them on each side.
fn hodges_lehmann(
    count: &dyn Fn(f64) -> u64,
    range: (f64, f64),
    total: f64,
    outside: Option<f64>,
) -> Estimate {
    let nth = |place: f64| {
        let place = place as u64;
        // Rounding of the averages must not put the largest value beyond the range.
        let (mut low, mut high) = (range.0 - 1e-9, range.1 + 1e-9);
        for _ in 0..64 {
            let middle = low + (high - low) / 2.0;
            if count(middle) >= place { high = middle } else { low = middle }
        }
        high
    };
    let change = |logarithm: f64| libm::expm1(logarithm);
    let median = (nth(((total + 1.0) / 2.0).floor()) + nth((total / 2.0).floor() + 1.0)) / 2.0;
    let interval = outside
        .map(|outside| (outside - 1e-9).ceil())
        .filter(|place| *place >= 1.0)
        .map(|place| (change(nth(place)), change(nth(total + 1.0 - place))));
    Estimate::new(change(median), interval)
}

/// Returns the sorted natural logarithms; `None` if a value is not positive.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let positive = values.iter().all(|value| *value > 0.0);
    let mut logarithms: Vec<f64> = values.iter().map(|value| libm::log(*value)).collect();
    logarithms.sort_by(f64::total_cmp);
    positive.then_some(logarithms)
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the covariance of two samples of equal length; zero for a single value.
pub(super) fn deviations(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sum: f64 = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum();
    if a.len() < 2 { 0.0 } else { sum / (a.len() - 1) as f64 }
}
