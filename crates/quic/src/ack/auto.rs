//! `auto`: so many ACKs a round trip as the return path carries without a queue.

use super::trips::Trips;
use crate::packets::{PacketSeen, Space};
use bentpipe_units::{Span, Time};

/// How `auto` is tuned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Auto {
    /// ACKs a round trip at first.
    pub first: f64,
    /// At most.
    pub most: f64,
    /// At least.
    pub least: f64,
    /// Part of the shortest round trip by which a longer one is taken for a queue.
    pub inflation: f64,
    /// Factor by which ACKs become more while there is no queue, each round trip.
    pub up: f64,
    /// Factor by which they become fewer while there is one.
    pub down: f64,
    /// Measured round trips for each round trip.
    pub pings: u64,
}

impl Default for Auto {
    fn default() -> Self {
        Self { first: 16.0, most: 64.0, least: 4.0, inflation: 0.125, up: 1.5, down: 0.5, pings: 4 }
    }
}

/// The pace of ACKs.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    auto: Auto,
    /// ACKs a round trip.
    frequency: f64,
    trips: Trips,
    /// When the last ACK left.
    last: Option<Time>,
    /// When the frequency last changed.
    changed: Option<Time>,
    /// When the packet left whose acknowledgement changes it next.
    pinged: Option<Time>,
}

/// What a round trip varies by without any queue: the peer may wait for max_ack_delay (25 ms, RFC 9000 §18.2).
const NOISE: Span = Span::from_millis(30);

impl Pace {
    pub fn new(auto: Auto) -> Self {
        Self { auto, frequency: auto.first, trips: Trips::default(), last: None, changed: None, pinged: None }
    }

    /// When the next ACK may leave.
    pub fn next(&self, smoothed_rtt: Span) -> Time {
        let interval = smoothed_rtt.mul_f64(1.0 / self.frequency.max(1.0));
        self.last.map_or(Time::ZERO, |last| last + interval)
    }

    pub fn left(&mut self, now: Time, packet: &PacketSeen) {
        self.trips.left(now, packet);
        if packet.space == Space::Data && packet.frames.ack > 0 {
            self.last = Some(now);
            if packet.frames.eliciting {
                self.pinged = Some(now);
            }
        }
    }

    pub fn received(&mut self, now: Time, packet: &PacketSeen) {
        let trip = self.trips.received(now, packet);
        let Some(shortest) = self.trips.shortest() else { return };
        let limit = shortest + shortest.mul_f64(self.auto.inflation).max(NOISE);
        let slow = self.trips.waiting(now).max(trip).is_some_and(|trip| trip > limit);
        if !slow && trip.is_none() {
            return;
        }
        // One change for each round trip: what the last one did must have been seen.
        let waited = self.changed.map(|changed| now.since(changed));
        if waited.is_some_and(|waited| waited < trip.unwrap_or(limit).min(limit)) {
            return;
        }
        self.changed = Some(now);
        let factor = if slow { self.auto.down } else { self.auto.up };
        self.frequency = (self.frequency * factor).clamp(self.auto.least, self.auto.most);
    }

    pub fn wants_ping(&self, now: Time, smoothed_rtt: Span) -> bool {
        let due = |since: Option<Time>, after: Span| since.is_none_or(|since| now.since(since) >= after);
        due(self.pinged.max(self.trips.newest()), smoothed_rtt / self.auto.pings.max(1))
            && self.next(smoothed_rtt) <= now
    }
}
