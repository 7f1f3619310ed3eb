//! The RTT relative to its minimum: the queueing delay, and the variation of the path itself.

use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// Maximum number of candidates for the minimum RTT: further ones replace the newest.
const MOST: usize = 256;

/// Recent RTT samples.
#[derive(Debug, Clone)]
pub(super) struct Delay {
    base: Span,
    /// Time for which the RTT must stay increased to count.
    window: Span,
    /// Candidates for the minimum of the window. Times and RTTs increase from front to back.
    recent: VecDeque<(Time, Span)>,
    /// Maximum RTT of the round, and the largest decrease from it.
    highest: Span,
    fall: Span,
}

impl Delay {
    /// Creates the estimator from the first RTT.
    pub(super) fn new(base: Span, window: Span) -> Self {
        Self { base, window, recent: VecDeque::new(), highest: Span::ZERO, fall: Span::ZERO }
    }

    /// Adds an RTT sample.
    pub(super) fn note(&mut self, now: Time, rtt: Span, round_start: bool) {
        self.base = self.base.min(rtt);
        while self.recent.back().is_some_and(|(_, other)| *other >= rtt)
            || self.recent.len() >= MOST
        {
            self.recent.pop_back();
        }
        self.recent.push_back((now, rtt));
        while self.recent.front().is_some_and(|(at, _)| now.since(*at) > self.window) {
            self.recent.pop_front();
        }
        if round_start {
            self.highest = Span::ZERO;
        }
        self.highest = self.highest.max(rtt);
        self.fall = self.fall.max(self.highest.saturating_sub(rtt));
    }

    /// Returns the minimum RTT.
    pub(super) fn base(&self) -> Span {
        self.base
    }

    /// Returns the queueing delay: the minimum RTT of the last window minus that of all samples. A
    /// delay of single ACKs that is shorter than a window has no effect on it.
    pub(super) fn queue(&self) -> Span {
        self.recent.front().map_or(Span::ZERO, |(_, smallest)| smallest.saturating_sub(self.base))
    }

    /// Returns the largest decrease of the RTT within a round. A queue under growing load does not
    /// shrink, so this is the variation of the path itself.
    pub(super) fn swing(&self) -> Span {
        self.fall
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    #[test]
    fn an_increase_counts_once_it_has_lasted_a_window() {
        let mut delay = Delay::new(ms(600), ms(30));
        delay.note(Time::from_millis(0), ms(600), true);
        delay.note(Time::from_millis(20), ms(700), false);
        assert_eq!(delay.queue(), Span::ZERO);
        delay.note(Time::from_millis(31), ms(710), false);
        assert_eq!(delay.queue(), ms(100));
    }

    #[test]
    fn frames_that_aggregate_acks_are_variation_and_no_queue() {
        let mut delay = Delay::new(ms(600), ms(30));
        for step in 0..100 {
            // Sent evenly and released every 25 ms: the RTT is a sawtooth.
            delay.note(
                Time::from_millis(5 * (step / 5) * 5),
                ms(600 + 20 - 5 * (step % 5)),
                step == 0,
            );
        }
        assert_eq!((delay.queue(), delay.swing()), (Span::ZERO, ms(20)));
    }
}
