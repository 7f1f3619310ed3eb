//! What crosses the links: UDP datagrams of flows, with what the simulator must remember of them.

use bentpipe_link::Ecn;
use bentpipe_quic::noq_proto::EcnCodepoint;
use bytes::BytesMut;
use std::net::{Ipv4Addr, SocketAddr};

/// One end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// On the terminal's side of the path.
    Client,
    /// At the path's far end.
    Server,
}

impl Side {
    /// The other end.
    pub fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Where a datagram comes from or goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The flow, by its index in the run.
    pub flow: usize,
    /// Which of its ends.
    pub side: Side,
}

impl Address {
    /// A socket address of its own, from the block set aside for benchmarks (RFC 2544). Clients of one terminal have one
    /// address, as behind a translator, and terminals lie in networks of their own.
    pub fn socket(self, terminal: usize) -> SocketAddr {
        let [high, low] = (self.flow as u16).to_be_bytes();
        let [_, network] = (terminal as u16).to_be_bytes();
        match self.side {
            Side::Client => (Ipv4Addr::new(198, 18, network, 2), 50_000 + self.flow as u16 % 10_000).into(),
            Side::Server => (Ipv4Addr::new(198, 19, high, low), 443).into(),
        }
    }
}

/// A UDP datagram on its way.
#[derive(Debug)]
pub struct Datagram {
    /// Who sent it; it goes to the other side of the same flow.
    pub from: Address,
    /// The visit during which it was sent.
    pub visit: u32,
    /// Position in bytes sent, for the trace.
    pub position: f64,
    /// UDP payload.
    pub data: BytesMut,
}

/// The stack's ECN code point as the link knows it.
pub fn ecn_to_link(ecn: Option<EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

/// The link's ECN field as the stack knows it.
pub fn ecn_from_link(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}
