//! Flows are told of changes of their paths before they come: a guide runs ahead of the network.

use super::Ends;
use crate::error::SimError;
use crate::flow::Flow;
use crate::spec::MeshSpec;
use bentpipe_orbit::{Guide, Node, Path};
use bentpipe_quic::congestion::PathChangeNotice;
use bentpipe_units::{Rate, Span, Time};

/// A guide that is ahead by the horizon of the hints.
pub struct Foresight {
    guide: Guide,
    horizon: Span,
    /// The way of each flow's data in the guide's present.
    paths: Vec<Option<Path>>,
    /// The models' rates: between satellites, up, down, on the ground.
    rates: [Rate; 4],
}

impl Foresight {
    /// At time zero, `guide` with it.
    pub fn new(mesh: &MeshSpec, guide: Guide, horizon: Span, flows: &[Ends]) -> Self {
        let paths = flows.iter().map(|ends| ends.data_path(guide.routes())).collect();
        let rates = [&mesh.isl, &mesh.up, &mesh.down, &mesh.fibre].map(|model| model.nominal_rate());
        Self { guide, horizon, paths, rates }
    }

    /// When something comes into sight.
    pub fn due(&self) -> Time {
        match self.guide.next() {
            Time::MAX => Time::MAX,
            next => Time::ZERO + next.since_start().saturating_sub(self.horizon),
        }
    }

    /// Announces what comes into sight by `now`.
    pub fn look(&mut self, now: Time, ends: &[Ends], flows: &[Box<dyn Flow>]) -> Result<(), SimError> {
        while self.guide.next() < Time::MAX && self.guide.next() <= now + self.horizon {
            let changes = self.guide.advance()?;
            let at = self.guide.topology().at();
            for (index, ends) in ends.iter().enumerate() {
                let path = ends.data_path(self.guide.routes());
                let before = std::mem::replace(&mut self.paths[index], path);
                let after = &self.paths[index];
                let nodes = |path: &Option<Path>| path.as_ref().map(|path| path.nodes.clone());
                if changes.routes && nodes(&before) != nodes(after) {
                    // Ways there and back are the same: links have the same delay either way.
                    let rtt = |path: &Option<Path>| path.as_ref().map(|path| path.delay * 2);
                    flows[index].course().hints.announce(PathChangeNotice {
                        at,
                        rtt_before: rtt(&before),
                        rtt_after: rtt(after),
                        rate_after: after.as_ref().and_then(|path| self.rate(&path.nodes)),
                        outage: self.silence(ends, at),
                    });
                }
            }
        }
        Ok(())
    }

    /// The slowest link's rate on a way.
    fn rate(&self, nodes: &[Node]) -> Option<Rate> {
        let network = self.guide.network();
        let on_ground = |node: Node| network.station_of(node).is_some();
        let [isl, up, down, fibre] = self.rates;
        let links = nodes.iter().zip(nodes.iter().skip(1));
        let rates = links.map(|(&from, &to)| match (on_ground(from), on_ground(to)) {
            (false, false) => isl,
            (true, false) => up,
            (false, true) => down,
            (true, true) => fibre,
        });
        rates.min()
    }

    /// How long from `at` on one of the ends is silent.
    fn silence(&self, ends: &Ends, at: Time) -> Span {
        let topology = self.guide.topology();
        let until = ends.stations.map(|station| topology.silent_until(station));
        until[0].max(until[1]).max(at).since(at)
    }
}
