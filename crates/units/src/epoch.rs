//! Wall time, for what outlives a run: saved paths, tickets, tokens.

use crate::time::Span;
use std::ops::Add;
use std::time::{SystemTime, UNIX_EPOCH};

/// A point in wall time: milliseconds since the beginning of 1970, UTC, leap seconds not counted (POSIX time).
///
/// Milliseconds, because lifetimes are minutes and hours, and because the drafts that carry saved paths count so
/// (draft-kuhn-quic-bdpframe-extension-05). Sums saturate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(u64);

impl Epoch {
    /// Later than everything.
    pub const MAX: Self = Self(u64::MAX);

    /// The point `millis` milliseconds after 1970 began.
    pub const fn from_unix_millis(millis: u64) -> Self {
        Self(millis)
    }
    /// The point `secs` seconds after 1970 began.
    pub const fn from_unix_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }
    /// Milliseconds since 1970 began.
    pub const fn as_unix_millis(self) -> u64 {
        self.0
    }
    /// Time passed since `earlier`, zero where `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span::from_nanos(self.0.saturating_sub(earlier.0).saturating_mul(1_000_000))
    }
}

/// Times before 1970 become its beginning: a clock that says so is not set.
impl From<SystemTime> for Epoch {
    fn from(time: SystemTime) -> Self {
        let passed = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX))
    }
}
impl Add<Span> for Epoch {
    type Output = Self;
    /// Parts of a millisecond are dropped.
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(whole_millis(span)))
    }
}

const fn whole_millis(span: Span) -> u64 {
    span.as_nanos() / 1_000_000
}

/// The Gregorian date of a day counted from 1970: year, month, day. Counted in years that begin in March, so that the
/// leap day is a year's last, and in eras of 400 years, which all have 146,097 days.
fn date(day: u64) -> (u64, u64, u64) {
    let from_march = day + 719_468;
    let (era, of_era) = (from_march / 146_097, from_march % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

impl std::fmt::Display for Epoch {
    /// As RFC 3339 has it, to the second: `2026-05-01T12:00:00Z`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let secs = self.0 / 1000;
        let (year, month, day) = date(secs / 86_400);
        let (hour, minute, second) = (secs / 3600 % 24, secs / 60 % 60, secs % 60);
        f.pad(&format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
    }
}
impl std::fmt::Debug for Epoch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self} + {} ms", self.0 % 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (secs, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(Epoch::from_unix_secs(secs).to_string(), text);
        }
    }

    #[test]
    fn no_sum_and_no_print_overflows() {
        assert_eq!(Epoch::MAX + Span::from_secs(1), Epoch::MAX);
        assert_eq!(Epoch::MAX.since(Epoch::default()), Span::MAX);
        assert_eq!(Epoch::default().since(Epoch::MAX), Span::ZERO);
        assert!(Epoch::MAX.to_string().ends_with('Z'));
    }

    #[test]
    fn a_clock_before_1970_says_the_beginning() {
        assert_eq!(Epoch::from(UNIX_EPOCH - std::time::Duration::from_secs(1)), Epoch::default());
        assert_eq!(Epoch::from(UNIX_EPOCH + std::time::Duration::from_millis(1500)), Epoch::from_unix_millis(1500));
    }
}
