//! The limit of a queue.

use crate::counters::PacketTotals;

/// A queue limit in the unit in which the queue counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResolvedLimit {
    Bytes(u64),
    Packets(u64),
}

impl ResolvedLimit {
    /// True where one more packet of `bytes` may join those that are `waiting`.
    #[inline]
    pub fn has_room(self, waiting: PacketTotals, bytes: u32) -> bool {
        match self {
            Self::Bytes(limit) => waiting.bytes + u64::from(bytes) <= limit,
            Self::Packets(limit) => waiting.packets < limit,
        }
    }
}
