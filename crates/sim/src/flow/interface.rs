//! The interface between the simulation and flows.

use crate::datagram::Datagram;
use crate::error::SimError;
use crate::flow::progress::{FlowProgress, FlowResults};
use crate::flow::shared::Shared;
use crate::packet_arena::{PacketArena, PacketId};
use bentpipe_link::{Ecn, Packet};
use bentpipe_units::Time;

/// A flow: sends and receives packets at the nodes of a path.
///
/// After [`Flow::deliver`], [`Flow::wake`] and [`Flow::act`], call [`Flow::poll_transmit`] until it
/// returns `None`, then [`Flow::next_timeout`].
pub trait Flow {
    /// Progress of its visits.
    fn progress(&self) -> &FlowProgress;
    /// Progress of its visits, to count sent and lost packets.
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
    /// Delivers a packet to `node`, which may take its payload out.
    fn deliver(&mut self, now: Time, node: u16, ecn: Ecn, datagram: &mut Datagram);
    /// Handles timers that are due at `node`.
    fn wake(&mut self, now: Time, node: u16);
    /// Returns the time at which to call [`Flow::wake`] for `node`.
    fn next_timeout(&self, node: u16) -> Option<Time>;
    /// Returns the next packet that `node` sends, stored in `packet_arena`.
    fn poll_transmit(
        &mut self,
        now: Time,
        node: u16,
        packet_arena: &mut PacketArena,
    ) -> Option<Packet<PacketId>>;
    /// Lets `node` inspect a packet that passes it. Returns false if the node holds the packet
    /// back.
    fn pass(&mut self, now: Time, node: u16, datagram: &Datagram) -> bool {
        let _ = (now, node, datagram);
        true
    }
    /// Returns the time at which to call [`Flow::act`].
    fn next_deadline(&self) -> Option<Time> {
        self.progress().next_deadline()
    }
    /// Returns the results of its finished visits.
    fn into_results(self: Box<Self>) -> FlowResults;
}
