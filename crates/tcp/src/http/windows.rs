//! Windows of HTTP/2 as programs set them, by name.

use bentpipe_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The windows of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name that stands for it.
    pub name: &'static str,
    /// Window of a stream.
    pub stream_window: Bytes,
    /// Window of the connection.
    pub connection_window: Bytes,
    /// Where the numbers come from.
    pub source: &'static str,
}

/// A client begins with these; `nginx` is a server, which matters for uploads.
static PRESETS: [Preset; 5] = [
    Preset {
        name: "chrome",
        stream_window: Bytes::new(6 << 20),
        connection_window: Bytes::new(15 << 20),
        source: "Chromium net/http/http_network_session.cc: kSpdyStreamMaxRecvWindowSize, kSpdySessionMaxRecvWindowSize",
    },
    Preset {
        name: "firefox",
        stream_window: Bytes::new(12 << 20),
        connection_window: Bytes::new(12 << 20),
        source: "Firefox preference network.http.http2.pull-allowance, to which streams and the connection are raised at once",
    },
    Preset {
        name: "curl",
        stream_window: Bytes::new(10 << 20),
        connection_window: Bytes::new(1000 << 20),
        source: "curl lib/http2.c: H2_STREAM_WINDOW_SIZE_MAX, HTTP2_HUGE_WINDOW_SIZE; the 64 KiB of newer releases, raised at once, are not played",
    },
    Preset {
        name: "nginx",
        stream_window: Bytes::new(64 << 10),
        connection_window: Bytes::new((1 << 31) - 1),
        source: "nginx: default of http2_body_preread_size; NGX_HTTP_V2_MAX_WINDOW",
    },
    Preset {
        name: "rfc",
        stream_window: Bytes::new(65_535),
        connection_window: Bytes::new(65_535),
        source: "RFC 9113 §6.9.2: what holds until somebody says otherwise",
    },
];

/// The windows that have a name.
pub fn presets() -> &'static [Preset] {
    &PRESETS
}

/// Name of a [`Preset`]; `chrome` by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowsName(&'static Preset);

/// A name that no windows have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{name}` is no name of HTTP/2 windows; allowed: {}", WindowsName::all().join(", "))]
pub struct UnknownWindows {
    name: String,
}

impl WindowsName {
    /// Every name there is.
    pub fn all() -> Vec<&'static str> {
        PRESETS.iter().map(|preset| preset.name).collect()
    }

    /// The name.
    pub const fn as_str(self) -> &'static str {
        self.0.name
    }

    /// What it stands for.
    pub const fn preset(self) -> &'static Preset {
        self.0
    }
}

impl Default for WindowsName {
    fn default() -> Self {
        Self(&PRESETS[0])
    }
}

impl FromStr for WindowsName {
    type Err = UnknownWindows;
    fn from_str(text: &str) -> Result<Self, UnknownWindows> {
        PRESETS
            .iter()
            .find(|preset| preset.name == text)
            .map(Self)
            .ok_or_else(|| UnknownWindows { name: text.to_owned() })
    }
}

impl fmt::Display for WindowsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for WindowsName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for WindowsName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for WindowsName {
    fn schema_name() -> Cow<'static, str> {
        "WindowsName".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": Self::all(), "default": Self::default().as_str() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_means_itself_and_others_are_refused_with_those_there_are() {
        for preset in presets() {
            assert_eq!(preset.name.parse::<WindowsName>().unwrap().preset(), preset);
        }
        let error = "lynx".parse::<WindowsName>().unwrap_err().to_string();
        assert!(error.contains("`lynx`") && error.contains("chrome, firefox, curl, nginx, rfc"), "{error}");
    }
}
