//! Locates changes between two steps.

use crate::{Network, Node, OrbitError, Routes, SatelliteSelection, Topology};
use bentpipe_units::{Span, Time};

/// Precision of located changes.
const EXACT: Span = Span::from_millis(1);

/// The paths and stations whose changes are located.
#[derive(Debug, Clone)]
pub(super) struct WatchedPaths {
    /// Pairs of a node and the index of a destination.
    pairs: Vec<(Node, usize)>,
    /// Indices of the ends of these paths that have one satellite at a time.
    stations: Vec<usize>,
}

impl WatchedPaths {
    pub(super) fn new(network: &Network, destinations: &[Node], pairs: &[(Node, usize)]) -> Self {
        let ends =
            pairs.iter().flat_map(|(from, to)| destinations.get(*to).into_iter().chain([from]));
        let mut stations: Vec<usize> = ends.filter_map(|end| network.station_of(*end)).collect();
        stations.sort_unstable();
        stations.dedup();
        stations.retain(|&index| {
            network.stations().get(index).is_some_and(|s| s.selection != SatelliteSelection::All)
        });
        Self { pairs: pairs.to_vec(), stations }
    }

    /// Returns the topology at the first change after `current`, or `far` if there is none. Misses
    /// a change that is undone before `far`.
    ///
    /// Satellite selection depends on the times through which a topology has advanced, so each
    /// trial starts from a copy of `current`, like the actual step.
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
        // Invariant: unchanged at `sure`, changed at `far`.
        let mut sure = current.at();
        while far.at().since(sure) > EXACT {
            let middle = middle(sure, far.at());
            let mut topology = current.clone();
            topology.advance(network, middle)?;
            trial.update(network, &topology);
            if self.same(current, routes, &topology, &trial) {
                sure = middle
            } else {
                far = topology
            }
        }
        Ok(far)
    }

    fn same(&self, current: &Topology, routes: &Routes, there: &Topology, trial: &Routes) -> bool {
        self.stations.iter().all(|&index| current.attached(index) == there.attached(index))
            && self.pairs.iter().all(|&(from, to)| same_path(from, to, routes, trial))
    }
}

/// Returns the middle of two times, rounded to a whole millisecond if one lies between them:
/// changes get readable times that do not depend on the step.
fn middle(from: Time, to: Time) -> Time {
    let whole = EXACT.as_nanos();
    let half = from.as_nanos() + to.since(from).as_nanos() / 2;
    let down = Time::from_nanos(half / whole * whole);
    if down > from { down } else { Time::from_nanos(half) }
}

/// Returns true if both paths from `from` pass the same nodes.
fn same_path(from: Node, to: usize, routes: &Routes, trial: &Routes) -> bool {
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
