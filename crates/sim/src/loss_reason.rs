//! Reasons for packet loss.

use bentpipe_link::DropCause;

/// Reason why a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossReason {
    /// A link dropped it.
    OnLink(DropCause),
    /// Its link, in whose queue or on which it was, went down, and the scenario loses such packets.
    Handover,
    /// No route to its destination.
    NoRoute,
    /// It has passed the maximum number of links that IP permits.
    HopLimit,
}
