//! Time series of a link, in bins. Their size depends on the duration, not on the number of
//! packets.

use bentpipe_link::DropCause;
use bentpipe_units::{Span, Time};

/// Maximum number of drops recorded with their time. All drops are counted.
const MAX_DROPS: usize = 100_000;
/// Maximum number of bins: 14 hours of the narrower ones. Later data is not recorded.
const MAX_BINS: u64 = 5_000_000;

/// Time series of a link, with the same bins as in simulations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkSeries {
    /// Bytes delivered in each [`Self::THROUGHPUT_BIN`] from the start.
    pub delivered: Vec<u64>,
    /// Largest queue in bytes in each [`Self::QUEUE_BIN`] with a change, with the number of the
    /// bin.
    pub queue: Vec<(u64, u64)>,
    /// Time and cause of each drop.
    pub drops: Vec<(Time, DropCause)>,
}

impl LinkSeries {
    /// Width of a throughput bin.
    pub const THROUGHPUT_BIN: Span = Span::from_millis(50);
    /// Width of a queue bin.
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
    fn bins_hold_the_longest_queue_and_the_sum_of_delivered_bytes() {
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
