//! Why packets do not arrive.

use bentpipe_link::DropCause;
use bentpipe_recorder::Drop;

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

impl From<LossReason> for Drop {
    fn from(reason: LossReason) -> Self {
        match reason {
            LossReason::OnLink(cause) => cause.into(),
            LossReason::Handover | LossReason::NoRoute | LossReason::HopLimit => Self::Routing,
        }
    }
}
