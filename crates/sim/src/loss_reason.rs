//! Why packets do not arrive.

use bentpipe_link::DropCause;

/// Why packets do not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossReason {
    /// A link dropped it.
    OnLink(DropCause),
    /// The link it was queued for, or propagating on, went down, and the scenario loses such
    /// packets.
    Handover,
    /// No route to its destination.
    NoRoute,
    /// It has passed as many links as IP allows.
    HopLimit,
}
