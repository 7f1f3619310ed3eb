//! The limit of a queue.

use crate::counters::PacketTotals;

/// The limit of a queue in its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResolvedLimit {
    Bytes(u64),
    Packets(u64),
}

impl ResolvedLimit {
    /// Returns true if a queue that holds `waiting` accepts one more packet of `bytes`.
    #[inline]
    pub fn has_room(self, waiting: PacketTotals, bytes: u32) -> bool {
        match self {
            Self::Bytes(limit) => waiting.bytes + u64::from(bytes) <= limit,
            Self::Packets(limit) => waiting.packets < limit,
        }
    }
}
