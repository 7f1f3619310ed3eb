//! Differences between two topologies.

use crate::{Network, Node, SatelliteSelection, Topology};

/// Changes since the previous step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// True if any next hop has changed.
    pub routes: bool,
    /// Links that have ended: between a station and a satellite that it has left, or between
    /// satellites that are too far apart.
    pub removed_links: Vec<(Node, Node)>,
    /// Indices of stations that have been handed over to another satellite or have lost theirs.
    pub handovers: Vec<usize>,
}

/// Returns ended links and handovers. Does not compare routes.
pub(super) fn between(network: &Network, before: &Topology, after: &Topology) -> Changes {
    let mut changes = Changes::default();
    for (link, ends) in network.isls().iter().enumerate() {
        if before.has_isl(link) && !after.has_isl(link) {
            changes.removed_links.push(*ends);
        }
    }
    for (index, station) in network.stations().iter().enumerate() {
        let (was, is) = (before.attached(index), after.attached(index));
        let lost = was.iter().filter(|satellite| !is.contains(satellite));
        changes
            .removed_links
            .extend(lost.map(|&satellite| (network.station(index), Node(satellite))));
        if station.selection != SatelliteSelection::All && was != is {
            changes.handovers.push(index);
        }
    }
    changes
}
