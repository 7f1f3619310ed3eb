//! Little's law for a queue, computed in two independent ways.
//!
//! Little (1961): over any interval that starts with an empty queue, the integral of the queue
//! length equals the sum of the waits of all packets in it, each counted until the end of the
//! interval at most. Both sides are integers here, so they are equal unless the accounting is
//! wrong.

use crate::counters::PacketTotals;
use bentpipe_units::{Span, Time};

/// Both sides of Little's law for a link's queue, since the start of the run.
///
/// The packet in transmission does not wait. The wait of a packet that is dropped from the queue
/// ends with the drop; a packet that a full queue refuses has not waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueTime {
    /// Integral of the number of packets in the queue, in packet-nanoseconds: mean length times
    /// time.
    pub occupied_packets: u128,
    /// Integral of the bytes in the queue, in byte-nanoseconds.
    pub occupied_bytes: u128,
    /// Sum of the waits of all packets, in packet-nanoseconds: mean wait times packets.
    pub waited_packets: u128,
    /// Sum of each packet's wait times its size, in byte-nanoseconds.
    pub waited_bytes: u128,
}

impl QueueTime {
    /// Adds a period of `span` in which the queue held `queue`.
    #[inline]
    pub(crate) fn occupied(&mut self, queue: PacketTotals, span: Span) {
        let span = u128::from(span.as_nanos());
        self.occupied_packets += u128::from(queue.packets) * span;
        self.occupied_bytes += u128::from(queue.bytes) * span;
    }

    /// Adds the wait `span` of a packet of `bytes`.
    #[inline]
    pub(crate) fn waited(&mut self, bytes: u32, span: Span) {
        let span = u128::from(span.as_nanos());
        self.waited_packets += span;
        self.waited_bytes += u128::from(bytes) * span;
    }
}

impl std::ops::AddAssign for QueueTime {
    fn add_assign(&mut self, more: Self) {
        self.occupied_packets += more.occupied_packets;
        self.occupied_bytes += more.occupied_bytes;
        self.waited_packets += more.waited_packets;
        self.waited_bytes += more.waited_bytes;
    }
}

/// Computes a [`QueueTime`]. The integral is updated before each change of the queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueueTimeMeter {
    sum: QueueTime,
    /// End of the integral up to now.
    since: Time,
}

impl QueueTimeMeter {
    /// Must be called before the queue changes at `now`. It has held `queue` until then.
    #[inline]
    pub fn change(&mut self, now: Time, queue: PacketTotals) {
        self.sum.occupied(queue, now.since(self.since));
        self.since = now;
    }

    /// Adds the wait of a packet of `bytes` that entered at `sent` and leaves at `now`.
    #[inline]
    pub fn leave(&mut self, now: Time, sent: Time, bytes: u32) {
        self.sum.waited(bytes, now.since(sent));
    }

    /// Returns the sums at `now`, with `queue` still queued. The waits of those packets until `now`
    /// are not included yet.
    pub fn at(&self, now: Time, queue: PacketTotals) -> QueueTime {
        let mut sum = self.sum;
        sum.occupied(queue, now.since(self.since));
        sum
    }
}
