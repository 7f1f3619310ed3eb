//! What a path carries while it works, readable from any thread.

use bentpipe_units::{Span, Time};
use std::sync::{Arc, Mutex, PoisonError};

/// One direction, since the emulation began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectionStats {
    /// When the other figures were written down.
    pub at: Time,
    /// IP packets read.
    pub packets_read: u64,
    /// Bytes of these.
    pub bytes_read: u64,
    /// IP packets handed to the receiving side.
    pub packets_written: u64,
    /// Bytes of these.
    pub bytes_written: u64,
    /// Lost by the path's links.
    pub lost: u64,
    /// Dropped by the emulator: for want of memory, or by the receiving kernel. What is dropped unread is known at the end only.
    pub dropped: u64,
    /// Packets that wait in queues of the links.
    pub queue_packets: u64,
    /// Bytes of these.
    pub queue_bytes: u64,
    /// How long the last packet that was written had been on the path.
    pub delay: Span,
    /// The sum of the delays of all packets written: with their number, the mean over any interval.
    pub delays: Span,
}

/// What both directions carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathStats {
    /// To the clients.
    pub forward: DirectionStats,
    /// To the server.
    pub reverse: DirectionStats,
}

/// Tells what a path carries, in any thread, while it works. Each direction writes its figures down every millisecond while packets pass, and twenty times a second while none do.
#[derive(Debug, Clone)]
pub struct StatsReader {
    pub(crate) forward: Arc<StatsCell>,
    pub(crate) reverse: Arc<StatsCell>,
}

impl StatsReader {
    pub(crate) fn new() -> Self {
        Self { forward: Arc::default(), reverse: Arc::default() }
    }

    /// What was written down last.
    pub fn read(&self) -> PathStats {
        PathStats { forward: self.forward.read(), reverse: self.reverse.read() }
    }
}

/// Where a direction writes its figures down.
#[derive(Debug, Default)]
pub(crate) struct StatsCell(Mutex<DirectionStats>);

impl StatsCell {
    /// Writes all figures down. The path never waits for who reads: those that are read at this very moment stay until the next time.
    pub(crate) fn write(&self, now: &DirectionStats) {
        if let Ok(mut stats) = self.0.try_lock() {
            *stats = *now;
        }
    }

    fn read(&self) -> DirectionStats {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_was_written_down() {
        let stats = StatsReader::new();
        let now = DirectionStats {
            at: Time::from_millis(1),
            packets_read: 2,
            bytes_read: 3,
            packets_written: 4,
            bytes_written: 5,
            lost: 6,
            dropped: 7,
            queue_packets: 8,
            queue_bytes: 9,
            delay: Span::from_millis(10),
            delays: Span::from_millis(11),
        };
        stats.reverse.write(&now);
        assert_eq!(stats.read(), PathStats { forward: DirectionStats::default(), reverse: now });
    }
}
