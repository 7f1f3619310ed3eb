//! Interarrival jitter.

use bentpipe_units::{Span, Time};

/// Interarrival jitter of the packets of a stream (RFC 3550 §6.4.1). The time stamp of a packet is
/// the capture time of its frame.
#[derive(Debug, Default)]
pub struct Jitter {
    /// Arrival minus capture of the latest packet.
    transit: Option<Span>,
    /// The estimate after the latest packet, in ns.
    estimate: f64,
    /// Sum of the estimates after each packet.
    sum: f64,
    packets: u64,
}

impl Jitter {
    /// Counts a packet.
    pub fn record(&mut self, now: Time, captured: Time) {
        let transit = now.since(captured);
        if let Some(before) = self.transit.replace(transit) {
            let difference = transit.as_nanos().abs_diff(before.as_nanos()) as f64;
            self.estimate += (difference - self.estimate) / 16.0;
            self.sum += self.estimate;
            self.packets += 1;
        }
    }

    /// Returns the estimate after the last packet; `None` before the second one.
    pub fn last(&self) -> Option<Span> {
        (self.packets > 0).then(|| Span::from_nanos(self.estimate as u64))
    }

    /// Returns the mean of the estimates.
    pub fn mean(&self) -> Option<Span> {
        (self.packets > 0).then(|| Span::from_nanos((self.sum / self.packets as f64) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_link::random::stream;

    /// Returns the jitter of packets every 20 ms with these delays in ns.
    fn jitter(delays: impl Iterator<Item = u64>) -> Jitter {
        let mut jitter = Jitter::default();
        for (number, delay) in (0..).zip(delays) {
            let captured = Time::from_millis(20 * number);
            jitter.record(captured + Span::from_nanos(delay), captured);
        }
        jitter
    }

    #[test]
    fn alternating_delays_tend_to_their_difference() {
        let jitter = jitter((0..400).map(|n| 20_000_000 + n % 2 * 10_000_000));
        assert_eq!(jitter.last().unwrap().as_nanos() / 1000, 9_999);
        assert_eq!(Jitter::default().mean(), None);
    }

    #[test]
    fn uniform_delays_give_a_third_of_their_range() {
        let mut draws = stream(1, 0, "jitter");
        // Below 20 ms, so that no packet overtakes another.
        let range = 9_000_000;
        let mean = jitter((0..100_000).map(|_| draws.below(range))).mean().unwrap();
        // The mean difference of two draws; its standard error is 0.4 % here.
        let error = mean.as_nanos() as f64 / (range as f64 / 3.0) - 1.0;
        assert!(error.abs() < 0.02, "{mean}");
    }
}
