//! Announces path changes to flows in advance.

use super::flow_ends::Ends;
use crate::error::SimError;
use crate::flow::Flow;
use crate::spec::MeshSpec;
use bentpipe_orbit::{Node, Path, RouteTimeline};
use bentpipe_quic::congestion::PathChangeNotice;
use bentpipe_units::{Rate, Span, Time};

/// A timeline ahead of the network by the notice period.
pub struct PathPredictor {
    timeline: RouteTimeline,
    horizon: Span,
    /// Path of each flow's data at the timeline's time.
    paths: Vec<Option<Path>>,
    /// The links and their rates.
    mesh: MeshSpec,
}

impl PathPredictor {
    /// Creates a predictor at time zero, with the routes of `timeline`.
    pub fn new(mesh: &MeshSpec, timeline: RouteTimeline, horizon: Span, flows: &[Ends]) -> Self {
        let paths = flows.iter().map(|ends| ends.data_path(timeline.routes())).collect();
        Self { timeline, horizon, paths, mesh: mesh.clone() }
    }

    /// Returns the time at which the next change must be announced.
    pub fn due(&self) -> Time {
        match self.timeline.next() {
            Time::MAX => Time::MAX,
            next => next.saturating_sub(self.horizon),
        }
    }

    /// Announces the changes within the notice period at `now`.
    pub fn announce_due(
        &mut self,
        now: Time,
        ends: &[Ends],
        flows: &[Flow],
    ) -> Result<(), SimError> {
        while self.timeline.next() < Time::MAX && self.timeline.next() <= now + self.horizon {
            let changes = self.timeline.advance()?;
            let at = self.timeline.topology().at();
            for (index, ends) in ends.iter().enumerate() {
                let path = ends.data_path(self.timeline.routes());
                let before = std::mem::replace(&mut self.paths[index], path);
                let after = &self.paths[index];
                let nodes = |path: &Option<Path>| path.as_ref().map(|path| path.nodes.clone());
                if changes.routes && nodes(&before) != nodes(after) {
                    // Both directions have the same path and delay.
                    let rtt = |path: &Option<Path>| path.as_ref().map(|path| path.delay * 2);
                    flows[index].progress().path_changes.announce(PathChangeNotice {
                        at,
                        rtt_before: rtt(&before),
                        rtt_after: rtt(after),
                        rate_after: after.as_ref().and_then(|path| self.rate(&path.nodes)),
                        outage: self.outage(ends, at),
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns the rate of the slowest link on a path.
    fn rate(&self, nodes: &[Node]) -> Option<Rate> {
        let links = nodes.iter().zip(nodes.iter().skip(1));
        let rates = links.map(|(&from, &to)| self.mesh.model(from, to).nominal_rate());
        rates.min()
    }

    /// Returns the longest outage of the flow's ends from `at` on.
    fn outage(&self, ends: &Ends, at: Time) -> Span {
        let topology = self.timeline.topology();
        let until = ends.stations.map(|station| topology.outage_until(station));
        until[0].max(until[1]).max(at).since(at)
    }
}
