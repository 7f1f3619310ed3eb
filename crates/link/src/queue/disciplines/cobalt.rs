//! Cobalt, the queue management of CAKE: CoDel whose rate of drops falls as it rose, and BLUE for
//! flows that do not respond.

use super::control_law::ControlLaw;
use crate::random::Stream;
use bentpipe_units::{Span, Time};

/// Change of BLUE's probability at an overflow, and when a queue is found empty, as in Linux.
const BLUE_UP: f64 = 1.0 / 256.0;
const BLUE_DOWN: f64 = 1.0 / 4096.0;

/// The state of Cobalt for one queue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CobaltState {
    /// Signals whose rate is in force: the next one follows after interval/√count.
    count: u32,
    next: Time,
    dropping: bool,
    /// BLUE's probability of a drop.
    blue: f64,
    /// When it last changed; `None` if it never did.
    blue_changed: Option<Time>,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Pass,
    /// Mark it, or drop it if it is not ECN-capable.
    Signal,
    Drop,
}

impl CobaltState {
    /// Returns how long the state of a queue without packets has a meaning: as long as BLUE's
    /// probability falls from 1.
    pub fn memory(law: ControlLaw) -> Span {
        law.target * 4096
    }

    /// Handles that a queue has packets again, after it was found empty and left alone: Linux looks
    /// at such queues about once in each target.
    pub fn resumed(&mut self, law: ControlLaw, now: Time) {
        if let Some(changed) = self.blue_changed
            && self.blue > 0.0
        {
            let steps = now.since(changed).as_nanos() / law.target.as_nanos().max(1);
            self.blue = (self.blue - BLUE_DOWN * steps as f64).max(0.0);
            self.blue_changed = Some(changed + law.target * steps);
        }
        self.fall(law, now);
    }

    /// Handles that packets of the queue were dropped for lack of space.
    pub fn overflowed(&mut self, law: ControlLaw, now: Time) {
        if self.may_change(law, now) {
            self.blue = (self.blue + BLUE_UP).min(1.0);
            self.blue_changed = Some(now);
        }
        (self.dropping, self.next) = (true, now);
        self.count = self.count.max(1);
    }

    /// Handles that the queue was found empty.
    pub fn emptied(&mut self, law: ControlLaw, now: Time) {
        if self.blue > 0.0 && self.may_change(law, now) {
            self.blue = (self.blue - BLUE_DOWN).max(0.0);
            self.blue_changed = Some(now);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.next {
            self.count -= 1;
            self.next = law.after(self.next, self.count.max(1));
        }
    }

    fn may_change(&self, law: ControlLaw, now: Time) -> bool {
        self.blue_changed.is_none_or(|changed| now.since(changed) > law.target)
    }

    /// Decides about the packet that leaves the queue at `now` after `waited`. `least` is the wait
    /// that packets of this link cannot avoid, below which nothing is signalled.
    pub fn decide(
        &mut self,
        law: ControlLaw,
        now: Time,
        waited: Span,
        least: Span,
        random: &mut Stream,
    ) -> Decision {
        let late = waited > law.target && waited > least;
        let due = self.count > 0 && now >= self.next;
        if late {
            if !self.dropping {
                self.next = law.after(now, self.count.max(1));
            }
            self.count = self.count.max(1);
        }
        self.dropping = late;
        let mut decision = Decision::Pass;
        if due && late {
            decision = Decision::Signal;
            self.count = self.count.saturating_add(1);
            self.next = law.after(self.next, self.count);
        } else if due {
            self.fall(law, now);
        }
        if self.blue > 0.0 && random.chance(self.blue) {
            decision = Decision::Drop;
        }
        if self.count == 0 {
            self.next = now + law.interval;
        } else if now > self.next && decision != Decision::Drop {
            self.next = now;
        }
        decision
    }

    /// Lets the count fall by one for each signal that would have been due by `now`.
    fn fall(&mut self, law: ControlLaw, now: Time) {
        while self.count > 0 && now >= self.next {
            self.count -= 1;
            self.next = law.after(self.next, self.count.max(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    const LAW: ControlLaw =
        ControlLaw { target: Span::from_millis(5), interval: Span::from_millis(100) };

    /// Signals among packets that leave each millisecond of `times`, all late by 50 ms.
    fn signals(state: &mut CobaltState, times: std::ops::Range<u64>) -> Vec<u64> {
        let mut random = stream(1, 0, "test/queue");
        let late = Span::from_millis(50);
        times
            .filter(|ms| {
                let now = Time::from_millis(*ms);
                state.decide(LAW, now, late, Span::ZERO, &mut random) != Decision::Pass
            })
            .collect()
    }

    #[test]
    fn a_steady_wait_is_signalled_at_shrinking_intervals() {
        let mut state = CobaltState::default();
        // The first late packet starts an interval; then after 100/√2, 100/√3 … ms.
        let signals = signals(&mut state, 0..1000);
        assert_eq!(signals[..5], [100, 171, 229, 279, 324]);
    }

    #[test]
    fn the_rate_falls_while_the_wait_is_short() {
        let mut state = CobaltState::default();
        let before = signals(&mut state, 0..1000).len() as u32;
        assert_eq!(state.count, before + 1);
        let mut random = stream(1, 0, "test/queue");
        let mut pass = |state: &mut CobaltState, ms| {
            state.decide(LAW, Time::from_millis(ms), Span::ZERO, Span::ZERO, &mut random)
        };
        for ms in 1000..1300 {
            assert_eq!(pass(&mut state, ms), Decision::Pass);
        }
        assert!(state.count < before && state.count > 0, "{}", state.count);
        pass(&mut state, 10_000);
        assert_eq!(state.count, 0);
    }

    #[test]
    fn blue_changes_once_in_each_target_and_drops_by_chance() {
        let mut state = CobaltState::default();
        for ms in 0..600 {
            state.overflowed(LAW, Time::from_millis(ms));
        }
        // At 0, 6, 12 … ms.
        assert_eq!(state.blue, 100.0 / 256.0);
        let mut random = stream(1, 0, "test/queue");
        let drops = (600..10_600).filter(|ms| {
            let now = Time::from_millis(*ms);
            state.decide(LAW, now, Span::ZERO, Span::ZERO, &mut random) == Decision::Drop
        });
        // Of 10,000 packets with p = 0.39: s.e. 49.
        assert!((drops.count() as f64 - 3906.25).abs() < 3.0 * 48.8);
        state.emptied(LAW, Time::from_secs(20));
        assert_eq!(state.blue, 100.0 / 256.0 - 1.0 / 4096.0);
        state.emptied(LAW, Time::from_secs(20));
        assert_eq!(state.blue, 100.0 / 256.0 - 1.0 / 4096.0);
    }

    #[test]
    fn blue_falls_while_a_queue_is_empty() {
        let mut state = CobaltState::default();
        state.overflowed(LAW, Time::from_millis(1000));
        state.resumed(LAW, Time::from_millis(1039));
        assert_eq!(state.blue, BLUE_UP - 7.0 * BLUE_DOWN);
        state.resumed(LAW, Time::from_millis(1040));
        assert_eq!(state.blue, BLUE_UP - 8.0 * BLUE_DOWN);
        state.resumed(LAW, Time::from_secs(2));
        assert_eq!((state.blue, state.count), (0.0, 0));
    }
}
