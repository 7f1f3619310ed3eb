//! The interface between the simulation and a network, which routes packets.

use crate::checks::{LinkAudit, VisitAudit};
use crate::error::SimError;
use crate::flow::Flow;
use crate::link_state::LinkState;
use crate::loss_reason::LossReason;
use crate::outcome::FlowOutcome;
use crate::packet_arena::PacketId;
use bentpipe_link::Packet;
use bentpipe_timeseries::RouteChange;
use bentpipe_units::Time;

/// Next step of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextHop {
    /// It has arrived at this node of its flow.
    Arrived(u16),
    /// It enters this link, at this port.
    Link(usize, usize),
    /// The network buffers it and returns it later.
    Waits,
    /// It is lost.
    Lost(LossReason),
}

/// Packets that a network releases or loses when it advances.
#[derive(Debug, Default)]
pub struct NetworkUpdate {
    /// Packets to forward from these nodes.
    pub forward: Vec<(u32, Packet<PacketId>)>,
    /// Lost packets.
    pub lost: Vec<(PacketId, LossReason)>,
    /// Links whose deadlines may have changed.
    pub links: Vec<usize>,
}

/// A network. Its nodes have numbers of their own.
///
/// Call [`PacketNetwork::act`] at [`PacketNetwork::deadline`]. The deadline may change with
/// [`PacketNetwork::act`] and [`NextHop::Waits`].
pub trait PacketNetwork {
    /// True if links may be polled at [`bentpipe_link::Link::next_output`], because the end of a
    /// transmission has no visible effect.
    const LAZY: bool;

    /// Returns the network node of node `node` of flow `flow`.
    fn net_node(&self, flow: usize, node: u16) -> u32;

    /// Returns the node of its flow that a packet passes at `net_node`, if flows have intermediate
    /// nodes.
    fn passes(&self, net_node: u32) -> Option<u16>;

    /// Returns the next hop of a packet at `net_node`. May create a link.
    // By value: the caller's packet then never needs to be in memory between two links.
    fn next(
        &mut self,
        now: Time,
        net_node: u32,
        packet: Packet<PacketId>,
        links: &mut Vec<LinkState>,
    ) -> NextHop;

    /// Returns the time at which to call [`PacketNetwork::act`].
    fn deadline(&self) -> Option<Time>;

    /// Advances the network to `now`.
    fn act(
        &mut self,
        now: Time,
        flows: &mut [Flow],
        links: &mut [LinkState],
        update: &mut NetworkUpdate,
    ) -> Result<(), SimError>;

    /// Returns the path of a measured visit of flow `flow`, for the checks.
    fn account<'a>(
        &self,
        flow: usize,
        outcome: &'a FlowOutcome,
        links: &'a [LinkAudit<'a>],
    ) -> VisitAudit<'a>;

    /// Returns the times up to `end`, from and until, in which link number `link` could carry
    /// nothing because of handovers, if recorded.
    fn outages(&self, link: usize, end: Time) -> Vec<(Time, Time)>;

    /// Returns the paths of the flows' data, if recorded.
    fn into_paths(self) -> Vec<RouteChange>;
}
