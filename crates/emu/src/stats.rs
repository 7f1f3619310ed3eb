//! Statistics of a running path, readable from any thread.

use bentpipe_units::{Span, Time};
use std::sync::{Arc, Mutex, PoisonError};

/// Statistics of one direction since the start of the emulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectionStats {
    /// Time at which they were taken.
    pub at: Time,
    /// IP packets read.
    pub packets_read: u64,
    /// Bytes of these.
    pub bytes_read: u64,
    /// IP packets delivered to the receiving kernel.
    pub packets_written: u64,
    /// Bytes of these.
    pub bytes_written: u64,
    /// Packets lost by the links.
    pub lost: u64,
    /// Packets dropped by the emulator at its memory limit, or by the receiving kernel. Packets
    /// dropped unread are counted only at the end.
    pub dropped: u64,
    /// Packets in the queues of the links.
    pub queue_packets: u64,
    /// Bytes of these.
    pub queue_bytes: u64,
    /// Path delay of the last packet delivered.
    pub delay: Span,
    /// Sum of the path delays of all packets delivered. Divided by their number, it gives the mean
    /// over any interval.
    pub delays: Span,
}

/// Statistics of both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathStats {
    /// To the clients.
    pub forward: DirectionStats,
    /// To the server.
    pub reverse: DirectionStats,
}

/// Reads the statistics of a running path from any thread.
///
/// Each direction publishes them every millisecond while packets pass, and 20 times per second
/// otherwise.
#[derive(Debug, Clone)]
pub struct StatsReader {
    pub(crate) forward: Arc<StatsCell>,
    pub(crate) reverse: Arc<StatsCell>,
}

impl StatsReader {
    pub(crate) fn new() -> Self {
        Self { forward: Arc::default(), reverse: Arc::default() }
    }

    /// Returns the statistics published last.
    pub fn read(&self) -> PathStats {
        PathStats { forward: self.forward.read(), reverse: self.reverse.read() }
    }
}

/// Cell in which a direction publishes its statistics.
#[derive(Debug, Default)]
pub(crate) struct StatsCell(Mutex<DirectionStats>);

impl StatsCell {
    /// Publishes statistics without blocking: while a reader holds the lock, the previous ones
    /// stay.
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
    fn reading_returns_the_published_statistics() {
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
