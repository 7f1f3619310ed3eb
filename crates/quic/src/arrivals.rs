//! The receiver's view of a path: what arrived in the best round trip.
//!
//! The sender's view counts what was acknowledged ([`bentpipe_congestion::resume`]); here it is
//! what arrived, so that a report can show both. The same is counted: QUIC packets, that is UDP
//! payload. A round is one smoothed round trip of the receiver, which knows it from what it sent
//! itself. A standing queue lengthens the round and fills it with bytes that the path does not
//! hold, so the figure is scaled by the smallest round trip over the current one, as the sender's
//! is.

use bentpipe_congestion::SavedParameters;
use bentpipe_units::{Bytes, Span, Time};

/// Counts datagrams by round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arrivals {
    /// When the round began, its length, and bytes so far.
    round: Option<(Time, Span, u64)>,
    best: Bytes,
    /// Smallest smoothed round trip.
    rtt: Option<Span>,
}

impl Arrivals {
    /// A datagram of `bytes` of UDP payload arrived at `now`, when the smoothed round trip was
    /// `smoothed`.
    ///
    /// A round that this datagram is too late for has ended before it, so silence is in no round
    /// but the one it began in, where it makes the figure smaller: the largest counts.
    pub(crate) fn on_datagram(&mut self, now: Time, bytes: u64, smoothed: Span) {
        if smoothed.is_zero() {
            return;
        }
        let rtt = self.rtt.map_or(smoothed, |smallest| smallest.min(smoothed));
        self.rtt = Some(rtt);
        match &mut self.round {
            Some((began, length, sum)) if now.since(*began) < *length => {
                *sum = sum.saturating_add(bytes)
            }
            round => {
                if let Some((_, length, sum)) = round.replace((now, smoothed, bytes)) {
                    let window = Bytes::new(sum).mul_f64(rtt.as_secs_f64() / length.as_secs_f64());
                    self.best = self.best.max(window);
                }
            }
        }
    }

    /// The best round so far, and the smallest round trip; none before a round has ended.
    pub(crate) fn best(&self) -> Option<SavedParameters> {
        let rtt = self.rtt.filter(|_| !self.best.is_zero())?;
        Some(SavedParameters { window: self.best, rtt, valid_until: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    /// A datagram of 1000 bytes each `every` ms from `from` to `to` ms.
    fn stream(arrivals: &mut Arrivals, from: u64, to: u64, every: usize, rtt: Span) {
        (from..to)
            .step_by(every)
            .for_each(|ms| arrivals.on_datagram(Time::from_millis(ms), 1000, rtt));
    }

    #[test]
    fn a_steady_stream_is_its_rate_times_the_round_trip() {
        let mut arrivals = Arrivals::default();
        stream(&mut arrivals, 0, 100, 1, RTT);
        assert_eq!(arrivals.best(), None, "no round has ended");
        stream(&mut arrivals, 100, 500, 1, RTT);
        assert_eq!(
            arrivals.best().map(|view| (view.window, view.rtt)),
            Some((Bytes::new(100_000), RTT))
        );
    }

    #[test]
    fn silence_is_in_no_round_and_the_best_round_stays() {
        let mut arrivals = Arrivals::default();
        stream(&mut arrivals, 0, 201, 1, RTT);
        stream(&mut arrivals, 10_000, 11_000, 10, RTT);
        assert_eq!(arrivals.best().unwrap().window, Bytes::new(100_000));
        let mut late = Arrivals::default();
        stream(&mut late, 0, 300, 10, RTT);
        stream(&mut late, 10_000, 10_201, 1, RTT);
        assert_eq!(late.best().unwrap().window, Bytes::new(100_000));
    }

    #[test]
    fn a_standing_queue_counts_for_nothing() {
        let mut arrivals = Arrivals::default();
        stream(&mut arrivals, 0, 201, 1, RTT);
        stream(&mut arrivals, 201, 2000, 1, RTT * 3);
        let view = arrivals.best().unwrap();
        assert!((99_000..=101_000).contains(&view.window.get()), "{view:?}");
        assert_eq!(view.rtt, RTT);
    }
}
