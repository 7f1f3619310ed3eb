//! Splits `"<number> <unit>"`, and implements serde for all quantities.

use thiserror::Error;

/// The error of a text that is not a quantity. It contains the given text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// The text does not start with a number.
    #[error("`{text}` does not start with a number; write for example `{example}`")]
    NoNumber {
        /// The given text.
        text: String,
        /// A valid text of the same kind.
        example: &'static str,
    },
    /// The number has no unit, or an unknown one.
    #[error("`{text}` has {} for a {kind}; allowed units: {allowed}", unit_phrase(.unit))]
    Unit {
        /// The given text.
        text: String,
        /// The unit found; empty if there is none.
        unit: String,
        /// The expected kind of quantity, for example `rate`.
        kind: &'static str,
        /// The allowed units, comma-separated.
        allowed: String,
    },
    /// The number is negative, not finite, or too large to hold.
    #[error("`{text}` is out of range for a {kind}; allowed: {allowed}")]
    Range {
        /// The given text.
        text: String,
        /// The expected kind of quantity.
        kind: &'static str,
        /// The allowed range in words.
        allowed: &'static str,
    },
}

fn unit_phrase(unit: &str) -> String {
    if unit.is_empty() { "no unit".to_owned() } else { format!("the wrong unit `{unit}`") }
}

/// A unit: its spellings, of which the first is printed, and its size in base units.
pub(crate) struct Unit {
    pub names: &'static [&'static str],
    pub size: f64,
}

/// The units and limits of a kind of quantity.
pub(crate) struct Kind {
    pub name: &'static str,
    pub example: &'static str,
    pub range: &'static str,
    /// Largest value in base units.
    pub most: f64,
    pub units: &'static [Unit],
}

impl Kind {
    fn allowed(&self) -> String {
        let names: Vec<&str> = self.units.iter().map(|unit| unit.names[0]).collect();
        names.join(", ")
    }

    /// Returns the value of `text` in base units, rounded to the nearest integer.
    pub fn parse(&self, text: &str) -> Result<u64, UnitError> {
        let (value, unit) = number_and_unit(text, self.example)?;
        let found =
            self.units.iter().find(|candidate| candidate.names.contains(&unit)).ok_or_else(
                || UnitError::Unit {
                    text: text.to_owned(),
                    unit: unit.to_owned(),
                    kind: self.name,
                    allowed: self.allowed(),
                },
            )?;
        let base = value * found.size;
        if !(0.0..=self.most).contains(&base) {
            return Err(UnitError::Range {
                text: text.to_owned(),
                kind: self.name,
                allowed: self.range,
            });
        }
        // A float cannot represent every integer above 2^53.
        let whole = if found.size == 1.0 { whole_number(text) } else { None };
        Ok(whole.unwrap_or(base.round() as u64))
    }

    /// Prints `base` in the largest unit that keeps it exact within a few decimals, so that parsing
    /// returns `base`.
    pub fn print(&self, base: u64) -> String {
        for unit in self.units {
            if base as f64 >= unit.size && unit.size >= 1.0 {
                let text = format!("{} {}", base as f64 / unit.size, unit.names[0]);
                if text.len() <= 14 && self.parse(&text) == Ok(base) {
                    return text;
                }
            }
        }
        let smallest = self.units.iter().find(|unit| unit.size == 1.0);
        format!("{base} {}", smallest.map_or("", |unit| unit.names[0]))
    }
}

/// Largest value of most quantities: up to 2^53, a float represents every integer.
pub(crate) const EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns the number at the beginning of a text, if it is written as a whole one.
fn whole_number(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if rest.starts_with(['.', '_']) { None } else { digits.parse().ok() }
}

/// Splits a text into the number at its beginning and the unit after it.
pub(crate) fn number_and_unit<'a>(
    text: &'a str,
    example: &'static str,
) -> Result<(f64, &'a str), UnitError> {
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | '_')))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let value = number
        .replace('_', "")
        .parse()
        .map_err(|_| UnitError::NoNumber { text: text.to_owned(), example })?;
    Ok((value, unit.trim()))
}

/// Implements serde for a type that is written and read as text. Errors use `$kind` and `$example`.
macro_rules! as_text {
    ($type:ident, $kind:expr, $example:expr) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(f, "a {} such as \"{}\"", $kind, $example)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }
    };
}
pub(crate) use as_text;

/// Implements `FromStr`, `Display`, `Debug`, serde and JSON Schema for a `u64` newtype with a
/// [`Kind`].
macro_rules! quantity {
    ($type:ident, $kind:expr, $pattern:literal) => {
        impl std::str::FromStr for $type {
            type Err = $crate::UnitError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $kind.parse(text).map(Self)
            }
        }
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&$kind.print(self.0))
            }
        }
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$kind.print(self.0))
            }
        }
        $crate::parse::as_text!($type, $kind.name, $kind.example);
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "description": format!("A {} such as \"{}\"", $kind.name, $kind.example),
                    "pattern": $pattern,
                    "examples": [$kind.example],
                })
            }
        }
    };
}
pub(crate) use quantity;
