//! A network moved along in time: topology and routes as they are, and what comes next.

use crate::{Network, Node, OrbitError, Path, Routes, Topology};
use bentpipe_units::{Span, Time};
use std::sync::Arc;

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
    // network: Arc<Network>, step, topology now and at the next step (for laws), routes.
}

impl Guide {
    /// At time zero, with routes to `destinations`.
    ///
    /// # Errors
    /// A satellite that cannot be followed, a step of no length.
    pub fn new(network: Arc<Network>, step: Step, destinations: &[Node]) -> Result<Self, OrbitError> {
        let _ = (network, step, destinations);
        todo!()
    }

    /// When to call [`Guide::advance`] next.
    pub fn next(&self) -> Time {
        todo!()
    }

    /// Moves to [`Guide::next`].
    ///
    /// # Errors
    /// A satellite that cannot be followed to there.
    pub fn advance(&mut self) -> Result<Changes, OrbitError> {
        todo!()
    }

    /// The network.
    pub fn network(&self) -> &Network {
        todo!()
    }

    /// Everything's place at the current time.
    pub fn topology(&self) -> &Topology {
        todo!()
    }

    /// The ways at the current time.
    pub fn routes(&self) -> &Routes {
        todo!()
    }

    /// The delay between two nodes from now to the next step.
    pub fn law(&self, a: Node, b: Node) -> Law {
        let _ = (a, b);
        todo!()
    }

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
        let _ = (network, step, from, to, end);
        todo!()
    }
}
