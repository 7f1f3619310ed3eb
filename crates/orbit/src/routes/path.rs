//! A path between two nodes.

use crate::Node;
use bentpipe_units::Span;

/// A path from end to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The nodes, including both ends.
    pub nodes: Vec<Node>,
    /// One-way propagation delay.
    pub delay: Span,
}
