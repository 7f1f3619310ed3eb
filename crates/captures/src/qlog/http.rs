//! Frames of HTTP/3.

use crate::event::HttpMessage;
use crate::http::message;
use crate::json::{List, Object, Scalar, from_object};

/// Most fields of a header section that are read.
const MAX_FIELDS: usize = 256;

/// A field of a header section.
#[derive(Debug, Default)]
struct RawField {
    name: Scalar,
    value: Scalar,
}

from_object!(RawField {
    "name" => name: get,
    "value" => value: get,
});

/// A frame.
#[derive(Debug, Default)]
pub struct RawHttpFrame {
    kind: Scalar,
    fields: List<Object<RawField>, MAX_FIELDS>,
}

from_object!(RawHttpFrame {
    "frame_type" => kind: get,
    "headers" => fields: get,
});

impl RawHttpFrame {
    /// Returns the request or response that begins with this frame, if it is HEADERS.
    pub fn message(&self, stream: u64, is_sent: bool) -> Option<HttpMessage> {
        self.kind.text().filter(|kind| kind.eq_ignore_ascii_case("headers"))?;
        let fields = self.fields.0.iter().map(|field| (&field.0.name, &field.0.value));
        Some(message(
            stream,
            is_sent,
            fields.filter_map(|(name, value)| Some((name.text()?, value))),
        ))
    }
}
