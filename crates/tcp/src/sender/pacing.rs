//! Pacing, if the controller sets a rate.

use bentpipe_units::{Bytes, Rate, Time};

/// Determines when the next segment may be sent.
#[derive(Debug, Clone)]
pub(crate) struct Pacer {
    release: Time,
    /// Bytes of the current burst.
    burst: Bytes,
    /// Segments sent unpaced at the start: the initial window (as in Linux).
    unpaced: u32,
}

impl Pacer {
    pub(crate) fn new(unpaced: u32) -> Self {
        Self { release: Time::ZERO, burst: Bytes::ZERO, unpaced }
    }

    /// Returns when a segment may be sent, if not now.
    pub(crate) fn blocked(&self, now: Time) -> Option<Time> {
        (self.release > now).then_some(self.release)
    }

    /// Records that `bytes` were sent at `now`. After each `quantum`, the next segment waits for
    /// its time at `rate`.
    pub(crate) fn sent(
        &mut self,
        now: Time,
        bytes: Bytes,
        rate: Option<Rate>,
        quantum: Option<Bytes>,
    ) {
        if self.unpaced > 0 {
            self.unpaced -= 1;
            return;
        }
        let Some(rate) = rate.filter(|rate| !rate.is_zero()) else {
            self.burst = Bytes::ZERO;
            return;
        };
        self.burst += bytes;
        if self.burst >= quantum.unwrap_or(Bytes::ZERO) {
            self.release = self.release.max(now) + rate.time_for(self.burst);
            self.burst = Bytes::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_of_a_quantum_leave_at_the_rate() {
        let mut pacer = Pacer::new(3);
        let (mut now, mut left) = (Time::ZERO, Vec::new());
        for _ in 0..9 {
            if let Some(release) = pacer.blocked(now) {
                now = release;
            }
            left.push(now.as_nanos() / 1_000_000);
            pacer.sent(now, Bytes::new(1000), Some(Rate::from_mbps(8)), Some(Bytes::new(2000)));
        }
        assert_eq!(left, [0, 0, 0, 0, 0, 2, 2, 4, 4]);
    }

    #[test]
    fn without_a_rate_no_segment_waits() {
        let mut pacer = Pacer::new(0);
        for rate in [None, Some(Rate::ZERO)] {
            pacer.sent(Time::ZERO, Bytes::new(1000), rate, None);
            assert!(pacer.blocked(Time::ZERO).is_none());
        }
    }
}
