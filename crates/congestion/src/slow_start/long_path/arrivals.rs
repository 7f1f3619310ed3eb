//! Arrivals of ACKs, and the delivery rate that they show.

use bentpipe_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Maximum number of arrivals kept: steps are then less than 1 % of the kept time.
const MOST: u64 = 512;

/// Aggregation time from which on frames may cause it: the timers of most senders and receivers are
/// shorter.
pub(super) const FRAMES: Span = Span::from_millis(15);

/// One ACK, or several that arrived together.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    /// Arrival of the first of them.
    opened: Time,
    /// Arrival of the last of them.
    at: Time,
    /// Bytes delivered by then.
    delivered: Bytes,
    /// Time of sending of the newest packet that they acknowledge.
    sent: Time,
}

/// Recent ACKs, in steps.
#[derive(Debug, Clone)]
pub(super) struct Arrivals {
    list: VecDeque<Arrival>,
    /// Time for which they are kept.
    keep: Span,
    /// ACKs closer together than this count as one.
    step: Span,
}

impl Arrivals {
    /// Keeps ACKs for `keep`, in steps of a millisecond or more.
    pub(super) fn new(keep: Span) -> Self {
        Self { list: VecDeque::new(), keep, step: Span::from_millis(1).max(keep / MOST) }
    }

    /// Adds an ACK: `delivered` bytes so far, the newest packet sent at `sent`.
    pub(super) fn note(&mut self, at: Time, delivered: Bytes, sent: Time) {
        let arrival = Arrival { opened: at, at, delivered, sent };
        match self.list.back_mut() {
            Some(last) if at.since(last.opened) < self.step => {
                *last = Arrival { opened: last.opened, ..arrival }
            }
            _ => self.list.push_back(arrival),
        }
        // One arrival older than `keep` remains as the start of windows of that length.
        while self.list.get(1).is_some_and(|second| at.since(second.at) >= self.keep) {
            self.list.pop_front();
        }
    }

    /// Returns the time of the latest ACK.
    pub(super) fn last_at(&self) -> Option<Time> {
        self.list.back().map(|last| last.at)
    }

    /// Returns the bytes delivered by the latest ACK.
    pub(super) fn delivered(&self) -> Bytes {
        self.list.back().map_or(Bytes::ZERO, |last| last.delivered)
    }

    /// Returns the rate over the last `window` in bytes per second. `None` if ACKs after `since` do
    /// not cover all of it.
    ///
    /// The rate is taken over the longer of the send interval and the ACK interval, as in
    /// draft-ietf-ccwg-bbr §4.1.1, plus `aggregation`. Aggregated ACKs then give a lower rate,
    /// never a higher one.
    pub(super) fn rate(&self, window: Span, aggregation: Span, since: Time) -> Option<f64> {
        let (first, _, last) = self.ends(window)?;
        if first.at < since { None } else { between(first, last, aggregation) }
    }

    /// Returns the rate over the last `window` as [`Arrivals::rate`] does, and the same without
    /// `aggregation` if the window begins with the last ACK of a frame: counted from there, frames
    /// are whole. The second holds only where frames release the ACKs, since other gaps do not end
    /// a frame.
    pub(super) fn rates(&self, window: Span, aggregation: Span) -> Option<(f64, f64)> {
        let (first, next, last) = self.ends(window)?;
        let ends_frame = aggregation > FRAMES && next.opened.since(first.at) >= aggregation / 2;
        let rate = between(first, last, aggregation)?;
        let whole = if ends_frame { between(first, last, Span::ZERO)? } else { rate };
        Some((rate, whole))
    }

    /// Returns the first arrival of the last `window`, the one after it, and the last.
    fn ends(&self, window: Span) -> Option<(&Arrival, &Arrival, &Arrival)> {
        let last = self.list.back()?;
        let after = self.list.partition_point(|arrival| last.at.since(arrival.at) >= window);
        let first = self.list.get(after.checked_sub(1)?)?;
        Some((first, self.list.get(after).unwrap_or(last), last))
    }

    /// Returns the rate over all ACKs after `since`, however few. `aggregation` keeps it from being
    /// too high.
    pub(super) fn rate_since(&self, since: Time, aggregation: Span) -> Option<f64> {
        let first = self.list.get(self.list.partition_point(|arrival| arrival.at < since))?;
        between(first, self.list.back()?, aggregation)
    }
}

fn between(first: &Arrival, last: &Arrival, aggregation: Span) -> Option<f64> {
    let time = last.at.since(first.at).max(last.sent.since(first.sent)) + aggregation;
    (!time.is_zero())
        .then(|| last.delivered.saturating_sub(first.delivered).get() as f64 / time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    /// 1000 bytes per 10 ms, sent twice as fast.
    fn steady(count: u64) -> Arrivals {
        let mut arrivals = Arrivals::new(ms(300));
        for index in 0..count {
            arrivals.note(
                Time::from_millis(500 + 10 * index),
                Bytes::new(1000 * index),
                Time::from_millis(5 * index),
            );
        }
        arrivals
    }

    #[test]
    fn the_rate_is_that_of_arrivals_if_sending_was_faster() {
        assert_eq!(steady(20).rate(ms(100), Span::ZERO, Time::ZERO), Some(100_000.0));
    }

    #[test]
    fn aggregation_lowers_the_rate() {
        assert_eq!(steady(20).rate(ms(100), ms(100), Time::ZERO), Some(50_000.0));
    }

    #[test]
    fn the_rate_of_whole_frames_is_exact_though_their_acks_arrive_together() {
        let mut arrivals = Arrivals::new(ms(600));
        for index in 0..99 {
            // 100 bytes per millisecond; what the receiver got in a frame of 25 ms comes in three
            // ACKs at its end.
            let (frame, part) = (index / 3, index % 3);
            let got = 25 * frame + 8 * part;
            let at = Time::from_millis(500 + 25 * frame + 2 * part);
            arrivals.note(at, Bytes::new(100 * got), Time::from_millis(got));
        }
        let rate = |window| arrivals.rates(ms(window), ms(27)).unwrap().1;
        // From a frame's last ACK to another's, and from the one before it.
        assert_eq!(rate(300), 100_000.0);
        assert!(rate(302) < 100_000.0, "{}", rate(302));
    }

    #[test]
    fn acks_released_together_are_no_faster_than_their_packets() {
        let mut arrivals = Arrivals::new(ms(300));
        for index in 0..20 {
            arrivals.note(
                Time::from_millis(900 + 2 * index),
                Bytes::new(1000 * index),
                Time::from_millis(10 * index),
            );
        }
        assert_eq!(arrivals.rate(ms(20), Span::ZERO, Time::ZERO), Some(100_000.0));
    }

    #[test]
    fn a_window_longer_than_the_history_has_no_rate() {
        assert_eq!(steady(5).rate(ms(100), Span::ZERO, Time::ZERO), None);
        assert_eq!(steady(20).rate(ms(100), Span::ZERO, Time::from_millis(600)), None);
    }

    #[test]
    fn the_number_of_arrivals_is_bounded() {
        let mut arrivals = Arrivals::new(Span::from_secs(60));
        for index in 0..1_000_000 {
            arrivals.note(Time::from_nanos(100_000 * index), Bytes::new(index), Time::ZERO);
        }
        assert!(arrivals.list.len() as u64 <= MOST + 2, "{}", arrivals.list.len());
    }
}
