//! A network at one time.

use crate::{Ecef, Network, Node, OrbitError};
use bentpipe_units::{Span, Time};

/// A satellite above a station's lowest elevation and within range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sight {
    /// The satellite's index.
    pub satellite: u32,
    /// How high it stands, degrees.
    pub elevation_deg: f64,
    /// How far away it is, metres.
    pub distance_m: f64,
}

/// Where everything is, who sees whom, who talks to whom.
///
/// Selections with a memory (longest-lived, slots) make it a function of the times it was moved through: [`Topology::new`], then
/// [`Topology::advance`] with times that never go back.
#[derive(Debug, Clone)]
pub struct Topology {
    // at, positions of all nodes, sights and attached satellites by station, who is silent until when.
}

impl Topology {
    /// The network at `at`.
    ///
    /// # Errors
    /// A satellite that cannot be followed to there.
    pub fn new(network: &Network, at: Time) -> Result<Self, OrbitError> {
        let _ = (network, at);
        todo!()
    }

    /// Moves on to `at`.
    ///
    /// # Errors
    /// A satellite that cannot be followed to there.
    pub fn advance(&mut self, network: &Network, at: Time) -> Result<(), OrbitError> {
        let _ = (network, at);
        todo!()
    }

    /// Its time.
    pub fn at(&self) -> Time {
        todo!()
    }

    /// Where `node` is.
    pub fn position(&self, node: Node) -> Ecef {
        let _ = node;
        todo!()
    }

    /// The satellites that station `index` sees, highest first.
    pub fn sights(&self, index: usize) -> &[Sight] {
        let _ = index;
        todo!()
    }

    /// Of those, the satellites that it talks to now: all, one, or none.
    pub fn attached(&self, index: usize) -> &[u32] {
        let _ = index;
        todo!()
    }

    /// Until when station `index` is silent, turning to the satellite that it is attached to; [`Time::ZERO`] where it is not.
    pub fn silent_until(&self, index: usize) -> Time {
        let _ = index;
        todo!()
    }

    /// True where the two nodes can talk now: an inter-satellite link that is not too long, an attached satellite, a fibre.
    pub fn linked(&self, network: &Network, a: Node, b: Node) -> bool {
        let _ = (network, a, b);
        todo!()
    }

    /// Propagation delay between two nodes on a straight line, or over their fibre.
    pub fn delay(&self, network: &Network, a: Node, b: Node) -> Span {
        let _ = (network, a, b);
        todo!()
    }
}
