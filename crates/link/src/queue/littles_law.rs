//! What Little's law says of a queue, kept twice: as a picture of the queue over time, and packet by packet.
//!
//! Little (1961): over any time that begins with an empty queue, the integral of its length equals the sum of the waits of
//! those who were in it, each counted up to the end of that time at most. Here both sides are whole numbers, so that they
//! are equal or the books are wrong.

use crate::counters::PacketTotals;
use bentpipe_units::{Span, Time};

/// The two sides of Little's law for a link's queue, from the beginning of the run to some later time.
///
/// The packet being sent does not wait; one that CoDel drops has waited until it is dropped, one that the full queue refuses
/// has not waited at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueTime {
    /// Integral over time of the number of packets in the queue, in packet-nanoseconds: mean length times time.
    pub occupied_packets: u128,
    /// Integral over time of the bytes in the queue, in byte-nanoseconds.
    pub occupied_bytes: u128,
    /// Sum of what each packet has waited, in packet-nanoseconds: mean wait times packets.
    pub waited_packets: u128,
    /// The same with each packet's wait times its size, in byte-nanoseconds.
    pub waited_bytes: u128,
}

impl QueueTime {
    /// The queue has held `queue` for `span`, unchanged.
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

/// A [`QueueTime`] that grows: the integral is brought up to date whenever what waits is about to change.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueueTimeMeter {
    sum: QueueTime,
    /// Up to when the integral goes.
    since: Time,
}

impl QueueTimeMeter {
    /// What waits, `queue` until `now`, is about to change.
    #[inline]
    pub fn change(&mut self, now: Time, queue: PacketTotals) {
        self.sum.occupied(queue, now.since(self.since));
        self.since = now;
    }

    /// A packet of `bytes` that came at `sent` waits no longer.
    #[inline]
    pub fn leave(&mut self, now: Time, sent: Time, bytes: u32) {
        self.sum.waited(bytes, now.since(sent));
    }

    /// Both sides at `now`, where `queue` still waits, packet by packet `waiting` (when it came, and its size).
    pub fn at(&self, now: Time, queue: PacketTotals, waiting: impl Iterator<Item = (Time, u32)>) -> QueueTime {
        let mut sum = self.sum;
        sum.occupied(queue, now.since(self.since));
        waiting.for_each(|(sent, bytes)| sum.waited(bytes, now.since(sent)));
        sum
    }
}
