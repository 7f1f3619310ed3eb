//! The rule of a receive window.

use bentpipe_units::{Bytes, Ratio, Span};

/// When a receiver announces more flow control, and how far its window may grow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowControlRule {
    /// Whether the connection's window grows with the capacity of the path, from
    /// `connection_window` up to `max_window`; otherwise it is fixed.
    pub tuned: bool,
    /// Largest window that tuning may reach.
    pub max_window: Bytes,
    /// Share of the window that must be consumed, or gained by tuning, before an update leaves. The
    /// stack uses an eighth.
    pub update_fraction: Ratio,
    /// Longest time between updates while anything was consumed. `None`: only the share counts.
    pub update_interval: Option<Span>,
}

impl FlowControlRule {
    /// A window that grows with the path, up to 64 MB (850 Mbps over 600 ms).
    ///
    /// The window is twice what arrives in an RTT, so an update that waits for a sixteenth of it is
    /// late by an eighth of that, which leaves enough for a sender that doubles its rate. There is
    /// no interval: a sender that uses little of its window is not limited by it, and each of those
    /// updates would ask it for an acknowledgement (decision 55).
    pub fn tuned() -> Self {
        Self {
            tuned: true,
            update_fraction: Ratio::new(1.0 / 16.0).unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Returns true if the stack can apply the rule by itself.
    pub(super) fn is_stack(&self) -> bool {
        !self.tuned
            && self.update_interval.is_none()
            && self.update_fraction == Self::default().update_fraction
    }
}

impl Default for FlowControlRule {
    fn default() -> Self {
        Self {
            tuned: false,
            max_window: Bytes::from_mb(64),
            update_fraction: Ratio::new(0.125).unwrap_or_default(),
            update_interval: None,
        }
    }
}
