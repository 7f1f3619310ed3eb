//! Sums over intervals of a fixed width.

use crate::{BoundedSeries, Points, SeriesLimit};
use bentpipe_units::{Span, Time};

/// Sums amounts in bins of a fixed width and adds each sum to a [`BoundedSeries`], at the start of
/// its bin.
///
/// Bins without an amount count as zero. Of a longer gap, only the first and the last bin are
/// points.
#[derive(Debug, Clone, PartialEq)]
pub struct BinnedSum {
    width: Span,
    /// Factor from a sum to the value of its point.
    factor: f64,
    /// Start and sum of the current bin.
    current: Option<(Time, u64)>,
    series: BoundedSeries,
}

impl BinnedSum {
    /// Creates an empty series of bins of `width` from time zero on; the points are the sums times
    /// `factor`.
    pub fn new(width: Span, factor: f64, limit: SeriesLimit) -> Self {
        Self { width, factor, current: None, series: BoundedSeries::new(limit) }
    }

    /// Counts bins from that of `start` on, although amounts may come later.
    pub fn starting_at(mut self, start: Time) -> Self {
        self.current = Some((self.bin(start), 0));
        self
    }

    /// Adds `amount` at `now`. Amounts out of order count for the current bin.
    #[inline]
    pub fn add(&mut self, now: Time, amount: u64) {
        if let Some((begin, sum)) = &mut self.current
            && now.since(*begin) < self.width
        {
            *sum += amount;
            return;
        }
        self.next_bin(now, amount);
    }

    /// Returns the points, the last bin with an amount included.
    pub fn into_points(mut self) -> Points {
        if let Some((begin, sum)) = self.current.filter(|&(_, sum)| sum > 0) {
            self.series.push(begin, sum as f64 * self.factor);
        }
        self.series.into_points()
    }

    fn bin(&self, now: Time) -> Time {
        Time::ZERO + self.width * (now.as_nanos() / self.width.as_nanos())
    }

    fn next_bin(&mut self, now: Time, amount: u64) {
        let next = self.bin(now);
        let mut gap = Time::ZERO;
        if let Some((begin, sum)) = self.current {
            self.series.push(begin, sum as f64 * self.factor);
            gap = begin + self.width;
        }
        if gap < next {
            self.series.push(gap, 0.0);
            let last = self.bin(Time::from_nanos(next.as_nanos() - 1));
            if gap < last {
                self.series.push(last, 0.0);
            }
        }
        self.current = Some((next, amount));
    }
}
