//! A run of packets, and how many of them nothing has been heard of.

use crate::controller::Packet;
use bentpipe_units::Bytes;

/// Packets of consecutive numbers: the initial data of a connection, or the unvalidated packets of a jump.
///
/// Some packets leave a ledger without word (a lost probe of the path's MTU, packets of keys that are discarded). A run is
/// therefore also settled once a packet is acknowledged that was sent after the acknowledgement which reached its end: by then
/// every loss in it has been declared (RFC 9002 §6.1), so nothing hangs on packets that nobody will tell of.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    /// Number of its first packet; `None` before there is one.
    first: Option<u64>,
    /// Number after its last; `None` while it grows.
    end: Option<u64>,
    unheard: u64,
    /// Of those heard of: how many there are, and how many of them were lost.
    heard: u64,
    losses: u64,
    /// Number that the next packet had when an acknowledgement reached the run's end.
    reached: Option<u64>,
    overtaken: bool,
}

impl Tally {
    /// An empty run that begins with packet `first`.
    pub(super) fn from(first: u64) -> Self {
        Self { first: Some(first), ..Self::default() }
    }

    pub(super) fn first(&self) -> Option<u64> {
        self.first
    }

    /// Number of its last packet, where it has ended and is not empty.
    pub(super) fn last(&self) -> Option<u64> {
        self.end.filter(|end| Some(*end) > self.first).map(|end| end - 1)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.end.is_some()
    }

    /// Ends it before packet `end`; only the first end counts.
    pub(super) fn close(&mut self, end: u64) {
        self.end.get_or_insert(end);
    }

    fn holds(&self, number: u64) -> bool {
        self.first.is_some_and(|first| number >= first) && self.end.is_none_or(|end| number < end)
    }

    pub(super) fn sent(&mut self, number: u64) {
        if self.end.is_none() {
            self.first.get_or_insert(number);
            self.unheard += 1;
        }
    }

    /// Bytes of the run among `packets`, which were acknowledged when the next number was `next`.
    pub(super) fn acked(&mut self, packets: &[Packet], next: u64) -> Bytes {
        let newest = packets.last().map_or(0, |packet| packet.number);
        if self.reached.is_some_and(|reached| newest >= reached) {
            self.overtaken = true;
        }
        if self.end.is_some_and(|end| newest.saturating_add(1) >= end) {
            self.reached.get_or_insert(next);
        }
        self.take(packets)
    }

    pub(super) fn lost(&mut self, packets: &[Packet]) {
        let before = self.heard;
        self.take(packets);
        self.losses += self.heard - before;
    }

    /// Whether more of it was lost than chance explains where the share `tolerance` is lost by chance: three standard
    /// deviations above the mean of a Poisson process, and a packet for the beginning of the count. Every loss without
    /// tolerance.
    pub(super) fn is_congested(&self, tolerance: f64) -> bool {
        let mean = tolerance * self.heard as f64;
        let by_chance = if tolerance > 0.0 { mean + 3.0 * libm::sqrt(mean) + 1.0 } else { 0.0 };
        self.losses as f64 > by_chance
    }

    fn take(&mut self, packets: &[Packet]) -> Bytes {
        let mut bytes = Bytes::ZERO;
        for packet in packets {
            if self.holds(packet.number) {
                bytes += packet.bytes;
                self.unheard = self.unheard.saturating_sub(1);
                self.heard += 1;
            }
        }
        bytes
    }

    /// Its last packet, or a later one, was acknowledged.
    pub(super) fn is_reached(&self) -> bool {
        self.reached.is_some()
    }

    /// Every packet of it is acknowledged or lost, or can only have left without word.
    pub(super) fn is_settled(&self) -> bool {
        self.is_closed() && (self.unheard == 0 || self.overtaken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Time;

    fn packet(number: u64) -> Packet {
        Packet {
            number,
            bytes: Bytes::new(1000),
            sent_at: Time::ZERO,
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            lost: Bytes::ZERO,
            app_limited: false,
        }
    }

    fn run(first: u64, end: u64) -> Tally {
        let mut tally = Tally::from(first);
        (first..end).for_each(|number| tally.sent(number));
        tally.close(end);
        tally
    }

    #[test]
    fn every_loss_is_congestion_to_who_tolerates_none() {
        let mut run = run(0, 1000);
        assert!(!run.is_congested(0.0));
        run.lost(&[packet(3)]);
        assert!(run.is_congested(0.0) && !run.is_congested(0.02));
    }

    #[test]
    fn losses_beyond_chance_are_congestion_to_everyone() {
        let mut run = run(0, 1000);
        for number in 0..1000 {
            if number % 64 == 0 {
                run.lost(&[packet(number)]);
            } else {
                run.acked(&[packet(number)], 1000);
            }
            assert!(!run.is_congested(0.02), "1.56 % at packet {number}");
        }
        let mut run = self::run(0, 1000);
        (0..10).for_each(|number| run.lost(&[packet(number)]));
        assert!(run.is_congested(0.02));
    }

    #[test]
    fn only_its_own_packets_count() {
        let mut tally = run(5, 8);
        assert_eq!(tally.acked(&[packet(3), packet(4), packet(5), packet(6)], 9), Bytes::new(2000));
        assert!(!tally.is_reached() && !tally.is_settled());
        assert_eq!(tally.acked(&[packet(7), packet(8)], 9), Bytes::new(1000));
        assert!(tally.is_reached() && tally.is_settled());
    }

    #[test]
    fn losses_settle_it_too() {
        let mut tally = run(5, 7);
        tally.lost(&[packet(5), packet(6)]);
        assert!(tally.is_settled() && !tally.is_reached());
    }

    #[test]
    fn a_packet_that_leaves_without_word_holds_it_up_for_a_round_only() {
        let mut tally = run(0, 3);
        tally.acked(&[packet(0), packet(2)], 6);
        assert!(tally.is_reached() && !tally.is_settled());
        tally.acked(&[packet(5)], 7);
        assert!(!tally.is_settled());
        tally.acked(&[packet(6)], 8);
        assert!(tally.is_settled());
    }

    #[test]
    fn an_empty_run_is_settled_at_once_and_has_no_last_packet() {
        let tally = run(5, 5);
        assert!(tally.is_settled());
        assert_eq!(tally.last(), None);
    }
}
