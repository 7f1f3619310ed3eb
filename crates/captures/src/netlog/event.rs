//! Events of a NetLog as they are written, and what they are.

use crate::json::{FieldValue, FromObject, List, Scalar};
use serde::de::MapAccess;
use std::collections::BTreeMap;

/// Most packets that an acknowledgement names as missing, and most fields of a header section.
const MAX_MISSING: usize = 4096;
const MAX_FIELDS: usize = 256;

/// Kinds of events of QUIC sessions that matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Session,
    PacketSent,
    PacketReceived,
    HeaderReceived,
    PacketLost,
    StreamSent,
    StreamReceived,
    AckReceived,
    AckSent,
    WindowSent,
    WindowReceived,
    BlockedSent,
    BlockedReceived,
    ResetSent,
    ResetReceived,
    StopSent,
    StopReceived,
    HandshakeDone,
    ParametersSent,
    ParametersReceived,
    HttpSent,
    HttpReceived,
}

impl Kind {
    /// Returns the kind of a name, in small letters.
    fn of(name: &str) -> Option<Self> {
        match name {
            "quic_session" => return Some(Self::Session),
            "http3_headers_sent" => return Some(Self::HttpSent),
            "http3_headers_decoded" => return Some(Self::HttpReceived),
            _ => {}
        }
        Some(match name.strip_prefix("quic_session_")? {
            "packet_sent" => Self::PacketSent,
            "packet_received" => Self::PacketReceived,
            "unauthenticated_packet_header_received" => Self::HeaderReceived,
            "packet_lost" => Self::PacketLost,
            "stream_frame_sent" => Self::StreamSent,
            "stream_frame_received" => Self::StreamReceived,
            "ack_frame_received" => Self::AckReceived,
            "ack_frame_sent" => Self::AckSent,
            "window_update_frame_sent" => Self::WindowSent,
            "window_update_frame_received" => Self::WindowReceived,
            "blocked_frame_sent" => Self::BlockedSent,
            "blocked_frame_received" => Self::BlockedReceived,
            "rst_stream_frame_sent" => Self::ResetSent,
            "rst_stream_frame_received" => Self::ResetReceived,
            "stop_sending_frame_sent" => Self::StopSent,
            "stop_sending_frame_received" => Self::StopReceived,
            "handshake_done_frame_received" => Self::HandshakeDone,
            "transport_parameters_sent" => Self::ParametersSent,
            "transport_parameters_received" => Self::ParametersReceived,
            _ => return None,
        })
    }
}

/// The numbers of kinds of events, which differ between versions of Chromium.
#[derive(Debug, Default)]
pub struct EventTypes(pub BTreeMap<u64, Kind>);

impl FromObject for EventTypes {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        if let Some(kind) = Kind::of(key)
            && let Some(number) = value.get::<Scalar>()?.integer()
        {
            self.0.insert(number, kind);
        }
        Ok(())
    }
}

/// The connection, request or the like of an event.
#[derive(Debug, Default)]
struct Source {
    id: Scalar,
}

impl FromObject for Source {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        if key == "id" {
            self.id = value.get()?;
        }
        Ok(())
    }
}

/// An event.
#[derive(Debug, Default)]
pub struct RawEvent {
    pub number: Scalar,
    /// In milliseconds, as text.
    pub time: Scalar,
    source: Source,
    pub params: Params,
}

impl RawEvent {
    /// Returns the number of the session that it belongs to.
    pub fn session(&self) -> Option<u64> {
        self.source.id.integer()
    }
}

impl FromObject for RawEvent {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        match key {
            "type" => self.number = value.get()?,
            "time" => self.time = value.get()?,
            "source" => self.source = value.object()?,
            "params" => self.params = value.object()?,
            _ => {}
        }
        Ok(())
    }
}

/// What events of all kinds say.
#[derive(Debug, Default)]
pub struct Params {
    pub host: Scalar,
    pub port: Scalar,
    pub self_address: Scalar,
    pub peer_address: Scalar,
    pub packet: Scalar,
    pub size: Scalar,
    pub sent_time_us: Scalar,
    pub level: Scalar,
    pub transmission: Scalar,
    pub long_header: Scalar,
    pub format: Scalar,
    pub stream: Scalar,
    pub fin: Scalar,
    pub offset: Scalar,
    pub length: Scalar,
    pub byte_offset: Scalar,
    pub largest: Scalar,
    pub smallest: Scalar,
    pub missing: List<Scalar, MAX_MISSING>,
    pub ack_delay_us: Scalar,
    /// Counts of ECT(0), ECT(1) and CE.
    pub ecn: [Scalar; 3],
    pub parameters: Scalar,
    pub headers: List<Scalar, MAX_FIELDS>,
}

impl FromObject for Params {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        match key {
            "host" => self.host = value.get()?,
            "port" => self.port = value.get()?,
            "self_address" => self.self_address = value.get()?,
            "peer_address" => self.peer_address = value.get()?,
            "packet_number" => self.packet = value.get()?,
            "size" => self.size = value.get()?,
            "sent_time_us" => self.sent_time_us = value.get()?,
            "encryption_level" => self.level = value.get()?,
            "transmission_type" => self.transmission = value.get()?,
            "long_header_type" => self.long_header = value.get()?,
            "header_format" => self.format = value.get()?,
            "stream_id" | "quic_stream_id" => self.stream = value.get()?,
            "fin" => self.fin = value.get()?,
            "offset" => self.offset = value.get()?,
            "length" => self.length = value.get()?,
            "byte_offset" => self.byte_offset = value.get()?,
            "largest_observed" => self.largest = value.get()?,
            "smallest_observed" => self.smallest = value.get()?,
            "missing_packets" => self.missing = value.get()?,
            "delta_time_largest_observed_us" => self.ack_delay_us = value.get()?,
            "ect0" => self.ecn[0] = value.get()?,
            "ect1" => self.ecn[1] = value.get()?,
            "ce" => self.ecn[2] = value.get()?,
            "quic_transport_parameters" => self.parameters = value.get()?,
            "headers" => self.headers = value.get()?,
            _ => {}
        }
        Ok(())
    }
}
