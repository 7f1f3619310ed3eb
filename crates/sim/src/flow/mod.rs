//! Flows: a client, its server, and their visits one after the other, over any transport.

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
    /// Wall-clock time of the simulation.
    pub epoch: EpochClock,
    /// Whether to record time series.
    pub trace: bool,
    /// Whether to write qlog.
    pub qlog: bool,
    /// Where to record TLS secrets for a capture.
    pub secrets: Option<SecretLog>,
    /// Seed and number of the run.
    pub seed: (u64, u64),
    /// Time after which a visit is given up.
    pub time_limit: Span,
    /// State of hosts across connections.
    pub hosts: Hosts,
    /// The server's node, which equals the number of hops.
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

/// A flow: sends and receives packets at the nodes of a path.
///
/// After [`Flow::deliver`], [`Flow::wake`] and [`Flow::act`], call [`Flow::poll_transmit`] until it
/// returns `None`, then [`Flow::next_timeout`].
pub trait Flow {
    /// Progress of its visits.
    fn progress(&self) -> &FlowProgress;
    /// Progress of its visits, to count the fates of packets.
    fn progress_mut(&mut self) -> &mut FlowProgress;
    /// Starts the next visit.
    fn begin_visit(&mut self, now: Time, shared: &Shared) -> Result<(), SimError>;
    /// Ends the active visit.
    fn end_visit(&mut self, now: Time, shared: &Shared);
    /// Releases requests that were waiting for this time.
    fn release(&mut self, now: Time) {
        let _ = now;
    }
    /// Starts the next visit or ends the active one, if due.
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
    /// Delivers a packet to `node`. Its payload may be taken out.
    fn deliver(&mut self, now: Time, node: u16, ecn: Ecn, datagram: &mut Datagram);
    /// Handles timers that are due at `node`.
    fn wake(&mut self, now: Time, node: u16);
    /// When to call [`Flow::wake`] for `node`.
    fn next_timeout(&self, node: u16) -> Option<Time>;
    /// The next packet that `node` sends, stored in `packet_arena`, and its direction.
    fn poll_transmit(
        &mut self,
        now: Time,
        node: u16,
        packet_arena: &mut PacketArena,
    ) -> Option<(PathDirection, Packet<PacketId>)>;
    /// Lets `node` inspect a packet that passes it. Returns false if the node holds the packet
    /// back.
    fn pass(&mut self, now: Time, node: u16, datagram: &Datagram) -> bool {
        let _ = (now, node, datagram);
        true
    }
    /// When to call [`Flow::act`].
    fn next_deadline(&self) -> Option<Time> {
        self.progress().next_deadline()
    }
    /// Results of its finished visits.
    fn into_results(self: Box<Self>) -> FlowResults;
}

/// A flow that has not started. `index` determines its addresses and random streams.
pub fn new(spec: FlowSpec, index: usize, shared: &Shared) -> Result<Box<dyn Flow>, SimError> {
    Ok(match spec.stack.clone() {
        Stack::Quic(settings) => Box::new(QuicFlow::new(spec, *settings, index, shared)?),
        Stack::DatagramTraffic(kind) => Box::new(DatagramFlow::new(spec, kind, index, shared)?),
        Stack::Tcp(stack) => Box::new(TcpFlow::new(spec, *stack, index, shared)?),
        Stack::Program(_) => {
            return Err(SimError::Spec(format!(
                "flow `{}` is a program, which takes real time",
                spec.name
            )));
        }
    })
}
