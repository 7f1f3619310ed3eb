//! Transport parameters.

use super::measure::span;
use crate::event::{Event, TransportParameters};
use crate::json::{Scalar, from_object};

/// Transport parameters of an end, all in milliseconds and bytes (RFC 9000 §18.2).
#[derive(Debug, Default)]
pub struct RawParameters {
    owner: Scalar,
    idle_timeout: Scalar,
    payload_size: Scalar,
    data: Scalar,
    bidi_local: Scalar,
    bidi_remote: Scalar,
    uni: Scalar,
    streams_bidi: Scalar,
    ack_delay_exponent: Scalar,
    ack_delay: Scalar,
}

from_object!(RawParameters {
    "initiator" | "owner" => owner: get,
    "max_idle_timeout" | "idle_timeout" => idle_timeout: get,
    "max_udp_payload_size" | "max_packet_size" => payload_size: get,
    "initial_max_data" => data: get,
    "initial_max_stream_data_bidi_local" => bidi_local: get,
    "initial_max_stream_data_bidi_remote" => bidi_remote: get,
    "initial_max_stream_data_uni" => uni: get,
    "initial_max_streams_bidi" => streams_bidi: get,
    "ack_delay_exponent" => ack_delay_exponent: get,
    "max_ack_delay" => ack_delay: get,
});

impl RawParameters {
    /// Returns the flow control of the peer.
    pub fn peer_limits(&self) -> Option<Event> {
        if self.is_local() != Some(false) {
            return None;
        }
        let streams = [&self.bidi_local, &self.bidi_remote, &self.uni];
        let stream = streams.into_iter().filter_map(Scalar::integer).max()?;
        Some(Event::PeerLimits { connection: self.data.integer()?, stream })
    }

    /// Returns the parameters, if there are any and it is known whose they are.
    pub fn parameters(&self) -> Option<Event> {
        let parameters = TransportParameters {
            is_local: self.is_local()?,
            max_idle_timeout: span(&self.idle_timeout, 1e-3),
            max_udp_payload_size: self.payload_size.integer(),
            initial_max_data: self.data.integer(),
            initial_max_stream_data_bidi_local: self.bidi_local.integer(),
            initial_max_stream_data_bidi_remote: self.bidi_remote.integer(),
            initial_max_stream_data_uni: self.uni.integer(),
            initial_max_streams_bidi: self.streams_bidi.integer(),
            ack_delay_exponent: self.ack_delay_exponent.integer(),
            max_ack_delay: span(&self.ack_delay, 1e-3),
        };
        let none =
            TransportParameters { is_local: parameters.is_local, ..TransportParameters::default() };
        (parameters != none).then(|| Event::Parameters(Box::new(parameters)))
    }

    fn is_local(&self) -> Option<bool> {
        let owner = self.owner.text()?;
        let is = |name: &str| owner.eq_ignore_ascii_case(name);
        (is("local") || is("remote")).then(|| is("local"))
    }
}
