//! Loss recovery and its undo state (draft §5.5.11).

use super::states::State;
use bentpipe_units::{Bytes, Rate};

/// Loss recovery, and the state to return to if it proves spurious.
#[derive(Debug, Clone)]
pub(super) struct Recovery {
    /// Recovery ends when this packet, the next one at the loss declaration, is acknowledged.
    pub(super) until: Option<u64>,
    /// Discontiguous ranges of lost packets in this loss round.
    pub(super) ranges: u64,
    pub(super) last_lost: Option<u64>,
    /// The controller has responded to losses of packets with smaller numbers.
    pub(super) recovery_start: u64,
    /// Bytes declared lost up to the last loss with a response.
    pub(super) answered_lost: Bytes,
    /// State before the losses (undo_state).
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
            // Nothing is saved yet: an undo has no effect.
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

    /// Ends recovery if it lasted until packet `number`. Returns true if so.
    pub(super) fn ends_with(&mut self, number: u64) -> bool {
        self.until.take_if(|until| number >= *until).is_some()
    }

    /// Returns and resets the ranges lost in the round that ends.
    pub(super) fn take_ranges(&mut self) -> u64 {
        std::mem::take(&mut self.ranges)
    }

    /// Returns the part of `lost`, declared after the first `lost_before` bytes, without a response
    /// yet. Packets are declared lost in the order of sending, so that the response to a loss
    /// covers all earlier ones.
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
