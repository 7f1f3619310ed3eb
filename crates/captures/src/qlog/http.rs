//! Frames of HTTP/3.

use crate::event::HttpMessage;
use crate::http::message;
use crate::json::{FieldValue, FromObject, List, Object, Scalar};
use serde::de::MapAccess;

/// Most fields of a header section that are read.
const MAX_FIELDS: usize = 256;

/// A field of a header section.
#[derive(Debug, Default)]
struct RawField {
    name: Scalar,
    value: Scalar,
}

impl FromObject for RawField {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        match key {
            "name" => self.name = value.get()?,
            "value" => self.value = value.get()?,
            _ => {}
        }
        Ok(())
    }
}

/// A frame.
#[derive(Debug, Default)]
pub struct RawHttpFrame {
    kind: Scalar,
    fields: List<Object<RawField>, MAX_FIELDS>,
}

impl FromObject for RawHttpFrame {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        match key {
            "frame_type" => self.kind = value.get()?,
            "headers" => self.fields = value.get()?,
            _ => {}
        }
        Ok(())
    }
}

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
