//! Frames, in the words of all drafts and stacks.

use super::measure::{RawSize, number_on_path, size_of, span};
use crate::event::{EcnCounts, Packet, StreamEnd, StreamPart};
use crate::json::{List, Scalar, from_object, skip_scalars};
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// Most frames of a packet that are read, and most ranges that it acknowledges.
pub const MAX_FRAMES: usize = 4096;
const MAX_RANGES: usize = 4096;

/// Frames that call for no acknowledgement (RFC 9002 §2), and those without a type.
const NOT_ELICITING: [&str; 7] =
    ["", "padding", "ack", "path_ack", "path_ack_ecn", "ack_mp", "connection_close"];

/// A range of packet numbers: a list of the first and the last, or of one number.
#[derive(Debug, Clone, Default)]
struct RawRange([Option<u64>; 2]);

impl<'de> Deserialize<'de> for RawRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ends;
        impl<'de> Visitor<'de> for Ends {
            type Value = RawRange;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of two numbers")
            }
            skip_scalars!(RawRange::default());
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RawRange, A::Error> {
                let mut ends = [None, None];
                for end in &mut ends {
                    match seq.next_element::<Scalar>()? {
                        Some(number) => *end = number.integer(),
                        None => return Ok(RawRange([ends[0], ends[0]])),
                    }
                }
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(RawRange(ends))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawRange, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(RawRange::default())
            }
        }
        deserializer.deserialize_any(Ends)
    }
}

/// A frame.
#[derive(Debug, Clone, Default)]
pub struct RawFrame {
    kind: Scalar,
    stream: Scalar,
    offset: Scalar,
    length: Scalar,
    payload_length: Scalar,
    raw: RawSize,
    ranges: List<RawRange, MAX_RANGES>,
    maximum: Scalar,
    path: Scalar,
    fin: Scalar,
    ack_delay: Scalar,
    /// Counts of ECT(0), ECT(1) and CE.
    ecn: [Scalar; 3],
}

from_object!(RawFrame {
    "frame_type" => kind: get,
    "stream_id" | "id" => stream: get,
    "offset" => offset: get,
    "length" => length: get,
    "payload_length" => payload_length: get,
    "raw" => raw: object,
    "acked_ranges" => ranges: get,
    "maximum" => maximum: get,
    "path_id" => path: get,
    "fin" => fin: get,
    "ack_delay" => ack_delay: get,
    "ect0" => ecn[0]: get,
    "ect1" => ecn[1]: get,
    "ce" => ecn[2]: get,
});

impl RawFrame {
    /// Returns the type in small letters; types that are numbers by their name (RFC 9000 §19).
    fn kind(&self) -> String {
        match &self.kind {
            Scalar::Text(name) => name.to_ascii_lowercase(),
            Scalar::Unsigned(number) => match number {
                0x00 => "padding",
                0x01 => "ping",
                0x02 | 0x03 => "ack",
                0x04 => "reset_stream",
                0x05 => "stop_sending",
                0x08..=0x0f => "stream",
                0x10 => "max_data",
                0x11 => "max_stream_data",
                0x14 => "data_blocked",
                0x15 => "stream_data_blocked",
                0x1c | 0x1d => "connection_close",
                0x1e => "handshake_done",
                _ => "",
            }
            .to_owned(),
            _ => String::new(),
        }
    }

    /// Adds what it says to a packet. Times are in units of so many seconds.
    pub fn add_to(&self, packet: &mut Packet, unit: f64) {
        let kind = self.kind();
        packet.is_eliciting |= !NOT_ELICITING.contains(&kind.as_str());
        match kind.as_str() {
            "stream" => self.add_data(packet),
            // An ACK frame is of the first path; others say of which (draft-ietf-quic-multipath).
            "ack" => self.add_ranges(0, packet, unit),
            "path_ack" | "path_ack_ecn" | "ack_mp" => {
                self.add_ranges(self.path.integer().unwrap_or_default(), packet, unit);
            }
            "reset_stream" | "reset_stream_at" => self.add_end(StreamEnd::Reset, packet),
            "stop_sending" => self.add_end(StreamEnd::Stopped, packet),
            "max_data" => packet.max_data = self.maximum.integer(),
            "max_stream_data" => {
                let limit = self.stream.integer().zip(self.maximum.integer());
                packet.details.max_stream_data.extend(limit);
            }
            "data_blocked" | "stream_data_blocked" => packet.is_blocked = true,
            "handshake_done" => packet.handshake_done = true,
            _ => {}
        }
    }

    fn add_data(&self, packet: &mut Packet) {
        let raw = &self.raw;
        let length =
            size_of([&raw.payload_length, &self.length, &self.payload_length, &raw.length]);
        packet.data.extend(self.stream.integer().zip(length).map(|(stream, length)| StreamPart {
            stream,
            offset: self.offset.integer().unwrap_or(0),
            length,
        }));
        if self.fin.is_true() {
            self.add_end(StreamEnd::Fin, packet);
        }
    }

    fn add_end(&self, end: StreamEnd, packet: &mut Packet) {
        packet.details.stream_ends.extend(self.stream.integer().map(|stream| (stream, end)));
    }

    fn add_ranges(&self, path: u64, packet: &mut Packet, unit: f64) {
        let ranges = self.ranges.0.iter().filter_map(|range| {
            let (first, last) = (range.0[0]?, range.0[1]?);
            let number = |number| number_on_path(path, number);
            Some((number(first.min(last)), number(first.max(last))))
        });
        let room = MAX_RANGES.saturating_sub(packet.acknowledged.len());
        packet.acknowledged.extend(ranges.take(room));
        packet.details.ack_delay = span(&self.ack_delay, unit).or(packet.details.ack_delay);
        packet.details.ecn =
            EcnCounts::of(self.ecn.each_ref().map(Scalar::integer)).or(packet.details.ecn);
    }
}
