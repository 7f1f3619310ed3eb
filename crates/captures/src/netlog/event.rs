//! Events of a NetLog as they are written, and what they are.

use crate::json::{FieldValue, FromObject, List, Scalar, from_object};
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

from_object!(Source {
    "id" => id: get,
});

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

from_object!(RawEvent {
    "type" => number: get,
    "time" => time: get,
    "source" => source: object,
    "params" => params: object,
});

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

from_object!(Params {
    "host" => host: get,
    "port" => port: get,
    "self_address" => self_address: get,
    "peer_address" => peer_address: get,
    "packet_number" => packet: get,
    "size" => size: get,
    "sent_time_us" => sent_time_us: get,
    "encryption_level" => level: get,
    "transmission_type" => transmission: get,
    "long_header_type" => long_header: get,
    "header_format" => format: get,
    "stream_id" | "quic_stream_id" => stream: get,
    "fin" => fin: get,
    "offset" => offset: get,
    "length" => length: get,
    "byte_offset" => byte_offset: get,
    "largest_observed" => largest: get,
    "smallest_observed" => smallest: get,
    "missing_packets" => missing: get,
    "delta_time_largest_observed_us" => ack_delay_us: get,
    "ect0" => ecn[0]: get,
    "ect1" => ecn[1]: get,
    "ce" => ecn[2]: get,
    "quic_transport_parameters" => parameters: get,
    "headers" => headers: get,
});
