//! Shortest paths over a topology towards some destinations.

use crate::{Network, Node, Topology};
use bentpipe_units::Span;
use graph::Graph;
use tree::{SearchBuffers, ShortestPathTree};

mod disjoint;
mod graph;
mod path;
mod tree;

pub use disjoint::disjoint_paths;
pub use path::Path;

/// The next hop of every node towards each destination.
///
/// Stations are ends: a path passes through one only if it forwards, and never through an avoided
/// node, except as an end. A station in an outage keeps its routes: packets for it wait. Among
/// paths of equal length (to the nanosecond), the next hop with the lowest index wins.
#[derive(Debug, Clone)]
pub struct Routes {
    destinations: Vec<Node>,
    trees: Vec<ShortestPathTree>,
    graph: Graph,
    search: SearchBuffers,
}

impl Routes {
    /// Computes the routes to `destinations` over `topology`.
    pub fn new(network: &Network, topology: &Topology, destinations: &[Node]) -> Self {
        let graph = Graph::new(network, topology);
        let mut search = SearchBuffers::default();
        let trees = destinations
            .iter()
            .map(|to| ShortestPathTree::new(&graph, to.0, &mut search))
            .collect();
        Self { destinations: destinations.to_vec(), trees, graph, search }
    }

    /// Updates the routes for a later topology, starting from the present ones, so that small
    /// changes are cheap.
    ///
    /// The result equals that of [`Routes::new`]. Returns true if any next hop has changed.
    pub fn update(&mut self, network: &Network, topology: &Topology) -> bool {
        self.graph.fill(network, topology);
        let mut changed = false;
        for tree in &mut self.trees {
            changed |= tree.update(&self.graph, &mut self.search);
        }
        changed
    }

    /// Returns the destinations, in the order given.
    pub fn destinations(&self) -> &[Node] {
        &self.destinations
    }

    /// Returns the next hop from `node` to destination number `destination`. `None` if there is no
    /// route, or at the destination.
    pub fn next(&self, node: Node, destination: usize) -> Option<Node> {
        self.trees.get(destination)?.next(node.0).map(Node)
    }

    /// Returns the propagation delay from `node` to destination number `destination`.
    pub fn delay(&self, node: Node, destination: usize) -> Option<Span> {
        let length = self.trees.get(destination)?.length(node.0)?;
        Some(Span::from_nanos(self.graph.delay_ns(length)))
    }

    /// Returns the path from `from` to destination number `destination`.
    pub fn path(&self, from: Node, destination: usize) -> Option<Path> {
        let delay = self.delay(from, destination)?;
        let mut nodes = vec![from];
        nodes.extend(std::iter::successors(self.next(from, destination), |node| {
            self.next(*node, destination)
        }));
        Some(Path { nodes, delay })
    }
}

#[cfg(test)]
mod tests;
