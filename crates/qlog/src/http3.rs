//! HTTP/3 frames and streams (RFC 9114; draft-ietf-quic-qlog-h3-events).

use crate::form::Form;
use crate::json::Object;

/// Type of a unidirectional HTTP/3 stream (HTTP3StreamType in h3-events).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Http3StreamType {
    /// Control stream.
    Control,
    /// Push stream.
    Push,
    /// QPACK encoder stream.
    QpackEncode,
    /// QPACK decoder stream.
    QpackDecode,
    /// Any other.
    Unknown,
}

impl Http3StreamType {
    /// Returns the type with this code (RFC 9114 §11.2.4, RFC 9204 §8.2).
    pub fn from_code(code: u64) -> Self {
        match code {
            0x0 => Self::Control,
            0x1 => Self::Push,
            0x2 => Self::QpackEncode,
            0x3 => Self::QpackDecode,
            _ => Self::Unknown,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Push => "push",
            Self::QpackEncode => "qpack_encode",
            Self::QpackDecode => "qpack_decode",
            Self::Unknown => "unknown",
        }
    }
}

/// An HTTP/3 frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Http3Frame<'a> {
    /// Type (RFC 9114 §11.2.1).
    pub kind: u64,
    /// Bytes of the payload.
    pub payload: u64,
    /// Bytes of the frame: type, length and payload.
    pub length: u64,
    /// Identifiers and values of a SETTINGS frame; for other frames that are one integer, that
    /// integer is the first identifier.
    pub integers: &'a [(u64, u64)],
}

impl Http3Frame<'_> {
    fn name(&self) -> &'static str {
        match self.kind {
            0x0 => "data",
            0x1 => "headers",
            0x3 => "cancel_push",
            0x4 => "settings",
            0x5 => "push_promise",
            0x7 => "goaway",
            0xd => "max_push_id",
            kind if is_reserved(kind) => "reserved",
            _ => "unknown",
        }
    }

    /// Writes the frame as an object. Header fields are left out: they are compressed here, and may
    /// be confidential.
    pub(crate) fn write(&self, form: Form, object: &mut Object<'_>) {
        let name = self.name();
        let integer = self.integers.first().map_or(0, |&(id, _)| id);
        object.name("frame_type", name);
        match name {
            "headers" => object.array("headers", [], |_, ()| {}),
            "push_promise" => {
                object.uint("push_id", integer);
                object.array("headers", [], |_, ()| {});
            }
            "cancel_push" | "max_push_id" => object.uint("push_id", integer),
            "goaway" => object.uint("id", integer),
            "settings" => object.array("settings", self.integers, |out, &(id, value)| {
                let mut setting = Object::begin(out);
                setting.name("name", setting_name(id));
                if form == Form::Current {
                    setting.uint("name_bytes", id);
                }
                setting.uint("value", value);
                setting.end();
            }),
            "reserved" | "unknown" => object.uint("frame_type_bytes", self.kind),
            _ => {}
        }
        object.object("raw", |raw| {
            raw.uint("length", self.length);
            raw.uint("payload_length", self.payload);
        });
    }
}

/// Returns the name of a setting (HTTP3SettingsName in h3-events).
fn setting_name(id: u64) -> &'static str {
    match id {
        0x1 => "settings_qpack_max_table_capacity",
        0x6 => "settings_max_field_section_size",
        0x7 => "settings_qpack_blocked_streams",
        0x8 => "settings_enable_connect_protocol",
        0x33 => "settings_h3_datagram",
        id if is_reserved(id) => "reserved",
        _ => "unknown",
    }
}

/// Returns true for types and settings that exercise the requirement to ignore unknown ones
/// (RFC 9114 §7.2.8).
fn is_reserved(code: u64) -> bool {
    code >= 0x21 && (code - 0x21).is_multiple_of(0x1f)
}

/// Writes the values of settings that have a field of their own in HTTP3ParametersSet.
pub(crate) fn parameters(settings: &[(u64, u64)], object: &mut Object<'_>) {
    for &(id, value) in settings {
        match id {
            0x1 => object.uint("max_table_capacity", value),
            0x6 => object.uint("max_field_section_size", value),
            0x7 => object.uint("blocked_streams_count", value),
            0x8 => object.uint("extended_connect", value),
            0x33 => object.uint("h3_datagram", value),
            _ => {}
        }
    }
}
