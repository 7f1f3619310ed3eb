//! Flows: a client, its server, and their visits one after the other, whatever they speak.

mod datagrams;
mod progress;
mod quic;
mod tcp;
mod tcp_acks;

pub use datagrams::DatagramFlow;
pub use progress::{FlowProgress, FlowResults};
pub use quic::QuicFlow;
pub use tcp::TcpFlow;

use crate::datagram::{Datagram, PathDirection};
use crate::error::SimError;
use crate::hosts::Hosts;
use crate::packet_arena::{PacketArena, PacketId};
use crate::spec::{FlowSpec, Stack};
use bentpipe_link::{Ecn, Packet, random};
use bentpipe_quic::tls::SecretLog;
use bentpipe_quic::{Clock, EpochClock};
use bentpipe_units::{Span, Time};

/// What all flows of a run share.
pub struct Shared {
    /// Maps time to the stack's instants.
    pub clock: Clock,
    /// Wall time of the simulated world.
    pub epoch: EpochClock,
    /// Whether series are recorded.
    pub trace: bool,
    /// Whether qlog is written.
    pub qlog: bool,
    /// Where TLS secrets go, for a capture.
    pub secrets: Option<SecretLog>,
    /// Seed and number of the run.
    pub seed: (u64, u64),
    /// Time after which a visit is given up.
    pub time_limit: Span,
    /// What hosts know of each other.
    pub hosts: Hosts,
    /// The server's node: there are as many hops as this says.
    pub last_node: u16,
}

impl Shared {
    fn seed_bytes(&self, purpose: &str) -> [u8; 32] {
        use rand_core::Rng;
        let mut bytes = [0; 32];
        random::stream(self.seed.0, self.seed.1, purpose).fill_bytes(&mut bytes);
        bytes
    }
}

/// A flow as the world sees it: something at the nodes of a path that takes packets and makes packets.
///
/// After [`Flow::deliver`], [`Flow::wake`] and [`Flow::act`] the world calls [`Flow::poll_transmit`] until it returns `None`, and then asks
/// [`Flow::next_timeout`].
pub trait Flow {
    /// Its visits.
    fn progress(&self) -> &FlowProgress;
    /// Its visits, to count what happens to their packets.
    fn progress_mut(&mut self) -> &mut FlowProgress;
    /// Begins the next visit.
    fn begin_visit(&mut self, now: Time, shared: &Shared) -> Result<(), SimError>;
    /// Ends the visit under way.
    fn end_visit(&mut self, now: Time, shared: &Shared);
    /// Lets requests go on that only waited for the time.
    fn release(&mut self, now: Time) {
        let _ = now;
    }
    /// Begins the next visit, ends the one under way, or neither, as is due.
    fn act(&mut self, now: Time, shared: &Shared) -> Result<(), SimError> {
        if self.progress().must_end(now) {
            self.end_visit(now, shared);
        }
        if self.progress().must_begin(now) {
            self.begin_visit(now, shared)?;
        }
        self.release(now);
        Ok(())
    }
    /// A packet for `node` has arrived there. What it carries may be taken out.
    fn deliver(&mut self, now: Time, node: u16, ecn: Ecn, datagram: &mut Datagram);
    /// What is due at `node` is done.
    fn wake(&mut self, now: Time, node: u16);
    /// When [`Flow::wake`] is to be called for `node`.
    fn next_timeout(&self, node: u16) -> Option<Time>;
    /// The next packet that leaves `node`, and its way. It is put among `packet_arena`.
    fn poll_transmit(
        &mut self,
        now: Time,
        node: u16,
        packet_arena: &mut PacketArena,
    ) -> Option<(PathDirection, Packet<PacketId>)>;
    /// A packet for another node passes `node`. False where it is held back there.
    fn pass(&mut self, now: Time, node: u16, datagram: &Datagram) -> bool {
        let _ = (now, node, datagram);
        true
    }
    /// When [`Flow::act`] is to be called.
    fn next_deadline(&self) -> Option<Time> {
        self.progress().next_deadline()
    }
    /// What its finished visits left.
    fn into_results(self: Box<Self>) -> FlowResults;
}

/// A flow that has not begun; `index` gives its addresses and random streams.
pub fn new(spec: FlowSpec, index: usize, shared: &Shared) -> Result<Box<dyn Flow>, SimError> {
    Ok(match spec.stack.clone() {
        Stack::Quic(settings) => Box::new(QuicFlow::new(spec, *settings, index, shared)?),
        Stack::DatagramTraffic(kind) => Box::new(DatagramFlow::new(spec, kind, index, shared)?),
        Stack::Tcp(stack) => Box::new(TcpFlow::new(spec, *stack, index, shared)?),
        Stack::Program(_) => {
            return Err(SimError::Spec(format!("flow `{}` is a program, which takes real time", spec.name)));
        }
    })
}
