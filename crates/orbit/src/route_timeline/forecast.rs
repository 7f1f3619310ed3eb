//! Forecasts of one path.

use super::{PathChange, RouteTimeline, RouteUpdates};
use crate::{Network, Node, OrbitError, Path};
use bentpipe_units::{Span, Time};
use std::sync::Arc;

impl RouteTimeline {
    /// Returns all changes of the path between two nodes from time zero to `end`, in order.
    ///
    /// They are located to the millisecond with [`RouteUpdates::EventDriven`], to the step
    /// otherwise.
    ///
    /// # Errors
    ///
    /// If a satellite cannot be propagated to that time.
    pub fn forecast(
        network: &Arc<Network>,
        step: RouteUpdates,
        from: Node,
        to: Node,
        end: Time,
    ) -> Result<Vec<PathChange>, OrbitError> {
        let mut timeline = Self::watching_pairs(network.clone(), step, &[to], &[(from, 0)])?;
        let mut before = timeline.routes.path(from, 0);
        let mut forecasts = Vec::new();
        while timeline.next() <= end && timeline.next() < Time::MAX {
            timeline.advance()?;
            let after = timeline.routes.path(from, 0);
            let nodes = |path: &Option<Path>| path.as_ref().map(|path| path.nodes.clone());
            if nodes(&before) != nodes(&after) {
                forecasts.push(PathChange {
                    at: timeline.current.at(),
                    before: before.map(|path| timeline.measured(path)),
                    handover_outage: timeline.outage(after.as_ref()),
                    after: after.clone(),
                });
            }
            before = after;
        }
        Ok(forecasts)
    }

    /// Returns an earlier path with its delay at the current time.
    fn measured(&self, path: Path) -> Path {
        let delays =
            path.nodes.windows(2).map(|pair| self.current.delay(&self.network, pair[0], pair[1]));
        let delay = delays.fold(Span::ZERO, |sum, delay| sum + delay);
        Path { delay, ..path }
    }

    /// Returns the longest remaining outage of the stations on a path.
    fn outage(&self, path: Option<&Path>) -> Span {
        let nodes = path.map_or(&[][..], |path| &path.nodes);
        let stations = nodes.iter().filter_map(|node| self.network.station_of(*node));
        let silences =
            stations.map(|index| self.current.outage_until(index).since(self.current.at()));
        silences.max().unwrap_or_default()
    }
}
