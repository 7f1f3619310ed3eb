//! Topology and routes over time.

use crate::{Network, Node, OrbitError, Path, Routes, SPEED_OF_LIGHT, Topology};
use bentpipe_units::{LinearDelay, Span, Time};
use std::sync::Arc;

mod changes;
mod event_driven;
mod forecast;

pub use changes::Changes;
use event_driven::WatchedPaths;

/// When routes are recomputed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteUpdates {
    /// At multiples of this interval.
    Stepped(Span),
    /// When a link appears or disappears or a shorter path exists: checked at multiples of this
    /// interval, then located between two of them to the millisecond.
    EventDriven(Span),
    /// Never: satellites stay at their positions of time zero.
    Static,
}

/// A future change of a path, known in advance from the orbits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// Time of the change.
    pub at: Time,
    /// The path until then. `None` if there is none.
    pub before: Option<Path>,
    /// The path from then on. `None` if the ends are disconnected.
    pub after: Option<Path>,
    /// Outage at the change, during a handover of an end.
    pub handover_outage: Span,
}

/// Topology and routes at the current time, advanced step by step.
///
/// [`RouteTimeline::new`] starts at time zero. [`RouteTimeline::next`] returns when to call
/// [`RouteTimeline::advance`]. Routes and [`RouteTimeline::link_delay`]s are constant between two
/// such times.
#[derive(Debug, Clone)]
pub struct RouteTimeline {
    network: Arc<Network>,
    step: RouteUpdates,
    watched: WatchedPaths,
    current: Topology,
    routes: Routes,
    /// The topology at the next step; `None` if there is none.
    next_topology: Option<Topology>,
}

impl RouteTimeline {
    /// Creates the network at time zero, with routes to `destinations`.
    ///
    /// With [`RouteUpdates::EventDriven`], the paths between any two destinations are watched: see
    /// [`RouteTimeline::watching_pairs`].
    ///
    /// # Errors
    ///
    /// If a satellite cannot be propagated, or the step is zero.
    pub fn new(
        network: Arc<Network>,
        step: RouteUpdates,
        destinations: &[Node],
    ) -> Result<Self, OrbitError> {
        let all = 0..destinations.len();
        let pairs: Vec<_> =
            destinations.iter().flat_map(|from| all.clone().map(|to| (*from, to))).collect();
        Self::watching_pairs(network, step, destinations, &pairs)
    }

    /// Like [`RouteTimeline::new`], but watches only the paths of `pairs`: a node and the index of
    /// a destination.
    ///
    /// [`RouteUpdates::EventDriven`] finds when their next hops change and when one of their ends
    /// is handed over. Everything else changes along with them, or at the step.
    ///
    /// # Errors
    ///
    /// If a satellite cannot be propagated, or the step is zero.
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
        made.find_next(None)?;
        Ok(made)
    }

    /// Returns when to call [`RouteTimeline::advance`] next; [`Time::MAX`] if nothing ever changes.
    pub fn next(&self) -> Time {
        self.next_topology.as_ref().map_or(Time::MAX, Topology::at)
    }

    /// Advances to [`RouteTimeline::next`]. Does not advance if it returns an error.
    ///
    /// # Errors
    ///
    /// If a satellite cannot be propagated to that time, or to the step after it.
    pub fn advance(&mut self) -> Result<Changes, OrbitError> {
        let Some(next_topology) = self.next_topology.take() else { return Ok(Changes::default()) };
        let mut changes = changes::between(&self.network, &self.current, &next_topology);
        let spare = std::mem::replace(&mut self.current, next_topology);
        changes.routes = self.routes.update(&self.network, &self.current);
        self.find_next(Some(spare))?;
        Ok(changes)
    }

    /// Finds the next step and its topology, reusing the memory of `spare`.
    fn find_next(&mut self, spare: Option<Topology>) -> Result<(), OrbitError> {
        let step = match self.step {
            RouteUpdates::Stepped(step) | RouteUpdates::EventDriven(step) => step,
            RouteUpdates::Static => return Ok(()),
        };
        let passed = self.current.at().as_nanos() / step.as_nanos();
        let at = Time::from_nanos((passed + 1).saturating_mul(step.as_nanos()));
        let mut topology = spare.unwrap_or_else(|| self.current.clone());
        topology.follow(&self.network, &self.current, at)?;
        if let RouteUpdates::EventDriven(_) = self.step {
            topology =
                self.watched.first_change(&self.network, &self.current, &self.routes, topology)?;
        }
        self.next_topology = Some(topology);
        Ok(())
    }

    /// Returns the network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns the topology at the current time.
    pub fn topology(&self) -> &Topology {
        &self.current
    }

    /// Returns the routes at the current time.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Returns the delay between two nodes from now until the next step.
    pub fn link_delay(&self, a: Node, b: Node) -> LinearDelay {
        let (from, delay) = (self.current.at(), self.current.delay(&self.network, a, b));
        let on_ground =
            self.network.station_of(a).is_some() && self.network.station_of(b).is_some();
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
