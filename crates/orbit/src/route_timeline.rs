//! A network moved along in time: topology and routes as they are, and what comes next.

use crate::{Network, Node, OrbitError, Path, Routes, SPEED_OF_LIGHT, Topology};
use bentpipe_units::{LinearDelay, Span, Time};
use std::sync::Arc;

mod changes;
mod event_driven;
mod forecast;

use event_driven::WatchedPaths;

/// When routes are computed anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteUpdates {
    /// At multiples of this.
    Stepped(Span),
    /// When a link comes or goes, or another way becomes the shortest: looked for at multiples of this, and then, between two of them, to the millisecond.
    EventDriven(Span),
    /// Never: everything stands still where it is at time zero.
    Static,
}

/// What a move has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// True where some next hop differs.
    pub routes: bool,
    /// Links that are no more: a station and a satellite that it no longer talks to, or two satellites too far apart.
    pub removed_links: Vec<(Node, Node)>,
    /// Stations that have turned to another satellite or lost theirs, by index.
    pub handovers: Vec<usize>,
}

/// How a way will change: what can be known ahead, since orbits are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// When the next change comes.
    pub at: Time,
    /// The way until then; none where there is none.
    pub before: Option<Path>,
    /// The way from then on; none where the ends lose each other.
    pub after: Option<Path>,
    /// Silence at the change, while an end turns.
    pub handover_outage: Span,
}

/// Topology and routes at the current time, moved from step to step.
///
/// [`RouteTimeline::new`] stands at time zero. [`RouteTimeline::next`] says when to call [`RouteTimeline::advance`]; between two such times routes and [`RouteTimeline::link_delay`]s hold.
#[derive(Debug, Clone)]
pub struct RouteTimeline {
    network: Arc<Network>,
    step: RouteUpdates,
    watched: WatchedPaths,
    current: Topology,
    routes: Routes,
    /// What comes next; none where nothing ever does.
    next_topology: Option<Topology>,
}

impl RouteTimeline {
    /// At time zero, with routes to `destinations`. With [`RouteUpdates::EventDriven`], the ways that matter are those between any two of them: see [`RouteTimeline::watching_pairs`].
    ///
    /// # Errors
    /// A satellite that cannot be followed, a step of no length.
    pub fn new(network: Arc<Network>, step: RouteUpdates, destinations: &[Node]) -> Result<Self, OrbitError> {
        let all = 0..destinations.len();
        let pairs: Vec<_> = destinations.iter().flat_map(|from| all.clone().map(|to| (*from, to))).collect();
        Self::watching_pairs(network, step, destinations, &pairs)
    }

    /// As [`RouteTimeline::new`], where only the ways of `pairs` (a node, and the number of a destination) are watched: [`RouteUpdates::EventDriven`] finds when their next hops
    /// change and when one of their ends turns to another satellite. Everything else changes with it, or at the step.
    ///
    /// # Errors
    /// A satellite that cannot be followed, a step of no length.
    pub fn watching_pairs(
        network: Arc<Network>,
        step: RouteUpdates,
        destinations: &[Node],
        pairs: &[(Node, usize)],
    ) -> Result<Self, OrbitError> {
        if let RouteUpdates::Stepped(Span::ZERO) | RouteUpdates::EventDriven(Span::ZERO) = step {
            return Err(OrbitError::Value {
                what: "a step".into(),
                value: Span::ZERO.to_string(),
                allowed: "more than 0, such as 100 ms".into(),
            });
        }
        let current = Topology::new(&network, Time::ZERO)?;
        let routes = Routes::new(&network, &current, destinations);
        let watched = WatchedPaths::new(&network, destinations, pairs);
        let mut made = Self { network, step, watched, current, routes, next_topology: None };
        made.find_next()?;
        Ok(made)
    }

    /// When to call [`RouteTimeline::advance`] next; [`Time::MAX`] where nothing ever changes.
    pub fn next(&self) -> Time {
        self.next_topology.as_ref().map_or(Time::MAX, Topology::at)
    }

    /// Moves to [`RouteTimeline::next`]. After an error it stands still.
    ///
    /// # Errors
    /// A satellite that cannot be followed to there, or to the step after it.
    pub fn advance(&mut self) -> Result<Changes, OrbitError> {
        let Some(next_topology) = self.next_topology.take() else { return Ok(Changes::default()) };
        let mut changes = changes::between(&self.network, &self.current, &next_topology);
        self.current = next_topology;
        changes.routes = self.routes.update(&self.network, &self.current);
        self.find_next()?;
        Ok(changes)
    }

    /// Finds the next time, and the network then.
    fn find_next(&mut self) -> Result<(), OrbitError> {
        let step = match self.step {
            RouteUpdates::Stepped(step) | RouteUpdates::EventDriven(step) => step,
            RouteUpdates::Static => return Ok(()),
        };
        let passed = self.current.at().as_nanos() / step.as_nanos();
        let at = Time::from_nanos((passed + 1).saturating_mul(step.as_nanos()));
        let mut topology = self.current.clone();
        topology.advance(&self.network, at)?;
        if let RouteUpdates::EventDriven(_) = self.step {
            topology = self.watched.first_change(&self.network, &self.current, &self.routes, topology)?;
        }
        self.next_topology = Some(topology);
        Ok(())
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Everything's place at the current time.
    pub fn topology(&self) -> &Topology {
        &self.current
    }

    /// The ways at the current time.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The delay between two nodes from now to the next step.
    pub fn link_delay(&self, a: Node, b: Node) -> LinearDelay {
        let (from, delay) = (self.current.at(), self.current.delay(&self.network, a, b));
        let on_ground = self.network.station_of(a).is_some() && self.network.station_of(b).is_some();
        let drift = match &self.next_topology {
            Some(next_topology) if !on_ground => {
                let change_m = next_topology.position(a).distance_m(next_topology.position(b))
                    - self.current.position(a).distance_m(self.current.position(b));
                change_m / SPEED_OF_LIGHT / next_topology.at().since(from).as_secs_f64() * 1e12
            }
            _ => 0.0,
        };
        LinearDelay::new(from, delay, drift.round() as i64)
    }
}

#[cfg(test)]
mod tests;
