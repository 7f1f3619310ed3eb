//! The window that a path needs, from what arrives.

use bentpipe_units::{Span, Time};

/// Windows are so many times what arrives in a round trip: a sender in slow start sends twice what
/// it sent in the round trip before, and credit is a round trip old when it is used. Our choice, as
/// Linux makes it for TCP's receive buffer (dynamic right-sizing); more would only be memory, since
/// what arrives is bounded by the path whatever the sender does.
pub const GAIN: u64 = 2;
/// The rate is that of the best quarter of a round trip: while it grows, a shorter stretch is
/// closer to what comes next, and a much shorter one would take the bursts of frames and radio
/// links for a rate. Our choice.
pub const PARTS: u64 = 4;

/// Measures arrivals.
#[derive(Debug, Clone, Default)]
pub(super) struct ArrivalRate {
    /// When the present part of a round trip began, its length, and bytes so far.
    part: Option<(Time, Span, u64)>,
    best: u64,
}

impl ArrivalRate {
    /// `bytes` arrived at `now`, when the smoothed round trip was `smoothed`. Silence is in no part
    /// but the one it began in.
    pub fn arrived(&mut self, now: Time, bytes: u64, smoothed: Span) {
        let sum = match &mut self.part {
            Some((began, length, sum)) if now.since(*began) < *length => {
                *sum = sum.saturating_add(bytes);
                *sum
            }
            part => {
                *part = Some((now, smoothed / PARTS, bytes));
                bytes
            }
        };
        self.best = self.best.max(sum.saturating_mul(PARTS * GAIN));
    }

    /// The window that the best rate so far needs, bytes. Never shrinks.
    pub fn window(&self) -> u64 {
        self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(400);

    #[test]
    fn a_steady_stream_needs_twice_its_rate_times_the_round_trip() {
        let mut pace = ArrivalRate::default();
        (0..2000).for_each(|ms| pace.arrived(Time::from_millis(ms), 1000, RTT));
        assert_eq!(pace.window(), 2 * 400 * 1000);
    }

    #[test]
    fn a_rate_that_doubles_each_round_trip_is_foreseen_for_the_next() {
        let mut pace = ArrivalRate::default();
        let (mut sum, mut rate) = (0.0, 100.0);
        for ms in 0..2800u64 {
            pace.arrived(Time::from_millis(ms), rate as u64, RTT);
            rate *= libm::exp2(1.0 / 400.0);
            if ms >= 2400 {
                sum += rate;
            }
        }
        assert!(
            pace.window() as f64 > 2.0 * sum,
            "{} for {sum} in the last round trip",
            pace.window()
        );
    }

    #[test]
    fn silence_neither_shrinks_nor_grows_it() {
        let mut pace = ArrivalRate::default();
        (0..2000).for_each(|ms| pace.arrived(Time::from_millis(ms), 1000, RTT));
        (0..20).for_each(|index| pace.arrived(Time::from_secs(10 + index), 1000, RTT));
        assert_eq!(pace.window(), 2 * 400 * 1000);
    }
}
