//! Time series of a link, in bins, so that their size follows the run's length and not its packets.

use bentpipe_link::DropCause;
use bentpipe_units::{Span, Time};

/// Drops of one link that are noted with their time; more are counted only.
const MAX_DROPS: usize = 100_000;
/// Bins of a series: 14 hours of the narrower. What comes later is not noted.
const MAX_BINS: u64 = 5_000_000;

/// What happened on a link, over the time of the links. The bins are those of simulations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkSeries {
    /// Bytes delivered in each [`Self::THROUGHPUT_BIN`] from the beginning.
    pub delivered: Vec<u64>,
    /// The longest queue, bytes, in each [`Self::QUEUE_BIN`] that saw a change: number of the bin, bytes.
    pub queue: Vec<(u64, u64)>,
    /// When packets were dropped, and why.
    pub drops: Vec<(Time, DropCause)>,
}

impl LinkSeries {
    /// Width of a bin of what was delivered.
    pub const THROUGHPUT_BIN: Span = Span::from_millis(50);
    /// Width of a bin of the queue.
    pub const QUEUE_BIN: Span = Span::from_millis(10);

    pub(crate) fn delivered(&mut self, at: Time, bytes: u32) {
        let bin = at.as_nanos() / Self::THROUGHPUT_BIN.as_nanos();
        if bin >= MAX_BINS {
            return;
        }
        let bin = bin as usize;
        if self.delivered.len() <= bin {
            self.delivered.resize(bin + 1, 0);
        }
        self.delivered[bin] += u64::from(bytes);
    }

    pub(crate) fn queue(&mut self, at: Time, bytes: u64) {
        let bin = at.as_nanos() / Self::QUEUE_BIN.as_nanos();
        match self.queue.last_mut() {
            Some((last, longest)) if *last == bin => *longest = (*longest).max(bytes),
            Some((_, longest)) if *longest == bytes || bin >= MAX_BINS => {}
            _ => self.queue.push((bin, bytes)),
        }
    }

    pub(crate) fn dropped(&mut self, at: Time, cause: DropCause) {
        if self.drops.len() < MAX_DROPS {
            self.drops.push((at, cause));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_keeps_the_longest_queue_and_the_sum_of_what_was_delivered() {
        let mut series = LinkSeries::default();
        let at = Time::from_millis;
        for (ms, bytes) in [(1, 10), (2, 30), (9, 20), (11, 20), (12, 5), (31, 5)] {
            series.queue(at(ms), bytes);
        }
        assert_eq!(series.queue, [(0, 30), (1, 20), (3, 5)]);
        for ms in [0, 49, 120] {
            series.delivered(at(ms), 1000);
        }
        assert_eq!(series.delivered, [2000, 0, 1000]);
    }
}
