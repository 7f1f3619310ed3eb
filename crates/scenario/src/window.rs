//! Sizes of windows and buffers in scenarios.

use bentpipe_units::Bytes;
use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// Size of a window: derived from the path, in bytes, or as a multiple of the path's
/// bandwidth-delay product.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Window {
    /// `"auto"`: derived from the path and large enough never to limit.
    #[default]
    Auto,
    /// `"64 kB"`.
    Bytes(Bytes),
    /// `"2 BDP"`.
    Bdp(f64),
}

const ALLOWED: &str = "`auto`, a size above zero such as \"64 kB\", or a multiple of the \
    bandwidth-delay product such as \"2 BDP\"";

impl std::str::FromStr for Window {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "auto" {
            return Ok(Self::Auto);
        }
        if let Some(number) = text.trim().strip_suffix("BDP") {
            return match number.trim_end().parse::<f64>() {
                Ok(factor) if factor > 0.0 && factor <= 1000.0 => Ok(Self::Bdp(factor)),
                _ => Err(format!("`{text}` is not a window size; allowed: {ALLOWED}")),
            };
        }
        match text.parse::<Bytes>() {
            Ok(bytes) if bytes.is_zero() => {
                Err(format!("a window of `{text}` would block all data; allowed: {ALLOWED}"))
            }
            Ok(bytes) => Ok(Self::Bytes(bytes)),
            Err(error) => Err(format!("{error}; or `auto`, or a multiple such as \"2 BDP\"")),
        }
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Window;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(ALLOWED)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Window, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(V)
    }
}

/// Flow-control window of a connection: any [`Window`], or an auto-tuned one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConnectionWindow {
    /// `"tuned"`: follows the delivery rate.
    Tuned,
    /// A fixed window.
    Given(Window),
}

impl ConnectionWindow {
    /// Returns the fixed window, or [`Window::Auto`] if tuned: neither limits.
    pub fn given(self) -> Window {
        match self {
            Self::Tuned => Window::Auto,
            Self::Given(window) => window,
        }
    }
}

impl<'de> Deserialize<'de> for ConnectionWindow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = ConnectionWindow;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "`tuned`, {ALLOWED}")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ConnectionWindow, E> {
                match text.trim() {
                    "tuned" => Ok(ConnectionWindow::Tuned),
                    text => text
                        .parse()
                        .map(ConnectionWindow::Given)
                        .map_err(|error| E::custom(format!("{error}; or `tuned`"))),
                }
            }
        }
        deserializer.deserialize_str(V)
    }
}

impl JsonSchema for ConnectionWindow {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ConnectionWindow".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let given = generator.subschema_for::<Window>();
        schemars::json_schema!({ "anyOf": [{ "const": "tuned" }, given] })
    }
}

impl JsonSchema for Window {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Window".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "\"auto\", a size such as \"64 kB\", or a multiple of the \
                bandwidth-delay product such as \"2 BDP\"",
            "pattern": r"^(auto|[0-9._]+ ?(BDP|GB|MB|kB|KB|GiB|MiB|KiB|B|bytes?))$",
            "examples": ["auto", "64 kB", "2 BDP"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_auto_a_size_or_a_multiple_of_the_bdp() {
        assert_eq!("auto".parse(), Ok(Window::Auto));
        assert_eq!("64 kB".parse(), Ok(Window::Bytes(Bytes::new(64_000))));
        assert_eq!("0.5 BDP".parse(), Ok(Window::Bdp(0.5)));
    }

    #[test]
    fn only_the_window_of_a_connection_can_be_tuned() {
        let read = |text: &str| {
            ConnectionWindow::deserialize(serde::de::value::StrDeserializer::<
                serde::de::value::Error,
            >::new(text))
        };
        assert_eq!(read("tuned"), Ok(ConnectionWindow::Tuned));
        assert_eq!(read("2 BDP"), Ok(ConnectionWindow::Given(Window::Bdp(2.0))));
        assert!(read("0 kB").unwrap_err().to_string().contains("`tuned`"));
        assert!("tuned".parse::<Window>().is_err());
    }

    #[test]
    fn errors_of_wrong_windows_name_the_allowed_values() {
        for text in ["0 kB", "0 BDP", "-1 BDP", "NaN BDP"] {
            let error = text.parse::<Window>().unwrap_err();
            assert!(error.contains("`auto`") && error.contains("2 BDP"), "{error}");
        }
        assert!("5 ms".parse::<Window>().unwrap_err().contains("GB, MB, kB"));
    }
}
