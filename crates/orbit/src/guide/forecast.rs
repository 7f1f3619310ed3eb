//! How one way will change.

use super::{Guide, PathForecast, Step};
use crate::{Network, Node, OrbitError, Path};
use bentpipe_units::{Span, Time};
use std::sync::Arc;

impl Guide {
    /// Every change of the way between two nodes from time zero to `end`, in order: a course of its own, to the millisecond with [`Step::Exact`], to
    /// the step otherwise.
    ///
    /// # Errors
    /// A satellite that cannot be followed to there.
    pub fn forecast(
        network: &Arc<Network>,
        step: Step,
        from: Node,
        to: Node,
        end: Time,
    ) -> Result<Vec<PathForecast>, OrbitError> {
        let mut guide = Self::watching(network.clone(), step, &[to], &[(from, 0)])?;
        let mut before = guide.routes.path(from, 0);
        let mut forecasts = Vec::new();
        while guide.next() <= end && guide.next() < Time::MAX {
            guide.advance()?;
            let after = guide.routes.path(from, 0);
            let nodes = |path: &Option<Path>| path.as_ref().map(|path| path.nodes.clone());
            if nodes(&before) != nodes(&after) {
                forecasts.push(PathForecast {
                    at: guide.here.at(),
                    before: before.map(|path| guide.measured(path)),
                    interruption: guide.silence(after.as_ref()),
                    after: after.clone(),
                });
            }
            before = after;
        }
        Ok(forecasts)
    }

    /// A way of the past with its delay at the current time.
    fn measured(&self, path: Path) -> Path {
        let delays = path.nodes.windows(2).map(|pair| self.here.delay(&self.network, pair[0], pair[1]));
        let delay = delays.fold(Span::ZERO, |sum, delay| sum + delay);
        Path { delay, ..path }
    }

    /// How long stations on a way are silent from now.
    fn silence(&self, path: Option<&Path>) -> Span {
        let nodes = path.map_or(&[][..], |path| &path.nodes);
        let stations = nodes.iter().filter_map(|node| self.network.station_of(*node));
        let silences = stations.map(|index| self.here.silent_until(index).since(self.here.at()));
        silences.max().unwrap_or_default()
    }
}
