//! What packets meet before the first data packet, and packets that are lost in a row.

use super::Trip;
use bentpipe_units::{Span, Time};

/// Packets in a row whose loss makes an outage before the first data packet, when few are sent and
/// each repetition waits for a timer. Our choice: at 1 % of random loss, one handshake in ten
/// thousand loses two in a row.
const EARLY_PACKETS: u32 = 2;

/// The directions of [`Early`]: towards the data's receiver and its sender.
pub(super) const DOWN: usize = 0;
pub(super) const UP: usize = 1;

/// What packets met before the first data packet arrived, in both directions.
#[derive(Debug, Default)]
pub(super) struct Early {
    /// How long those that arrived had waited for other packets and for capacity, added up.
    pub(super) queued: [Span; 2],
    pub(super) capacity: [Span; 2],
    /// Time of outages: of waits for their ends, and of packets lost in a row.
    pub(super) outage: Span,
    /// End of the wait for an outage that was counted last.
    outage_until: [Time; 2],
    lost: [LostInARow; 2],
    /// True if a packet was lost.
    pub(super) any_lost: bool,
}

impl Early {
    /// Handles the arrival of a packet that is not the first data packet.
    pub(super) fn arrived(&mut self, direction: usize, trip: &Trip, rtt: Span) {
        self.queued[direction] += trip.queued;
        self.capacity[direction] += trip.capacity;
        // Repetitions wait for the same outage.
        let until = &mut self.outage_until[direction];
        let end = trip.sent + trip.outage;
        self.outage += end.since(trip.sent.max(*until).min(end));
        *until = end.max(*until);
        self.end_of_losses(direction, rtt);
    }

    /// Handles the loss of a packet.
    pub(super) fn lost(&mut self, direction: usize, now: Time) {
        self.any_lost = true;
        self.lost[direction].add(now, Span::ZERO);
    }

    /// Handles the arrival of any packet.
    pub(super) fn end_of_losses(&mut self, direction: usize, rtt: Span) {
        if let Some((first, last, _)) = self.lost[direction].take_outage(EARLY_PACKETS, rtt) {
            self.outage += last.since(first);
        }
    }
}

/// Packets lost on the channel one after the other, without an arrival between them.
#[derive(Debug, Default)]
pub(super) struct LostInARow {
    pub(super) count: u32,
    first: Time,
    last: Time,
    carried: Span,
}

impl LostInARow {
    /// Adds a packet that had occupied the slowest link for `carried`.
    pub(super) fn add(&mut self, now: Time, carried: Span) {
        if self.count == 0 {
            *self = Self { first: now, ..Self::default() };
        }
        self.count = self.count.saturating_add(1);
        self.last = now;
        self.carried += carried;
    }

    /// Forgets the packets. If they are at least `packets` and make an outage, returns its
    /// beginning, its end, and the time on the slowest link that the packets took.
    pub(super) fn take_outage(&mut self, packets: u32, rtt: Span) -> Option<(Time, Time, Span)> {
        let Self { count, first, last, carried } = std::mem::take(self);
        (count >= packets && last.since(first) >= rtt).then_some((first, last, carried))
    }
}
