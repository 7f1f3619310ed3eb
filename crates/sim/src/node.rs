//! Nodes on the path: middleboxes that pass, drop, delay, copy, mark or make packets.
//!
//! A [`Node`] stands at one end of a hop and sees each packet that enters or leaves the hop there,
//! in both directions. [`run_with_nodes`](crate::run_with_nodes) runs a specification with nodes.
//! They are deterministic: what they know is the packet, the time, and a random stream that seed,
//! run and the node's name determine.
//!
//! ```
//! use bentpipe_sim::node::{Action, Node, NodeContext, NodePacket};
//!
//! /// Drops each packet of more than 1000 bytes with probability 1 %.
//! struct DropsLarge;
//!
//! impl Node for DropsLarge {
//!     fn on_packet(&mut self, packet: &mut NodePacket<'_>, cx: &mut NodeContext<'_>) -> Action {
//!         let is_lost = packet.bytes() > 1000 && cx.random().chance(0.01);
//!         if is_lost { Action::Drop } else { Action::Pass }
//!     }
//! }
//! ```

use crate::datagram::{Body, Datagram};
use crate::packet_arena::PacketId;
use crate::spec::HopEnd;
use crate::time_budget::Trip;
use crate::udp_payload::UdpPayload;
use bentpipe_link::Packet;
use bentpipe_quic::IP_UDP_HEADER;
use bytes::Bytes;

pub use crate::datagram::PathDirection;
pub use bentpipe_link::random::Stream;
pub use bentpipe_link::{Dscp, Ecn, PacketTotals};
pub use bentpipe_tcp::{Flags, Segment};
pub use bentpipe_units::{Span, Time};

/// Largest payload of a UDP datagram in an IPv4 packet (RFC 768, RFC 791).
const MAX_UDP_PAYLOAD: usize = 65_507;

/// A node on the path.
pub trait Node {
    /// Handles a packet that reaches the node, and says what becomes of it. The node may change its
    /// DSCP and ECN field, and send copies or packets of its own with `context`.
    fn on_packet(&mut self, packet: &mut NodePacket<'_>, context: &mut NodeContext<'_>) -> Action;

    /// Called at each time that was given to [`NodeContext::wake_at`].
    fn on_wake(&mut self, context: &mut NodeContext<'_>) {
        let _ = context;
    }
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It goes on at once.
    Pass,
    /// It goes on after this time. Others may overtake it.
    Delay(Span),
    /// It is lost: results count it with the losses of the channel.
    Drop,
}

/// A node and its place on the path.
pub struct PlacedNode {
    /// Name, unique in the run. It selects the random stream.
    pub name: String,
    /// Name of the hop.
    pub hop: String,
    /// The end of the hop.
    pub end: HopEnd,
    /// The node.
    pub node: Box<dyn Node>,
}

impl PlacedNode {
    /// Places `node` at one end of a hop. Nodes at the same end stand in the order in which they
    /// are given, from the client to the server.
    pub fn new(
        name: impl Into<String>,
        hop: impl Into<String>,
        end: HopEnd,
        node: impl Node + 'static,
    ) -> Self {
        Self { name: name.into(), hop: hop.into(), end, node: Box::new(node) }
    }
}

/// A packet at a node.
///
/// UDP payloads are those of the simulation, which are not encrypted unless
/// [`RunSpec::encrypt`](crate::RunSpec::encrypt) is set: a node that models a middlebox reads what
/// is not encrypted in reality.
pub struct NodePacket<'a> {
    /// The DSCP, which the node may change.
    pub dscp: Dscp,
    /// The ECN field, which the node may change.
    pub ecn: Ecn,
    bytes: u32,
    packet_id: PacketId,
    datagram: &'a Datagram,
    flow_name: &'a str,
}

impl<'a> NodePacket<'a> {
    pub(crate) fn new(
        packet: &Packet<PacketId>,
        datagram: &'a Datagram,
        flow_name: &'a str,
    ) -> Self {
        let &Packet { dscp, ecn, bytes, payload: packet_id, .. } = packet;
        Self { dscp, ecn, bytes, packet_id, datagram, flow_name }
    }

    /// Returns the index of its flow in the run.
    pub fn flow(&self) -> usize {
        self.datagram.flow as usize
    }

    /// Returns the name of its flow.
    pub fn flow_name(&self) -> &'a str {
        self.flow_name
    }

    /// Returns its direction.
    pub fn toward(&self) -> PathDirection {
        self.datagram.toward
    }

    /// Returns the size of the IP packet in bytes.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Returns the TCP segment; `None` for other protocols.
    pub fn segment(&self) -> Option<&'a Segment> {
        match &self.datagram.body {
            Body::Tcp { segment, .. } => Some(segment),
            Body::Udp(_) | Body::Filler(_) | Body::Media(_) => None,
        }
    }

    /// Returns the number of the TCP connection within the flow, from 0; `None` for other
    /// protocols.
    pub fn connection(&self) -> Option<u16> {
        match self.datagram.body {
            Body::Tcp { connection, .. } => Some(connection),
            Body::Udp(_) | Body::Filler(_) | Body::Media(_) => None,
        }
    }

    /// Returns the QUIC packets in the UDP payload; `None` for other protocols.
    pub fn udp_payload(&self) -> Option<Bytes> {
        match &self.datagram.body {
            Body::Udp(payload) => Some(payload.bytes().freeze()),
            Body::Tcp { .. } | Body::Filler(_) | Body::Media(_) => None,
        }
    }

    /// Returns a copy, as it has arrived and with the fields that the node has changed.
    pub fn copy(&self) -> NewPacket {
        NewPacket {
            dscp: self.dscp,
            ecn: self.ecn,
            bytes: self.bytes,
            original: Some(self.packet_id),
            datagram: self.datagram.clone(),
        }
    }

    /// Returns a new UDP datagram for the end of its flow in this direction. A payload above
    /// 65,507 bytes is cut off.
    pub fn new_datagram(&self, toward: PathDirection, payload: &[u8]) -> NewPacket {
        let payload = &payload[..payload.len().min(MAX_UDP_PAYLOAD)];
        let bytes = payload.len() as u32 + IP_UDP_HEADER;
        self.made(toward, bytes, Body::Udp(UdpPayload::new(payload)))
    }

    /// Returns a new segment of its TCP connection for the end of its flow in this direction.
    pub fn new_segment(&self, toward: PathDirection, segment: Segment) -> NewPacket {
        let connection = self.connection().unwrap_or_default();
        self.made(toward, segment.bytes(), Body::Tcp { connection, segment })
    }

    fn made(&self, toward: PathDirection, bytes: u32, body: Body) -> NewPacket {
        let &Datagram { flow, visit, connection, .. } = self.datagram;
        let dscp = self.dscp;
        // Destination and trip follow when it is sent.
        let (to, position, trip) = (0, 0.0, Trip::default());
        let datagram = Datagram { flow, visit, toward, to, connection, dscp, position, trip, body };
        NewPacket { dscp, ecn: Ecn::NotEct, bytes, original: None, datagram }
    }
}

/// A packet that a node sends: a copy of one that it has seen, or one of its own.
#[derive(Debug, Clone)]
pub struct NewPacket {
    /// The DSCP: that of the packet from which it was made.
    pub dscp: Dscp,
    /// The ECN field.
    pub ecn: Ecn,
    pub(crate) bytes: u32,
    /// The packet of which it is a copy.
    pub(crate) original: Option<PacketId>,
    pub(crate) datagram: Datagram,
}

/// What a node knows and can do besides its verdict on a packet.
pub struct NodeContext<'a> {
    pub(crate) now: Time,
    pub(crate) random: &'a mut Stream,
    pub(crate) requests: &'a mut NodeRequests,
}

/// What a node asks for.
#[derive(Debug, Default)]
pub(crate) struct NodeRequests {
    /// Packets to send, each after a time.
    pub packets: Vec<(Span, NewPacket)>,
    /// Times at which to call [`Node::on_wake`].
    pub wakes: Vec<Time>,
}

impl NodeContext<'_> {
    /// Returns the time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the node's random stream.
    pub fn random(&mut self) -> &mut Stream {
        self.random
    }

    /// Sends a packet from the node in its direction, after the one that it handles now.
    pub fn send(&mut self, packet: NewPacket) {
        self.send_after(Span::ZERO, packet);
    }

    /// Sends a packet from the node in its direction, after this time.
    pub fn send_after(&mut self, time: Span, packet: NewPacket) {
        self.requests.packets.push((time, packet));
    }

    /// Calls [`Node::on_wake`] at `time`, or now if it has passed.
    pub fn wake_at(&mut self, time: Time) {
        self.requests.wakes.push(time);
    }
}

/// What a node has done in one direction, in packets and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeCounters {
    /// Packets that reached the node.
    pub arrived: PacketTotals,
    /// Copies that it has sent.
    pub copied: PacketTotals,
    /// Packets of its own that it has sent.
    pub made: PacketTotals,
    /// Packets that it has dropped.
    pub dropped: PacketTotals,
    /// Packets that have left it.
    pub left: PacketTotals,
    /// Packets that it delayed, copies and its own included.
    pub delayed: PacketTotals,
}

/// What a node has done in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeOutcome {
    /// Its name.
    pub name: String,
    /// Towards the server.
    pub to_server: NodeCounters,
    /// Towards the client.
    pub to_client: NodeCounters,
}
