//! Packet ranges with counts of acknowledged and lost packets.

use crate::chance::most_by_chance;
use crate::controller::SentPacket;
use bentpipe_units::Bytes;

/// Packets with consecutive numbers: the initial data of a connection, or the unvalidated packets
/// of a jump.
///
/// Some packets are removed without a report: lost MTU probes and packets of discarded keys. A
/// range is therefore also settled by the ACK of a packet that was sent after the ACK which reached
/// the end of the range: by then every loss in the range has been declared (RFC 9002 §6.1).
#[derive(Debug, Clone, Default)]
pub(super) struct PacketRange {
    /// Number of the first packet. `None` if there is none yet.
    first: Option<u64>,
    /// Number after the last packet. `None` while the range is open.
    end: Option<u64>,
    /// Packets that are neither acknowledged nor lost.
    outstanding: u64,
    /// Packets that are acknowledged or lost, and the lost ones among them.
    accounted: u64,
    losses: u64,
    lost_bytes: Bytes,
    /// Number of the next packet when an ACK reached the end of the range.
    reached: Option<u64>,
    overtaken: bool,
}

impl PacketRange {
    /// Creates an empty range that starts with packet `first`.
    pub(super) fn from(first: u64) -> Self {
        Self { first: Some(first), ..Self::default() }
    }

    pub(super) fn first(&self) -> Option<u64> {
        self.first
    }

    /// Returns the number of the last packet if the range is closed and not empty.
    pub(super) fn last(&self) -> Option<u64> {
        self.end.filter(|end| Some(*end) > self.first).map(|end| end - 1)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.end.is_some()
    }

    /// Closes the range before packet `end`. Only the first call counts.
    pub(super) fn close(&mut self, end: u64) {
        self.end.get_or_insert(end);
    }

    fn holds(&self, number: u64) -> bool {
        self.first.is_some_and(|first| number >= first) && self.end.is_none_or(|end| number < end)
    }

    pub(super) fn on_packet_sent(&mut self, number: u64) {
        if self.end.is_none() {
            self.first.get_or_insert(number);
            self.outstanding += 1;
        }
    }

    /// Handles acknowledged packets, and returns the bytes of those in the range. `next` is the
    /// number that the next packet will get.
    pub(super) fn on_ack(&mut self, packets: &[SentPacket], next: u64) -> Bytes {
        let newest = packets.last().map_or(0, |packet| packet.number);
        if self.reached.is_some_and(|reached| newest >= reached) {
            self.overtaken = true;
        }
        if self.end.is_some_and(|end| newest.saturating_add(1) >= end) {
            self.reached.get_or_insert(next);
        }
        self.take(packets)
    }

    pub(super) fn on_loss(&mut self, packets: &[SentPacket]) {
        let before = self.accounted;
        let bytes = self.take(packets);
        self.lost_bytes += bytes;
        self.losses += self.accounted - before;
    }

    /// Counts all packets that were lost as acknowledged, and returns their bytes: they were only
    /// late.
    pub(super) fn forgive_losses(&mut self) -> Bytes {
        self.losses = 0;
        std::mem::take(&mut self.lost_bytes)
    }

    /// Returns true if more packets were lost than random losses of the fraction `tolerance`
    /// explain: three standard deviations above the mean of a Poisson process, plus one packet for
    /// the start of the count. Without tolerance, every loss is congestion.
    pub(super) fn is_congested(&self, tolerance: f64) -> bool {
        let mean = tolerance * self.accounted as f64;
        let by_chance = if tolerance > 0.0 { most_by_chance(mean) } else { 0.0 };
        self.losses as f64 > by_chance
    }

    fn take(&mut self, packets: &[SentPacket]) -> Bytes {
        let mut bytes = Bytes::ZERO;
        for packet in packets {
            if self.holds(packet.number) {
                bytes += packet.bytes;
                self.outstanding = self.outstanding.saturating_sub(1);
                self.accounted += 1;
            }
        }
        bytes
    }

    /// Returns true if the last packet, or a later one, is acknowledged.
    pub(super) fn is_reached(&self) -> bool {
        self.reached.is_some()
    }

    /// Returns true if every packet is acknowledged, lost, or can only have been removed without a
    /// report.
    pub(super) fn is_settled(&self) -> bool {
        self.is_closed() && (self.outstanding == 0 || self.overtaken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Time;

    fn packet(number: u64) -> SentPacket {
        SentPacket {
            number,
            bytes: Bytes::new(1000),
            sent_at: Time::ZERO,
            position: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            lost: Bytes::ZERO,
            app_limited: false,
        }
    }

    fn range(first: u64, end: u64) -> PacketRange {
        let mut range = PacketRange::from(first);
        (first..end).for_each(|number| range.on_packet_sent(number));
        range.close(end);
        range
    }

    #[test]
    fn without_tolerance_every_loss_is_congestion() {
        let mut range = range(0, 1000);
        assert!(!range.is_congested(0.0));
        range.on_loss(&[packet(3)]);
        assert!(range.is_congested(0.0) && !range.is_congested(0.02));
    }

    #[test]
    fn losses_beyond_chance_are_congestion_despite_tolerance() {
        let mut range = range(0, 1000);
        for number in 0..1000 {
            if number % 64 == 0 {
                range.on_loss(&[packet(number)]);
            } else {
                range.on_ack(&[packet(number)], 1000);
            }
            assert!(!range.is_congested(0.02), "1.56 % at packet {number}");
        }
        let mut range = self::range(0, 1000);
        (0..10).for_each(|number| range.on_loss(&[packet(number)]));
        assert!(range.is_congested(0.02));
    }

    #[test]
    fn only_packets_in_the_range_count() {
        let mut range = range(5, 8);
        assert_eq!(
            range.on_ack(&[packet(3), packet(4), packet(5), packet(6)], 9),
            Bytes::new(2000)
        );
        assert!(!range.is_reached() && !range.is_settled());
        assert_eq!(range.on_ack(&[packet(7), packet(8)], 9), Bytes::new(1000));
        assert!(range.is_reached() && range.is_settled());
    }

    #[test]
    fn losses_settle_the_range_too() {
        let mut range = range(5, 7);
        range.on_loss(&[packet(5), packet(6)]);
        assert!(range.is_settled() && !range.is_reached());
    }

    #[test]
    fn a_packet_removed_without_a_report_delays_it_by_one_round() {
        let mut range = range(0, 3);
        range.on_ack(&[packet(0), packet(2)], 6);
        assert!(range.is_reached() && !range.is_settled());
        range.on_ack(&[packet(5)], 7);
        assert!(!range.is_settled());
        range.on_ack(&[packet(6)], 8);
        assert!(range.is_settled());
    }

    #[test]
    fn an_empty_range_is_settled_at_once_and_has_no_last_packet() {
        let range = range(5, 5);
        assert!(range.is_settled());
        assert_eq!(range.last(), None);
    }
}
