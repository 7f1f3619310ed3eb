//! What a sender has in flight, and what acknowledgements tell of it: delivery-rate samples and rounds.
//!
//! Delivery-rate estimation as in draft-ietf-ccwg-bbr §4.1.1. The cost of a packet is constant: packets stand in a ring in
//! the order of sending.

use crate::controller::{Ack, Loss, Packet, RateSample};
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// The packets in flight of one sender.
///
/// Call order: [`Ledger::send`] for each packet; for an acknowledgement [`Ledger::acknowledge`] for each packet that it newly
/// covers and then [`Ledger::ack`]; for losses [`Ledger::lose`] for each packet and then [`Ledger::loss`].
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// Packets from number `first` on; `None` where one is acknowledged or lost.
    packets: VecDeque<Option<Packet>>,
    first: u64,
    next: u64,
    in_flight: Bytes,
    delivered: Bytes,
    delivered_at: Time,
    first_sent_at: Time,
    lost: Bytes,
    /// Delivered bytes at which the application-limited part of the flight ends (C.app_limited); zero for none.
    app_limited_until: Bytes,
    /// Delivered bytes at which the round ends (BBR.next_round_delivered).
    round_ends: Bytes,
    round: u64,
    min_rtt: Option<Span>,
    smoothed_rtt: Span,
    acknowledged: Vec<Packet>,
    declared_lost: Vec<Packet>,
}

impl Ledger {
    /// A ledger of nothing sent.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes that `bytes` were sent in one packet.
    pub fn send(&mut self, now: Time, bytes: Bytes) -> Packet {
        if self.in_flight.is_zero() {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        self.in_flight += bytes;
        let packet = Packet {
            number: self.next,
            bytes,
            sent_at: now,
            in_flight: self.in_flight,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            app_limited: !self.app_limited_until.is_zero(),
        };
        self.packets.push_back(Some(packet));
        self.next += 1;
        packet
    }

    /// Number that the next packet will have.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// Bytes in flight.
    pub fn bytes_in_flight(&self) -> Bytes {
        self.in_flight
    }

    /// Corrects the bytes in flight where the sender knows better: probes and packets of discarded keys leave it silently.
    pub fn set_bytes_in_flight(&mut self, bytes: Bytes) {
        self.in_flight = bytes;
    }

    /// Smoothed round trip; zero before the first sample.
    pub fn smoothed_rtt(&self) -> Span {
        self.smoothed_rtt
    }

    /// The application has nothing to send and the window would admit more: samples are lower bounds until what is in
    /// flight has been delivered.
    pub fn run_dry(&mut self) {
        self.app_limited_until = (self.delivered + self.in_flight).max(Bytes::new(1));
    }

    /// The packet with this number, where it is in flight.
    pub fn get(&self, number: u64) -> Option<&Packet> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.packets.get(index)?.as_ref()
    }

    fn take(&mut self, number: u64) -> Option<Packet> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let packet = self.packets.get_mut(index)?.take()?;
        self.in_flight = self.in_flight.saturating_sub(packet.bytes);
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.first += 1;
        }
        Some(packet)
    }

    /// The oldest number that may still be in flight.
    pub fn first_number(&self) -> u64 {
        self.first
    }

    /// Drops packets sent before `since_start` had passed on the clock: nobody will ever tell of them.
    pub fn forget_sent_before(&mut self, since_start: Span) {
        while let Some(front) = self.packets.front()
            && front.is_none_or(|packet| packet.sent_at.since_start() < since_start)
        {
            self.packets.pop_front();
            self.first += 1;
        }
    }

    /// Notes that packet `number` is acknowledged. False where it is not in flight.
    pub fn acknowledge(&mut self, now: Time, number: u64) -> bool {
        let Some(packet) = self.take(number) else { return false };
        self.delivered += packet.bytes;
        self.delivered_at = now;
        self.acknowledged.push(packet);
        true
    }

    /// Takes packet `number` out of flight without a verdict: it carried what another packet is accounted for with. False
    /// where it is not in flight.
    pub fn withdraw(&mut self, number: u64) -> bool {
        self.take(number).is_some()
    }

    /// Notes that `packet`, which has left the flight as lost or withdrawn, is acknowledged after all.
    pub fn acknowledge_late(&mut self, now: Time, packet: Packet) {
        self.delivered += packet.bytes;
        self.delivered_at = now;
        self.acknowledged.push(packet);
    }

    /// Puts `packet`, declared lost in error, back in flight: as it was sent, but under the next number, which is returned.
    pub fn restore(&mut self, packet: Packet) -> u64 {
        let number = self.next;
        self.in_flight += packet.bytes;
        self.packets.push_back(Some(Packet { number, ..packet }));
        self.next += 1;
        number
    }

    /// The acknowledgement that the packets noted since the last call make, handed to `tell`. Nothing where there are none.
    ///
    /// `app_limited`: something other than the window holds the sender back.
    pub fn ack(&mut self, now: Time, app_limited: bool, tell: impl FnOnce(&Ack<'_>)) {
        let mut packets = std::mem::take(&mut self.acknowledged);
        packets.sort_unstable_by_key(|packet| packet.number);
        if let Some(newest) = packets.last() {
            let rtt = now.since(newest.sent_at);
            let min_rtt = self.min_rtt.map_or(rtt, |min| min.min(rtt));
            self.min_rtt = Some(min_rtt);
            self.smoothed_rtt = if self.smoothed_rtt.is_zero() { rtt } else { (self.smoothed_rtt * 7 + rtt) / 8 };
            if self.delivered > self.app_limited_until {
                self.app_limited_until = Bytes::ZERO;
            }
            let round_start = newest.delivered >= self.round_ends;
            if round_start {
                self.round_ends = self.delivered;
                self.round += 1;
            }
            self.first_sent_at = newest.sent_at;
            let ack = Ack {
                now,
                packets: &packets,
                bytes: packets.iter().fold(Bytes::ZERO, |sum, packet| sum + packet.bytes),
                rtt,
                min_rtt,
                smoothed_rtt: self.smoothed_rtt,
                bytes_in_flight: self.in_flight,
                delivered: self.delivered,
                next_number: self.next,
                round_start,
                round: self.round,
                app_limited,
                sample: self.sample(now, newest, min_rtt),
            };
            tell(&ack);
        }
        packets.clear();
        self.acknowledged = packets;
    }

    fn sample(&self, now: Time, newest: &Packet, min_rtt: Span) -> RateSample {
        let send_elapsed = newest.sent_at.since(newest.first_sent_at);
        let ack_elapsed = now.since(newest.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        let delivered = self.delivered.saturating_sub(newest.delivered);
        RateSample {
            rate: (interval >= min_rtt && !interval.is_zero()).then(|| Rate::over(delivered, interval)),
            delivered,
            lost: self.lost.saturating_sub(newest.lost),
            in_flight: newest.in_flight,
            prior_delivered: newest.delivered,
            app_limited: newest.app_limited,
        }
    }

    /// Notes that packet `number` is declared lost. False where it is not in flight.
    pub fn lose(&mut self, number: u64) -> bool {
        let Some(packet) = self.take(number) else { return false };
        self.lost += packet.bytes;
        self.declared_lost.push(packet);
        true
    }

    /// The loss that the packets noted since the last call make, handed to `tell`. Nothing where there are none.
    pub fn loss(&mut self, now: Time, persistent: bool, tell: impl FnOnce(&Loss<'_>)) {
        let mut packets = std::mem::take(&mut self.declared_lost);
        packets.sort_unstable_by_key(|packet| packet.number);
        if !packets.is_empty() {
            tell(&Loss {
                now,
                packets: &packets,
                bytes: packets.iter().fold(Bytes::ZERO, |sum, packet| sum + packet.bytes),
                bytes_in_flight: self.in_flight,
                delivered: self.delivered,
                lost: self.lost,
                next_number: self.next,
                min_rtt: self.min_rtt.unwrap_or_default(),
                smoothed_rtt: self.smoothed_rtt,
                persistent,
            });
        }
        packets.clear();
        self.declared_lost = packets;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: Bytes = Bytes::new(1200);

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn a_steady_flight_samples_the_rate_it_is_acknowledged_at() {
        let mut ledger = Ledger::new();
        // Ten packets at once, acknowledged 10 ms apart from 100 ms on, each letting another go.
        for _ in 0..10 {
            ledger.send(at(0), MTU);
        }
        let mut last = None;
        for step in 0..40 {
            let now = at(100 + 10 * step);
            assert!(ledger.acknowledge(now, step));
            ledger.ack(now, false, |ack| last = ack.sample.rate);
            ledger.send(now, MTU);
        }
        // 1200 bytes each 10 ms.
        assert_eq!(last.map(Rate::as_bps), Some(960_000));
    }

    #[test]
    fn rounds_end_when_a_packet_sent_in_them_is_acknowledged() {
        let mut ledger = Ledger::new();
        let mut rounds = Vec::new();
        for round in 0..3u64 {
            for _ in 0..4 {
                ledger.send(at(100 * round), MTU);
            }
            for packet in 0..4 {
                ledger.acknowledge(at(100 * round + 100), 4 * round + packet);
                ledger.ack(at(100 * round + 100), false, |ack| rounds.push((ack.round, ack.round_start)));
            }
        }
        let starts: Vec<u64> = rounds.iter().filter(|(_, start)| *start).map(|(round, _)| *round).collect();
        assert_eq!(starts, [1, 2, 3]);
        assert_eq!(rounds.len(), 12);
    }

    #[test]
    fn a_sample_after_the_application_ran_dry_is_marked_until_its_flight_is_delivered() {
        let mut ledger = Ledger::new();
        ledger.send(at(0), MTU);
        ledger.run_dry();
        ledger.send(at(1), MTU);
        let mut limited = Vec::new();
        for number in 0..2 {
            ledger.acknowledge(at(100 + number), number);
            ledger.ack(at(100 + number), true, |ack| limited.push(ack.sample.app_limited));
        }
        ledger.send(at(102), MTU);
        ledger.acknowledge(at(202), 2);
        ledger.ack(at(202), false, |ack| limited.push(ack.sample.app_limited));
        assert_eq!(limited, [false, true, false]);
    }

    #[test]
    fn a_packet_declared_lost_in_error_counts_as_sent_when_it_was() {
        let mut ledger = Ledger::new();
        let first = ledger.send(at(0), MTU);
        ledger.lose(first.number);
        let again = ledger.send(at(200), MTU);
        assert!(ledger.withdraw(again.number));
        ledger.acknowledge_late(at(230), first);
        let mut rtt = None;
        ledger.ack(at(230), false, |ack| rtt = Some((ack.rtt, ack.delivered, ack.bytes_in_flight)));
        assert_eq!(rtt, Some((Span::from_millis(230), MTU, Bytes::ZERO)));
    }

    #[test]
    fn a_restored_packet_is_in_flight_under_the_next_number() {
        let mut ledger = Ledger::new();
        let first = ledger.send(at(0), MTU);
        ledger.lose(first.number);
        let number = ledger.restore(first);
        assert_eq!((number, ledger.bytes_in_flight(), ledger.next_number()), (1, MTU, 2));
        assert_eq!(ledger.get(number).map(|packet| packet.sent_at), Some(at(0)));
        assert!(ledger.acknowledge(at(100), number));
    }

    #[test]
    fn a_packet_is_taken_once() {
        let mut ledger = Ledger::new();
        ledger.send(at(0), MTU);
        assert!(ledger.lose(0));
        assert!(!ledger.acknowledge(at(1), 0) && !ledger.lose(0) && !ledger.lose(7));
        assert_eq!(ledger.bytes_in_flight(), Bytes::ZERO);
    }
}
