//! A histogram of sizes.

use std::collections::BTreeMap;

/// Largest size that is counted exactly; larger ones are counted by the power of two below them.
const EXACT: u32 = 255;

/// A histogram of sizes in bytes: exact up to 255, by powers of two from there, so that it has
/// never more than 280 entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    counts: BTreeMap<u32, u64>,
    count: u64,
    min: u32,
    max: u32,
}

impl Sizes {
    /// Counts a size of `bytes`.
    pub fn add(&mut self, bytes: u32) {
        let key = if bytes <= EXACT { bytes } else { 1 << bytes.ilog2() };
        *self.counts.entry(key).or_default() += 1;
        self.min = if self.count == 0 { bytes } else { self.min.min(bytes) };
        self.max = self.max.max(bytes);
        self.count += 1;
    }

    /// Returns how many sizes were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the smallest size, exactly.
    pub fn min(&self) -> Option<u32> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the largest size, exactly.
    pub fn max(&self) -> Option<u32> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the smallest size such that `percent` of all are not larger; beyond 255 bytes, the
    /// power of two below it.
    pub fn percentile(&self, percent: u32) -> Option<u32> {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1);
        let mut seen = 0;
        self.counts.iter().find_map(|(&bytes, &count)| {
            seen += u128::from(count);
            (seen >= rank).then_some(bytes)
        })
    }

    /// Returns sizes in order, with their counts; beyond 255 bytes, a size stands for all sizes
    /// below its double.
    pub fn counts(&self) -> &BTreeMap<u32, u64> {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_histogram_has_no_sizes() {
        let sizes = Sizes::default();
        assert_eq!(
            (sizes.count(), sizes.min(), sizes.max(), sizes.percentile(50)),
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
        assert_eq!((sizes.max(), sizes.percentile(99)), (Some(u32::MAX), Some(1 << 31)));
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_sizes(
            bytes in prop::collection::vec(0..=EXACT, 1..300),
            percent in 0..=100u32,
        ) {
            let mut sizes = Sizes::default();
            bytes.iter().for_each(|&bytes| sizes.add(bytes));
            let mut sorted = bytes.clone();
            sorted.sort_unstable();
            let rank = (bytes.len() * percent as usize).div_ceil(100).max(1);
            prop_assert_eq!(sizes.percentile(percent), Some(sorted[rank - 1]));
            let ends = (sorted.first().copied(), sorted.last().copied());
            prop_assert_eq!((sizes.min(), sizes.max()), ends);
            prop_assert_eq!(sizes.counts().values().sum::<u64>(), sizes.count());
        }
    }
}
