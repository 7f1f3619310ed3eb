//! Packets that arrived and are not yet acknowledged.

use crate::observer::{PacketInfo, Space};
use bentpipe_units::Time;

/// Packets that arrived since the last ACK left. Counters only, so its memory is constant.
#[derive(Debug, Clone, Default)]
pub(super) struct Unreported {
    /// Largest packet number.
    largest: Option<u64>,
    /// Largest packet number of an ack-eliciting packet.
    largest_eliciting: Option<u64>,
    /// Ack-eliciting packets since the connection began.
    total: u64,
    /// Ack-eliciting packets that no ACK which left covers.
    packets: u64,
    /// Gaps in the packet numbers since the last ACK left.
    gaps: u32,
    /// Ack-eliciting packets that arrived since the stack last made an ACK.
    since_ack_made: u64,
    /// Arrival times of the oldest and the newest ack-eliciting packet.
    oldest: Option<Time>,
    newest: Time,
    /// Something happened that the sender needs to know soon: a gap, a packet out of order, a mark
    /// after unmarked packets (RFC 9000 §13.2.1).
    event: bool,
    /// The sender requested an ACK at once.
    requested: bool,
    /// Whether the last packet was marked.
    marked: bool,
}

impl Unreported {
    /// Handles a packet that arrived; `marked`: with a CE mark (RFC 3168).
    pub fn on_received(&mut self, now: Time, packet: &PacketInfo, marked: bool) {
        if packet.space != Space::Data {
            return;
        }
        // A number that the sender skipped looks like a loss (RFC 9000 §21.4): one ACK more.
        self.event |=
            self.largest.is_some_and(|largest| packet.number != largest.saturating_add(1));
        let skips = self.largest.is_some_and(|largest| packet.number > largest.saturating_add(1));
        self.gaps = self.gaps.saturating_add(u32::from(skips));
        self.event |= marked && !self.marked;
        self.marked = marked;
        self.requested |= packet.frames.immediate;
        self.largest = self.largest.max(Some(packet.number));
        if packet.frames.eliciting {
            self.largest_eliciting = self.largest_eliciting.max(Some(packet.number));
            self.total = self.total.saturating_add(1);
            self.packets = self.packets.saturating_add(1);
            self.since_ack_made = self.since_ack_made.saturating_add(1);
            self.oldest.get_or_insert(now);
            self.newest = now;
        }
    }

    /// Handles an ACK that the stack made, whether it leaves or not.
    pub fn on_ack_made(&mut self) {
        self.since_ack_made = 0;
    }

    /// Handles a packet that left.
    pub fn on_sent(&mut self, packet: &PacketInfo) {
        let Some(acknowledges) = packet.frames.acknowledges.filter(|_| packet.space == Space::Data)
        else {
            return;
        };
        let largest = self.largest_eliciting.unwrap_or_default();
        if acknowledges >= largest {
            (self.packets, self.oldest, self.gaps) = (0, None, 0);
            (self.event, self.requested) = (false, false);
        } else {
            // It was made before the newest packet arrived.
            self.packets = self.packets.min(largest - acknowledges);
            self.oldest = self.oldest.map(|_| self.newest);
        }
    }

    pub fn gaps(&self) -> u32 {
        self.gaps
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn packets(&self) -> u64 {
        self.packets
    }

    pub fn since_ack_made(&self) -> u64 {
        self.since_ack_made
    }

    pub fn oldest(&self) -> Option<Time> {
        self.oldest
    }

    pub fn newest(&self) -> Time {
        self.newest
    }

    pub fn event(&self) -> bool {
        self.event
    }

    pub fn requested(&self) -> bool {
        self.requested
    }
}
