//! Reasons for packet loss.

use bentpipe_link::{DropCause, DropKind};

/// Reason why a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossReason {
    /// A link dropped it.
    OnLink(DropCause),
    /// Its link, in whose queue or on which it was, went down, and the scenario loses such packets.
    Handover,
    /// No route to its destination.
    NoRoute,
    /// A node that the caller has put on the path dropped it.
    Node,
    /// It has passed the maximum number of links that IP permits.
    HopLimit,
}

impl From<LossReason> for DropKind {
    fn from(reason: LossReason) -> Self {
        match reason {
            LossReason::OnLink(cause) => cause.into(),
            LossReason::Node => Self::Channel,
            LossReason::Handover | LossReason::NoRoute | LossReason::HopLimit => Self::Routing,
        }
    }
}
