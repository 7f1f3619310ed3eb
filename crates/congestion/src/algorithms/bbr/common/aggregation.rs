//! Aggregation of acknowledgements.

use super::volume;
use crate::windowed::WindowedMax;
use bentpipe_units::{Bytes, Rate, Time};

/// Length of the filter of [`Aggregation`] after Startup, in rounds (draft-ietf-ccwg-bbr §2.12,
/// ExtraAckedFilterLen; in Linux's BBRv1 between five and ten, bbr_extra_acked_win_rtts).
const EXTRA_ACKED_ROUNDS: u64 = 10;

/// Estimates the aggregation of data or ACKs: by how much the acknowledged bytes exceed the
/// expected ones (draft-ietf-ccwg-bbr
/// §5.5.9, and Linux).
#[derive(Debug, Clone)]
pub struct Aggregation {
    since: Time,
    delivered: Bytes,
    filter: WindowedMax,
}

impl Aggregation {
    /// Creates an estimator without samples.
    pub fn new(now: Time) -> Self {
        Self { since: now, delivered: Bytes::ZERO, filter: WindowedMax::new() }
    }

    /// Returns BBR.extra_acked.
    pub fn get(&self) -> Bytes {
        Bytes::new(self.filter.get())
    }

    /// Restarts the measurement after an idle period.
    pub fn restart(&mut self, now: Time) {
        self.since = now;
    }

    /// Adds `acked` bytes, given the expected `bandwidth` (UpdateACKAggregation).
    pub fn update(
        &mut self,
        now: Time,
        acked: Bytes,
        bandwidth: Rate,
        cwnd: Bytes,
        round: u64,
        pipe_full: bool,
    ) {
        let mut expected = volume(bandwidth, now.since(self.since));
        if self.delivered <= expected {
            self.delivered = Bytes::ZERO;
            self.since = now;
            expected = Bytes::ZERO;
        }
        self.delivered += acked;
        let extra = self.delivered.saturating_sub(expected).min(cwnd);
        let window = if pipe_full { EXTRA_ACKED_ROUNDS } else { 1 };
        self.filter.update(round, window, extra.get());
    }

    /// Returns the number of entries in the filter.
    #[cfg(test)]
    pub fn kept(&self) -> usize {
        self.filter.kept()
    }
}
