//! The JSON of events, in the forms of all drafts. Whatever has another form is left out.

use crate::event::{Event, Metrics, Packet, StreamPart};
use bentpipe_units::Bytes;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// Largest packet, and so the most data of a frame, in bytes (RFC 768). The account and the
/// simulation take as long as the data that a file names, so that it must not name any amount.
const MAX_PACKET: u64 = 65_535;

/// A number, written as number or as text; a text; or something else.
#[derive(Debug, Clone, Default)]
pub enum Scalar {
    Unsigned(u64),
    Float(f64),
    Text(String),
    #[default]
    Other,
}

impl Scalar {
    pub fn integer(&self) -> Option<u64> {
        match self {
            Self::Unsigned(value) => Some(*value),
            // Integers in floats are exact up to 2^53.
            Self::Float(value) if (0.0..9e15).contains(value) => Some(*value as u64),
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub fn float(&self) -> Option<f64> {
        let value = match self {
            Self::Unsigned(value) => *value as f64,
            Self::Float(value) => *value,
            Self::Text(text) => text.parse().ok()?,
            _ => return None,
        };
        value.is_finite().then_some(value)
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
                Ok(Scalar::Unsigned(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar::Float(value as f64))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
                Ok(Scalar::Float(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(value.to_owned()))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
                Ok(Scalar::Other)
            }
            fn visit_unit<E>(self) -> Result<Scalar, E> {
                Ok(Scalar::Other)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Scalar::Other)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Scalar::Other)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// An object of type `T`, or the default if it is something else.
#[derive(Debug, Clone, Default)]
pub struct Lenient<T>(pub T);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for Any<T> {
            type Value = Lenient<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Lenient::default())
            }
            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Lenient::default())
            }
            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Lenient::default())
            }
            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(Lenient::default())
            }
            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Lenient::default())
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Lenient::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                T::deserialize(serde::de::value::SeqAccessDeserializer::new(seq)).map(Lenient)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Lenient)
            }
        }
        deserializer.deserialize_any(Any(PhantomData))
    }
}

/// Sizes of a packet or frame.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RawSize {
    pub length: Scalar,
    pub payload_length: Scalar,
}

/// The header of a packet.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RawHeader {
    pub packet_type: Scalar,
    pub packet_number: Scalar,
    pub packet_size: Scalar,
}

/// A frame.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RawFrame {
    pub frame_type: Scalar,
    #[serde(alias = "id")]
    pub stream_id: Scalar,
    pub offset: Scalar,
    pub length: Scalar,
    pub payload_length: Scalar,
    pub raw: Lenient<RawSize>,
    pub acked_ranges: Vec<Vec<Scalar>>,
    pub maximum: Scalar,
}

/// The data of an event: the fields of all kinds of events that matter.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RawData {
    pub header: Lenient<RawHeader>,
    pub raw: Lenient<RawSize>,
    pub packet_type: Scalar,
    pub packet_number: Scalar,
    pub packet_size: Scalar,
    pub frames: Option<Vec<Lenient<RawFrame>>>,
    #[serde(alias = "cwnd")]
    pub congestion_window: Scalar,
    pub bytes_in_flight: Scalar,
    pub ssthresh: Scalar,
    pub new: Scalar,
    #[serde(alias = "owner")]
    pub initiator: Scalar,
    pub initial_max_data: Scalar,
    pub initial_max_stream_data_bidi_local: Scalar,
    pub initial_max_stream_data_bidi_remote: Scalar,
    pub initial_max_stream_data_uni: Scalar,
}

/// An event: an object with names, or an array of time, category, name and data.
#[derive(Debug, Clone, Default)]
pub struct RawEvent {
    pub time: Scalar,
    /// With or without the category, as in `transport:packet_sent`.
    pub name: String,
    pub data: RawData,
}

impl<'de> Deserialize<'de> for RawEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = RawEvent;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an event as object or array")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RawEvent, A::Error> {
                let time = seq.next_element()?.unwrap_or_default();
                seq.next_element::<IgnoredAny>()?;
                let name: Scalar = seq.next_element()?.unwrap_or_default();
                let data: Lenient<RawData> = seq.next_element()?.unwrap_or_default();
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                let name = name.text().unwrap_or_default().to_owned();
                Ok(RawEvent { time, name, data: data.0 })
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawEvent, A::Error> {
                let mut event = RawEvent::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "time" | "relative_time" => event.time = map.next_value()?,
                        "name" | "event" | "event_type" => {
                            let name: Scalar = map.next_value()?;
                            event.name = name.text().unwrap_or_default().to_owned();
                        }
                        "data" => event.data = map.next_value::<Lenient<RawData>>()?.0,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(event)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl RawEvent {
    /// Returns the event, if it is one that matters.
    fn into_event(self) -> Option<Event> {
        let Self { name, data, .. } = self;
        let name = name.rsplit(':').next().unwrap_or_default();
        match name {
            "packet_sent" => Some(Event::Sent(data.into_packet()?)),
            "packet_received" => Some(Event::Received(data.into_packet()?)),
            "packet_lost" => {
                let packet = data.into_packet()?;
                packet.is_application.then_some(Event::Lost(packet.number))
            }
            "metrics_updated" | "recovery_metrics_updated" | "metric_update" => {
                let bytes = |value: &Scalar| value.integer().map(Bytes::new);
                let metrics = Metrics {
                    window: bytes(&data.congestion_window),
                    in_flight: bytes(&data.bytes_in_flight),
                    ssthresh: bytes(&data.ssthresh),
                };
                (metrics != Metrics::default()).then_some(Event::Metrics(metrics))
            }
            "congestion_state_updated" => Some(Event::State(data.new.text()?.to_ascii_lowercase())),
            "parameters_set" if data.initiator.text() == Some("remote") => {
                let streams = [
                    &data.initial_max_stream_data_bidi_local,
                    &data.initial_max_stream_data_bidi_remote,
                    &data.initial_max_stream_data_uni,
                ];
                let stream = streams.into_iter().filter_map(Scalar::integer).max()?;
                Some(Event::PeerLimits { connection: data.initial_max_data.integer()?, stream })
            }
            _ => None,
        }
    }
}

impl RawData {
    /// Returns the packet of an event; `None` without a number, as for Retry.
    fn into_packet(self) -> Option<Packet> {
        let header = self.header.0;
        let number = header.packet_number.integer().or_else(|| self.packet_number.integer())?;
        let kind = header.packet_type.text().or_else(|| self.packet_type.text());
        let mut packet = Packet {
            is_application: kind.is_none_or(|kind| kind.to_ascii_lowercase().contains("rtt")),
            number,
            ..Packet::default()
        };
        for frame in self.frames.unwrap_or_default() {
            frame.0.add_to(&mut packet);
        }
        let sizes = [&self.raw.0.length, &header.packet_size, &self.packet_size];
        // Without a size: the stream data, a short header and the tag.
        packet.bytes = size_of(sizes).unwrap_or_else(|| packet.stream_bytes() + 40);
        Some(packet)
    }
}

/// Returns the first of `numbers` that is one, unless no packet has this size.
fn size_of<const N: usize>(numbers: [&Scalar; N]) -> Option<u64> {
    numbers.into_iter().find_map(Scalar::integer).filter(|size| *size <= MAX_PACKET)
}

impl RawFrame {
    fn add_to(&self, packet: &mut Packet) {
        let length = || {
            let raw = &self.raw.0;
            size_of([&raw.payload_length, &self.length, &self.payload_length, &raw.length])
        };
        match self.frame_type.text().unwrap_or_default() {
            "stream" => packet.data.extend(self.stream_id.integer().zip(length()).map(
                |(stream, length)| StreamPart {
                    stream,
                    offset: self.offset.integer().unwrap_or(0),
                    length,
                },
            )),
            "ack" => {
                let ranges = self.acked_ranges.iter().filter_map(|range| {
                    let first = range.first()?.integer()?;
                    let last = range.get(1).map_or(Some(first), Scalar::integer)?;
                    (first <= last).then_some((first, last))
                });
                packet.acknowledged.extend(ranges);
            }
            "max_data" => packet.max_data = self.maximum.integer(),
            "max_stream_data" => {
                let limit = self.stream_id.integer().zip(self.maximum.integer());
                packet.max_stream_data.extend(limit);
            }
            "data_blocked" | "stream_data_blocked" => packet.is_blocked = true,
            "handshake_done" => packet.handshake_done = true,
            _ => {}
        }
    }
}

/// Fields that all events of a trace share.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RawCommon {
    pub time_format: Scalar,
}

/// Units of times in old drafts.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RawConfiguration {
    pub time_units: Scalar,
}

/// The end that recorded a trace.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RawVantage {
    #[serde(rename = "type")]
    pub kind: Scalar,
    pub flow: Scalar,
}

/// A trace of a document, or the head of a sequence.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RawTrace {
    pub title: Scalar,
    pub description: Scalar,
    pub vantage_point: Lenient<RawVantage>,
    pub common_fields: Lenient<RawCommon>,
    pub configuration: Lenient<RawConfiguration>,
    pub events: Events,
}

/// The events of a document with their times as written, converted one by one: their JSON would
/// take many times the memory.
#[derive(Debug, Clone, Default)]
pub struct Events {
    pub known: Vec<(f64, Event)>,
    /// Number of events without a time.
    pub unreadable: usize,
}

impl Events {
    pub fn add(&mut self, event: RawEvent) {
        match event.time.float() {
            Some(time) => self.known.extend(event.into_event().map(|event| (time, event))),
            None => self.unreadable += 1,
        }
    }
}

impl<'de> Deserialize<'de> for Events {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Events;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of events")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Events, A::Error> {
                let mut events = Events::default();
                while let Some(event) = seq.next_element()? {
                    events.add(event);
                }
                Ok(events)
            }
        }
        deserializer.deserialize_seq(All)
    }
}

/// A document, or the first record of a sequence.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RawFile {
    pub qlog_version: Scalar,
    #[serde(alias = "serialization_format")]
    pub qlog_format: Scalar,
    pub file_schema: Scalar,
    pub title: Scalar,
    pub trace: Option<RawTrace>,
    pub traces: Vec<RawTrace>,
}
