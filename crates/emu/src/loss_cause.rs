//! Causes of losses on the path.

use bentpipe_link::DropCause;

/// Cause of a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossCause {
    /// A link dropped it.
    Link(DropCause),
    /// Its link went down, or there is no route to its destination.
    Routing,
}
