//! Round trips counted by packets.

use bentpipe_units::Bytes;

/// Counts round trips by delivered bytes (draft-ietf-ccwg-bbr §5.5.1): a round ends when a packet
/// sent after its start is acknowledged.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoundTrips {
    /// Rounds so far.
    pub(crate) count: u64,
    /// True if the latest acknowledgement started a round.
    pub(crate) start: bool,
    /// The round ends with the ACK of a packet sent after this many bytes were delivered
    /// (next_round_delivered).
    next_delivered: Bytes,
}

impl RoundTrips {
    /// Processes an ACK (UpdateRound). `prior_delivered` bytes had been delivered when its newest
    /// packet was sent, `delivered` bytes have been now.
    pub(crate) fn update(&mut self, prior_delivered: Bytes, delivered: Bytes) {
        self.start = prior_delivered >= self.next_delivered;
        if self.start {
            self.count += 1;
            self.restart(delivered);
        }
    }

    /// Starts a round without counting it (StartRound).
    pub(crate) fn restart(&mut self, delivered: Bytes) {
        self.next_delivered = delivered;
    }
}
