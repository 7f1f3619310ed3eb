//! Windows and buffers as scenarios write them.

use bentpipe_units::Bytes;
use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// The size of a window: from the path, in bytes, or as a multiple of the path's bandwidth-delay
/// product.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Window {
    /// `"auto"`: sized from the path, so that it never limits.
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
                _ => Err(format!("`{text}` is no window; allowed: {ALLOWED}")),
            };
        }
        match text.parse::<Bytes>() {
            Ok(bytes) if bytes.is_zero() => {
                Err(format!("a window of `{text}` lets nothing through; allowed: {ALLOWED}"))
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

/// The flow-control window of a connection: any window, or one that finds its size by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConnectionWindow {
    /// `"tuned"`: follows what arrives.
    Tuned,
    /// As of a stream.
    Given(Window),
}

impl ConnectionWindow {
    /// The window, where it is given; a tuned one never limits either.
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
    fn only_a_connections_window_is_tuned() {
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
    fn a_window_of_nothing_and_one_of_time_are_refused_with_what_is_allowed() {
        for text in ["0 kB", "0 BDP", "-1 BDP", "NaN BDP"] {
            let error = text.parse::<Window>().unwrap_err();
            assert!(error.contains("`auto`") && error.contains("2 BDP"), "{error}");
        }
        assert!("5 ms".parse::<Window>().unwrap_err().contains("GB, MB, kB"));
    }
}
