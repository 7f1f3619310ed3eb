//! CoDel's control law (RFC 8289 §5), for one queue or for each of many.

use bentpipe_units::{Span, Time};

/// The parameters of CoDel.
#[derive(Debug, Clone, Copy)]
pub(super) struct ControlLaw {
    pub target: Span,
    pub interval: Span,
}

/// The state of CoDel for one queue, updated with each packet that leaves it.
///
/// The pseudocode of RFC 8289 §5 loops over packets within one dequeue; here the queue loops and
/// calls [`Self::signals`] for each packet. Decisions are the same, except that the drop state ends
/// one packet sooner if the first packet after a drop has not waited too long.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ControlState {
    /// Time at which the sojourn time will have exceeded the target for an interval.
    first_above: Option<Time>,
    /// In the drop state: time of the next drop.
    drop_next: Time,
    /// Drops since the drop state started.
    count: u32,
    /// `count` when the previous drop state ended.
    last_count: u32,
    dropping: bool,
}

impl ControlLaw {
    /// Intervals after a drop state after which a new one has nothing of it (§5).
    const MEMORY: u64 = 16;

    /// Returns how long the state of a queue without packets has a meaning.
    pub fn memory(self) -> Span {
        self.interval * (Self::MEMORY + 1)
    }

    /// Returns the control law (§5): the interval between drops decreases with the square root of
    /// their number.
    pub fn after(self, at: Time, count: u32) -> Time {
        at + Span::from_nanos(
            (self.interval.as_nanos() as f64 / libm::sqrt(f64::from(count))) as u64,
        )
    }
}

impl ControlState {
    /// Records that the queue has become empty.
    pub fn emptied(&mut self) {
        self.first_above = None;
        self.dropping = false;
    }

    /// Counts drops for lack of space, so that the next drop state signals more often.
    pub fn count_overflow(&mut self, drops: u32) {
        self.count = self.count.saturating_add(drops);
    }

    /// Returns true if CoDel drops or marks the packet that leaves the queue at `now` after
    /// `waited`. `few` means that no more than the largest packet is left: then the queue does not
    /// cause the delay.
    #[inline]
    pub fn signals(&mut self, law: ControlLaw, now: Time, waited: Span, few: bool) -> bool {
        if waited < law.target || few {
            self.first_above = None;
            self.dropping = false;
            return false;
        }
        self.signals_late(law, now)
    }

    fn signals_late(&mut self, law: ControlLaw, now: Time) -> bool {
        let late = self.is_late(law, now);
        if self.dropping {
            if !late {
                self.dropping = false;
                return false;
            }
            if now < self.drop_next {
                return false;
            }
            self.count = self.count.saturating_add(1);
            self.drop_next = law.after(self.drop_next, self.count);
            return true;
        }
        if late {
            self.dropping = true;
            // Soon after the last drop state, its drop rate is about right (§5).
            let delta = self.count.saturating_sub(self.last_count);
            let recently = now.since(self.drop_next) < law.interval * ControlLaw::MEMORY;
            self.count = if delta > 1 && recently { delta } else { 1 };
            self.drop_next = law.after(now, self.count);
            self.last_count = self.count;
        }
        late
    }

    /// Returns true if the sojourn time, which now exceeds the target, has done so for an interval
    /// (§5, `dodequeue`).
    fn is_late(&mut self, law: ControlLaw, now: Time) -> bool {
        match self.first_above {
            Some(first_above) => now >= first_above,
            None => {
                self.first_above = Some(now + law.interval);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(target: u64, interval: u64) -> ControlLaw {
        ControlLaw { target: Span::from_millis(target), interval: Span::from_millis(interval) }
    }

    fn signals(state: &mut ControlState, ms: u64, waited: u64, few: bool) -> bool {
        state.signals(law(5, 100), Time::from_millis(ms), Span::from_millis(waited), few)
    }

    #[test]
    fn it_waits_an_interval_and_then_drops_at_shrinking_intervals() {
        // After an interval above target, intervals of 1, 0.707, 0.577, 0.5 … times that; a packet
        // leaves every millisecond.
        for (law, expected) in [
            (law(5, 100), [100, 200, 271, 329, 379, 424]),
            (law(32, 650), [650, 1300, 1760, 2135, 2460, 2751]),
        ] {
            let mut state = ControlState::default();
            let late = Span::from_millis(50);
            let mut drops =
                (0..4000u64).filter(|ms| state.signals(law, Time::from_millis(*ms), late, false));
            assert_eq!([(); 6].map(|()| drops.next().unwrap()), expected);
        }
    }

    #[test]
    fn a_short_wait_ends_the_drop_state() {
        let mut state = ControlState::default();
        assert!((0..=100).any(|ms| signals(&mut state, ms, 50, false)));
        assert!(!signals(&mut state, 101, 4, false));
        assert!((102..=201).all(|ms| !signals(&mut state, ms, 50, false)));
        assert!(signals(&mut state, 202, 50, false));
    }

    #[test]
    fn a_packet_with_at_most_one_behind_it_passes() {
        let mut state = ControlState::default();
        assert!((0..1000).all(|ms| !signals(&mut state, ms, 50, true)));
    }
}
