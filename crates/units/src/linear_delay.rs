//! Delays that change linearly with time, such as the propagation delay of a link whose ends move.

use crate::{Span, Time};

/// A delay as a linear function of time: its value at one instant and its rate of change.
///
/// Links between satellites and stations use it. Within a step of 100 ms, the distance deviates
/// from a straight line by less than a centimetre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinearDelay {
    from: Time,
    delay: Span,
    drift_ps_per_s: i64,
}

/// Picoseconds in a second: converts a drift in ps/s times nanoseconds into nanoseconds.
const PICOS_PER_SECOND: i64 = 1_000_000_000_000;

impl LinearDelay {
    /// Returns a delay of `delay` at `from` that changes by `drift_ps_per_s` picoseconds per
    /// second.
    ///
    /// The drift is negative while the ends approach. On a bent pipe it reaches 84 million ps/s.
    pub const fn new(from: Time, delay: Span, drift_ps_per_s: i64) -> Self {
        Self { from, delay, drift_ps_per_s }
    }

    /// Returns a delay that never changes.
    pub const fn constant(delay: Span) -> Self {
        Self::new(Time::ZERO, delay, 0)
    }

    /// Returns the instant at which [`Self::delay`] holds.
    pub const fn from(&self) -> Time {
        self.from
    }

    /// Returns the delay at [`Self::from`].
    pub const fn delay(&self) -> Span {
        self.delay
    }

    /// Returns the change of the delay in picoseconds per second.
    pub const fn drift_ps_per_s(&self) -> i64 {
        self.drift_ps_per_s
    }

    /// Returns the delay at `at`, which may lie before or after [`Self::from`]. Never below zero.
    ///
    /// The change is truncated to whole nanoseconds towards zero.
    #[inline]
    pub fn at(&self, at: Time) -> Span {
        let (from, delay) = (self.from.as_nanos() as i64, self.delay.as_nanos() as i64);
        // The 64-bit product fits for minutes at satellite speeds. A simulation evaluates this once
        // per packet, and the 128-bit division costs as much as the rest of a hop.
        match (at.as_nanos() as i64).wrapping_sub(from).checked_mul(self.drift_ps_per_s) {
            Some(change) => {
                Span::from_nanos(delay.saturating_add(change / PICOS_PER_SECOND).max(0) as u64)
            }
            None => self.at_wide(at),
        }
    }

    #[cold]
    fn at_wide(&self, at: Time) -> Span {
        let away = i128::from(at.as_nanos()) - i128::from(self.from.as_nanos());
        let change = away * i128::from(self.drift_ps_per_s) / i128::from(PICOS_PER_SECOND);
        let nanos = i128::from(self.delay.as_nanos()) + change;
        Span::from_nanos(nanos.clamp(0, i128::from(u64::MAX)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_delay_drifts_in_both_directions_and_stops_at_zero() {
        let delay = LinearDelay::new(Time::from_secs(10), Span::from_millis(4), -20_000_000);
        assert_eq!(delay.at(Time::from_secs(10)), Span::from_millis(4));
        assert_eq!(delay.at(Time::from_secs(11)), Span::from_micros(3980));
        assert_eq!(delay.at(Time::from_secs(9)), Span::from_micros(4020));
        assert_eq!(delay.at(Time::from_secs(10_000)), Span::ZERO);
    }

    proptest! {
        #[test]
        fn narrow_and_wide_arithmetic_agree(
            from in 0u64..1 << 62, at in 0u64..1 << 62, delay in 0u64..1 << 40, drift: i64,
        ) {
            let delay = LinearDelay::new(Time::from_nanos(from), Span::from_nanos(delay), drift);
            prop_assert_eq!(delay.at(Time::from_nanos(at)), delay.at_wide(Time::from_nanos(at)));
        }
    }
}
