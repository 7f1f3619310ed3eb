//! Exact tests of counts of completed runs.

/// Outcome of an exact test of counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CountTest {
    /// Probability of counts at least as improbable as the observed ones if both sides are equal.
    pub p: f64,
    /// Smallest p that any counts with the same totals have.
    pub least: f64,
}

/// Tests whether `before.0` completed of `before.1` runs differs from `after`: Fisher's exact
/// test, two-sided.
pub(super) fn fisher(before: (usize, usize), after: (usize, usize)) -> CountTest {
    let completed = before.0 + after.0;
    let low = completed.saturating_sub(after.1);
    let high = completed.min(before.1);
    // Hypergeometric distribution of `before.0` given the totals.
    let total = log_choose(before.1 + after.1, completed);
    let probabilities: Vec<f64> = (low..=high)
        .map(|k| libm::exp(log_choose(before.1, k) + log_choose(after.1, completed - k) - total))
        .collect();
    two_sided(&probabilities, before.0 - low)
}

/// Tests whether `lost` pairs that completed only before differ from `gained` pairs that completed
/// only after: McNemar's exact test.
pub(super) fn mcnemar(lost: usize, gained: usize) -> CountTest {
    let n = lost + gained;
    let halves = n as f64 * libm::log(0.5);
    let probabilities: Vec<f64> = (0..=n).map(|k| libm::exp(log_choose(n, k) + halves)).collect();
    two_sided(&probabilities, lost)
}

/// Adds up the probabilities that do not exceed that of `observed`.
fn two_sided(probabilities: &[f64], observed: usize) -> CountTest {
    let p = |limit: f64| {
        let limit = limit * (1.0 + 1e-7);
        probabilities.iter().filter(|p| **p <= limit).sum::<f64>().min(1.0)
    };
    let least = probabilities.iter().copied().fold(1.0, f64::min);
    CountTest { p: p(probabilities[observed]), least: p(least) }
}

fn log_choose(n: usize, k: usize) -> f64 {
    let log_factorial = |n: usize| libm::lgamma(n as f64 + 1.0);
    log_factorial(n) - log_factorial(k) - log_factorial(n - k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fisher_has_published_values() {
        // Fisher's tea: 3 of 4 right in both rows gives 34/70.
        let tea = fisher((3, 4), (1, 4));
        assert!((tea.p - 34.0 / 70.0).abs() < 1e-12, "{tea:?}");
        assert!((tea.least - 2.0 / 70.0).abs() < 1e-12, "{tea:?}");
        // 20 of 20 against 15 of 20.
        let lost = fisher((20, 20), (15, 20));
        assert!((lost.p - 0.047_12).abs() < 1e-4, "{lost:?}");
    }

    #[test]
    fn counts_without_failures_cannot_differ() {
        assert_eq!(fisher((20, 20), (20, 20)), CountTest { p: 1.0, least: 1.0 });
        assert_eq!(mcnemar(0, 0), CountTest { p: 1.0, least: 1.0 });
    }

    #[test]
    fn pairs_that_only_lost_are_improbable() {
        assert!((mcnemar(6, 0).p - 2.0 / 64.0).abs() < 1e-12);
        assert!((mcnemar(3, 3).p - 1.0).abs() < 1e-12);
    }
}
