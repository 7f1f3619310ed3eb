//! Why a packet never arrived.

use bentpipe_link::DropCause;

/// Why a packet never arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossReason {
    /// A link dropped it.
    OnLink(DropCause),
    /// The link that it waited for, or flew on, ended, and the scenario says that this loses it.
    Handover,
    /// Nobody where it was knew a way to where it is for.
    NoRoute,
    /// It has been forwarded as often as IP allows.
    HopLimit,
}
