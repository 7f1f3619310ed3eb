//! Bytes by tenth of a second.

use std::ops::Range;

/// Bytes received in each tenth of a second since the start of the run. Only those from the first
/// with any on are stored: of thousands of users, most start late and end soon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TenthCounts {
    /// Number of the tenth of the first count.
    first: usize,
    counts: Vec<u64>,
}

impl TenthCounts {
    /// Adds `bytes` to the tenth number `tenth`, which is none before the first one.
    pub fn add(&mut self, tenth: usize, bytes: u64) {
        if self.counts.is_empty() {
            self.first = tenth;
        }
        // Time does not go back.
        let place = tenth.saturating_sub(self.first);
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += bytes;
    }

    /// Returns true if there are no counts.
    pub const fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Returns the number of each tenth and its bytes, from the first with any on.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        (self.first..).zip(self.counts.iter().copied())
    }

    /// Returns the bytes of these tenths together.
    pub fn sum(&self, tenths: Range<usize>) -> u64 {
        let place = |tenth: usize| tenth.saturating_sub(self.first).min(self.counts.len());
        let (from, to) = (place(tenths.start), place(tenths.end));
        self.counts.get(from..to).unwrap_or_default().iter().sum()
    }

    /// Returns the bytes of all tenths from the start of the run on.
    pub fn to_vec(&self) -> Vec<u64> {
        let mut all = vec![0; if self.is_empty() { 0 } else { self.first }];
        all.extend(&self.counts);
        all
    }
}

impl From<&[u64]> for TenthCounts {
    /// Takes the bytes of all tenths from the start of the run on.
    fn from(all: &[u64]) -> Self {
        let first = all.iter().position(|bytes| *bytes > 0).unwrap_or(all.len());
        Self { first, counts: all[first..].to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_before_the_first_are_not_stored() {
        let mut counts = TenthCounts::default();
        assert!(counts.is_empty() && counts.to_vec().is_empty() && counts.sum(0..9) == 0);
        for (tenth, bytes) in [(50_000, 3), (50_000, 4), (50_002, 5)] {
            counts.add(tenth, bytes);
        }
        assert_eq!(counts.counts, [7, 0, 5]);
        assert_eq!(counts.iter().collect::<Vec<_>>(), [(50_000, 7), (50_001, 0), (50_002, 5)]);
        assert_eq!((counts.sum(0..50_001), counts.sum(50_001..usize::MAX)), (7, 5));
        assert_eq!(TenthCounts::from(counts.to_vec().as_slice()), counts);
    }
}
