//! The window that a path needs, from the rate at which bytes arrive.

use bentpipe_units::{Span, Time};

/// Ratio of the window to the bytes that arrive in an RTT: a sender in slow start sends twice as
/// much as in the RTT before, and an update is an RTT old when it is used. Our choice, as in Linux
/// for TCP's receive buffer (dynamic right-sizing); a larger window would only cost memory, since
/// the path bounds what arrives whatever the sender does.
pub const GAIN: u64 = 2;
/// The rate is measured over this part of an RTT, and the best one counts: while the rate grows, a
/// shorter interval is closer to what comes next, and a much shorter one would take the bursts of
/// frames and radio links for a rate. Our choice.
pub const PARTS: u64 = 4;

/// Measures the rate of arrivals.
#[derive(Debug, Clone, Default)]
pub(super) struct ArrivalRate {
    /// Start of the current part of an RTT, its length, and bytes so far.
    part: Option<(Time, Span, u64)>,
    best: u64,
}

impl ArrivalRate {
    /// Counts `bytes` that arrived at `now`, at that smoothed RTT. Idle time counts only for the
    /// part in which it began.
    pub fn on_arrival(&mut self, now: Time, bytes: u64, smoothed_rtt: Span) {
        let sum = match &mut self.part {
            Some((began, length, sum)) if now.since(*began) < *length => {
                *sum = sum.saturating_add(bytes);
                *sum
            }
            part => {
                *part = Some((now, smoothed_rtt / PARTS, bytes));
                bytes
            }
        };
        self.best = self.best.max(sum.saturating_mul(PARTS * GAIN));
    }

    /// Returns the window that the best rate so far needs, in bytes. Never shrinks.
    pub fn window(&self) -> u64 {
        self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(400);

    #[test]
    fn a_steady_stream_needs_twice_its_rate_times_the_rtt() {
        let mut arrivals = ArrivalRate::default();
        (0..2000).for_each(|ms| arrivals.on_arrival(Time::from_millis(ms), 1000, RTT));
        assert_eq!(arrivals.window(), 2 * 400 * 1000);
    }

    #[test]
    fn a_window_fits_the_next_rtt_of_a_rate_that_doubles_each_rtt() {
        let mut arrivals = ArrivalRate::default();
        let (mut sum, mut rate) = (0.0, 100.0);
        for ms in 0..2800u64 {
            arrivals.on_arrival(Time::from_millis(ms), rate as u64, RTT);
            rate *= libm::exp2(1.0 / 400.0);
            if ms >= 2400 {
                sum += rate;
            }
        }
        assert!(
            arrivals.window() as f64 > 2.0 * sum,
            "{} for {sum} in the last RTT",
            arrivals.window()
        );
    }

    #[test]
    fn idle_time_neither_shrinks_nor_grows_it() {
        let mut arrivals = ArrivalRate::default();
        (0..2000).for_each(|ms| arrivals.on_arrival(Time::from_millis(ms), 1000, RTT));
        (0..20).for_each(|index| arrivals.on_arrival(Time::from_secs(10 + index), 1000, RTT));
        assert_eq!(arrivals.window(), 2 * 400 * 1000);
    }
}
