//! The interface between a flow and its transport.

use super::current_visit::VisitStart;
use super::progress::FlowProgress;
use super::report::VisitReport;
use super::shared::Shared;
use crate::datagram::{Body, Datagram, PathDirection, Role};
use crate::error::SimError;
use crate::outcome::ReverseBytes;
use crate::packet_arena::{PacketArena, PacketId};
use crate::time_budget::{AckWait, Trip};
use bentpipe_link::{Ecn, Packet};
use bentpipe_units::{Span, Time};

/// What QUIC, TCP and datagrams do differently in a flow, at all its nodes.
///
/// After each method that takes the time, call [`Transport::poll_transmit`] until it returns
/// `None`, then [`Transport::next_timeout`].
pub trait Transport {
    /// Starts a visit.
    fn begin(
        &mut self,
        start: &VisitStart,
        progress: &mut FlowProgress,
        shared: &Shared,
    ) -> Result<(), SimError>;

    /// Returns what it knows about the active visit, which ends; `None` without one.
    fn report(&mut self, now: Time, progress: &FlowProgress) -> Option<VisitReport>;

    /// Ends the visit of which [`Transport::report`] has reported: at both ends at once if it is
    /// `timed`, otherwise the client tells the server.
    fn end(&mut self, now: Time, timed: bool);

    /// Returns true if its ends take packets of earlier visits, which others do not receive.
    fn outlives_visits(&self) -> bool {
        false
    }

    /// Delivers a packet to `node`, which may take its payload out.
    fn deliver(&mut self, now: Time, node: u16, ecn: Ecn, datagram: &mut Datagram);

    /// Handles timers that are due at `node`.
    fn wake(&mut self, now: Time, node: u16);

    /// Returns the time at which to call [`Transport::wake`] for `node`.
    fn next_timeout(&self, node: u16) -> Option<Time>;

    /// Sends the next packet of the node of `outbox`.
    fn poll_transmit(&mut self, outbox: &mut Outbox<'_>) -> Option<Packet<PacketId>>;

    /// Lets `node` inspect a packet of the active visit that passes it. Returns false if the node
    /// holds the packet back.
    fn pass(&mut self, now: Time, node: u16, datagram: &Datagram) -> bool {
        let _ = (now, node, datagram);
        true
    }

    /// Handles that the client has learned the address of an origin of the visit's page.
    fn resolved(&mut self, now: Time, origin: usize) {
        let _ = (now, origin);
    }

    /// Releases requests that were waiting for this time.
    fn release(&mut self, now: Time) {
        let _ = now;
    }

    /// Returns the time at which to call [`Transport::release`].
    fn next_release(&self) -> Option<Time> {
        None
    }
}

/// Takes the packets that one node of a flow sends.
pub struct Outbox<'a> {
    /// The time.
    pub now: Time,
    /// The node that sends.
    pub node: u16,
    /// The server's node.
    pub last_node: u16,
    pub(super) progress: &'a mut FlowProgress,
    pub(super) packet_arena: &'a mut PacketArena,
}

/// A packet that a node sends.
pub struct Outgoing {
    /// Its direction.
    pub toward: PathDirection,
    /// Its destination node.
    pub to: u16,
    /// Number of its QUIC connection among those of the visit, 0 for the first and for others.
    pub connection: u16,
    /// Size of the IP packet.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Position of its end in the sent bytes, for time series.
    pub position: f64,
    /// True if it acknowledges data.
    pub answers: bool,
    /// Time for which the node has held it back, apart from what the account of the visit sees.
    pub held: Span,
    /// Its payload.
    pub body: Body,
}

/// A packet of an end that belongs to none of the flow's visits.
pub struct Aside {
    /// Size of the IP packet.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Number of its QUIC connection, 0 for others.
    pub connection: u16,
    /// Its payload.
    pub body: Body,
}

impl Outbox<'_> {
    /// Returns the end of the flow that sends; `None` if a node between them does.
    pub fn side(&self) -> Option<Role> {
        side(self.node, self.last_node)
    }

    /// Sends a packet that belongs to none of the flow's visits, and is not counted.
    pub fn send_aside(&mut self, toward: PathDirection, packet: Aside) -> Packet<PacketId> {
        let Aside { bytes, ecn, connection, body } = packet;
        let trip = Trip::start(self.now, AckWait::default());
        let to = if toward == PathDirection::ToServer { self.last_node } else { 0 };
        let datagram = Datagram {
            flow: self.progress.index as u32,
            visit: 0,
            toward,
            to,
            connection,
            dscp: self.progress.spec.marking.dscp,
            position: 0.0,
            trip,
            body,
        };
        self.packet_arena.send(bytes, ecn, datagram)
    }

    /// Returns a buffer for what is written before it becomes packets.
    pub fn scratch(&mut self) -> &mut Vec<u8> {
        &mut self.packet_arena.scratch
    }

    /// Sends a packet: counts it, apart from the others if a node between the ends sends it, and
    /// stores it. `layers` divides its bytes.
    // Inlined, so that a packet is written where it stays.
    #[inline(always)]
    pub fn send(
        &mut self,
        packet: Outgoing,
        layers: impl FnOnce() -> ReverseBytes,
    ) -> Packet<PacketId> {
        let Outgoing { toward, to, connection, bytes, ecn, position, answers, held, body } = packet;
        if self.side().is_some() {
            self.progress.count_sent(self.now, toward, bytes, layers);
        } else {
            self.progress.count_forwarded(toward);
        }
        let mut trip = self.progress.trip(self.now, self.node, toward, answers);
        trip.held += held;
        let datagram = Datagram {
            flow: self.progress.index as u32,
            visit: self.progress.visit(),
            toward,
            to,
            connection,
            dscp: self.progress.spec.marking.dscp,
            position,
            trip,
            body,
        };
        self.packet_arena.send(bytes, ecn, datagram)
    }
}

/// Returns the end of a flow at `node`; `None` for nodes between the ends.
pub fn side(node: u16, last_node: u16) -> Option<Role> {
    match node {
        0 => Some(Role::Client),
        node if node == last_node => Some(Role::Server),
        _ => None,
    }
}
