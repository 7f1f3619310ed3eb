//! What a link has counted.

use crate::DropCause;
use bentpipe_units::Span;

/// A number of packets and the bytes they hold (whole IP packets).
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

/// Everything that happened on a link, or on one port of it, since the run began.
///
/// Nothing is lost uncounted, at any moment and in packets as in bytes:
/// in = out + dropped by the policer + dropped by the queue + dropped by AQM + dropped by loss + withdrawn + in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets offered, those that policer or queue refused included.
    pub packets_in: u64,
    /// Bytes offered.
    pub bytes_in: u64,
    /// Packets delivered.
    pub packets_out: u64,
    /// Bytes delivered.
    pub bytes_out: u64,
    /// Refused by the policer.
    pub dropped_policer: PacketTotals,
    /// Refused by a full queue.
    pub dropped_queue: PacketTotals,
    /// Dropped from the queue by CoDel.
    pub dropped_aqm: PacketTotals,
    /// Lost on the way by a loss process; [`Link::loss_tallies`](crate::Link::loss_tallies) has them process by process.
    pub dropped_loss: PacketTotals,
    /// Taken back before they arrived ([`Link::withdraw`](crate::Link::withdraw)).
    pub withdrawn: PacketTotals,
    /// Packets marked CE by this link.
    pub marked_ce: u64,
    /// The most bytes that ever waited in the queue, the packet being sent excluded.
    pub queue_max_bytes: u64,
    /// The most packets that ever waited in the queue, the packet being sent excluded.
    pub queue_max_packets: u64,
    /// Time spent sending packets that have left the transmitter. On a link with a rate trace: the time their bytes
    /// take at the trace's mean rate. Over the length of the run it gives the utilisation.
    pub busy: Span,
    /// Taken and not yet told of by [`Link::poll`](crate::Link::poll): waiting, being sent or on the way.
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
    pub(crate) fn dropped(&mut self, cause: DropCause, bytes: u32) {
        match cause {
            DropCause::Policer => self.dropped_policer.add(bytes),
            DropCause::QueueFull => self.dropped_queue.add(bytes),
            DropCause::Aqm => {
                self.in_flight.remove(bytes);
                self.dropped_aqm.add(bytes);
            }
            DropCause::Loss(_) => {
                self.in_flight.remove(bytes);
                self.dropped_loss.add(bytes);
            }
        }
    }
    pub(crate) fn waiting(&mut self, queue: PacketTotals) {
        self.queue_max_bytes = self.queue_max_bytes.max(queue.bytes);
        self.queue_max_packets = self.queue_max_packets.max(queue.packets);
    }
}
