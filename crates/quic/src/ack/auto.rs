//! `auto`: so many ACKs a round trip as the return path carries without a queue.

use super::ack_rtt::AckRtt;
use crate::packets::{PacketInfo, Space};
use bentpipe_units::{Span, Time};

/// How `auto` is tuned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Auto {
    /// ACKs a round trip until one was measured.
    pub first: f64,
    /// At most.
    pub most: f64,
    /// At least.
    pub least: f64,
    /// Share of the return link that ACKs may take, as the handshake lets it be guessed.
    pub share: f64,
    /// Part of the shortest round trip by which a longer one is taken for a queue.
    pub inflation: f64,
    /// Factor by which ACKs become more while there is no queue, each round trip.
    pub up: f64,
    /// Factor by which they become fewer while there is one.
    pub down: f64,
    /// Part of the frequency that found a queue which is not exceeded again soon.
    pub ceiling: f64,
    /// How long that holds.
    pub caution: Span,
    /// Measured round trips for each round trip.
    pub pings: u64,
}

impl Default for Auto {
    fn default() -> Self {
        Self {
            first: 56.0,
            most: 64.0,
            least: 6.0,
            share: 0.4,
            inflation: 0.125,
            up: 1.5,
            down: 0.125,
            ceiling: 0.75,
            caution: Span::from_secs(10),
            pings: 4,
        }
    }
}

/// The pace of ACKs.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    auto: Auto,
    /// ACKs a round trip.
    frequency: f64,
    /// What the frequency does not exceed, and until when.
    ceiling: Option<(f64, Time)>,
    trips: AckRtt,
    /// Round trip of the handshake's large packets.
    handshake: Option<Span>,
    /// What the handshake lets be guessed.
    guess: f64,
    /// When the first small packet was acknowledged.
    begun: Option<Time>,
    /// When the last ACK left.
    last: Option<Time>,
    /// When the frequency last changed.
    changed: Option<Time>,
}

/// What a round trip varies by without any queue: the peer may wait for max_ack_delay (25 ms, RFC
/// 9000 §18.2).
const NOISE: Span = Span::from_millis(30);
/// ACK packets in the first packet of a handshake, less one: 1228 bytes with IP and UDP headers, an
/// ACK 65.
const ACKS_IN_INITIAL: f64 = 18.0;

impl Pace {
    pub fn new(auto: Auto) -> Self {
        Self {
            auto,
            frequency: auto.first,
            ceiling: None,
            trips: AckRtt::default(),
            handshake: None,
            guess: 0.0,
            begun: None,
            last: None,
            changed: None,
        }
    }

    /// When the next ACK may leave.
    pub fn next(&self, smoothed_rtt: Span) -> Time {
        let round = self.trips.shortest().unwrap_or(smoothed_rtt);
        self.last.map_or(Time::ZERO, |last| last + round.mul_f64(1.0 / self.frequency.max(1.0)))
    }

    pub fn left(&mut self, now: Time, packet: &PacketInfo) {
        self.trips.left(now, packet);
        if packet.space == Space::Data && packet.frames.ack > 0 {
            self.last = Some(now);
        }
    }

    pub fn received(&mut self, now: Time, packet: &PacketInfo, smoothed_rtt: Option<Span>) {
        let before = self.trips.shortest();
        if before.is_none() && self.handshake.is_none() {
            self.handshake = smoothed_rtt;
        }
        let trip = self.trips.received(now, packet);
        let Some(shortest) = self.trips.shortest() else { return };
        let begun = *self.begun.get_or_insert(now);
        if before.is_none_or(|before| shortest < before) && now.since(begun) < self.auto.caution {
            self.guess(begun, now, shortest);
        }
        let limit = shortest + shortest.mul_f64(self.auto.inflation).max(NOISE);
        let slow = self.trips.waiting(now).max(trip).is_some_and(|trip| trip > limit);
        if !slow && trip.is_none() {
            return;
        }
        // One change for each round trip: what the last one did must have been seen.
        if self
            .changed
            .is_some_and(|changed| now.since(changed) < trip.map_or(limit, |trip| trip.max(limit)))
        {
            return;
        }
        self.changed = Some(now);
        if slow {
            self.ceiling = Some((self.frequency * self.auto.ceiling, now + self.auto.caution));
            self.frequency *= self.auto.down;
        } else {
            self.frequency *= self.auto.up;
        }
        self.bound(now);
    }

    /// What the handshake's large packets took longer than a small one, the return link took to
    /// send them.
    fn guess(&mut self, begun: Time, now: Time, trip: Span) {
        let longer = self.handshake.unwrap_or(trip).saturating_sub(trip).as_secs_f64();
        let ack = longer / ACKS_IN_INITIAL;
        let guess = self.auto.share * trip.as_secs_f64() / ack.max(1e-9);
        self.guess = guess;
        match &mut self.ceiling {
            Some((ceiling, _)) => *ceiling = ceiling.min(guess),
            None => {
                self.frequency = guess;
                self.ceiling = Some((guess, begun + self.auto.caution));
            }
        }
        self.bound(now);
    }

    fn bound(&mut self, now: Time) {
        let ceiling = self
            .ceiling
            .filter(|&(_, until)| now < until)
            .map_or(f64::INFINITY, |(ceiling, _)| ceiling);
        // So few ACKs cannot be what makes a queue, not even where the link has fallen to a tenth.
        let least = self.auto.least.max(self.guess / 10.0).min(self.auto.most);
        self.frequency = self.frequency.min(ceiling).clamp(least, self.auto.most);
    }

    pub fn wants_ping(&self, now: Time, smoothed_rtt: Span) -> bool {
        let every = self.trips.shortest().unwrap_or(smoothed_rtt) / self.auto.pings.max(1);
        self.trips.heard()
            && self.trips.newest().is_none_or(|newest| now.since(newest) >= every)
            && self.next(smoothed_rtt) <= now
    }
}
