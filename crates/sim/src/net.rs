//! What a network is to the world: something that knows where each packet goes from where it is.

use crate::checks::{LinkAccount, VisitAccount};
use crate::error::SimError;
use crate::flow::Flow;
use crate::links::LinkState;
use crate::lost::Lost;
use crate::outcome::{FlowOutcome, PathTrace};
use crate::parcels::{Parcel, Parcels};
use bentpipe_link::Packet;
use bentpipe_units::Time;

/// Where a packet goes from where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It is where it is for: at this node of its flow.
    Arrived(u16),
    /// Into this link, at this port.
    Link(usize, usize),
    /// It waits here; the network has kept it and gives it back in time.
    Waits,
    /// Nowhere.
    Lost(Lost),
}

/// What a network gives back or takes away when its time has come.
#[derive(Debug, Default)]
pub struct Moved {
    /// Packets that go on from these places.
    pub forward: Vec<(u32, Packet<Parcel>)>,
    /// Packets that are lost.
    pub lost: Vec<(Parcel, Lost)>,
    /// Links whose deadlines may have changed.
    pub links: Vec<usize>,
}

/// A network. Places are numbers of its own.
///
/// The world calls [`Net::act`] at [`Net::deadline`], and asks for the latter after [`Net::act`] and after [`Next::Waits`].
pub trait Net {
    /// Whether nobody sees a transmission end: then links are polled at [`bentpipe_link::Link::next_output`].
    const LAZY: bool;

    /// Where node `node` of flow `flow` is.
    fn place(&self, flow: usize, node: u16) -> u32;

    /// The node of its flow that a packet passes at `place`, where flows have nodes on the way.
    fn passes(&self, place: u32) -> Option<u16>;

    /// Where a packet goes from `place`; the link may be a new one.
    fn next(
        &mut self,
        now: Time,
        place: u32,
        packet: &Packet<Parcel>,
        parcels: &mut Parcels,
        links: &mut Vec<LinkState>,
    ) -> Next;

    /// When [`Net::act`] is to be called.
    fn deadline(&self) -> Option<Time>;

    /// Does what is due at `now`.
    fn act(
        &mut self,
        now: Time,
        flows: &mut [Box<dyn Flow>],
        links: &mut [LinkState],
        moved: &mut Moved,
    ) -> Result<(), SimError>;

    /// What the checks want to know of a reported visit of flow `flow` and its path.
    fn account<'a>(&self, flow: usize, outcome: &'a FlowOutcome, links: &'a [LinkAccount<'a>]) -> VisitAccount<'a>;

    /// The ways of the flows' data, where they were recorded.
    fn into_paths(self) -> Vec<PathTrace>;
}
