//! What a network is to the world: something that knows where each packet goes from where it is.

use crate::checks::{LinkAudit, VisitAudit};
use crate::error::SimError;
use crate::flow::Flow;
use crate::link_state::LinkState;
use crate::loss_reason::LossReason;
use crate::outcome::{FlowOutcome, PathTrace};
use crate::packet_arena::{PacketArena, PacketId};
use bentpipe_link::Packet;
use bentpipe_units::Time;

/// Where a packet goes from where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextHop {
    /// It is where it is for: at this node of its flow.
    Arrived(u16),
    /// Into this link, at this port.
    Link(usize, usize),
    /// It waits here; the network has kept it and gives it back in time.
    Waits,
    /// Nowhere.
    Lost(LossReason),
}

/// What a network gives back or takes away when its time has come.
#[derive(Debug, Default)]
pub struct NetworkUpdate {
    /// Packets that go on from these places.
    pub forward: Vec<(u32, Packet<PacketId>)>,
    /// Packets that are lost.
    pub lost: Vec<(PacketId, LossReason)>,
    /// Links whose deadlines may have changed.
    pub links: Vec<usize>,
}

/// A network. Places are numbers of its own.
///
/// The world calls [`PacketNetwork::act`] at [`PacketNetwork::deadline`], and asks for the latter after [`PacketNetwork::act`] and after [`NextHop::Waits`].
pub trait PacketNetwork {
    /// Whether nobody sees a transmission end: then links are polled at [`bentpipe_link::Link::next_output`].
    const LAZY: bool;

    /// Where node `node` of flow `flow` is.
    fn net_node(&self, flow: usize, node: u16) -> u32;

    /// The node of its flow that a packet passes at `net_node`, where flows have nodes on the way.
    fn passes(&self, net_node: u32) -> Option<u16>;

    /// Where a packet goes from `net_node`; the link may be a new one.
    fn next(
        &mut self,
        now: Time,
        net_node: u32,
        packet: &Packet<PacketId>,
        packet_arena: &mut PacketArena,
        links: &mut Vec<LinkState>,
    ) -> NextHop;

    /// When [`PacketNetwork::act`] is to be called.
    fn deadline(&self) -> Option<Time>;

    /// Does what is due at `now`.
    fn act(
        &mut self,
        now: Time,
        flows: &mut [Box<dyn Flow>],
        links: &mut [LinkState],
        update: &mut NetworkUpdate,
    ) -> Result<(), SimError>;

    /// What the checks want to know of a reported visit of flow `flow` and its path.
    fn account<'a>(&self, flow: usize, outcome: &'a FlowOutcome, links: &'a [LinkAudit<'a>]) -> VisitAudit<'a>;

    /// The ways of the flows' data, where they were recorded.
    fn into_paths(self) -> Vec<PathTrace>;
}
