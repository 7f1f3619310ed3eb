//! Flows: a client, its server, and their visits one after the other, over any transport.

mod call;
mod counters;
mod current_visit;
mod datagrams;
mod media_direction;
mod outcome;
mod progress;
mod quic;
mod report;
mod resolver;
mod send_schedule;
mod series;
mod shared;
mod tcp;
mod transport;
mod visit_account;

pub use media_direction::{MediaDirection, between as call_media, finish as finish_call};
pub use progress::{FlowProgress, LostPacket};
pub use report::FlowResults;
pub use send_schedule::SendSchedule;
pub use shared::Shared;

use crate::datagram::Datagram;
use crate::error::SimError;
use crate::packet_arena::{PacketArena, PacketId};
use crate::spec::{CallCarrier, FlowSpec, Stack};
use bentpipe_link::{Ecn, Packet};
use bentpipe_quic::SenderMetrics;
use bentpipe_units::Time;
use call::CallTransport;
use current_visit::VisitStart;
use datagrams::DatagramTransport;
use quic::{QuicCall, QuicTransport};
use report::VisitReport;
use resolver::Resolver;
use tcp::TcpTransport;
use transport::{Outbox, Transport, side};

/// A flow: sends and receives packets at the nodes of a path.
///
/// After [`Flow::deliver`], [`Flow::wake`] and [`Flow::act`], call [`Flow::poll_transmit`] until it
/// returns `None`, then [`Flow::next_timeout`].
pub struct Flow {
    progress: FlowProgress,
    transport: Box<dyn Transport>,
    /// Names of its pages, if it has any.
    resolver: Option<Resolver>,
    /// A visit that waits for the address of its server.
    waiting: Option<VisitStart>,
    /// The server's node.
    last_node: u16,
}

impl Flow {
    /// Creates a flow that has not started. `index` determines its addresses and random streams.
    ///
    /// # Errors
    /// Its specification is invalid, or its transport is a program.
    pub fn new(spec: FlowSpec, index: usize, shared: &Shared) -> Result<Self, SimError> {
        let progress = FlowProgress::new(spec, index);
        let transport: Box<dyn Transport> = match progress.spec.stack.clone() {
            Stack::Quic(settings) => {
                Box::new(QuicTransport::new(*settings, None, &progress, shared)?)
            }
            Stack::DatagramTraffic(traffic) => {
                Box::new(DatagramTransport::new(traffic, &progress.spec, shared)?)
            }
            Stack::Call(call) => match call.carrier.clone() {
                CallCarrier::Udp => Box::new(CallTransport::new(*call, &progress.spec, shared)?),
                CallCarrier::Quic(settings, framing) => {
                    let call = QuicCall::new(*call, framing, &progress.spec)?;
                    Box::new(QuicTransport::new(*settings, Some(call), &progress, shared)?)
                }
            },
            Stack::Tcp(stack) => Box::new(TcpTransport::new(*stack, &progress, shared)?),
            Stack::Program(_) => {
                return Err(SimError::Spec(format!(
                    "flow `{}` is a program, which needs the real clock",
                    progress.spec.name
                )));
            }
        };
        let has_page = progress.spec.visits.iter().any(|visit| visit.page.is_some());
        let resolver = has_page.then(Resolver::default);
        Ok(Self { progress, transport, resolver, waiting: None, last_node: shared.last_node })
    }

    /// Progress of its visits.
    pub fn progress(&self) -> &FlowProgress {
        &self.progress
    }

    /// Progress of its visits, to count arrived and lost packets.
    pub fn progress_mut(&mut self) -> &mut FlowProgress {
        &mut self.progress
    }

    /// Ends the active visit, starts the next one and releases requests, as far as they are due.
    ///
    /// # Errors
    /// A connection cannot be opened.
    pub fn act(&mut self, now: Time, shared: &Shared) -> Result<(), SimError> {
        if self.progress.must_end(now) {
            self.end_visit(now, shared);
        }
        if self.progress.must_begin(now) {
            let next = self.progress.next_visit().zip(self.resolver.as_ref());
            let before = next.map_or(0, |(visit, resolver)| resolver.round_trips_first(visit));
            let start = self.progress.begin(now, before, shared);
            if let Some(resolver) = &mut self.resolver {
                resolver.begin(&start, &self.progress, shared)?;
            }
            self.waiting = Some(start);
        }
        if let Some(resolver) = &mut self.resolver {
            resolver.act(now);
        }
        if let Some(mut start) = self.waiting.take_if(|start| start.ready().is_some()) {
            start.now = now;
            self.transport.begin(&start, &mut self.progress, shared)?;
        }
        self.transport.release(now);
        Ok(())
    }

    fn end_visit(&mut self, now: Time, shared: &Shared) {
        let timed = self.progress.is_timed();
        let report = match self.waiting.take() {
            Some(_) => Some(VisitReport::new(SenderMetrics::new(None))),
            None => self.transport.report(now, &self.progress),
        };
        let Some(report) = report else { return };
        self.progress.end(now, shared, report);
        self.resolver.iter_mut().for_each(Resolver::end);
        self.transport.end(now, timed);
    }

    /// Returns the time at which to call [`Flow::act`].
    pub fn next_deadline(&self) -> Option<Time> {
        let deadline = self.progress.next_deadline();
        let names = self.resolver.as_ref().and_then(Resolver::next_action);
        let ready = self.waiting.as_ref().and_then(VisitStart::ready);
        [deadline, names, ready, self.transport.next_release()].into_iter().flatten().min()
    }

    /// Delivers a packet to `node`, which may take its payload out.
    pub fn deliver(&mut self, now: Time, node: u16, ecn: Ecn, datagram: &mut Datagram) {
        if let Some(resolver) = self.resolver.as_mut().filter(|one| one.owns(datagram)) {
            let learned = resolver.deliver(now, node, ecn, datagram);
            self.resolved(now, learned);
            return;
        }
        if datagram.visit == self.progress.visit() || self.transport.outlives_visits() {
            self.transport.deliver(now, node, ecn, datagram);
        }
    }

    /// Tells the transport the origins whose addresses the client has learned.
    fn resolved(&mut self, now: Time, origins: Vec<usize>) {
        if self.waiting.is_none() {
            origins.into_iter().for_each(|origin| self.transport.resolved(now, origin));
        }
    }

    /// Lets `node` inspect a packet that passes it. Returns false if the node holds the packet
    /// back.
    pub fn pass(&mut self, now: Time, node: u16, datagram: &Datagram) -> bool {
        datagram.visit != self.progress.visit() || self.transport.pass(now, node, datagram)
    }

    /// Handles timers that are due at `node`.
    pub fn wake(&mut self, now: Time, node: u16) {
        self.transport.wake(now, node);
        if let (Some(resolver), Some(_)) = (&mut self.resolver, side(node, self.last_node)) {
            let learned = resolver.wake(now, node);
            self.resolved(now, learned);
        }
    }

    /// Returns the time at which to call [`Flow::wake`] for `node`.
    pub fn next_timeout(&self, node: u16) -> Option<Time> {
        let own = self.transport.next_timeout(node);
        let Some(resolver) = &self.resolver else { return own };
        let names = side(node, self.last_node).and_then(|side| resolver.next_timeout(side));
        own.into_iter().chain(names).min()
    }

    /// Returns the next packet that `node` sends, stored in `packet_arena`.
    pub fn poll_transmit(
        &mut self,
        now: Time,
        node: u16,
        packet_arena: &mut PacketArena,
    ) -> Option<Packet<PacketId>> {
        let Self { progress, transport, resolver, last_node, .. } = self;
        let last_node = *last_node;
        let mut outbox = Outbox { now, node, last_node, progress, packet_arena };
        if let Some(resolver) = resolver
            && let Some(packet) = resolver.poll_transmit(&mut outbox)
        {
            return Some(packet);
        }
        transport.poll_transmit(&mut outbox)
    }

    /// Returns the results of its finished visits.
    pub fn into_results(self) -> FlowResults {
        self.progress.into_results()
    }
}
