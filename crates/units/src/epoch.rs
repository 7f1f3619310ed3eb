//! UTC time, for data that outlives a run: saved paths, tickets, tokens.

use crate::time::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use std::borrow::Cow;
use std::ops::Add;
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// A point in UTC time: milliseconds since 1970-01-01 00:00 UTC, without leap seconds (POSIX
/// time).
///
/// Lifetimes are minutes and hours, and the drafts that carry saved paths count milliseconds
/// (draft-kuhn-quic-bdpframe-extension-05). Sums saturate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(u64);

impl Epoch {
    /// The latest time.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns the point `millis` milliseconds after 1970-01-01 00:00 UTC.
    pub const fn from_unix_millis(millis: u64) -> Self {
        Self(millis)
    }
    /// Returns the point `secs` seconds after 1970-01-01 00:00 UTC.
    pub const fn from_unix_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }
    /// Returns the milliseconds since 1970-01-01 00:00 UTC.
    pub const fn as_unix_millis(self) -> u64 {
        self.0
    }
    /// Returns the time elapsed since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span::from_nanos(self.0.saturating_sub(earlier.0).saturating_mul(1_000_000))
    }
}

/// Times before 1970 become 1970-01-01: a clock that shows one has not been set.
impl From<SystemTime> for Epoch {
    fn from(time: SystemTime) -> Self {
        let passed = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX))
    }
}
impl Add<Span> for Epoch {
    type Output = Self;
    /// Fractions of a millisecond are dropped.
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(whole_millis(span)))
    }
}

const fn whole_millis(span: Span) -> u64 {
    span.as_nanos() / 1_000_000
}

/// Converts a day, counted from 1970-01-01, to a Gregorian year, month and day.
///
/// Years start in March here, so that the leap day is the last of its year. Every era of 400 years
/// has 146,097 days.
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
    /// Formats as RFC 3339: `2026-05-01T12:00:00Z`, or `2026-05-01T12:00:00.042Z` if there are
    /// milliseconds. A precision sets the number of digits after the second, up to three: `{:.0}`
    /// drops them.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (secs, millis) = (self.0 / 1000, self.0 % 1000);
        let (year, month, day) = date(secs / 86_400);
        let (hour, minute, second) = (secs / 3600 % 24, secs / 60 % 60, secs % 60);
        let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        match f.precision().unwrap_or(if millis == 0 { 0 } else { 3 }) {
            0 => {}
            digits => {
                let fraction = format!(".{millis:03}");
                text.push_str(&fraction[..=digits.min(3)]);
            }
        }
        text.push('Z');
        match f.precision() {
            // `pad` would take the precision for the longest text.
            Some(_) => f.write_str(&text),
            None => f.pad(&text),
        }
    }
}
impl std::fmt::Debug for Epoch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// The text is not a point in time.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{text}` is not a time; allowed: UTC in the format of RFC 3339 from 1970 on, such as \
     \"{EXAMPLE}\""
)]
pub struct EpochError {
    text: String,
}

/// Key by which the `toml` crate marks its native date-times.
const TOML_DATETIME: &str = "$__toml_private_datetime";
const EXAMPLE: &str = "2000-01-01T00:00:00Z";

/// Returns the days from the start of 1970 to the first of that month: the inverse of [`date`].
fn day_of(year: u64, month: u64) -> u64 {
    let (year, from_march) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    (365 * year + year / 4 - year / 100 + year / 400 + (153 * from_march + 2) / 5)
        .saturating_sub(719_468)
}

impl std::str::FromStr for Epoch {
    type Err = EpochError;
    /// Parses RFC 3339 in UTC, with fractions of a second to the millisecond.
    fn from_str(text: &str) -> Result<Self, EpochError> {
        parse(text.trim()).ok_or_else(|| EpochError { text: text.to_owned() })
    }
}

fn parse(text: &str) -> Option<Epoch> {
    let (day, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let number = |text: &str, digits: usize| {
        let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        if plain { text.parse::<u64>().ok() } else { None }
    };
    let mut parts = day.split('-');
    let (year, month, of_month) =
        (number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let mut times = clock.split(':');
    let (hour, minute, seconds) =
        (number(times.next()?, 2)?, number(times.next()?, 2)?, times.next()?);
    if parts.next().is_some() || times.next().is_some() {
        return None;
    }
    let (second, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let (second, thousandths) = (number(second, 2)?, number(fraction, fraction.len())?);
    if fraction.is_empty() || fraction.len() > 9 || year < 1970 || !(1..=12).contains(&month) {
        return None;
    }
    let millis = thousandths * 1000 / 10u64.pow(u32::try_from(fraction.len()).ok()?);
    let first = day_of(year, month);
    let next = if month == 12 { day_of(year + 1, 1) } else { day_of(year, month + 1) };
    if of_month == 0 || of_month > next - first || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = (first + of_month - 1) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(Epoch(seconds * 1000 + millis))
}

impl<'de> Deserialize<'de> for Epoch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Epoch;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "a time such as {EXAMPLE}, with or without quotes")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Epoch, E> {
                text.parse().map_err(E::custom)
            }
            /// Returns a native date-time of TOML: serde sees a map of one entry, under a private
            /// key.
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Epoch, A::Error> {
                match map.next_entry::<String, String>()? {
                    Some((key, text)) if key == TOML_DATETIME => {
                        text.parse().map_err(A::Error::custom)
                    }
                    _ => Err(A::Error::invalid_type(de::Unexpected::Map, &self)),
                }
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl JsonSchema for Epoch {
    fn schema_name() -> Cow<'static, str> {
        "Epoch".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time", "examples": [EXAMPLE] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_match_the_calendar() {
        for (secs, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(Epoch::from_unix_secs(secs).to_string(), text);
            assert_eq!(text.parse(), Ok(Epoch::from_unix_secs(secs)));
        }
        assert_eq!("1970-01-01T00:00:01.25Z".parse(), Ok(Epoch::from_unix_millis(1250)));
    }

    #[test]
    fn a_printed_time_keeps_its_milliseconds_unless_a_precision_drops_them() {
        let at = Epoch::from_unix_millis(1_735_689_600_007);
        assert_eq!(at.to_string(), "2025-01-01T00:00:00.007Z");
        assert_eq!(at.to_string().parse(), Ok(at));
        assert_eq!(
            format!("{at:.0} {at:.2} {at:.9}"),
            "2025-01-01T00:00:00Z 2025-01-01T00:00:00.00Z 2025-01-01T00:00:00.007Z"
        );
        assert_eq!(format!("{:.3}", Epoch::default()), "1970-01-01T00:00:00.000Z");
        assert_eq!(format!("{:>22}", Epoch::default()), "  1970-01-01T00:00:00Z");
    }

    #[test]
    fn invalid_times_are_rejected_with_an_example() {
        for text in [
            "",
            "2000-01-01",
            "2000-01-01T00:00:00",
            "2000-1-1T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2000-13-01T00:00:00Z",
            "2000-00-01T00:00:00Z",
            "2000-01-01T24:00:00Z",
            "1969-12-31T23:59:59Z",
            "2000-01-01T00:00:00.Z",
            "2000-01-01T00:00:00:00Z",
            "+200-01-01T00:00:00Z",
        ] {
            let error = text.parse::<Epoch>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains(EXAMPLE), "{error}");
        }
    }

    #[test]
    fn sums_and_printing_do_not_overflow() {
        assert_eq!(Epoch::MAX + Span::from_secs(1), Epoch::MAX);
        assert_eq!(Epoch::MAX.since(Epoch::default()), Span::MAX);
        assert_eq!(Epoch::default().since(Epoch::MAX), Span::ZERO);
        assert!(Epoch::MAX.to_string().ends_with('Z'));
    }

    #[test]
    fn a_clock_before_1970_yields_the_start_of_1970() {
        assert_eq!(Epoch::from(UNIX_EPOCH - std::time::Duration::from_secs(1)), Epoch::default());
        assert_eq!(
            Epoch::from(UNIX_EPOCH + std::time::Duration::from_millis(1500)),
            Epoch::from_unix_millis(1500)
        );
    }
}
