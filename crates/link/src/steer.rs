//! Delays that somebody else knows: of links whose ends move.

use bentpipe_units::{Span, Time};

/// The delay towards one end of a steered link, as a straight line over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayLaw {
    from: Time,
    delay: Span,
    drift_ps_per_s: i64,
}

/// Picoseconds a second, in nanoseconds a nanosecond.
const DRIFT_UNIT: i64 = 1_000_000_000_000;

impl DelayLaw {
    /// A delay of `delay` at `from` that changes by so many picoseconds a second (negative where ends approach).
    pub const fn new(from: Time, delay: Span, drift_ps_per_s: i64) -> Self {
        Self { from, delay, drift_ps_per_s }
    }

    /// The delay at `at`, before or after the time at which it was given; never below zero. Fractions of a nanosecond are cut off towards the delay given.
    #[inline]
    pub fn delay(&self, at: Time) -> Span {
        let (from, delay) = (self.from.as_nanos() as i64, self.delay.as_nanos() as i64);
        // The product fits for minutes at the speeds of satellites; asked once a packet, while the wide division costs as much as all else of a hop.
        match (at.as_nanos() as i64).wrapping_sub(from).checked_mul(self.drift_ps_per_s) {
            Some(change) => Span::from_nanos(delay.saturating_add(change / DRIFT_UNIT).max(0) as u64),
            None => self.wide(at),
        }
    }

    #[cold]
    fn wide(&self, at: Time) -> Span {
        let away = i128::from(at.as_nanos()) - i128::from(self.from.as_nanos());
        let change = away * i128::from(self.drift_ps_per_s) / i128::from(DRIFT_UNIT);
        let nanos = i128::from(self.delay.as_nanos()) + change;
        Span::from_nanos(nanos.clamp(0, i128::from(u64::MAX)) as u64)
    }
}

/// What leads to one end, and when the last packet reaches it.
type Way = (DelayLaw, Time);

/// Where nobody has steered yet: no delay.
const UNSTEERED: Way = (DelayLaw::new(Time::ZERO, Span::ZERO, 0), Time::ZERO);

/// What leads to each end of a steered link.
#[derive(Debug, Clone)]
pub(crate) struct Ends {
    /// The first end lies in the link itself: most links have one only, and a run waits for memory more than for anything else.
    first: Way,
    others: Vec<Way>,
    count: usize,
}

impl Ends {
    /// No end yet.
    pub const fn new() -> Self {
        Self { first: UNSTEERED, others: Vec::new(), count: 0 }
    }

    /// How many ends there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Steers end `end`; those before it that nobody has steered have no delay until somebody does.
    pub fn steer(&mut self, end: usize, law: DelayLaw) {
        if end >= self.count {
            self.count = end + 1;
            self.others.resize(end, UNSTEERED);
        }
        self.way_mut(end as u32).0 = law;
    }

    #[inline]
    fn way_mut(&mut self, end: u32) -> &mut Way {
        if end == 0 { &mut self.first } else { &mut self.others[end as usize - 1] }
    }

    /// When a packet that leaves the transmitter at `at` reaches `end`. No packet to the same end overtakes another.
    #[inline]
    pub fn arrival(&self, end: u32, at: Time) -> Time {
        let (law, last) = if end == 0 { &self.first } else { &self.others[end as usize - 1] };
        (at + law.delay(at)).max(*last)
    }

    /// A packet will reach `end` at `due`.
    #[inline]
    pub fn sent(&mut self, end: u32, due: Time) {
        self.way_mut(end).1 = due;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_delay_drifts_both_ways_and_stops_at_zero() {
        let law = DelayLaw::new(Time::from_secs(10), Span::from_millis(4), -20_000_000);
        assert_eq!(law.delay(Time::from_secs(10)), Span::from_millis(4));
        assert_eq!(law.delay(Time::from_secs(11)), Span::from_micros(3980));
        assert_eq!(law.delay(Time::from_secs(9)), Span::from_micros(4020));
        assert_eq!(law.delay(Time::from_secs(10_000)), Span::ZERO);
    }

    proptest! {
        #[test]
        fn the_short_way_and_the_wide_one_agree(from in 0u64..1 << 62, at in 0u64..1 << 62, delay in 0u64..1 << 40, drift: i64) {
            let law = DelayLaw::new(Time::from_nanos(from), Span::from_nanos(delay), drift);
            prop_assert_eq!(law.delay(Time::from_nanos(at)), law.wide(Time::from_nanos(at)));
        }
    }
}
