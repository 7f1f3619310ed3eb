//! Little's law for a queue, computed in two independent ways.
//!
//! Little (1961): over any interval that begins with an empty queue, the integral of the queue
//! length equals the sum of the waits of all packets in it, each counted until the end of the
//! interval at most. Both sides are integers here, so they are equal unless the accounting is
//! wrong.

use crate::counters::PacketTotals;
use bentpipe_units::{Span, Time};

/// The two sides of Little's law for a link's queue, from the start of the run on.
///
/// The packet being sent does not wait. A packet that CoDel drops has waited until then; one that a
/// full queue refuses has not waited.
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
    /// The queue has held `queue` for `span`.
    #[inline]
    pub(crate) fn occupied(&mut self, queue: PacketTotals, span: Span) {
        let span = u128::from(span.as_nanos());
        self.occupied_packets += u128::from(queue.packets) * span;
        self.occupied_bytes += u128::from(queue.bytes) * span;
    }

    /// A packet of `bytes` has waited for `span`.
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

/// A [`QueueTime`] that grows. The integral is updated whenever the queue is about to change.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueueTimeMeter {
    sum: QueueTime,
    /// End of the integral so far.
    since: Time,
}

impl QueueTimeMeter {
    /// Call before the queue changes at `now`; it has held `queue` until then.
    #[inline]
    pub fn change(&mut self, now: Time, queue: PacketTotals) {
        self.sum.occupied(queue, now.since(self.since));
        self.since = now;
    }

    /// Counts the wait of a packet of `bytes` that entered at `sent` and leaves at `now`.
    #[inline]
    pub fn leave(&mut self, now: Time, sent: Time, bytes: u32) {
        self.sum.waited(bytes, now.since(sent));
    }

    /// Both sides at `now`, with `queue` still queued; `waiting` has each packet's arrival and
    /// size.
    pub fn at(
        &self,
        now: Time,
        queue: PacketTotals,
        waiting: impl Iterator<Item = (Time, u32)>,
    ) -> QueueTime {
        let mut sum = self.sum;
        sum.occupied(queue, now.since(self.since));
        waiting.for_each(|(sent, bytes)| sum.waited(bytes, now.since(sent)));
        sum
    }
}
