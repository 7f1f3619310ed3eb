//! Statistics over the runs of one variant at one point.
//!
//! The 95 % confidence interval of the median is the distribution-free interval from order
//! statistics (for example Conover, *Practical Nonparametric Statistics*, 3rd ed., §3.2): the
//! closest pair of ranks `k` and `n + 1 - k` that covers the median with at least 95 % probability
//! under the binomial distribution. It makes no assumption on the distribution of completion times
//! and needs no random numbers. For fewer than six runs there is no interval, because even the
//! range from minimum to maximum covers less than 95 %. A bootstrap would return a meaningless
//! interval for two runs.

/// Fewest values whose median has a 95 % confidence interval.
const FEWEST_OF_INTERVAL: u64 = 6;

/// Statistics of a set of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stats {
    /// Number of values.
    pub n: u64,
    /// Median.
    pub median: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// 5 % and 95 % quantiles, linearly interpolated; `None` for a single value.
    pub p5_p95: Option<(f64, f64)>,
    /// 95 % confidence interval of the median; `None` for fewer than six values, or if its width
    /// would be zero.
    pub ci95: Option<(f64, f64)>,
}

/// What figures draw and say beside a median: the definition that all of them share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Number of values, if there are too few for a confidence interval: both ends are extremes.
    pub extremes_of: Option<u64>,
}

impl Interval {
    /// Returns what both ends are, in words.
    pub fn words(&self) -> String {
        match self.extremes_of {
            None => "95 % confidence interval of the median".to_owned(),
            Some(n) => format!("smallest to largest of {n}"),
        }
    }
}

impl Stats {
    /// Returns what figures draw beside the median: its 95 % confidence interval; of two to five
    /// values, which have none, the smallest and the largest. `None` of one value or of equal ones.
    pub fn interval(&self) -> Option<Interval> {
        if let Some((low, high)) = self.ci95 {
            return Some(Interval { low, high, extremes_of: None });
        }
        let few = self.n < FEWEST_OF_INTERVAL && self.min < self.max;
        few.then_some(Interval { low: self.min, high: self.max, extremes_of: Some(self.n) })
    }

    /// Computes the statistics of `values`; `None` for an empty slice.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let n = sorted.len();
        let sum: f64 = sorted.iter().sum();
        Some(Self {
            n: n as u64,
            median: quantile(&sorted, 0.5),
            // The mean of equal values may differ from them by rounding.
            mean: (sum / n as f64).clamp(min, max),
            min,
            max,
            p5_p95: (n > 1).then(|| (quantile(&sorted, 0.05), quantile(&sorted, 0.95))),
            ci95: median_interval(n)
                .map(|(low, high)| (sorted[low], sorted[high]))
                .filter(|(low, high)| low < high),
        })
    }
}

/// Returns the `q` quantile of sorted values, linearly interpolated (type 7 of Hyndman and Fan
/// 1996).
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * (sorted.len() - 1) as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let share = at - below as f64;
    if share == 0.0 {
        sorted[below]
    } else {
        sorted[below] + (sorted[above] - sorted[below]) * share
    }
}

/// Returns the indices (from 0) of the order statistics that enclose the median of `n` values with
/// at least 95 % probability.
fn median_interval(n: usize) -> Option<(usize, usize)> {
    // P(Binomial(n, 1/2) <= k), summed while the tail on each side stays within 2.5 %.
    let log_half_to_n = n as f64 * libm::log(0.5);
    let log_factorial = |k: usize| libm::lgamma(k as f64 + 1.0);
    let mut tail = 0.0;
    let mut ranks = 0;
    while 2 * ranks < n {
        tail += libm::exp(
            log_factorial(n) - log_factorial(ranks) - log_factorial(n - ranks) + log_half_to_n,
        );
        if tail > 0.025 {
            break;
        }
        ranks += 1;
    }
    ranks.checked_sub(1).map(|low| (low, n - 1 - low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_run_has_a_median_and_no_interval() {
        let stats = Stats::of(&[3.5]).unwrap();
        assert_eq!((stats.n, stats.median, stats.mean), (1, 3.5, 3.5));
        assert_eq!((stats.p5_p95, stats.ci95), (None, None));
        assert_eq!(Stats::of(&[]), None);
    }

    #[test]
    fn the_interval_has_the_ranks_of_the_published_tables() {
        // Conover's table of ranks, counted from 1.
        for (n, ranks) in [(6, (1, 6)), (10, (2, 9)), (20, (6, 15)), (100, (40, 61))] {
            assert_eq!(median_interval(n), Some((ranks.0 - 1, ranks.1 - 1)), "{n}");
        }
        for n in 1..6 {
            assert_eq!(median_interval(n), None, "{n}");
        }
        assert!(median_interval(5000).is_some_and(|(low, high)| low > 2400 && high < 2600));
    }

    /// `tests/intervals.json` is read by the tests of the report page and of Python, too.
    #[test]
    fn intervals_of_figures_are_those_that_all_languages_have() {
        let text = include_str!("../tests/intervals.json");
        let cases: Vec<serde_json::Value> = serde_json::from_str(text).unwrap();
        for case in &cases {
            let values: Vec<f64> = serde_json::from_value(case["values"].clone()).unwrap();
            let found = Stats::of(&values).and_then(|stats| stats.interval());
            let found = found.map(|one| serde_json::json!([one.low, one.high, one.words()]));
            assert_eq!(found.unwrap_or_default(), case["interval"], "{values:?}");
        }
        assert!(cases.len() > 8);
    }

    #[test]
    fn equal_values_have_no_interval_of_width_zero() {
        let stats = Stats::of(&[2.0; 20]).unwrap();
        assert_eq!(stats.ci95, None);
        assert_eq!(stats.p5_p95, Some((2.0, 2.0)));
    }

    #[test]
    fn quantiles_are_linearly_interpolated() {
        let stats = Stats::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(stats.median, 2.5);
        let (p5, p95) = stats.p5_p95.unwrap();
        assert!((p5 - 1.15).abs() < 1e-12 && (p95 - 3.85).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn statistics_are_ordered_and_independent_of_the_order_of_values(
            mut values in prop::collection::vec(-1e9f64..1e9, 1..80)
        ) {
            let stats = Stats::of(&values).unwrap();
            prop_assert!(stats.min <= stats.median && stats.median <= stats.max);
            prop_assert!(stats.min <= stats.mean && stats.mean <= stats.max);
            if let Some((p5, p95)) = stats.p5_p95 {
                prop_assert!([stats.min, p5, stats.median, p95, stats.max].is_sorted());
            }
            if let Some((low, high)) = stats.ci95 {
                prop_assert!(low < high && low <= stats.median && stats.median <= high);
            }
            values.reverse();
            prop_assert_eq!(Stats::of(&values).unwrap(), stats);
        }
    }
}
