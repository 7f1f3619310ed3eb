//! What crosses the links: packets of flows, with what the simulator must remember of them.

use crate::spec::Direction;
use bentpipe_link::Ecn;
use bentpipe_quic::noq_proto::EcnCodepoint;
use bentpipe_tcp::Segment;
use bentpipe_units::Time;
use bytes::BytesMut;
use std::net::{Ipv4Addr, SocketAddr};

/// One end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// On the terminal's side of the path.
    Client,
    /// At the path's far end.
    Server,
}

impl Role {
    /// The other end.
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
    /// The way that data goes.
    pub fn of(direction: Direction) -> Self {
        match direction {
            Direction::Download => Self::ToClient,
            Direction::Upload => Self::ToServer,
        }
    }

    /// The end that packets on this way come from.
    pub fn source(self) -> Role {
        match self {
            Self::ToServer => Role::Client,
            Self::ToClient => Role::Server,
        }
    }
}

/// A socket address for one end of flow number `flow`, from the block set aside for benchmarks (RFC 2544). Clients of one
/// terminal have one address, as behind a translator, and terminals lie in networks of their own.
pub fn socket(flow: usize, side: Role, terminal: usize) -> SocketAddr {
    let [high, low] = (flow as u16).to_be_bytes();
    let [_, network] = (terminal as u16).to_be_bytes();
    match side {
        Role::Client => (Ipv4Addr::new(198, 18, network, 2), 50_000 + flow as u16 % 10_000).into(),
        Role::Server => (Ipv4Addr::new(198, 19, high, low), 443).into(),
    }
}

/// A packet on its way.
#[derive(Debug)]
pub struct Datagram {
    /// The flow, by its index in the run.
    pub flow: u32,
    /// The visit during which it was sent.
    pub visit: u32,
    /// Which way it goes.
    pub toward: PathDirection,
    /// The node that it is for: 0 is the client's, node k lies behind hop k - 1.
    pub to: u16,
    /// Position in bytes sent, for the trace.
    pub position: f64,
    /// What it carries.
    pub body: Body,
}

/// What an IP packet carries.
#[derive(Debug)]
pub enum Body {
    /// A UDP payload.
    Udp(BytesMut),
    /// A TCP segment of the flow's connection with that number.
    Tcp {
        /// The connection.
        connection: u16,
        /// The segment.
        segment: Segment,
    },
    /// Bytes that mean nothing.
    Filler(Filler),
}

/// Bytes that mean nothing: how many, and when the first of their way was sent, is all that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filler {
    /// What carries them.
    pub protocol: FillerProtocol,
    /// The packet's place in the order of sending, from 0; an answer has that of its request.
    pub number: u64,
    /// When it was sent; of an answer, when its request was.
    pub sent: Time,
    /// Size of the IP packet.
    pub bytes: u32,
}

/// What carries bytes that mean nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillerProtocol {
    /// UDP.
    Udp,
    /// An ICMP echo request (RFC 792).
    Echo,
    /// The answer to one.
    EchoReply,
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
