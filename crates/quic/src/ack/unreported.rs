//! What has arrived and was not yet acknowledged.

use crate::packets::{PacketInfo, Space};
use bentpipe_units::Time;

/// Packets that arrived since the last ACK that left. Numbers only: it takes the same memory
/// whatever arrives.
#[derive(Debug, Clone, Default)]
pub(super) struct Unreported {
    /// Largest number seen.
    largest: Option<u64>,
    /// Largest number of an ack-eliciting packet.
    largest_eliciting: Option<u64>,
    /// Ack-eliciting packets since the connection began.
    total: u64,
    /// Ack-eliciting packets that no ACK which left covers.
    packets: u64,
    /// Those that arrived since the stack last made an ACK.
    unanswered: u64,
    /// When the oldest and the newest of them arrived.
    oldest: Option<Time>,
    newest: Time,
    /// Something happened that the sender is to know soon: a gap, a packet out of order, a mark
    /// after packets without (RFC 9000 §13.2.1).
    event: bool,
    /// The sender asked for an ACK at once.
    asked: bool,
    /// Whether the last packet was marked.
    marked: bool,
}

impl Unreported {
    /// `packet` arrived; `marked`: it carried CE (RFC 3168).
    pub fn received(&mut self, now: Time, packet: &PacketInfo, marked: bool) {
        if packet.space != Space::Data {
            return;
        }
        // A number that the sender skipped looks like a loss (RFC 9000 §21.4): one ACK more.
        self.event |=
            self.largest.is_some_and(|largest| packet.number != largest.saturating_add(1));
        self.event |= marked && !self.marked;
        self.marked = marked;
        self.asked |= packet.frames.immediate;
        self.largest = self.largest.max(Some(packet.number));
        if packet.frames.eliciting {
            self.largest_eliciting = self.largest_eliciting.max(Some(packet.number));
            self.total = self.total.saturating_add(1);
            self.packets = self.packets.saturating_add(1);
            self.unanswered = self.unanswered.saturating_add(1);
            self.oldest.get_or_insert(now);
            self.newest = now;
        }
    }

    /// The stack made a packet that acknowledges, whether it leaves or not.
    pub fn answered(&mut self) {
        self.unanswered = 0;
    }

    /// `packet` left.
    pub fn left(&mut self, packet: &PacketInfo) {
        let Some(acknowledges) = packet.frames.acknowledges.filter(|_| packet.space == Space::Data)
        else {
            return;
        };
        let largest = self.largest_eliciting.unwrap_or_default();
        if acknowledges >= largest {
            (self.packets, self.oldest) = (0, None);
            (self.event, self.asked) = (false, false);
        } else {
            // It was made before the newest arrived.
            self.packets = self.packets.min(largest - acknowledges);
            self.oldest = self.oldest.map(|_| self.newest);
        }
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn packets(&self) -> u64 {
        self.packets
    }

    pub fn unanswered(&self) -> u64 {
        self.unanswered
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

    pub fn asked(&self) -> bool {
        self.asked
    }
}
