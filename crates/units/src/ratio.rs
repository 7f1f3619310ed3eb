//! Fractions of a whole.

use crate::UnitError;
use serde::de::{self, Deserializer, Visitor};

/// A fraction from 0 to 1, written `0.001` or `"0.1 %"`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Ratio(f64);

const RANGE: &str = "0 to 1, or \"0 %\" to \"100 %\"";

impl Ratio {
    /// Zero.
    pub const ZERO: Self = Self(0.0);
    /// One.
    pub const ONE: Self = Self(1.0);

    /// Creates a ratio of `value`.
    ///
    /// # Errors
    /// `value` is below 0, above 1, or not a number.
    pub fn new(value: f64) -> Result<Self, UnitError> {
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(UnitError::Range { text: value.to_string(), kind: "ratio", allowed: RANGE })
        }
    }
    /// Returns the ratio as a number from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }
    /// Returns true if the ratio is zero.
    pub fn is_zero(self) -> bool {
        self.0 == 0.0
    }
}

impl std::str::FromStr for Ratio {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let trimmed = text.trim();
        let (number, scale) = match trimmed.strip_suffix('%') {
            Some(number) => (number.trim_end(), 100.0),
            None => (trimmed, 1.0),
        };
        let value: f64 = number
            .parse()
            .map_err(|_| UnitError::NoNumber { text: text.to_owned(), example: "0.1 %" })?;
        Self::new(value / scale).map_err(|_| UnitError::Range {
            text: text.to_owned(),
            kind: "ratio",
            allowed: RANGE,
        })
    }
}
impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0.to_string())
    }
}
impl std::fmt::Debug for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}
impl serde::Serialize for Ratio {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}
impl<'de> serde::Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Ratio;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "a ratio such as 0.001 or \"0.1 %\"")
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Ratio, E> {
                Ratio::new(value).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Ratio, E> {
                self.visit_f64(value as f64)
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Ratio, E> {
                self.visit_f64(value as f64)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Ratio, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(V)
    }
}
impl schemars::JsonSchema for Ratio {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ratio".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A fraction such as 0.001 or \"0.1 %\"",
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": r"^[0-9.]+ ?%$" },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_a_number_or_a_percentage() {
        assert_eq!("0.1 %".parse::<Ratio>().unwrap().get(), 0.001);
        assert_eq!(serde_json::from_str::<Ratio>("0.25").unwrap().get(), 0.25);
        assert_eq!(serde_json::from_str::<Ratio>("\"25 %\"").unwrap().get(), 0.25);
    }

    #[test]
    fn a_ratio_above_one_is_rejected_with_its_value() {
        let error = serde_json::from_str::<Ratio>("1.5").unwrap_err().to_string();
        assert!(error.contains("1.5") && error.contains("0 to 1"), "{error}");
        assert!(Ratio::new(f64::NAN).is_err());
    }
}
