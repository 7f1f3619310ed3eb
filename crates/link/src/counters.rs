//! Counters of a link.

use crate::DropCause;
use bentpipe_units::Span;

/// A number of packets and their size in bytes (whole IP packets).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketTotals {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl PacketTotals {
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
    pub(crate) fn remove(&mut self, bytes: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
    }
}

/// Counters of a link, or of one of its ports, since the start of the run.
///
/// Every packet is accounted for at any time, in packets and in bytes: in = out + dropped by the
/// policer + dropped by the queue + dropped by AQM + dropped by loss + withdrawn + in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets offered, including those that the policer or the queue refused.
    pub packets_in: u64,
    /// Bytes offered.
    pub bytes_in: u64,
    /// Packets delivered.
    pub packets_out: u64,
    /// Bytes delivered.
    pub bytes_out: u64,
    /// Dropped by the policer.
    pub dropped_policer: PacketTotals,
    /// Dropped because the queue was full, on arrival or to make room for another packet.
    pub dropped_queue: PacketTotals,
    /// Dropped by active queue management, such as CoDel.
    pub dropped_aqm: PacketTotals,
    /// Lost by a loss process. [`Link::loss_tallies`](crate::Link::loss_tallies) has the totals of
    /// each process.
    pub dropped_loss: PacketTotals,
    /// Withdrawn before they arrived ([`Link::withdraw`](crate::Link::withdraw)).
    pub withdrawn: PacketTotals,
    /// Packets marked CE by this link.
    pub marked_ce: u64,
    /// Largest queue in bytes, not counting the packet being sent.
    pub queue_max_bytes: u64,
    /// Largest queue in packets, not counting the one being sent.
    pub queue_max_packets: u64,
    /// Time spent sending packets that have left the transmitter.
    ///
    /// On a link with a rate trace: the time that their bytes take at the trace's mean rate.
    /// Over [`DirectionModel::sending_time`](crate::DirectionModel::sending_time) it is the
    /// utilisation.
    pub busy: Span,
    /// Accepted and not yet returned by [`Link::poll`](crate::Link::poll): queued, being sent or
    /// propagating.
    pub in_flight: PacketTotals,
}

impl Counters {
    pub(crate) fn offered(&mut self, bytes: u32) {
        self.packets_in += 1;
        self.bytes_in += u64::from(bytes);
    }
    pub(crate) fn delivered(&mut self, bytes: u32) {
        self.packets_out += 1;
        self.bytes_out += u64::from(bytes);
        self.in_flight.remove(bytes);
    }
    pub(crate) fn withdrawn(&mut self, bytes: u32) {
        self.in_flight.remove(bytes);
        self.withdrawn.add(bytes);
    }
    /// Counts a packet that is dropped on arrival.
    pub(crate) fn refused(&mut self, cause: DropCause, bytes: u32) {
        self.dropped(cause).add(bytes);
    }
    /// Counts a packet that is lost after it has been accepted.
    pub(crate) fn lost(&mut self, cause: DropCause, bytes: u32) {
        self.in_flight.remove(bytes);
        self.dropped(cause).add(bytes);
    }
    fn dropped(&mut self, cause: DropCause) -> &mut PacketTotals {
        match cause {
            DropCause::Policer => &mut self.dropped_policer,
            DropCause::QueueFull => &mut self.dropped_queue,
            DropCause::Aqm => &mut self.dropped_aqm,
            DropCause::Loss(_) => &mut self.dropped_loss,
        }
    }
    /// Counts a packet that the queue accepts, after which it holds `queue`.
    pub(crate) fn accepted(&mut self, bytes: u32, marked: bool, queue: PacketTotals) {
        self.in_flight.add(bytes);
        self.marked_ce += u64::from(marked);
        self.queue_max_bytes = self.queue_max_bytes.max(queue.bytes);
        self.queue_max_packets = self.queue_max_packets.max(queue.packets);
    }
}
