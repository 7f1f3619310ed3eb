//! Loss recovery and its undo state (draft §5.5.11).

use super::states::State;
use bentpipe_units::{Bytes, Rate};

/// Loss recovery, and what to go back to should it prove spurious.
#[derive(Debug, Clone)]
pub(super) struct Recovery {
    /// Recovery ends when this packet, the next one when a loss was declared, is acknowledged.
    pub(super) until: Option<u64>,
    /// Ranges of lost packets, separate in the order of sending, in this loss round.
    pub(super) ranges: u64,
    pub(super) last_lost: Option<u64>,
    /// Losses of packets before this one have been answered.
    pub(super) recovery_start: u64,
    /// Bytes declared lost when the last answered one was.
    pub(super) answered_lost: Bytes,
    /// The state that losses made us leave (undo_state).
    pub(super) undo_state: Option<State>,
    pub(super) rate: Rate,
    pub(super) inflight: Bytes,
    pub(super) longterm: Bytes,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            until: None,
            ranges: 0,
            last_lost: None,
            recovery_start: 0,
            answered_lost: Bytes::ZERO,
            undo_state: None,
            // Nothing saved: an undo changes nothing.
            rate: Rate::ZERO,
            inflight: Bytes::ZERO,
            longterm: Bytes::ZERO,
        }
    }
}

impl Recovery {
    /// InLossRecovery.
    pub(super) fn is_active(&self) -> bool {
        self.until.is_some()
    }

    /// Whether the acknowledgement of `number` ends it; it is over then.
    pub(super) fn ends_with(&mut self, number: u64) -> bool {
        self.until.take_if(|until| number >= *until).is_some()
    }

    /// Ranges lost in the round that ends.
    pub(super) fn take_ranges(&mut self) -> u64 {
        std::mem::take(&mut self.ranges)
    }

    /// What of `lost`, declared since `lost_before` had been, is not answered yet. Packets are
    /// declared lost in the order of sending, so that all before the last answered one is answered.
    pub(super) fn unanswered(&self, lost: Bytes, lost_before: Bytes) -> Bytes {
        lost.saturating_sub(self.answered_lost.saturating_sub(lost_before))
    }

    pub(super) fn note(&mut self, number: u64) {
        if self.last_lost.is_none_or(|last| number != last.wrapping_add(1)) {
            self.ranges += 1;
        }
        self.last_lost = Some(number);
    }
}
