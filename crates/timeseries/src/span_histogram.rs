//! A histogram of times whose size depends on how much they vary.

use bentpipe_units::Span;

/// Resolution of the smallest values: 2⁹ ns.
const UNIT_BITS: u32 = 9;
/// Bits that are kept of a value: 128 to 255 units of its magnitude, an error below 1 %.
const VALUE_BITS: u32 = 8;
/// Smallest value in nanoseconds that quantiles tell from others: 1 µs.
const SMALLEST_NS: u64 = 1_000;
/// Largest value in nanoseconds: an hour.
const LARGEST_NS: u64 = 3_600_000_000_000;

/// Counts times from 1 µs to one hour, to 1 % or 1 µs, such as RTTs or one-way delays.
/// The smallest and the largest one and the mean are exact.
///
/// Values fall into the same bins as those of an HDR histogram (Tene) with these bounds. Only the
/// bins between the smallest and the largest value seen are stored: the times of a path have the
/// same magnitude, and a simulation has thousands of flows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpanHistogram {
    /// Number of the first bin in `counts`.
    first: usize,
    counts: Vec<u64>,
    total: u64,
    /// Sum of the values in nanoseconds.
    sum: u128,
    /// Smallest value; without values, zero.
    min: Span,
    /// Largest value; without values, zero.
    max: Span,
}

impl SpanHistogram {
    /// Counts a value. In quantiles, values outside the bounds count as the nearest bound.
    pub fn record(&mut self, value: Span) {
        self.min = if self.total == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.sum += u128::from(value.as_nanos());
        self.add_count(bin(value.as_nanos().clamp(SMALLEST_NS, LARGEST_NS)), 1);
    }

    /// Adds the counts of another histogram.
    pub fn add(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.min = if self.is_empty() { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        for (bin, &count) in (other.first..).zip(&other.counts) {
            if count > 0 {
                self.add_count(bin, count);
            }
        }
    }

    fn add_count(&mut self, bin: usize, count: u64) {
        self.total += count;
        if let Some(place) = bin.checked_sub(self.first).and_then(|at| self.counts.get_mut(at)) {
            *place += count;
            return;
        }
        if self.counts.is_empty() {
            self.first = bin;
        }
        if bin < self.first {
            let more = self.first - bin;
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
            self.first = bin;
        } else {
            self.counts.resize(bin - self.first + 1, 0);
        }
        self.counts[bin - self.first] += count;
    }

    /// Number of values.
    pub fn len(&self) -> u64 {
        self.total
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Returns the smallest value; `None` if there are no values.
    pub fn min(&self) -> Option<Span> {
        (self.total > 0).then_some(self.min)
    }

    /// Returns the mean; `None` if there are no values.
    pub fn mean(&self) -> Option<Span> {
        let mean = self.sum.checked_div(u128::from(self.total))?;
        Some(Span::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// Returns the largest value of the bin that contains the given quantile, or the largest one
    /// counted if that is smaller; zero if there are no values.
    pub fn quantile(&self, quantile: f64) -> Span {
        let rank = ((quantile * self.total as f64).ceil() as u64).max(1);
        let mut below = 0;
        for (bin, count) in (self.first..).zip(&self.counts) {
            below += count;
            if below >= rank {
                return Span::from_nanos(end(bin) - 1).min(self.max);
            }
        }
        Span::ZERO
    }
}

/// Returns the bin of a value in nanoseconds.
fn bin(nanos: u64) -> usize {
    let units = nanos >> UNIT_BITS;
    // The magnitude is zero for the first 256 units.
    let magnitude = (u64::BITS - units.leading_zeros()).saturating_sub(VALUE_BITS);
    ((magnitude as usize) << (VALUE_BITS - 1)) + (units >> magnitude) as usize
}

/// Returns the first value after a bin, in nanoseconds.
fn end(bin: usize) -> u64 {
    let half = 1 << (VALUE_BITS - 1);
    let magnitude = (bin / half).saturating_sub(1);
    ((bin - magnitude * half + 1) as u64) << magnitude << UNIT_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> SpanHistogram {
        let mut histogram = SpanHistogram::default();
        values.iter().for_each(|&nanos| histogram.record(Span::from_nanos(nanos)));
        histogram
    }

    #[test]
    fn bins_cover_all_values_without_gaps() {
        let mut start = 0;
        for number in 0..3000 {
            assert_eq!((bin(start), bin(end(number) - 1)), (number, number));
            start = end(number);
        }
    }

    #[test]
    fn only_bins_between_the_extremes_are_stored() {
        let histogram = of(&[600_000_000, 612_000_000, 590_000_000]);
        assert!(histogram.counts.len() < 16, "{}", histogram.counts.len());
        assert_eq!(histogram.len(), 3);
        assert_eq!(SpanHistogram::default().quantile(0.99), Span::ZERO);
    }

    #[test]
    fn no_quantile_is_above_the_largest_value() {
        let mut histogram = of(&[20_014]);
        assert_eq!(histogram.quantile(0.99), Span::from_nanos(20_014));
        histogram.add(&of(&[674, 700, 600_000_001]));
        assert_eq!(histogram.quantile(1.0), Span::from_nanos(600_000_001));
        assert_eq!(of(&[674, 700]).quantile(0.5), Span::from_nanos(700));
    }

    proptest! {
        #[test]
        fn quantiles_and_sums_are_those_of_an_hdr_histogram(
            values in proptest::collection::vec((10u32..44, any::<u64>()), 1..200),
            split in 0usize..200,
            quantile in 0.01f64..1.0,
        ) {
            let value = |(bits, value): &(u32, u64)| (value % (1 << bits)).clamp(1000, LARGEST_NS);
            let values: Vec<u64> = values.iter().map(value).collect();
            let mut model = hdrhistogram::Histogram::<u64>::new_with_bounds(1_000, LARGEST_NS, 2)
                .unwrap();
            values.iter().for_each(|&value| model.saturating_record(value));
            let (some, others) = values.split_at(split.min(values.len()));
            let mut histogram = of(some);
            histogram.add(&of(others));
            prop_assert_eq!(histogram.len(), model.len());
            let sum: u128 = values.iter().copied().map(u128::from).sum();
            let mean = (sum / values.len() as u128) as u64;
            prop_assert_eq!(histogram.mean(), Some(Span::from_nanos(mean)));
            prop_assert_eq!(histogram.min(), values.iter().min().map(|&min| Span::from_nanos(min)));
            let largest = values.iter().copied().max().unwrap_or_default();
            let expected = model.value_at_quantile(quantile).min(largest);
            prop_assert_eq!(histogram.quantile(quantile), Span::from_nanos(expected));
        }
    }
}
