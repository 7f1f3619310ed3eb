//! ECN of TCP in scenarios.

use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// Which ECN a TCP endpoint negotiates: `false`, `true` or `"accurate"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpEcn {
    /// None.
    Off,
    /// That of RFC 3168.
    Classic,
    /// AccECN (RFC 9768).
    Accurate,
}

const ALLOWED: &str = "true, false or `accurate`";

impl<'de> Deserialize<'de> for TcpEcn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = TcpEcn;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(ALLOWED)
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<TcpEcn, E> {
                Ok(if on { TcpEcn::Classic } else { TcpEcn::Off })
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<TcpEcn, E> {
                match text.trim() {
                    "accurate" => Ok(TcpEcn::Accurate),
                    text => Err(E::custom(format!("`{text}` is no ECN; allowed: {ALLOWED}"))),
                }
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl JsonSchema for TcpEcn {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TcpEcn".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "enum": [true, false, "accurate"] })
    }
}
