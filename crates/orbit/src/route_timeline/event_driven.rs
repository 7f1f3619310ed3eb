//! When, between two steps, something changes.

use crate::{Network, Node, OrbitError, Routes, SatelliteSelection, Topology};
use bentpipe_units::{Span, Time};

/// How exactly a change is found.
const EXACT: Span = Span::from_millis(1);

/// The ways, and the stations, whose changes are to be found.
#[derive(Debug, Clone)]
pub(super) struct WatchedPaths {
    /// From a node to a destination by its number.
    pairs: Vec<(Node, usize)>,
    /// Ends of those ways that have one satellite at a time, by index.
    stations: Vec<usize>,
}

impl WatchedPaths {
    pub(super) fn new(network: &Network, destinations: &[Node], pairs: &[(Node, usize)]) -> Self {
        let ends = pairs.iter().flat_map(|(from, to)| destinations.get(*to).into_iter().chain([from]));
        let mut stations: Vec<usize> = ends.filter_map(|end| network.station_of(*end)).collect();
        stations.sort_unstable();
        stations.dedup();
        stations.retain(|&index| network.stations().get(index).is_some_and(|s| s.selection != SatelliteSelection::All));
        Self { pairs: pairs.to_vec(), stations }
    }

    /// The network at the first change after `current`, or `far` where there is none until then. A change that is undone before `far` is not seen.
    ///
    /// Choices of satellites depend on the times that a topology was moved through: each trial starts from a copy of `current`, as the real move will.
    pub(super) fn first_change(
        &self,
        network: &Network,
        current: &Topology,
        routes: &Routes,
        mut far: Topology,
    ) -> Result<Topology, OrbitError> {
        let mut trial = routes.clone();
        trial.update(network, &far);
        if self.same(current, routes, &far, &trial) {
            return Ok(far);
        }
        // Unchanged at `sure`, changed at `far`.
        let mut sure = current.at();
        while far.at().since(sure) > EXACT {
            let middle = middle(sure, far.at());
            let mut topology = current.clone();
            topology.advance(network, middle)?;
            trial.update(network, &topology);
            if self.same(current, routes, &topology, &trial) { sure = middle } else { far = topology }
        }
        Ok(far)
    }

    fn same(&self, current: &Topology, routes: &Routes, there: &Topology, trial: &Routes) -> bool {
        self.stations.iter().all(|&index| current.attached(index) == there.attached(index))
            && self.pairs.iter().all(|&(from, to)| same_way(from, to, routes, trial))
    }
}

/// Halfway between two times, at a whole millisecond where one lies between them: changes stand at times that people can read, and that another step finds
/// too.
fn middle(from: Time, to: Time) -> Time {
    let whole = EXACT.as_nanos();
    let half = from.as_nanos() + to.since(from).as_nanos() / 2;
    let down = Time::from_nanos(half / whole * whole);
    if down > from { down } else { Time::from_nanos(half) }
}

/// True where the way from `from` leads through the same nodes.
fn same_way(from: Node, to: usize, routes: &Routes, trial: &Routes) -> bool {
    let mut node = from;
    loop {
        let next = routes.next(node, to);
        if next != trial.next(node, to) {
            return false;
        }
        match next {
            Some(next) => node = next,
            None => return true,
        }
    }
}
