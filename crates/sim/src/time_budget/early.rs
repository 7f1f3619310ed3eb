//! What packets meet before the first data packet, and packets that are lost in a row.

use super::Trip;
use bentpipe_units::{Span, Time};

/// Packets in a row whose loss may make an outage before the first data packet, when few are sent
/// and each repetition waits for a timer.
const EARLY_PACKETS: u32 = 2;
/// Probability above which as many losses in a row are chance, at the share of the direction's
/// other packets that were lost. Our choice: two in a row are an outage unless 3 % of the others
/// are lost.
const CHANCE: f64 = 1e-3;

/// The directions of [`Early`]: towards the data's receiver and its sender.
pub(super) const DOWN: usize = 0;
pub(super) const UP: usize = 1;

/// What packets met before the first data packet arrived, in both directions.
#[derive(Debug, Default)]
pub(super) struct Early {
    /// How long those that arrived had waited for other packets and for capacity, added up.
    pub(super) queued: [Span; 2],
    pub(super) capacity: [Span; 2],
    /// The same for the ends of frames, of both directions.
    pub(super) framed: Span,
    /// Time of waits for the ends of outages.
    outage: Span,
    /// End of the wait for an outage that was counted last.
    outage_until: [Time; 2],
    lost: [LostInARow; 2],
    /// Direction, number, and time from the first to the last, of packets lost in a row.
    rows: Vec<(usize, u32, Span)>,
    /// True if a packet was lost.
    pub(super) any_lost: bool,
}

/// Packets of one direction in the whole visit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PacketCounts {
    pub(super) arrived: u32,
    pub(super) lost: u32,
}

impl PacketCounts {
    /// Returns true if `count` losses in a row may be chance, at the rate of the others.
    fn may_lose_in_a_row(self, count: u32) -> bool {
        let others = self.lost.saturating_sub(count);
        let rate = f64::from(others) / f64::from(self.arrived.saturating_add(others).max(1));
        rate.powf(f64::from(count)) > CHANCE
    }
}

impl Early {
    /// Handles the arrival of a packet that is not the first data packet.
    pub(super) fn arrived(&mut self, direction: usize, trip: &Trip, rtt: Span) {
        self.queued[direction] += trip.queued;
        self.capacity[direction] += trip.capacity;
        self.framed += trip.framed;
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
        let row = &mut self.lost[direction];
        let count = row.count;
        if let Some((first, last, _)) = row.take_outage(EARLY_PACKETS, rtt) {
            self.rows.push((direction, count, last.since(first)));
        }
    }

    /// Returns the time of outages, given the packets of the whole visit in both directions.
    pub(super) fn outages(&self, packets: [PacketCounts; 2]) -> Span {
        let rows = self.rows.iter();
        let of_outages =
            rows.filter(|(direction, count, _)| !packets[*direction].may_lose_in_a_row(*count));
        of_outages.fold(self.outage, |sum, (_, _, span)| sum + *span)
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
