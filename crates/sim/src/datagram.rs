//! Packets that cross the links.

use crate::spec::Direction;
use crate::time_budget::Trip;
use crate::udp_payload::UdpPayload;
use bentpipe_link::{Dscp, Ecn, FlowKey};
use bentpipe_media as media;
use bentpipe_quic::noq_proto::EcnCodepoint;
use bentpipe_tcp::Segment;
use bentpipe_units::Time;
use std::net::{Ipv4Addr, SocketAddr};

/// One end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The terminal's end.
    Client,
    /// The far end of the path.
    Server,
}

impl Role {
    /// Returns the other end.
    pub fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A direction along the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathDirection {
    /// Towards the server.
    ToServer,
    /// Towards the client.
    ToClient,
}

impl PathDirection {
    /// Returns the direction in which data flows.
    pub(crate) fn of(direction: Direction) -> Self {
        match direction {
            Direction::Download => Self::ToClient,
            Direction::Upload => Self::ToServer,
        }
    }

    /// Returns the direction of packets from this end.
    pub(crate) fn leaving(side: Role) -> Self {
        match side {
            Role::Client => Self::ToServer,
            Role::Server => Self::ToClient,
        }
    }

    /// Returns the sender of packets in this direction.
    pub(crate) fn source(self) -> Role {
        match self {
            Self::ToServer => Role::Client,
            Self::ToClient => Role::Server,
        }
    }
}

/// Returns a socket address of flow number `flow`, from the benchmarking range (RFC 2544).
///
/// Clients of one terminal share an address, as behind a NAT. Each terminal has a network of its
/// own; those from number 256 on, for which the range has no room, have a private one (RFC 1918).
/// A client that has changed its address has one of the shared address space (RFC 6598): of the
/// first 1,024 terminals each has 16 networks there.
pub fn socket(flow: usize, side: Role, terminal: usize, changes: usize) -> SocketAddr {
    let [high, low] = (flow as u16).to_be_bytes();
    let [far, network] = (terminal as u16).to_be_bytes();
    let client = match (changes.checked_sub(1), far) {
        (None, 0) => Ipv4Addr::new(198, 18, network, 2),
        (None, _) => Ipv4Addr::new(10, far, network, 2),
        (Some(before), _) => {
            let [far, network] = ((terminal * 16 + before % 16) as u16).to_be_bytes();
            Ipv4Addr::new(100, 64 + far % 64, network, 2)
        }
    };
    match side {
        Role::Client => (client, 50_000 + flow as u16 % 10_000).into(),
        Role::Server => (Ipv4Addr::new(198, 19, high, low), 443).into(),
    }
}

/// An IP packet in flight.
#[derive(Debug, Clone)]
pub struct Datagram {
    /// Index of the flow in the run.
    pub flow: u32,
    /// The visit that sent it.
    pub visit: u32,
    /// Its direction.
    pub toward: PathDirection,
    /// Its destination: node 0 is the client's, node k is behind hop k - 1.
    pub to: u16,
    /// Number of its QUIC connection among those of the visit. Connections have ports of their own.
    pub connection: u16,
    /// Its DSCP.
    pub dscp: Dscp,
    /// Position in the sent bytes, for time series.
    pub position: f64,
    /// Its way so far.
    pub trip: Trip,
    /// Its payload.
    pub body: Body,
}

impl Datagram {
    /// Returns the key of its flow for queues. Each connection of each visit has one for each
    /// direction, as its addresses and ports would.
    pub fn flow_key(&self) -> FlowKey {
        let connection = match self.body {
            Body::Tcp { connection, .. } => u32::from(connection),
            Body::Udp(_) => u32::from(self.connection),
            Body::Filler(_) | Body::Media(_) => 0,
        };
        // Odd factors: two keys that differ in one of the numbers are never the same. They are
        // the primes 2 to 4 of xxHash.
        let flow = self.flow.wrapping_mul(0x85eb_ca77);
        let visit = self.visit.wrapping_mul(0xc2b2_ae3d);
        let connection = connection.wrapping_mul(0x27d4_eb2f);
        let toward = (self.toward as u32) << 31;
        FlowKey((flow ^ visit.rotate_left(16) ^ connection.rotate_left(8)) ^ toward)
    }
}

/// Payload of an IP packet.
#[derive(Debug, Clone)]
pub enum Body {
    /// A UDP payload.
    Udp(UdpPayload),
    /// A TCP segment.
    Tcp {
        /// Number of the connection within the flow.
        connection: u16,
        /// The segment.
        segment: Segment,
    },
    /// Bytes without meaning.
    Filler(Filler),
    /// Audio or video of a call over UDP, whose bytes do not count.
    Media(Media),
}

/// A packet of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// A part of a frame.
    Packet(media::Packet),
    /// The receiver of a video asks for a keyframe.
    KeyframeRequest,
    /// The receiver of media that adapts reports what has arrived.
    Feedback(media::Feedback),
}

/// Bytes without meaning: only their number and sending time count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filler {
    /// The protocol that carries them.
    pub protocol: FillerProtocol,
    /// Sequence number from 0. A reply has that of its request.
    pub number: u64,
    /// Sending time. A reply has the time of its request.
    pub sent: Time,
    /// Size of the IP packet.
    pub bytes: u32,
}

/// The protocol that carries filler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillerProtocol {
    /// UDP.
    Udp,
    /// An ICMP echo request (RFC 792).
    Echo,
    /// An ICMP echo reply.
    EchoReply,
    /// DNS over UDP (RFC 1035).
    Dns,
}

/// Converts the stack's ECN code point for a link.
pub fn ecn_to_link(ecn: Option<EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

/// Converts a link's ECN field for the stack.
pub fn ecn_from_link(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_of_each_visit_has_a_flow_key_for_each_direction() {
        let mut keys = Vec::new();
        for (flow, visit) in [(0, 0), (0, 1), (1, 0), (1, 1), (70_000, 3)] {
            for connection in [0, 1, 6] {
                for toward in [PathDirection::ToServer, PathDirection::ToClient] {
                    let key = |position| {
                        let trip = Trip::default();
                        let body = Body::Tcp { connection, segment: Segment::default() };
                        let dscp = Dscp::BEST_EFFORT;
                        let (to, connection) = (0, 0);
                        Datagram { flow, visit, toward, to, connection, dscp, position, trip, body }
                            .flow_key()
                    };
                    assert_eq!(key(1.0), key(2.0));
                    keys.push(key(1.0));
                }
            }
        }
        let all = keys.len();
        keys.sort_unstable_by_key(|key| key.0);
        keys.dedup();
        assert_eq!(keys.len(), all);
    }
}
