//! A network moved along in time: topology and routes as they are, and what comes next.

use crate::{Network, Node, OrbitError, Path, Routes, SPEED_OF_LIGHT, Topology};
use bentpipe_units::{Span, Time};
use std::sync::Arc;

mod changes;
mod exact;
mod forecast;

use exact::Watch;

/// When routes are computed anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// At multiples of this.
    Every(Span),
    /// When a link comes or goes, or another way becomes the shortest: looked for at multiples of this, and then, between two of them, to the millisecond.
    Exact(Span),
    /// Never: everything stands still where it is at time zero.
    Never,
}

/// The delay of a link as a straight line between two times: distances bend so little within a step (a centimetre in 100 ms) that nobody sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Law {
    /// From when it holds.
    pub from: Time,
    /// The delay then.
    pub delay: Span,
    /// Change of the delay, picoseconds a second (up to 84 million on a bent pipe; negative where ends approach).
    pub drift_ps_per_s: i64,
}

impl Law {
    /// The delay at `at`, before or after [`Law::from`]; never below zero.
    pub fn delay(&self, at: Time) -> Span {
        let away = i128::from(at.as_nanos()) - i128::from(self.from.as_nanos());
        let change = away * i128::from(self.drift_ps_per_s) / 1_000_000_000_000;
        Span::from_nanos((i128::from(self.delay.as_nanos()) + change).max(0) as u64)
    }
}

/// What a move has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// True where some next hop differs.
    pub routes: bool,
    /// Links that are no more: a station and a satellite that it no longer talks to, or two satellites too far apart.
    pub gone: Vec<(Node, Node)>,
    /// Stations that have turned to another satellite or lost theirs, by index.
    pub turned: Vec<usize>,
}

/// How a way will change: what can be known ahead, since orbits are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathForecast {
    /// When the next change comes.
    pub at: Time,
    /// The way until then; none where there is none.
    pub before: Option<Path>,
    /// The way from then on; none where the ends lose each other.
    pub after: Option<Path>,
    /// Silence at the change, while an end turns.
    pub interruption: Span,
}

/// Topology and routes at the current time, moved from step to step.
///
/// [`Guide::new`] stands at time zero. [`Guide::next`] says when to call [`Guide::advance`]; between two such times routes and [`Guide::law`]s hold.
#[derive(Debug, Clone)]
pub struct Guide {
    network: Arc<Network>,
    step: Step,
    watch: Watch,
    here: Topology,
    routes: Routes,
    /// What comes next; none where nothing ever does.
    ahead: Option<Topology>,
}

impl Guide {
    /// At time zero, with routes to `destinations`. With [`Step::Exact`], the ways that matter are those between any two of them: see [`Guide::watching`].
    ///
    /// # Errors
    /// A satellite that cannot be followed, a step of no length.
    pub fn new(network: Arc<Network>, step: Step, destinations: &[Node]) -> Result<Self, OrbitError> {
        let all = 0..destinations.len();
        let pairs: Vec<_> = destinations.iter().flat_map(|from| all.clone().map(|to| (*from, to))).collect();
        Self::watching(network, step, destinations, &pairs)
    }

    /// As [`Guide::new`], where only the ways of `pairs` (a node, and the number of a destination) are watched: [`Step::Exact`] finds when their next hops
    /// change and when one of their ends turns to another satellite. Everything else changes with it, or at the step.
    ///
    /// # Errors
    /// A satellite that cannot be followed, a step of no length.
    pub fn watching(
        network: Arc<Network>,
        step: Step,
        destinations: &[Node],
        pairs: &[(Node, usize)],
    ) -> Result<Self, OrbitError> {
        if let Step::Every(Span::ZERO) | Step::Exact(Span::ZERO) = step {
            return Err(OrbitError::Value {
                what: "a step".into(),
                value: Span::ZERO.to_string(),
                allowed: "more than 0, such as 100 ms".into(),
            });
        }
        let here = Topology::new(&network, Time::ZERO)?;
        let routes = Routes::new(&network, &here, destinations);
        let watch = Watch::new(&network, destinations, pairs);
        let mut made = Self { network, step, watch, here, routes, ahead: None };
        made.look_ahead()?;
        Ok(made)
    }

    /// When to call [`Guide::advance`] next; [`Time::MAX`] where nothing ever changes.
    pub fn next(&self) -> Time {
        self.ahead.as_ref().map_or(Time::MAX, Topology::at)
    }

    /// Moves to [`Guide::next`]. After an error it stands still.
    ///
    /// # Errors
    /// A satellite that cannot be followed to there, or to the step after it.
    pub fn advance(&mut self) -> Result<Changes, OrbitError> {
        let Some(ahead) = self.ahead.take() else { return Ok(Changes::default()) };
        let mut changes = changes::between(&self.network, &self.here, &ahead);
        self.here = ahead;
        changes.routes = self.routes.update(&self.network, &self.here);
        self.look_ahead()?;
        Ok(changes)
    }

    /// Finds the next time, and the network then.
    fn look_ahead(&mut self) -> Result<(), OrbitError> {
        let step = match self.step {
            Step::Every(step) | Step::Exact(step) => step,
            Step::Never => return Ok(()),
        };
        let passed = self.here.at().as_nanos() / step.as_nanos();
        let at = Time::from_nanos((passed + 1).saturating_mul(step.as_nanos()));
        let mut topology = self.here.clone();
        topology.advance(&self.network, at)?;
        if let Step::Exact(_) = self.step {
            topology = self.watch.first_change(&self.network, &self.here, &self.routes, topology)?;
        }
        self.ahead = Some(topology);
        Ok(())
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Everything's place at the current time.
    pub fn topology(&self) -> &Topology {
        &self.here
    }

    /// The ways at the current time.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The delay between two nodes from now to the next step.
    pub fn law(&self, a: Node, b: Node) -> Law {
        let (from, delay) = (self.here.at(), self.here.delay(&self.network, a, b));
        let on_ground = self.network.station_of(a).is_some() && self.network.station_of(b).is_some();
        let drift = match &self.ahead {
            Some(ahead) if !on_ground => {
                let change_m = ahead.position(a).distance_m(ahead.position(b))
                    - self.here.position(a).distance_m(self.here.position(b));
                change_m / SPEED_OF_LIGHT / ahead.at().since(from).as_secs_f64() * 1e12
            }
            _ => 0.0,
        };
        Law { from, delay, drift_ps_per_s: drift.round() as i64 }
    }
}

#[cfg(test)]
mod tests;
