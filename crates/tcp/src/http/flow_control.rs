//! Named presets of HTTP/2 flow-control windows, as set by real programs.

use bentpipe_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// HTTP/2 windows of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowControlPreset {
    /// Name in a scenario.
    pub name: &'static str,
    /// Initial window of a stream.
    pub stream_window: Bytes,
    /// Window of the connection.
    pub connection_window: Bytes,
    /// Source of the numbers.
    pub source: &'static str,
}

/// Receive windows. Those of `nginx` are a server's, which matters for uploads.
static PRESETS: [FlowControlPreset; 5] = [
    FlowControlPreset {
        name: "chrome",
        stream_window: Bytes::new(6 << 20),
        connection_window: Bytes::new(15 << 20),
        source: "Chromium net/http/http_network_session.cc: kSpdyStreamMaxRecvWindowSize, \
            kSpdySessionMaxRecvWindowSize",
    },
    FlowControlPreset {
        name: "firefox",
        stream_window: Bytes::new(12 << 20),
        connection_window: Bytes::new(12 << 20),
        source: "Firefox preference network.http.http2.pull-allowance, to which the connection and \
            each stream are raised as they begin",
    },
    FlowControlPreset {
        name: "curl",
        stream_window: Bytes::new(10 << 20),
        connection_window: Bytes::new(1000 << 20),
        source: "curl lib/http2.c: H2_STREAM_WINDOW_SIZE_MAX, HTTP2_HUGE_WINDOW_SIZE; newer \
            releases begin streams with less",
    },
    FlowControlPreset {
        name: "nginx",
        stream_window: Bytes::new(64 << 10),
        connection_window: Bytes::new((1 << 31) - 1),
        source: "nginx: default of http2_body_preread_size; NGX_HTTP_V2_MAX_WINDOW",
    },
    FlowControlPreset {
        name: "rfc",
        stream_window: Bytes::new(65_535),
        connection_window: Bytes::new(65_535),
        source: "RFC 9113 §6.9.2: the initial values",
    },
];

/// Returns all presets.
pub fn presets() -> &'static [FlowControlPreset] {
    &PRESETS
}

/// Name of a [`FlowControlPreset`]; `chrome` by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowControlPresetName(&'static FlowControlPreset);

/// An unknown preset name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "unknown HTTP/2 flow control preset `{name}`; allowed: {}",
    FlowControlPresetName::all().join(", ")
)]
pub struct UnknownPreset {
    name: String,
}

impl FlowControlPresetName {
    /// Returns all names.
    pub fn all() -> Vec<&'static str> {
        PRESETS.iter().map(|preset| preset.name).collect()
    }

    /// Returns the name.
    pub const fn as_str(self) -> &'static str {
        self.0.name
    }

    /// Returns the preset of this name.
    pub const fn preset(self) -> &'static FlowControlPreset {
        self.0
    }
}

impl Default for FlowControlPresetName {
    fn default() -> Self {
        Self(&PRESETS[0])
    }
}

impl FromStr for FlowControlPresetName {
    type Err = UnknownPreset;
    fn from_str(text: &str) -> Result<Self, UnknownPreset> {
        PRESETS
            .iter()
            .find(|preset| preset.name == text)
            .map(Self)
            .ok_or_else(|| UnknownPreset { name: text.to_owned() })
    }
}

impl fmt::Display for FlowControlPresetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for FlowControlPresetName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FlowControlPresetName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for FlowControlPresetName {
    fn schema_name() -> Cow<'static, str> {
        "WindowsName".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "enum": Self::all(),
            "default": Self::default().as_str()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_and_others_are_rejected_with_the_allowed_ones() {
        for preset in presets() {
            assert_eq!(preset.name.parse::<FlowControlPresetName>().unwrap().preset(), preset);
        }
        let error = "lynx".parse::<FlowControlPresetName>().unwrap_err().to_string();
        assert!(
            error.contains("`lynx`") && error.contains("chrome, firefox, curl, nginx, rfc"),
            "{error}"
        );
    }
}
