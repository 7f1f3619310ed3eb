//! Datagrams that an endpoint sends.

use noq_proto::EcnCodepoint;
use std::net::{IpAddr, SocketAddr};

/// Datagrams in one buffer, for segmentation offload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// Address of the receiver.
    pub destination: SocketAddr,
    /// Address to send from, if datagrams of the peer showed which local address they came to.
    pub source: Option<IpAddr>,
    /// ECN code point (RFC 3168).
    pub ecn: Option<EcnCodepoint>,
    /// Size of each datagram but the last, which may be shorter, in bytes.
    pub segment_size: usize,
}

impl From<&noq_proto::Transmit> for Transmit {
    fn from(transmit: &noq_proto::Transmit) -> Self {
        Self {
            destination: transmit.destination,
            source: transmit.src_ip,
            ecn: transmit.ecn,
            segment_size: transmit.segment_size.unwrap_or(transmit.size),
        }
    }
}
