//! Permutation tests of two samples, independent or paired.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// Number of random arrangements that every test draws. More are drawn only if these leave the
/// result open.
const DRAWS: usize = 1999;
/// Number of arrangements up to which all are enumerated, so that p is exact.
const MAX_ENUMERATED: f64 = 20_000.0;
/// Number of arrangements at least as extreme as the observed one after which drawing ends (Besag
/// and Clifford, "Sequential Monte Carlo p-values", Biometrika 1991).
const ENOUGH: usize = 10;
/// Most random arrangements of one test.
const MAX_DRAWS: usize = 2_000_000;

/// Outcome of a permutation test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Permutation {
    /// Probability of a statistic at least as extreme as the observed one if both sides are equal.
    pub p: f64,
    /// Standardised difference of the means. Positive if the second side is larger.
    pub mean: f64,
    /// Standardised difference of the ranks.
    pub rank: f64,
    /// Value that the absolute difference of the means exceeds with a probability of at most the
    /// level if both sides are equal; `None` if there are too few arrangements.
    pub mean_critical: Option<f64>,
    /// The same of the ranks.
    pub rank_critical: Option<f64>,
}

impl Permutation {
    /// Returns true if the ranks differ more than the means.
    pub fn is_by_rank(&self) -> bool {
        self.rank.abs() > self.mean.abs()
    }
}

/// How far a test goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Precision {
    /// Level of the critical values.
    pub level: f64,
    /// Smallest p that the test must be able to return.
    pub smallest: f64,
}

impl Precision {
    fn max_draws(&self) -> usize {
        // With twice as many, one of them may be as extreme as the observed one; more cost time.
        let wanted = 2.0 / self.smallest;
        if wanted < MAX_DRAWS as f64 { (wanted as usize).max(DRAWS) } else { MAX_DRAWS }
    }
}

/// Standardised differences of the means and of the ranks under one arrangement.
type Scores = (f64, f64);

/// The arrangements of two samples that are equally probable if both sides are equal.
trait Arrangements {
    /// Number of arrangements.
    fn count(&self) -> f64;
    /// Scores of the arrangement that was observed.
    fn observed(&self) -> Scores;
    /// Calls `visit` with the scores of every arrangement.
    fn enumerate(&self, visit: &mut dyn FnMut(Scores));
    /// Returns the scores of a random arrangement.
    fn draw(&mut self, random: &mut Pcg64Mcg) -> Scores;
    /// The values and ranks, in order.
    fn items(&self) -> &[Scores];

    /// Returns a random stream that is a function of the values. A comparison is reproducible with
    /// it, and others draw other arrangements: with the same for all samples of a size, the error
    /// rate of that size would deviate as much as that of one test's p.
    fn random(&self) -> Pcg64Mcg {
        let mut key = 0xcbf2_9ce4_8422_2325;
        for (value, _) in self.items() {
            // The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
            key = u64::wrapping_add(key ^ value.to_bits(), 0x9e37_79b9_7f4a_7c15);
            key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            key ^= key >> 31;
        }
        Pcg64Mcg::new((u128::from(key) << 64) | u128::from(key))
    }
}

/// Tests whether the independent samples `before` and `after` differ.
pub(super) fn unpaired(before: &[f64], after: &[f64], precision: Precision) -> Permutation {
    test(&mut Split::new(before, after), precision)
}

/// Tests whether paired samples differ. `differences` are those of each pair, and `ratios` are
/// signed quantities by which pairs are ranked.
pub(super) fn paired(differences: &[f64], ratios: &[f64], precision: Precision) -> Permutation {
    test(&mut Signs::new(differences, ratios), precision)
}

/// Returns the smallest p that [`unpaired`] can return for samples of these sizes.
pub(super) fn least_unpaired(before: usize, after: usize) -> f64 {
    // With equal sizes, exchanging the sides gives an arrangement that is as extreme.
    let extreme = if before == after { 2.0 } else { 1.0 };
    (extreme / choose(before + after, before)).min(1.0)
}

/// Returns the smallest p that [`paired`] can return if this many differences are not zero.
pub(super) fn least_paired(nonzero: usize) -> f64 {
    libm::exp2(1.0 - nonzero as f64).min(1.0)
}

/// Returns the number of ways to choose `k` of `n`, rounded.
fn choose(n: usize, k: usize) -> f64 {
    (1..=k.min(n - k)).map(|i| (n - k.min(n - k) + i) as f64 / i as f64).product()
}

fn test(arrangements: &mut dyn Arrangements, precision: Precision) -> Permutation {
    let (mean, rank) = arrangements.observed();
    // Arrangements with the same values may differ from the observed one by rounding.
    let threshold = mean.abs().max(rank.abs()) * (1.0 - 1e-9);
    let (mut means, mut ranks) = (Vec::new(), Vec::new());
    let mut extreme = 0usize;
    let mut add = |(mean, rank): Scores| {
        extreme += usize::from(mean.abs().max(rank.abs()) >= threshold);
        means.push(mean.abs());
        ranks.push(rank.abs());
    };
    let p = if arrangements.count() <= MAX_ENUMERATED {
        arrangements.enumerate(&mut add);
        extreme as f64 / means.len() as f64
    } else {
        let mut random = arrangements.random();
        add((mean, rank));
        for _ in 0..DRAWS {
            add(arrangements.draw(&mut random));
        }
        let mut drawn = DRAWS;
        while extreme <= ENOUGH && drawn < precision.max_draws() {
            let (mean, rank) = arrangements.draw(&mut random);
            extreme += usize::from(mean.abs().max(rank.abs()) >= threshold);
            drawn += 1;
        }
        extreme as f64 / (drawn + 1) as f64
    };
    Permutation {
        p,
        mean,
        rank,
        mean_critical: critical(&mut means, precision.level),
        rank_critical: critical(&mut ranks, precision.level),
    }
}

/// Returns the largest of `statistics` that is not significant at `level`.
fn critical(statistics: &mut [f64], level: f64) -> Option<f64> {
    let extreme = (level * statistics.len() as f64 + 1e-9).floor() as usize;
    if extreme == 0 || extreme >= statistics.len() {
        return None;
    }
    let (_, value, _) = statistics.select_nth_unstable_by(extreme, |a, b| b.total_cmp(a));
    Some(*value).filter(|value| value.is_finite())
}

/// Returns a uniform integer below `bound`. The bias is below 2⁻⁴⁰ for bounds below 2²⁴.
fn below(random: &mut Pcg64Mcg, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}

/// Returns the ranks of `values`, from 1; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for group in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = first as f64 + (group.len() + 1) as f64 / 2.0;
        group.iter().for_each(|&index| ranks[index] = rank);
        first += group.len();
    }
    ranks
}

/// Two independent samples: an arrangement assigns the pooled values to the sides.
struct Split {
    /// Values minus their mean, with centred ranks; those of the smaller side first.
    items: Vec<(f64, f64)>,
    /// Size of the smaller side.
    small: usize,
    /// Sign that makes scores positive if the second sample is larger.
    sign: f64,
    /// Sum of the squares of all values.
    squares: f64,
    /// Standard deviation of the sum of the smaller side's ranks.
    rank_deviation: f64,
}

impl Split {
    fn new(before: &[f64], after: &[f64]) -> Self {
        let (first, second, sign) =
            if before.len() <= after.len() { (before, after, -1.0) } else { (after, before, 1.0) };
        let values: Vec<f64> = first.iter().chain(second).copied().collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let items: Vec<(f64, f64)> = values
            .iter()
            .zip(ranks(&values))
            .map(|(value, rank)| (value - mean, rank - (n + 1.0) / 2.0))
            .collect();
        let rank_squares: f64 = items.iter().map(|(_, rank)| rank * rank).sum();
        let small = first.len() as f64;
        Self {
            squares: items.iter().map(|(value, _)| value * value).sum(),
            rank_deviation: (small * (n - small) / (n * (n - 1.0)) * rank_squares).sqrt(),
            items,
            small: first.len(),
            sign,
        }
    }

    /// Returns the scores if the smaller side has these sums of values, squares and ranks.
    fn scores(&self, sum: f64, squares: f64, rank: f64) -> Scores {
        let (n, m) = (self.small as f64, (self.items.len() - self.small) as f64);
        // All values add up to zero.
        let difference = sum / n + sum / m;
        let variance =
            self.of_mean(n, sum, squares) + self.of_mean(m, -sum, self.squares - squares);
        let mean = ratio(difference, variance.sqrt());
        (self.sign * mean, self.sign * ratio(rank, self.rank_deviation))
    }

    /// Returns the variance of the mean of `n` values with this sum and these squares.
    fn of_mean(&self, n: f64, sum: f64, squares: f64) -> f64 {
        let deviations = squares - sum * sum / n;
        // What remains of equal values is rounding.
        let rounding = 1e-12 * self.squares;
        if n < 2.0 || deviations <= rounding { 0.0 } else { deviations / (n - 1.0) / n }
    }

    fn sums(&self, chosen: impl Iterator<Item = usize>) -> Scores {
        let (mut sum, mut squares, mut ranks) = (0.0, 0.0, 0.0);
        for index in chosen {
            let (value, rank) = self.items[index];
            sum += value;
            squares += value * value;
            ranks += rank;
        }
        self.scores(sum, squares, ranks)
    }
}

/// Returns `value / deviation`; infinite if only the deviation is zero, zero if both are.
fn ratio(value: f64, deviation: f64) -> f64 {
    if value == 0.0 {
        0.0
    } else if deviation == 0.0 {
        f64::INFINITY.copysign(value)
    } else {
        value / deviation
    }
}

impl Arrangements for Split {
    fn items(&self) -> &[Scores] {
        &self.items
    }

    fn count(&self) -> f64 {
        choose(self.items.len(), self.small)
    }

    fn observed(&self) -> Scores {
        self.sums(0..self.small)
    }

    fn enumerate(&self, visit: &mut dyn FnMut(Scores)) {
        let (n, k) = (self.items.len(), self.small);
        let mut chosen: Vec<usize> = (0..k).collect();
        loop {
            visit(self.sums(chosen.iter().copied()));
            // The next combination in lexicographic order.
            let Some(place) = (0..k).rev().find(|&place| chosen[place] < n - k + place) else {
                return;
            };
            chosen[place] += 1;
            for later in place + 1..k {
                chosen[later] = chosen[later - 1] + 1;
            }
        }
    }

    fn draw(&mut self, random: &mut Pcg64Mcg) -> Scores {
        // The first items of a shuffle (Fisher and Yates) are a random subset, whatever the order
        // was before.
        for index in 0..self.small {
            let other = index + below(random, self.items.len() - index);
            self.items.swap(index, other);
        }
        self.sums(0..self.small)
    }
}

/// Paired samples: an arrangement swaps the sides of some pairs, and so the signs of their
/// differences.
struct Signs {
    /// Differences and signed ranks of the pairs that differ.
    items: Vec<(f64, f64)>,
    /// Number of pairs, including those without a difference.
    pairs: f64,
    /// Sum of the squares of the differences.
    squares: f64,
    /// Standard deviation of the sum of the signed ranks.
    rank_deviation: f64,
}

impl Signs {
    fn new(differences: &[f64], ratios: &[f64]) -> Self {
        let different: Vec<(f64, f64)> = differences
            .iter()
            .zip(ratios)
            .filter(|(difference, _)| **difference != 0.0)
            .map(|(difference, ratio)| (*difference, *ratio))
            .collect();
        let sizes: Vec<f64> = different.iter().map(|(_, ratio)| ratio.abs()).collect();
        let items: Vec<(f64, f64)> = different
            .iter()
            .zip(ranks(&sizes))
            .map(|((difference, _), rank)| (*difference, rank.copysign(*difference)))
            .collect();
        Self {
            pairs: differences.len() as f64,
            squares: items.iter().map(|(difference, _)| difference * difference).sum(),
            rank_deviation: items.iter().map(|(_, rank)| rank * rank).sum::<f64>().sqrt(),
            items,
        }
    }

    fn scores(&self, sum: f64, rank: f64) -> Scores {
        let n = self.pairs;
        let deviations = self.squares - sum * sum / n;
        let variance = if n < 2.0 || deviations <= 1e-12 * self.squares {
            0.0
        } else {
            deviations / (n - 1.0) / n
        };
        (ratio(sum / n, variance.sqrt()), ratio(rank, self.rank_deviation))
    }

    fn sums(&self, swapped: impl Fn(usize) -> bool) -> Scores {
        let (mut sum, mut ranks) = (0.0, 0.0);
        for (index, (difference, rank)) in self.items.iter().enumerate() {
            let sign = if swapped(index) { -1.0 } else { 1.0 };
            sum += sign * difference;
            ranks += sign * rank;
        }
        self.scores(sum, ranks)
    }
}

impl Arrangements for Signs {
    fn items(&self) -> &[Scores] {
        &self.items
    }

    fn count(&self) -> f64 {
        libm::exp2(self.items.len() as f64)
    }

    fn observed(&self) -> Scores {
        self.sums(|_| false)
    }

    fn enumerate(&self, visit: &mut dyn FnMut(Scores)) {
        for swapped in 0..1u64 << self.items.len() {
            visit(self.sums(|index| swapped >> index & 1 == 1));
        }
    }

    fn draw(&mut self, random: &mut Pcg64Mcg) -> Scores {
        let (mut sum, mut ranks, mut bits) = (0.0, 0.0, 0u64);
        for (index, (difference, rank)) in self.items.iter().enumerate() {
            if index % 64 == 0 {
                bits = random.next_u64();
            }
            let sign = if bits & 1 == 1 { -1.0 } else { 1.0 };
            bits >>= 1;
            sum += sign * difference;
            ranks += sign * rank;
        }
        self.scores(sum, ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRECISE: Precision = Precision { level: 0.05, smallest: 0.001 };

    #[test]
    fn p_of_separated_samples_is_two_of_all_arrangements() {
        // Ten arrangements of 2 of 5: only the observed one puts both of the smaller side below.
        let test = unpaired(&[1.0, 2.0], &[11.0, 13.0, 17.0], PRECISE);
        assert!((test.p - 0.1).abs() < 1e-12, "{test:?}");
        let test = unpaired(&[1.0, 2.0, 3.0, 4.0], &[11.0, 13.0, 17.0, 19.0], PRECISE);
        assert!((test.p - 2.0 / 70.0).abs() < 1e-12, "{test:?}");
        assert_eq!(test.p, least_unpaired(4, 4));
        assert!(test.mean > 0.0 && test.rank > 0.0);
        // The rank-sum statistic of separated samples: (nm/2) / sqrt(nm(n+m+1)/12).
        assert!((test.rank - 8.0 / 12f64.sqrt()).abs() < 1e-12, "{test:?}");
    }

    #[test]
    fn the_standardised_difference_of_means_is_the_statistic_of_welch() {
        let (a, b) = ([1.0, 2.0, 4.0], [3.0, 5.0, 9.0, 11.0]);
        // Means 7/3 and 7, variances 7/3 and 40/3.
        let expected = (7.0 - 7.0 / 3.0) / (7.0f64 / 9.0 + 10.0 / 3.0).sqrt();
        assert!((unpaired(&a, &b, PRECISE).mean - expected).abs() < 1e-12);
        assert!((unpaired(&b, &a, PRECISE).mean + expected).abs() < 1e-12);
    }

    #[test]
    fn p_of_pairs_that_all_grew_is_two_of_all_signs() {
        let grown = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
        let test = paired(&grown, &grown, PRECISE);
        assert!((test.p - 2.0 / 64.0).abs() < 1e-12, "{test:?}");
        assert_eq!(test.p, least_paired(6));
    }

    #[test]
    fn equal_samples_do_not_differ() {
        assert_eq!(unpaired(&[5.0; 20], &[5.0; 20], PRECISE).p, 1.0);
        assert_eq!(paired(&[0.0; 20], &[0.0; 20], PRECISE).p, 1.0);
        assert_eq!(least_paired(0), 1.0);
    }

    #[test]
    fn an_extreme_difference_of_many_runs_reaches_the_requested_p() {
        let a: Vec<f64> = (0..20).map(|n| f64::from(n) / 100.0).collect();
        let b: Vec<f64> = a.iter().map(|value| value + 1.0).collect();
        let test = unpaired(&a, &b, Precision { level: 0.05, smallest: 1e-4 });
        assert!(test.p <= 1e-4, "{test:?}");
    }

    #[test]
    fn random_and_enumerated_arrangements_agree() {
        let a: Vec<f64> = (0..8).map(|n| libm::sin(f64::from(n) * 12.9) + 2.0).collect();
        let b: Vec<f64> = (0..8).map(|n| libm::sin(f64::from(n) * 78.2) + 2.4).collect();
        let exact = unpaired(&a, &b, PRECISE);
        let mut split = Split::new(&a, &b);
        let (mean, rank) = split.observed();
        let threshold = mean.abs().max(rank.abs()) * (1.0 - 1e-9);
        let mut random = split.random();
        let draws = 40_000;
        let extreme = (0..draws)
            .filter(|_| {
                let (mean, rank) = split.draw(&mut random);
                mean.abs().max(rank.abs()) >= threshold
            })
            .count();
        let estimated = extreme as f64 / f64::from(draws);
        assert!((estimated - exact.p).abs() < 0.01, "{estimated} {exact:?}");
    }

    #[test]
    fn equal_values_share_the_mean_of_their_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 0.5]), [3.5, 2.0, 3.5, 1.0]);
    }
}
