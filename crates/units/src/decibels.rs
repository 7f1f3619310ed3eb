//! Power ratios in decibels, and their rates of change.

use crate::UnitError;
use crate::parse::{as_text, number_and_unit};

/// Bound that catches typing errors, since nothing on a satellite path exceeds 300 dB.
const MOST: f64 = 300.0;
const RANGE: &str = "-300 to 300";

/// Parses a number followed by `unit`.
fn parse(
    text: &str,
    unit: &'static str,
    kind: &'static str,
    example: &'static str,
) -> Result<f64, UnitError> {
    let (value, found) = number_and_unit(text, example)?;
    if found != unit {
        let (text, unit, allowed) = (text.to_owned(), found.to_owned(), unit.to_owned());
        return Err(UnitError::Unit { text, unit, kind, allowed });
    }
    if !(-MOST..=MOST).contains(&value) {
        return Err(UnitError::Range { text: text.to_owned(), kind, allowed: RANGE });
    }
    Ok(value)
}

/// Implements text, serde and JSON Schema for an `f64` newtype with a unit.
macro_rules! level {
    ($type:ident, $unit:literal, $kind:literal, $example:literal) => {
        impl std::str::FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                parse(text, $unit, $kind, $example).map(Self)
            }
        }
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&format!("{} {}", self.0, $unit))
            }
        }
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
        as_text!($type, $kind, $example);
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "description": format!("A {} such as \"{}\"", $kind, $example),
                    "pattern": concat!("^[-+]?[0-9._]+ ?", $unit, "$"),
                    "examples": [$example],
                })
            }
        }
    };
}

/// A power ratio in decibels, written `"0.5 dB"`. Range: -300 dB to 300 dB.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Decibels(f64);
level!(Decibels, "dB", "ratio in decibels", "0.5 dB");

/// Rate of change of a power ratio, in decibels per second, written `"0.5 dB/s"`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct DecibelSlope(f64);
level!(DecibelSlope, "dB/s", "slope in decibels per second", "0.5 dB/s");

impl Decibels {
    /// A ratio of one.
    pub const ZERO: Self = Self(0.0);

    /// Creates a ratio of `db` decibels.
    ///
    /// # Errors
    /// `db` is not a number, or lies outside -300 dB to 300 dB.
    pub fn new(db: f64) -> Result<Self, UnitError> {
        if (-MOST..=MOST).contains(&db) {
            return Ok(Self(db));
        }
        Err(UnitError::Range {
            text: format!("{db} dB"),
            kind: "ratio in decibels",
            allowed: RANGE,
        })
    }
    /// Returns the number of decibels.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl DecibelSlope {
    /// Returns the slope in decibels per second.
    pub const fn get(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decibels_are_parsed_as_people_write_them() {
        assert_eq!("-2.35 dB".parse(), Decibels::new(-2.35));
        assert_eq!("0.5 dB".parse::<Decibels>().map(|db| db.to_string()), Ok("0.5 dB".to_owned()));
        assert_eq!("1 dB/s".parse::<DecibelSlope>().map(DecibelSlope::get), Ok(1.0));
    }

    #[test]
    fn invalid_levels_are_rejected_with_their_unit() {
        for (text, word) in
            [("3", "no unit"), ("3 dBm", "`dBm`"), ("1e3 dB", "e3 dB"), ("400 dB", "-300 to 300")]
        {
            let error = text.parse::<Decibels>().unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        assert!("1 dB".parse::<DecibelSlope>().is_err());
        assert!(Decibels::new(f64::NAN).is_err());
    }
}
