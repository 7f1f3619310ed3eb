//! Link-disjoint paths.

use super::graph::Graph;
use super::path::Path;
use super::tree::{SearchBuffers, ShortestPathTree};
use crate::{Network, Node, Topology};
use bentpipe_units::Span;

/// Returns up to `most` paths from `from` to `to` without common links, shortest first: each is the
/// shortest after removing the links of those before it.
pub fn disjoint_paths(
    network: &Network,
    topology: &Topology,
    from: Node,
    to: Node,
    most: usize,
) -> Vec<Path> {
    let mut graph = Graph::new(network, topology);
    let mut paths = Vec::new();
    let mut search = SearchBuffers::default();
    while paths.len() < most && from != to {
        let tree = ShortestPathTree::new(&graph, to.0, &mut search);
        let Some(length) = tree.length(from.0) else { break };
        let nodes: Vec<Node> =
            std::iter::successors(Some(from), |node| tree.next(node.0).map(Node)).collect();
        graph = graph.without(&nodes);
        paths.push(Path { nodes, delay: Span::from_nanos(graph.delay_ns(length)) });
    }
    paths
}
