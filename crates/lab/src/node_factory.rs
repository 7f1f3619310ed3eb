//! Nodes of a calling program, made anew for each run.

use bentpipe_sim::node::{Node, PlacedNode};
use bentpipe_sim::{HopEnd, RunError, RunOutcome, RunSpec, Runner, run_with_nodes};
use std::fmt;
use std::sync::atomic::AtomicBool;

/// Makes a node for each run.
pub(crate) struct NodeFactory {
    name: String,
    hop: String,
    end: HopEnd,
    make: Box<dyn Fn() -> Box<dyn Node> + Send + Sync>,
}

impl NodeFactory {
    pub(crate) fn new<N: Node + 'static>(
        name: String,
        hop: String,
        end: HopEnd,
        make: impl Fn() -> N + Send + Sync + 'static,
    ) -> Self {
        Self { name, hop, end, make: Box::new(move || Box::new(make())) }
    }

    fn node(&self) -> PlacedNode {
        let Self { name, hop, end, make } = self;
        PlacedNode { name: name.clone(), hop: hop.clone(), end: *end, node: make() }
    }
}

impl fmt::Debug for NodeFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, hop, end, make: _ } = self;
        f.debug_struct("NodeFactory")
            .field("name", name)
            .field("hop", hop)
            .field("end", end)
            .finish_non_exhaustive()
    }
}

/// Runs on the virtual clock, with nodes on the path.
pub(crate) struct SimulatorWithNodes<'a>(pub(crate) &'a [NodeFactory]);

impl Runner for SimulatorWithNodes<'_> {
    fn run(&self, spec: &RunSpec, _: &str, stop: &AtomicBool) -> Result<RunOutcome, RunError> {
        let nodes = self.0.iter().map(NodeFactory::node).collect();
        let (outcome, _) = run_with_nodes(spec, nodes, stop)?;
        Ok(outcome)
    }
}
