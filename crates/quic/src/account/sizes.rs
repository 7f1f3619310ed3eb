//! How often something had which size.

use std::collections::BTreeMap;

/// Sizes up to here are counted each for itself, larger ones by the power of two below them.
const EXACT: u32 = 255;

/// Counts by size, in bytes: exact up to 255, by powers of two from there, so that there are never
/// more than 280 of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    counts: BTreeMap<u32, u64>,
    n: u64,
    least: u32,
    most: u32,
}

impl Sizes {
    /// One more of `bytes`.
    pub fn add(&mut self, bytes: u32) {
        let key = if bytes <= EXACT { bytes } else { 1 << bytes.ilog2() };
        *self.counts.entry(key).or_default() += 1;
        self.least = if self.n == 0 { bytes } else { self.least.min(bytes) };
        self.most = self.most.max(bytes);
        self.n += 1;
    }

    /// How many there were.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The smallest, exactly.
    pub fn least(&self) -> Option<u32> {
        (self.n > 0).then_some(self.least)
    }

    /// The largest, exactly.
    pub fn most(&self) -> Option<u32> {
        (self.n > 0).then_some(self.most)
    }

    /// The smallest size such that `percent` of all are not larger; beyond 255 bytes, the power of
    /// two below it.
    pub fn percentile(&self, percent: u32) -> Option<u32> {
        let rank = (u128::from(self.n) * u128::from(percent)).div_ceil(100).max(1);
        let mut seen = 0;
        self.counts.iter().find_map(|(&bytes, &count)| {
            seen += u128::from(count);
            (seen >= rank).then_some(bytes)
        })
    }

    /// Sizes in order, with their counts; beyond 255 bytes, a size stands for all up to before its
    /// double.
    pub fn counts(&self) -> &BTreeMap<u32, u64> {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_has_no_size() {
        let sizes = Sizes::default();
        assert_eq!(
            (sizes.n(), sizes.least(), sizes.most(), sizes.percentile(50)),
            (0, None, None, None)
        );
    }

    #[test]
    fn large_sizes_are_counted_by_powers_of_two() {
        let mut sizes = Sizes::default();
        [255, 256, 511, 512, u32::MAX].into_iter().for_each(|bytes| sizes.add(bytes));
        let counts: Vec<(u32, u64)> =
            sizes.counts().iter().map(|(&bytes, &count)| (bytes, count)).collect();
        assert_eq!(counts, [(255, 1), (256, 2), (512, 1), (1 << 31, 1)]);
        assert_eq!((sizes.most(), sizes.percentile(99)), (Some(u32::MAX), Some(1 << 31)));
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_sizes(bytes in prop::collection::vec(0..=EXACT, 1..300), percent in 0..=100u32) {
            let mut sizes = Sizes::default();
            bytes.iter().for_each(|&bytes| sizes.add(bytes));
            let mut sorted = bytes.clone();
            sorted.sort_unstable();
            let rank = (bytes.len() * percent as usize).div_ceil(100).max(1);
            prop_assert_eq!(sizes.percentile(percent), Some(sorted[rank - 1]));
            prop_assert_eq!((sizes.least(), sizes.most()), (sorted.first().copied(), sorted.last().copied()));
            prop_assert_eq!(sizes.counts().values().sum::<u64>(), sizes.n());
        }
    }
}
