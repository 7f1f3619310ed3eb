//! What a satellite network of a run has.

use bentpipe_link::DirectionModel;
use bentpipe_orbit::{HandoverLoss, Network, Node, RouteUpdates};
use bentpipe_units::Span;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A network of satellites and stations. Every link has a queue, and packets are forwarded hop by
/// hop.
#[derive(Debug, Clone)]
pub struct MeshSpec {
    /// The network.
    pub network: Arc<Network>,
    /// Time at which routes are recomputed.
    pub step: RouteUpdates,
    /// Links of satellites whose shell has none of its own. The geometry replaces the delays of all
    /// models here.
    pub links: SatelliteLinks,
    /// Links of the satellites of single shells, by [`Slot::shell`](bentpipe_orbit::Slot::shell).
    pub shells: BTreeMap<u32, SatelliteLinks>,
    /// Each direction of a link on the ground.
    pub fibre: DirectionModel,
    /// True if a satellite has one transmitter for all its stations (as in the Hypatia study),
    /// false if one per station.
    pub shared_ground: bool,
    /// Packets that a handover loses.
    pub handover: HandoverLoss,
    /// Time before a path change at which its flows are notified; `None` for never.
    pub path_change_notice: Option<Span>,
}

/// Links that satellites have, by kind.
#[derive(Debug, Clone)]
pub struct SatelliteLinks {
    /// Each direction of an inter-satellite link.
    pub isl: DirectionModel,
    /// From a station to satellites.
    pub up: DirectionModel,
    /// From a satellite to stations.
    pub down: DirectionModel,
}

impl MeshSpec {
    /// Returns the model of the link from one node to another. Of two satellites, that of the
    /// sender.
    pub fn model(&self, from: Node, to: Node) -> &DirectionModel {
        let on_ground = |node: Node| self.network.station_of(node).is_some();
        match (on_ground(from), on_ground(to)) {
            (true, true) => &self.fibre,
            (true, false) => &self.links_of(to).up,
            (false, true) => &self.links_of(from).down,
            (false, false) => &self.links_of(from).isl,
        }
    }

    /// Returns the models of all links.
    pub fn models(&self) -> impl Iterator<Item = &DirectionModel> {
        let links = std::iter::once(&self.links).chain(self.shells.values());
        links.flat_map(|links| [&links.isl, &links.up, &links.down]).chain([&self.fibre])
    }

    /// Returns the shell of `satellite` if it has links of its own.
    pub(crate) fn own_shell(&self, satellite: Node) -> Option<u32> {
        let slot = self.network.constellation().slot(satellite.0 as usize)?;
        self.shells.contains_key(&slot.shell).then_some(slot.shell)
    }

    fn links_of(&self, satellite: Node) -> &SatelliteLinks {
        let own = self.own_shell(satellite).and_then(|shell| self.shells.get(&shell));
        own.unwrap_or(&self.links)
    }
}
