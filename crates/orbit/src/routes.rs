//! Shortest ways over a topology, for the destinations that someone needs.

use crate::{Network, Node, Topology};
use bentpipe_units::Span;

/// The next hop of every node towards each of some destinations.
///
/// Stations are ends: a way leads through one only where it relays, and through an avoided node never (unless it is an end itself).
#[derive(Debug, Clone)]
pub struct Routes {
    // destinations; by destination and node: next hop, distance.
}

/// One way, from end to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The nodes, both ends included.
    pub nodes: Vec<Node>,
    /// Propagation delay one way.
    pub delay: Span,
}

impl Routes {
    /// The ways to `destinations` over `topology`.
    pub fn new(network: &Network, topology: &Topology, destinations: &[Node]) -> Self {
        let _ = (network, topology, destinations);
        todo!()
    }

    /// The same destinations over a topology a little later: starts from the ways found last, so that little change costs little. The result is that of
    /// [`Routes::new`] in every distance; among ways of the same length (to the nanosecond) either may be kept.
    pub fn update(&mut self, network: &Network, topology: &Topology) {
        let _ = (network, topology);
        todo!()
    }

    /// The destinations, in the order given.
    pub fn destinations(&self) -> &[Node] {
        todo!()
    }

    /// The next node on the way from `node` to destination number `destination`; none where there is no way, or at its end.
    pub fn next(&self, node: Node, destination: usize) -> Option<Node> {
        let _ = (node, destination);
        todo!()
    }

    /// Propagation delay of the way from `node` to destination number `destination`.
    pub fn delay(&self, node: Node, destination: usize) -> Option<Span> {
        let _ = (node, destination);
        todo!()
    }

    /// The whole way.
    pub fn path(&self, from: Node, destination: usize) -> Option<Path> {
        let _ = (from, destination);
        todo!()
    }
}

/// Up to `most` ways from `from` to `to` that share no link, shortest first: each the shortest once the links of those before it are taken away.
pub fn disjoint_paths(network: &Network, topology: &Topology, from: Node, to: Node, most: usize) -> Vec<Path> {
    let _ = (network, topology, from, to, most);
    todo!()
}
