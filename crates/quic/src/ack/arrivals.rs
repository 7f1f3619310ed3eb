//! The receiver's measurement of a path: the bytes that arrived in the best RTT.
//!
//! A sender measures the bytes acknowledged ([`bentpipe_congestion::resume`]), a receiver the bytes
//! that arrived, so that a report can show both. Both count QUIC packets, that is UDP payload. A
//! round is one smoothed RTT of the receiver, from the packets that it sent itself. A standing
//! queue lengthens the round and fills it with bytes that the path does not hold, so the result is
//! scaled by the smallest RTT over the current one, as at the sender.

use bentpipe_congestion::SavedParameters;
use bentpipe_units::{Bytes, Span, Time};

/// Counts datagrams by round.
///
/// The stack's `udp_rx` is a total of all paths, summed anew at each call, and the stack does not
/// give its minimum RTT.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arrivals {
    /// Start of the round, its length, and bytes so far.
    round: Option<(Time, Span, u64)>,
    best: Bytes,
    /// Smallest smoothed RTT.
    min_rtt: Option<Span>,
}

impl Arrivals {
    /// Counts a datagram of `bytes` of UDP payload that arrived at `now`, at that smoothed RTT.
    ///
    /// A round that this datagram is too late for has ended before it. Idle time is therefore part
    /// only of the round in which it began, whose result it lowers; the largest result counts.
    pub(crate) fn on_datagram(&mut self, now: Time, bytes: u64, smoothed_rtt: Span) {
        if smoothed_rtt.is_zero() {
            return;
        }
        let min_rtt = self.min_rtt.map_or(smoothed_rtt, |min| min.min(smoothed_rtt));
        self.min_rtt = Some(min_rtt);
        match &mut self.round {
            Some((began, length, sum)) if now.since(*began) < *length => {
                *sum = sum.saturating_add(bytes)
            }
            round => {
                if let Some((_, length, sum)) = round.replace((now, smoothed_rtt, bytes)) {
                    let scale = min_rtt.as_secs_f64() / length.as_secs_f64();
                    self.best = self.best.max(Bytes::new(sum).mul_f64(scale));
                }
            }
        }
    }

    /// Returns the best round so far and the smallest RTT. `None` before a round has ended.
    pub(crate) fn best(&self) -> Option<SavedParameters> {
        let rtt = self.min_rtt.filter(|_| !self.best.is_zero())?;
        Some(SavedParameters::new(self.best, rtt))
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
    fn a_steady_stream_gives_its_rate_times_the_rtt() {
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
    fn idle_time_is_in_no_round_and_the_best_round_stays() {
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
