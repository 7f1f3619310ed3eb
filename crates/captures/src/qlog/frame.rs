//! Frames, in the words of all drafts and stacks.

use super::measure::{RawSize, number_on_path, size_of};
use crate::event::{Packet, StreamPart};
use crate::json::{FieldValue, FromObject, List, Scalar};
use serde::de::MapAccess;

/// Most frames of a packet that are read, and most ranges of an acknowledgement.
pub const MAX_FRAMES: usize = 4096;
const MAX_RANGES: usize = 4096;

/// A frame.
#[derive(Debug, Clone, Default)]
pub struct RawFrame {
    kind: Scalar,
    stream: Scalar,
    offset: Scalar,
    length: Scalar,
    payload_length: Scalar,
    raw: RawSize,
    ranges: List<List<Scalar, 2>, MAX_RANGES>,
    maximum: Scalar,
    path: Scalar,
}

impl FromObject for RawFrame {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        match key {
            "frame_type" => self.kind = value.get()?,
            "stream_id" | "id" => self.stream = value.get()?,
            "offset" => self.offset = value.get()?,
            "length" => self.length = value.get()?,
            "payload_length" => self.payload_length = value.get()?,
            "raw" => self.raw = value.object()?,
            "acked_ranges" => self.ranges = value.get()?,
            "maximum" => self.maximum = value.get()?,
            "path_id" => self.path = value.get()?,
            _ => {}
        }
        Ok(())
    }
}

impl RawFrame {
    /// Returns the type in small letters; types that are numbers by their name (RFC 9000 §19).
    fn kind(&self) -> String {
        match &self.kind {
            Scalar::Text(name) => name.to_ascii_lowercase(),
            Scalar::Unsigned(number) => match number {
                0x02 | 0x03 => "ack",
                0x08..=0x0f => "stream",
                0x10 => "max_data",
                0x11 => "max_stream_data",
                0x14 => "data_blocked",
                0x15 => "stream_data_blocked",
                0x1e => "handshake_done",
                _ => "",
            }
            .to_owned(),
            _ => String::new(),
        }
    }

    /// Adds what it says to a packet.
    pub fn add_to(&self, packet: &mut Packet) {
        let length = || {
            let raw = &self.raw;
            size_of([&raw.payload_length, &self.length, &self.payload_length, &raw.length])
        };
        match self.kind().as_str() {
            "stream" => {
                packet.data.extend(self.stream.integer().zip(length()).map(|(stream, length)| {
                    StreamPart { stream, offset: self.offset.integer().unwrap_or(0), length }
                }))
            }
            // An ACK frame is of the first path; others say of which (draft-ietf-quic-multipath).
            "ack" => self.add_ranges(0, packet),
            "path_ack" | "path_ack_ecn" | "ack_mp" => {
                self.add_ranges(self.path.integer().unwrap_or_default(), packet);
            }
            "max_data" => packet.max_data = self.maximum.integer(),
            "max_stream_data" => {
                let limit = self.stream.integer().zip(self.maximum.integer());
                packet.max_stream_data.extend(limit);
            }
            "data_blocked" | "stream_data_blocked" => packet.is_blocked = true,
            "handshake_done" => packet.handshake_done = true,
            _ => {}
        }
    }

    fn add_ranges(&self, path: u64, packet: &mut Packet) {
        packet.acknowledged.extend(self.ranges.0.iter().filter_map(|range| {
            let first = range.0.first()?.integer()?;
            let last = range.0.get(1).map_or(Some(first), Scalar::integer)?;
            let number = |number| number_on_path(path, number);
            Some((number(first.min(last)), number(first.max(last))))
        }));
    }
}
