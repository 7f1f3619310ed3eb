//! Proportional rate reduction (RFC 9937), which limits transmission while the flight falls to the
//! reduced window.

/// One reduction. All values are in bytes.
#[derive(Debug, Clone)]
pub(crate) struct Prr {
    ssthresh: u64,
    /// RecoverFS: the flight at the start of the reduction.
    recover: u64,
    /// Bytes delivered since then (prr_delivered).
    delivered: u64,
    /// Bytes sent since then (prr_out).
    out: u64,
    /// SndCnt: bytes that the last acknowledgement releases.
    count: u64,
    segment: u64,
    /// Position whose acknowledgement ends the reduction.
    until: u64,
}

impl Prr {
    /// Creates a reduction to `ssthresh` that ends when `until` is acknowledged. `recover` is the
    /// number of bytes outstanding at its start, neither acknowledged nor selectively acknowledged
    /// before the acknowledgement that started it.
    pub(crate) fn new(ssthresh: u64, recover: u64, segment: u64, until: u64) -> Self {
        Self { ssthresh, recover: recover.max(1), delivered: 0, out: 0, count: 0, segment, until }
    }

    /// Returns the position whose acknowledgement ends the reduction.
    pub(crate) fn until(&self) -> u64 {
        self.until
    }

    /// Handles an acknowledgement that delivered `delivered` bytes. `safe` (SafeACK) means that it
    /// has moved SND.UNA and reported no further loss.
    pub(crate) fn on_ack(&mut self, delivered: u64, in_flight: u64, safe: bool) {
        if delivered == 0 {
            return;
        }
        self.delivered += delivered;
        let mut count = if in_flight > self.ssthresh {
            let share = u128::from(self.delivered) * u128::from(self.ssthresh);
            let due = share.div_ceil(u128::from(self.recover));
            u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(self.out)
        } else {
            let bound = self.delivered.saturating_sub(self.out).max(delivered);
            let bound = if safe { bound + self.segment } else { bound };
            bound.min(self.ssthresh - in_flight)
        };
        if self.out == 0 && count == 0 {
            // The fast retransmission itself is always allowed.
            count = self.segment;
        }
        self.count = count;
    }

    /// Returns true if `bytes` more may be sent now.
    pub(crate) fn allows(&self, bytes: u64) -> bool {
        self.count >= bytes || self.out == 0
    }

    /// Records that `bytes` were sent.
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
        self.count = self.count.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_delivery_releases_a_segment_after_halving() {
        // A flight of 40 with one loss: 39 acknowledgements follow, and each reduces the flight by
        // one.
        let mut prr = Prr::new(20_000, 40_000, 1000, 100_000);
        let (mut in_flight, mut sent) = (38_000, 0);
        for _ in 0..38 {
            prr.on_ack(1000, in_flight, false);
            while prr.allows(1000) {
                prr.on_sent(1000);
                in_flight += 1000;
                sent += 1;
            }
            in_flight -= 1000;
        }
        assert!((19..=20).contains(&sent), "{sent}");
        assert!(in_flight <= 20_000, "{in_flight}");
    }

    #[test]
    fn a_flight_below_ssthresh_grows_as_in_slow_start_while_acks_are_safe() {
        let mut prr = Prr::new(20_000, 40_000, 1000, 100_000);
        prr.on_ack(1000, 5000, false);
        prr.on_sent(1000);
        prr.on_ack(1000, 5000, true);
        assert!(prr.allows(2000) && !prr.allows(2001));
        prr.on_ack(1000, 19_500, true);
        assert!(prr.allows(500) && !prr.allows(501));
    }
}
