//! Idle timeouts in scenarios.

use bentpipe_units::Span;
use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer};

/// Idle time after which a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdleTimeout {
    /// `"auto"`: at least 60 s, and longer on a path with long gaps or a long RTT.
    #[default]
    Auto,
    /// `"none"`: it never ends for that.
    None,
    /// `"30 s"`.
    After(Span),
}

const ALLOWED: &str = "`auto`, `none`, or a time above zero such as \"30 s\"";

impl std::str::FromStr for IdleTimeout {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            text => match text.parse::<Span>() {
                Ok(span) if span < Span::from_millis(1) => {
                    Err(format!("`{text}` is not an idle timeout; allowed: {ALLOWED}"))
                }
                Ok(span) => Ok(Self::After(span)),
                Err(error) => Err(format!("{error}; or `auto`, or `none`")),
            },
        }
    }
}

impl<'de> Deserialize<'de> for IdleTimeout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for IdleTimeout {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "IdleTimeout".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let span = generator.subschema_for::<Span>();
        schemars::json_schema!({ "anyOf": [{ "enum": ["auto", "none"] }, span] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_timeout_is_auto_none_or_a_time() {
        assert_eq!("auto".parse(), Ok(IdleTimeout::Auto));
        assert_eq!("none".parse(), Ok(IdleTimeout::None));
        assert_eq!("2 h".parse(), Ok(IdleTimeout::After(Span::from_secs(7200))));
        // RFC 9000 §18.2: milliseconds, and zero disables it.
        for text in ["0 s", "10 us", "soon"] {
            let error = text.parse::<IdleTimeout>().unwrap_err();
            assert!(error.contains("`none`"), "{error}");
        }
    }
}
