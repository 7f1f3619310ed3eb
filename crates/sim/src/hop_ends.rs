//! What stands at ends of hops, besides links and hosts.

use crate::capture::Capture;
use crate::path_nodes::PathNodes;

/// What stands at ends of hops.
pub struct HopEnds {
    /// Captures packets on a link.
    pub capture: Option<Capture>,
    /// The nodes, which see packets before they enter a link and after they have left it.
    pub nodes: Option<PathNodes>,
}

impl HopEnds {
    /// Returns a place for both; `None` if there is neither.
    pub fn new(capture: Option<Capture>, nodes: Option<PathNodes>) -> Option<Box<Self>> {
        (capture.is_some() || nodes.is_some()).then(|| Box::new(Self { capture, nodes }))
    }
}
