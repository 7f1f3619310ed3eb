//! The differentiated services code point of IP packets, as a number or by its name.

use crate::ConfigError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// The differentiated services code point of an IP packet (RFC 2474 §3): 0 to 63, by default 0.
// Of 16 bits, so that a packet, which it is a part of beside the ECN field, has no padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Dscp(u16);

/// Names and code points: class selectors (RFC 2474), assured forwarding (RFC 2597), expedited
/// forwarding (RFC 3246), voice admit (RFC 5865) and lower effort (RFC 8622).
const NAMES: &[(&str, u8)] = &[
    ("CS0", 0),
    ("CS1", 8),
    ("CS2", 16),
    ("CS3", 24),
    ("CS4", 32),
    ("CS5", 40),
    ("CS6", 48),
    ("CS7", 56),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("EF", 46),
    ("VA", 44),
    ("LE", 1),
];

impl Dscp {
    const EXAMPLES: &str = "a name such as \"EF\", \"CS5\", \"AF41\", \"VA\" or \"LE\", or 0 to 63";

    /// The default, CS0.
    pub const BEST_EFFORT: Self = Self(0);

    /// Returns the code point `number`. `None` above 63.
    pub const fn new(number: u8) -> Option<Self> {
        if number < 64 { Some(Self(number as u16)) } else { None }
    }

    /// Returns the code point in the upper six bits of a traffic class octet.
    pub const fn of_traffic_class(octet: u8) -> Self {
        Self((octet >> 2) as u16)
    }

    /// Returns the code point as a number.
    pub const fn get(self) -> u8 {
        self.0 as u8
    }

    fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(_, number)| *number == self.get()).map(|(name, _)| *name)
    }
}

impl FromStr for Dscp {
    type Err = ConfigError;
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let named = NAMES.iter().find(|(name, _)| *name == text).map(|(_, number)| *number);
        named
            .or_else(|| text.parse().ok())
            .and_then(Self::new)
            .ok_or_else(|| ConfigError::refused(text, "is not a DSCP", Self::EXAMPLES))
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => self.get().fmt(f),
        }
    }
}

impl Serialize for Dscp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.name() {
            Some(name) => serializer.serialize_str(name),
            None => serializer.serialize_u8(self.get()),
        }
    }
}

impl<'de> Deserialize<'de> for Dscp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Code;
        impl Visitor<'_> for Code {
            type Value = Dscp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a DSCP: {}", Dscp::EXAMPLES)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Dscp, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Dscp, E> {
                let code = u8::try_from(number).ok().and_then(Dscp::new);
                code.ok_or_else(|| {
                    E::custom(ConfigError::refused(number, "is not a DSCP", Dscp::EXAMPLES))
                })
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Dscp, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
            }
        }
        deserializer.deserialize_any(Code)
    }
}

impl JsonSchema for Dscp {
    fn schema_name() -> Cow<'static, str> {
        "Dscp".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        json_schema!({
            "description": "Differentiated services code point, by its name or as a number",
            "anyOf": [{ "enum": names }, { "type": "integer", "minimum": 0, "maximum": 63 }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_read_and_written() {
        for (text, number, written) in [
            ("EF", 46, "EF"),
            ("46", 46, "EF"),
            ("CS5", 40, "CS5"),
            ("AF41", 34, "AF41"),
            ("VA", 44, "VA"),
            ("63", 63, "63"),
            ("0", 0, "CS0"),
        ] {
            let dscp: Dscp = text.parse().unwrap();
            assert_eq!((dscp.get(), dscp.to_string().as_str()), (number, written), "{text}");
            assert_eq!(written.parse(), Ok(dscp));
            let json = serde_json::to_string(&dscp).unwrap();
            assert_eq!(serde_json::from_str::<Dscp>(&json).unwrap(), dscp, "{json}");
        }
        for text in ["64", "ef", "AF44", "", "-1"] {
            let error = text.parse::<Dscp>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("0 to 63"), "{error}");
        }
        assert!(serde_json::from_str::<Dscp>("64").is_err());
        assert_eq!(Dscp::of_traffic_class(0xb8 | 1).get(), 46);
    }
}
