//! Packets in flight, and the acknowledgements and losses that are reported to a controller.

use crate::controller::{Ack, Loss, SentPacket};
use crate::delivery_rate::DeliveryRateEstimator;
use crate::round_trips::RoundTrips;
use bentpipe_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// The packets that a sender has in flight, with its RTT, delivery-rate and round estimates.
///
/// Call order: [`SentPackets::on_sent`] for each packet. For an acknowledgement,
/// [`SentPackets::on_acked`] for each newly acknowledged packet, then [`SentPackets::report_ack`];
/// for losses, [`SentPackets::on_lost`] for each packet, then [`SentPackets::report_loss`].
///
/// Packets are kept in a ring buffer in the order of sending, so that each operation takes constant
/// time.
#[derive(Debug, Clone, Default)]
pub struct SentPackets {
    /// Packets from number `first` on; `None` for acknowledged and lost ones.
    packets: VecDeque<Option<SentPacket>>,
    first: u64,
    next: u64,
    in_flight: Bytes,
    delivery_rate: DeliveryRateEstimator,
    round_trips: RoundTrips,
    min_rtt: Option<Span>,
    smoothed_rtt: Span,
    repairing: bool,
    /// Packets that are not reported yet. The vectors are kept to reuse their memory.
    acknowledged: Vec<SentPacket>,
    declared_lost: Vec<SentPacket>,
}

impl SentPackets {
    /// Creates an empty record.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a packet of `bytes` that is sent now.
    pub fn on_sent(&mut self, now: Time, bytes: Bytes) -> SentPacket {
        self.in_flight += bytes;
        let packet = self.delivery_rate.on_sent(now, self.next, bytes, self.in_flight);
        self.packets.push_back(Some(packet));
        self.next += 1;
        packet
    }

    /// Returns the number that the next packet will get.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// Returns the bytes in flight.
    pub fn bytes_in_flight(&self) -> Bytes {
        self.in_flight
    }

    /// Sets the bytes in flight if the sender knows better: lost MTU probes and packets of
    /// discarded keys are removed without a report.
    pub fn set_bytes_in_flight(&mut self, bytes: Bytes) {
        self.in_flight = bytes;
    }

    /// Returns the smoothed RTT (RFC 9002 §5.3), zero before the first sample.
    pub fn smoothed_rtt(&self) -> Span {
        self.smoothed_rtt
    }

    /// Marks the sender as application-limited: its application has no data although cwnd has room.
    /// Delivery-rate samples are lower bounds until the current flight is delivered.
    ///
    /// Not if flow control or a full send buffer stops the sender: its rate is then the rate that
    /// the flow can have (draft-cheng-iccrg-delivery-rate-estimation §3.4; Linux,
    /// `tcp_rate_check_app_limited`), and a BBR that disregards it would never leave Startup.
    pub fn set_app_limited(&mut self) {
        self.delivery_rate.set_app_limited(self.in_flight);
    }

    /// Sets what the next acknowledgements report as [`Ack::repairing`].
    pub fn set_repairing(&mut self, repairing: bool) {
        self.repairing = repairing;
    }

    /// Returns packet `number` if it is in flight.
    pub fn get(&self, number: u64) -> Option<&SentPacket> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.packets.get(index)?.as_ref()
    }

    fn take(&mut self, number: u64) -> Option<SentPacket> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let packet = self.packets.get_mut(index)?.take()?;
        self.in_flight = self.in_flight.saturating_sub(packet.bytes);
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.first += 1;
        }
        Some(packet)
    }

    /// Returns the smallest number that may still be in flight.
    pub fn first_number(&self) -> u64 {
        self.first
    }

    /// Discards packets sent earlier than `since_start` after the start of the connection. Nothing
    /// will be reported about them any more.
    pub fn discard_sent_before(&mut self, since_start: Span) {
        while let Some(front) = self.packets.front()
            && front.is_none_or(|packet| packet.sent_at.since_start() < since_start)
        {
            self.packets.pop_front();
            self.first += 1;
        }
    }

    /// Discards every packet in flight, after the connection has left their path.
    pub fn discard_all(&mut self) {
        self.packets.clear();
        self.first = self.next;
        self.in_flight = Bytes::ZERO;
    }

    /// Records that packet `number` is acknowledged. Returns false if it is not in flight.
    pub fn on_acked(&mut self, now: Time, number: u64) -> bool {
        let Some(packet) = self.take(number) else { return false };
        self.on_acked_late(now, packet);
        true
    }

    /// Records that `packet`, already removed as lost or with [`SentPackets::remove`], is
    /// acknowledged after all.
    pub fn on_acked_late(&mut self, now: Time, packet: SentPacket) {
        self.delivery_rate.on_delivered(now, packet.bytes);
        self.acknowledged.push(packet);
    }

    /// Removes packet `number` without a report, since another packet replaces it. Returns false if
    /// it is not in flight.
    pub fn remove(&mut self, number: u64) -> bool {
        self.take(number).is_some()
    }

    /// Puts `packet`, which was wrongly declared lost, back in flight under the next number, which
    /// is returned. Its time of sending stays.
    pub fn restore(&mut self, packet: SentPacket) -> u64 {
        let number = self.next;
        self.in_flight += packet.bytes;
        self.packets.push_back(Some(SentPacket { number, ..packet }));
        self.next += 1;
        number
    }

    /// Passes the acknowledgement of all packets recorded since the last call to `notify`, if there
    /// are any. `app_limited` means that cwnd does not limit the sender ([`Ack::app_limited`]).
    pub fn report_ack(&mut self, now: Time, app_limited: bool, notify: impl FnOnce(&Ack<'_>)) {
        let mut packets = std::mem::take(&mut self.acknowledged);
        packets.sort_unstable_by_key(|packet| packet.number);
        if let Some(newest) = packets.last() {
            let rtt = now.since(newest.sent_at);
            let min_rtt = self.min_rtt.map_or(rtt, |min| min.min(rtt));
            self.min_rtt = Some(min_rtt);
            self.smoothed_rtt =
                if self.smoothed_rtt.is_zero() { rtt } else { (self.smoothed_rtt * 7 + rtt) / 8 };
            self.round_trips.update(newest.delivered, self.delivery_rate.delivered());
            let sample = self.delivery_rate.sample(now, newest, min_rtt);
            notify(&Ack {
                now,
                packets: &packets,
                bytes: packets.iter().fold(Bytes::ZERO, |sum, packet| sum + packet.bytes),
                rtt,
                min_rtt,
                smoothed_rtt: self.smoothed_rtt,
                bytes_in_flight: self.in_flight,
                delivered: self.delivery_rate.delivered(),
                next_number: self.next,
                round_start: self.round_trips.start,
                round: self.round_trips.count,
                app_limited,
                repairing: self.repairing,
                sample,
            });
        }
        packets.clear();
        self.acknowledged = packets;
    }

    /// Records that packet `number` is declared lost. Returns false if it is not in flight.
    pub fn on_lost(&mut self, number: u64) -> bool {
        let Some(packet) = self.take(number) else { return false };
        self.delivery_rate.on_lost(packet.bytes);
        self.declared_lost.push(packet);
        true
    }

    /// Passes the loss of all packets recorded since the last call to `notify`, if there are any.
    /// `persistent` means persistent congestion (RFC 9002 §7.6).
    pub fn report_loss(&mut self, now: Time, persistent: bool, notify: impl FnOnce(&Loss<'_>)) {
        let mut packets = std::mem::take(&mut self.declared_lost);
        packets.sort_unstable_by_key(|packet| packet.number);
        if !packets.is_empty() {
            notify(&Loss {
                now,
                packets: &packets,
                bytes: packets.iter().fold(Bytes::ZERO, |sum, packet| sum + packet.bytes),
                bytes_in_flight: self.in_flight,
                delivered: self.delivery_rate.delivered(),
                lost: self.delivery_rate.lost(),
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
    use bentpipe_units::Rate;

    const MTU: Bytes = Bytes::new(1200);

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn a_steady_flight_samples_its_ack_rate() {
        let mut sent_packets = SentPackets::new();
        // Ten packets at once, acknowledged at intervals of 10 ms from 100 ms on. Each ACK releases
        // another packet.
        for _ in 0..10 {
            sent_packets.on_sent(at(0), MTU);
        }
        let mut last = None;
        for step in 0..40 {
            let now = at(100 + 10 * step);
            assert!(sent_packets.on_acked(now, step));
            sent_packets.report_ack(now, false, |ack| last = ack.sample.rate);
            sent_packets.on_sent(now, MTU);
        }
        // 1200 bytes per 10 ms.
        assert_eq!(last.map(Rate::as_bps), Some(960_000));
    }

    #[test]
    fn rounds_end_when_a_packet_sent_in_them_is_acknowledged() {
        let mut sent_packets = SentPackets::new();
        let mut rounds = Vec::new();
        for round in 0..3u64 {
            for _ in 0..4 {
                sent_packets.on_sent(at(100 * round), MTU);
            }
            for packet in 0..4 {
                sent_packets.on_acked(at(100 * round + 100), 4 * round + packet);
                sent_packets.report_ack(at(100 * round + 100), false, |ack| {
                    rounds.push((ack.round, ack.round_start))
                });
            }
        }
        let starts: Vec<u64> =
            rounds.iter().filter(|(_, start)| *start).map(|(round, _)| *round).collect();
        assert_eq!(starts, [1, 2, 3]);
        assert_eq!(rounds.len(), 12);
    }

    #[test]
    fn samples_are_application_limited_until_the_flight_is_delivered() {
        let mut sent_packets = SentPackets::new();
        sent_packets.on_sent(at(0), MTU);
        sent_packets.set_app_limited();
        sent_packets.on_sent(at(1), MTU);
        let mut limited = Vec::new();
        for number in 0..2 {
            sent_packets.on_acked(at(100 + number), number);
            sent_packets
                .report_ack(at(100 + number), true, |ack| limited.push(ack.sample.app_limited));
        }
        sent_packets.on_sent(at(102), MTU);
        sent_packets.on_acked(at(202), 2);
        sent_packets.report_ack(at(202), false, |ack| limited.push(ack.sample.app_limited));
        assert_eq!(limited, [false, true, false]);
    }

    #[test]
    fn a_packet_wrongly_declared_lost_keeps_its_send_time() {
        let mut sent_packets = SentPackets::new();
        let first = sent_packets.on_sent(at(0), MTU);
        sent_packets.on_lost(first.number);
        let again = sent_packets.on_sent(at(200), MTU);
        assert!(sent_packets.remove(again.number));
        sent_packets.on_acked_late(at(230), first);
        let mut rtt = None;
        sent_packets.report_ack(at(230), false, |ack| {
            rtt = Some((ack.rtt, ack.delivered, ack.bytes_in_flight))
        });
        assert_eq!(rtt, Some((Span::from_millis(230), MTU, Bytes::ZERO)));
    }

    #[test]
    fn a_restored_packet_is_in_flight_under_the_next_number() {
        let mut sent_packets = SentPackets::new();
        let first = sent_packets.on_sent(at(0), MTU);
        sent_packets.on_lost(first.number);
        let number = sent_packets.restore(first);
        assert_eq!(
            (number, sent_packets.bytes_in_flight(), sent_packets.next_number()),
            (1, MTU, 2)
        );
        assert_eq!(sent_packets.get(number).map(|packet| packet.sent_at), Some(at(0)));
        assert!(sent_packets.on_acked(at(100), number));
    }

    #[test]
    fn a_packet_is_taken_once() {
        let mut sent_packets = SentPackets::new();
        sent_packets.on_sent(at(0), MTU);
        assert!(sent_packets.on_lost(0));
        assert!(
            !sent_packets.on_acked(at(1), 0)
                && !sent_packets.on_lost(0)
                && !sent_packets.on_lost(7)
        );
        assert_eq!(sent_packets.bytes_in_flight(), Bytes::ZERO);
    }
}
