//! Points in time and spans of time, in nanoseconds.

use crate::parse::{Kind, Unit, quantity};
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::time::Duration;

const SPAN: Kind = Kind {
    name: "span of time",
    example: "600 ms",
    range: "0 to 146 years",
    // 2^62 ns: twice that, and four times a QUIC timeout of it, are far from the largest span.
    most: 4_611_686_018_427_387_904.0,
    units: &[
        Unit { names: &["h"], size: 3.6e12 },
        Unit { names: &["min"], size: 6e10 },
        Unit { names: &["s", "sec"], size: 1e9 },
        Unit { names: &["ms"], size: 1e6 },
        Unit { names: &["us", "µs"], size: 1e3 },
        Unit { names: &["ns"], size: 1.0 },
    ],
};

/// A span of time in nanoseconds, written `"600 ms"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);
quantity!(Span, SPAN, r"^[0-9._]+ ?(h|min|s|sec|ms|us|µs|ns)$");

impl Span {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// The longest span, used for "never" in saturating sums.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns a span of whole nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
    /// Returns a span of whole microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }
    /// Returns a span of whole milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }
    /// Returns a span of whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }
    /// Returns a span of `secs` seconds, rounded to nanoseconds. Negative values and NaN become
    /// zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9).round() as u64)
    }
    /// Returns the span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Returns the span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Returns the span in milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Returns true if the span is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// Returns the difference, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// Returns this span times `factor`, rounded to nanoseconds.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as u64)
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}
impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Duration::from_nanos(span.0)
    }
}
impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        debug_assert!(self.0 >= other.0, "negative span: {self} - {other}");
        self.saturating_sub(other)
    }
}
impl SubAssign for Span {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}
impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}
impl Div<u64> for Span {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

/// A point in time: nanoseconds since the start of the run. Sums saturate at [`Time::MAX`],
/// "never".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Never.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns the point `nanos` nanoseconds after the start of the run.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
    /// Returns the point `millis` milliseconds after the start of the run.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }
    /// Returns the point `secs` seconds after the start of the run.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }
    /// Returns the nanoseconds since the start of the run.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Returns the seconds since the start of the run.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Returns the time elapsed since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
    /// Returns the point `span` earlier, but not before the start of the run.
    pub const fn saturating_sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
    /// Returns the time elapsed since the start of the run.
    pub const fn since_start(self) -> Span {
        Span(self.0)
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.6} s", self.as_secs_f64())
    }
}
impl std::fmt::Debug for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}
impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}
impl Sub<Time> for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        debug_assert!(self.0 >= earlier.0, "time ran backwards: {self} - {earlier}");
        self.since(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spans_are_parsed_as_people_write_them() {
        assert_eq!("600 ms".parse(), Ok(Span::from_millis(600)));
        assert_eq!("26.5ms".parse(), Ok(Span::from_micros(26_500)));
        assert_eq!("2 min".parse(), Ok(Span::from_secs(120)));
        assert_eq!(Span::from_micros(26_500).to_string(), "26.5 ms");
    }

    #[test]
    fn a_span_without_a_unit_names_the_units() {
        let error = "600".parse::<Span>().unwrap_err().to_string();
        assert!(error.contains("no unit") && error.contains("h, min, s, ms, us, ns"), "{error}");
        assert!("-1 ms".parse::<Span>().is_err());
        assert!("ms".parse::<Span>().is_err());
    }

    proptest! {
        #[test]
        fn printed_spans_parse_to_themselves(nanos in 0u64..9_000_000_000_000_000) {
            let span = Span::from_nanos(nanos);
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}
