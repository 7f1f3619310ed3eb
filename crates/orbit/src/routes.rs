//! Shortest ways over a topology, for the destinations that someone needs.

use crate::{Network, Node, Topology};
use bentpipe_units::Span;
use graph::Graph;
use tree::{SearchBuffers, ShortestPathTree};

mod disjoint;
mod graph;
mod tree;

pub use disjoint::disjoint_paths;

/// The next hop of every node towards each of some destinations.
///
/// Stations are ends: a way leads through one only where it relays, and through an avoided node never (unless it is an end itself). A station that is silent
/// keeps its ways: what is sent there waits. Among ways of one length (to the nanosecond) the next hop is the node of lowest index.
#[derive(Debug, Clone)]
pub struct Routes {
    destinations: Vec<Node>,
    trees: Vec<ShortestPathTree>,
    graph: Graph,
    search: SearchBuffers,
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
        let graph = Graph::new(network, topology);
        let mut search = SearchBuffers::default();
        let trees = destinations.iter().map(|to| ShortestPathTree::new(&graph, to.0, &mut search)).collect();
        Self { destinations: destinations.to_vec(), trees, graph, search }
    }

    /// The same destinations over a topology a little later: starts from the ways found last, so that little change costs little. The result is that of
    /// [`Routes::new`]. True where some next hop differs from before.
    pub fn update(&mut self, network: &Network, topology: &Topology) -> bool {
        self.graph.fill(network, topology);
        let mut changed = false;
        for tree in &mut self.trees {
            changed |= tree.update(&self.graph, &mut self.search);
        }
        changed
    }

    /// The destinations, in the order given.
    pub fn destinations(&self) -> &[Node] {
        &self.destinations
    }

    /// The next node on the way from `node` to destination number `destination`; none where there is no way, or at its end.
    pub fn next(&self, node: Node, destination: usize) -> Option<Node> {
        self.trees.get(destination)?.next(node.0).map(Node)
    }

    /// Propagation delay of the way from `node` to destination number `destination`.
    pub fn delay(&self, node: Node, destination: usize) -> Option<Span> {
        let length = self.trees.get(destination)?.length(node.0)?;
        Some(Span::from_nanos(self.graph.delay_ns(length)))
    }

    /// The whole way.
    pub fn path(&self, from: Node, destination: usize) -> Option<Path> {
        let delay = self.delay(from, destination)?;
        let mut nodes = vec![from];
        nodes.extend(std::iter::successors(self.next(from, destination), |node| self.next(*node, destination)));
        Some(Path { nodes, delay })
    }
}

#[cfg(test)]
mod tests;
