//! The round trip against its smallest value: how much of it is queueing, and how much it swings by itself.

use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// Most candidates for the smallest round trip: further ones replace the newest.
const MOST: usize = 256;

/// Round trips of the last while.
#[derive(Debug, Clone)]
pub(super) struct Delay {
    base: Span,
    /// How long a round trip must stay high to count.
    window: Span,
    /// Candidates for the smallest of the window: times and round trips rise from front to back.
    recent: VecDeque<(Time, Span)>,
    /// Largest round trip since the round began, and the largest fall below it.
    highest: Span,
    fall: Span,
}

impl Delay {
    /// The first round trip.
    pub(super) fn new(base: Span, window: Span) -> Self {
        Self { base, window, recent: VecDeque::new(), highest: Span::ZERO, fall: Span::ZERO }
    }

    /// Notes a round trip.
    pub(super) fn note(&mut self, now: Time, rtt: Span, round_start: bool) {
        self.base = self.base.min(rtt);
        while self.recent.back().is_some_and(|(_, other)| *other >= rtt) || self.recent.len() >= MOST {
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

    /// Smallest round trip.
    pub(super) fn base(&self) -> Span {
        self.base
    }

    /// What the smallest round trip of the last window has more than the smallest of all: the queue, since whatever holds
    /// single acknowledgements back for less than a window is not in it.
    pub(super) fn queue(&self) -> Span {
        self.recent.front().map_or(Span::ZERO, |(_, smallest)| smallest.saturating_sub(self.base))
    }

    /// Largest fall of the round trip inside a round: a queue under a growing load does not shrink, so this is what the path
    /// does by itself.
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
    fn a_rise_counts_once_it_has_lasted_the_window() {
        let mut delay = Delay::new(ms(600), ms(30));
        delay.note(Time::from_millis(0), ms(600), true);
        delay.note(Time::from_millis(20), ms(700), false);
        assert_eq!(delay.queue(), Span::ZERO);
        delay.note(Time::from_millis(31), ms(710), false);
        assert_eq!(delay.queue(), ms(100));
    }

    #[test]
    fn frames_that_gather_acknowledgements_are_a_swing_and_no_queue() {
        let mut delay = Delay::new(ms(600), ms(30));
        for step in 0..100 {
            // Sent evenly, released each 25 ms: the round trip is a sawtooth.
            delay.note(Time::from_millis(5 * (step / 5) * 5), ms(600 + 20 - 5 * (step % 5)), step == 0);
        }
        assert_eq!((delay.queue(), delay.swing()), (Span::ZERO, ms(20)));
    }
}
