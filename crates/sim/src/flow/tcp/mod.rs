//! TCP flows: the connections of a visit's exchanges, and the proxies that split them.

mod acks;
mod applications;
mod connections;
mod log;
mod opener;
mod pep;

use super::current_visit::VisitStart;
use super::progress::FlowProgress;
use super::report::VisitReport;
use super::shared::Shared;
use super::transport::{Outbox, Outgoing, Transport, side};
use crate::datagram::{Body, Datagram, PathDirection};
use crate::error::SimError;
use crate::outcome::ReverseBytes;
use crate::packet_arena::PacketId;
use crate::spec::{Direction, TcpStack};
use crate::visit_progress::VisitProgress;
use acks::TcpAckCounter;
use applications::Applications;
use bentpipe_link::{Ecn, Packet};
use bentpipe_quic::Handshake;
use bentpipe_quic::congestion::ControllerFactory;
use bentpipe_tcp::Segment;
use bentpipe_tcp::http::Opening;
use bentpipe_units::Time;
use connections::{SegmentRoute, TcpConnections, earliest};
use opener::Opener;
use std::collections::BTreeSet;

/// TCP, the protocol above it, and proxies on the path.
pub struct TcpTransport {
    stack: TcpStack,
    controller: ControllerFactory,
    connections: TcpConnections,
    visit: Option<ActiveVisit>,
    /// True if the client has a TLS ticket from an earlier visit.
    has_ticket: bool,
    /// Other origins of pages of which it has one, by name.
    tickets: BTreeSet<String>,
    last_node: u16,
}

/// The active visit.
struct ActiveVisit {
    direction: Direction,
    data_direction: PathDirection,
    applications: Applications,
    opener: Opener,
}

impl TcpTransport {
    /// Creates the transport of a flow that has not started.
    pub fn new(
        stack: TcpStack,
        progress: &FlowProgress,
        shared: &Shared,
    ) -> Result<Self, SimError> {
        let name = &progress.spec.name;
        let wrong = |reason: String| SimError::Spec(format!("flow `{name}`: {reason}"));
        let controller = stack.congestion.factory().map_err(|error| wrong(error.to_string()))?;
        let connections = TcpConnections::new(&stack, shared.last_node).map_err(wrong)?;
        Ok(Self {
            stack,
            controller,
            connections,
            visit: None,
            has_ticket: false,
            tickets: BTreeSet::new(),
            last_node: shared.last_node,
        })
    }

    /// Returns the opening of a visit's first connection.
    fn opening(&self, handshake: Handshake, progress: &VisitProgress) -> Opening {
        match (handshake, self.has_ticket) {
            (Handshake::ZeroRtt, true) => Opening::EarlyData,
            (Handshake::OneRtt, true) => Opening::Resumed,
            (Handshake::OneRtt, false) => Opening::Full,
            (Handshake::ZeroRtt, false) => {
                progress.failed(
                    "early data was requested, but there is no ticket from an earlier visit"
                        .to_owned(),
                );
                Opening::Full
            }
        }
    }

    /// Returns the opening of the first connection to an origin. Other origins than the first may
    /// have no ticket.
    fn opening_to(&self, start: &VisitStart, origin: usize) -> Opening {
        let name = start.visit.page.as_ref().and_then(|page| page.origins.get(origin));
        match name {
            Some(name) if origin > 0 && !self.tickets.contains(name) => Opening::Full,
            Some(_) if origin > 0 && start.visit.handshake == Handshake::ZeroRtt => {
                Opening::EarlyData
            }
            Some(_) if origin > 0 => Opening::Resumed,
            _ => self.opening(start.visit.handshake, &start.progress),
        }
    }

    /// Lets the applications at one side react, if `node` is one.
    fn drive(&mut self, now: Time, node: u16) {
        let (Some(visit), Some(side)) = (&mut self.visit, side(node, self.last_node)) else {
            return;
        };
        loop {
            while let Some(number) = visit.applications.poll_open(now) {
                let place = (number, visit.applications.origin(number));
                visit.opener.open(now, place, &mut self.connections);
            }
            if !visit.applications.drive(now, side, &mut self.connections) {
                return;
            }
        }
    }
}

impl Transport for TcpTransport {
    fn begin(
        &mut self,
        start: &VisitStart,
        progress: &mut FlowProgress,
        shared: &Shared,
    ) -> Result<(), SimError> {
        let &VisitStart { now, ref visit, data_direction, .. } = start;
        self.visit = Some(ActiveVisit {
            direction: visit.direction,
            data_direction,
            applications: Applications::new(
                &self.stack.http,
                |origin| self.opening_to(start, origin),
                visit,
                start.progress.clone(),
                progress.limits(),
                TcpAckCounter::new(start.series),
            ),
            opener: Opener::new(self.controller.clone(), start, progress, shared)?,
        });
        self.connections.begin(now, progress.limits());
        if let Some((sender, receiver)) = self.connections.watched_nodes(visit.direction) {
            progress.keep_account_between(sender, receiver);
        }
        self.drive(now, 0);
        Ok(())
    }

    fn report(&mut self, now: Time, _progress: &FlowProgress) -> Option<VisitReport> {
        let ActiveVisit { direction, applications, opener, .. } = self.visit.take()?;
        let path = opener.end();
        let by_peer = self.connections.blocked_by_peer(now);
        let metrics = self.connections.record();
        let handshake = applications.ready();
        self.has_ticket |= handshake.is_some();
        self.tickets.extend(applications.tickets());
        let reverse = {
            let mut stats = metrics.stats();
            stats.window_blocked = by_peer + applications.blocked(now, by_peer);
            applications.acks.reverse(stats.series.as_mut())
        };
        let full = Segment { len: self.stack.tcp.segment, ..Segment::default() };
        Some(VisitReport {
            connections: self.connections.len(),
            handshake,
            duplicate_bytes: self.connections.duplicates(direction) * u64::from(full.bytes()),
            path,
            pep: self.connections.pep_outcome(direction),
            reverse,
            qlog: self.connections.qlog(),
            ..VisitReport::new(metrics)
        })
    }

    fn end(&mut self, _now: Time, _timed: bool) {
        self.connections.end();
    }

    fn deliver(&mut self, now: Time, node: u16, ecn: Ecn, datagram: &mut Datagram) {
        let Body::Tcp { connection, segment } = &datagram.body else { return };
        self.connections.deliver(now, node, datagram.toward, *connection, segment, ecn);
        if let Some(visit) = &mut self.visit
            && visit.data_direction == datagram.toward
            && side(node, self.last_node).is_some()
        {
            visit.applications.acks.arrived(now, segment);
        }
        self.drive(now, node);
    }

    fn wake(&mut self, now: Time, node: u16) {
        self.connections.wake(now, node);
        if let (Some(side), Some(visit)) = (side(node, self.last_node), &mut self.visit) {
            visit.applications.handle_timeout(now, side);
        }
        self.drive(now, node);
    }

    fn resolved(&mut self, now: Time, origin: usize) {
        if let Some(visit) = &mut self.visit {
            visit.applications.resolved(now, origin);
        }
        self.drive(now, 0);
    }

    fn next_timeout(&self, node: u16) -> Option<Time> {
        let connections = self.connections.next_timeout(node);
        match (&self.visit, side(node, self.last_node)) {
            (Some(visit), Some(side)) => {
                earliest(connections, visit.applications.next_timeout(side))
            }
            _ => connections,
        }
    }

    fn poll_transmit(&mut self, outbox: &mut Outbox<'_>) -> Option<Packet<PacketId>> {
        let (now, node) = (outbox.now, outbox.node);
        // Called after each segment, although a receiver that delays its ACK often has nothing to
        // send.
        if self.connections.is_quiet(now, node) {
            return None;
        }
        let mut segment = Segment::default();
        let SegmentRoute { connection, toward, to, ecn, held } =
            self.connections.poll_transmit(now, node, &mut segment)?;
        let mut position = 0.0;
        if let Some(visit) = &mut self.visit {
            let is_data = visit.data_direction == toward;
            if !is_data && side(node, self.last_node).is_some() {
                visit.applications.acks.sent(now, &segment);
            }
            if is_data && visit.opener.series.is_some() {
                position = self.connections.position(connection);
            }
        }
        let bytes = segment.bytes();
        let body = Body::Tcp { connection, segment };
        let answers = segment.flags.ack;
        let connection = 0;
        let packet = Outgoing { toward, to, connection, bytes, ecn, position, answers, held, body };
        Some(outbox.send(packet, || ReverseBytes {
            ip: u64::from(segment.ip_bytes()),
            tcp: u64::from(segment.tcp_bytes()),
            options: u64::from(segment.option_bytes()),
            payload: u64::from(segment.len),
            total: u64::from(bytes),
            ..ReverseBytes::default()
        }))
    }

    fn pass(&mut self, now: Time, node: u16, datagram: &Datagram) -> bool {
        if !self.connections.filters(node, datagram.toward) {
            return true;
        }
        let Body::Tcp { connection, segment } = &datagram.body else { return true };
        self.connections.filter(now, *connection, *segment).is_some()
    }
}
