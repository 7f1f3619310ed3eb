//! Packets that the stack declares lost together, without their packet-number space.

use super::packet_number_map::{Entry, PacketNumberMap};
use bentpipe_congestion::SentPackets;
use bentpipe_units::{Bytes, Time};

/// Packets of one space declared lost at one time.
///
/// The stack reports their numbers and sizes in ascending order, and then the time of sending of
/// the last one, which identifies it. The others were sent before it in the same space, so each is
/// the newest packet in flight of its number and size that was sent before its successor.
#[derive(Debug, Clone, Default)]
pub(super) struct LostPackets {
    /// Packet numbers and sizes. The vector is kept to reuse its memory.
    reported: Vec<(u64, Bytes)>,
    at: Time,
    found: Vec<Entry>,
}

impl LostPackets {
    /// Adds a report. Reports of an earlier time were followed by no congestion event: those
    /// packets were sent on another path.
    pub fn push(&mut self, now: Time, pn: u64, bytes: Bytes) {
        let follows = self.at == now && self.reported.last().is_none_or(|&(last, _)| last < pn);
        if !follows {
            self.reported.clear();
        }
        self.at = now;
        self.reported.push((pn, bytes));
    }

    /// Returns the packets reported at `now`, in the order of sending. The last one has the given
    /// number and time of sending.
    pub fn take(
        &mut self,
        now: Time,
        (largest, sent_at): (u64, Time),
        packet_numbers: &PacketNumberMap,
        sent_packets: &SentPackets,
    ) -> impl Iterator<Item = Entry> + '_ {
        self.found.clear();
        if self.at == now {
            let newest = self.reported.last().filter(|(pn, _)| *pn == largest);
            let newest = newest.and_then(|last| packet_numbers.find(*last, sent_at, sent_packets));
            let mut before = newest.map_or(u64::MAX, |newest| newest.number + 1);
            for &(pn, bytes) in self.reported.iter().rev() {
                let lost = packet_numbers
                    .all(pn)
                    .filter(|entry| entry.number < before && entry.sent_at <= sent_at)
                    .filter(|entry| {
                        sent_packets.get(entry.number).is_some_and(|packet| packet.bytes == bytes)
                    })
                    .max_by_key(|entry| entry.number);
                if let Some(entry) = lost {
                    before = entry.number;
                    self.found.push(entry);
                }
            }
        }
        self.reported.clear();
        self.found.drain(..).rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends packets `(pn, bytes)`, one per millisecond.
    fn sent(packets: &[(u64, u64)]) -> (PacketNumberMap, SentPackets) {
        let (mut packet_numbers, mut sent_packets) = Default::default();
        for (ms, &(pn, bytes)) in (0..).zip(packets) {
            let sent_at = Time::from_millis(ms);
            let packet = SentPackets::on_sent(&mut sent_packets, sent_at, Bytes::new(bytes));
            PacketNumberMap::push(
                &mut packet_numbers,
                Entry { pn, number: packet.number, sent_at },
            );
        }
        (packet_numbers, sent_packets)
    }

    fn lost(packets: &[(u64, u64)], reported: &[(u64, u64)], last_at: u64) -> Vec<u64> {
        let (packet_numbers, sent_packets) = sent(packets);
        let (mut lost, now) = (LostPackets::default(), Time::from_secs(1));
        for &(pn, bytes) in reported {
            lost.push(now, pn, Bytes::new(bytes));
        }
        let last = (reported.last().map_or(0, |&(pn, _)| pn), Time::from_millis(last_at));
        lost.take(now, last, &packet_numbers, &sent_packets).map(|entry| entry.number).collect()
    }

    #[test]
    fn losses_of_colliding_numbers_are_those_of_the_space_of_the_newest() {
        // Handshake 0 to 2, then data 0 to 2 of the same size.
        let packets = [(0, 1200), (1, 1200), (2, 1200), (0, 1200), (1, 1200), (2, 1200)];
        assert_eq!(lost(&packets, &[(0, 1200), (1, 1200)], 4), [3, 4]);
        assert_eq!(lost(&packets, &[(0, 1200), (1, 1200)], 1), [0, 1]);
        // Initial and handshake interleave, with other sizes.
        let packets = [(0, 1200), (0, 1100), (1, 1200), (1, 900)];
        assert_eq!(lost(&packets, &[(0, 1100), (1, 900)], 3), [1, 3]);
        assert_eq!(lost(&packets, &[(0, 1200), (1, 1200)], 2), [0, 2]);
    }

    #[test]
    fn reports_of_packets_of_another_path_are_dropped() {
        let (packet_numbers, sent_packets) = sent(&[(7, 1200), (8, 1200)]);
        let mut lost = LostPackets::default();
        // Sent before the migration: no congestion event follows.
        lost.push(Time::from_millis(500), 3, Bytes::new(1200));
        lost.push(Time::from_millis(600), 7, Bytes::new(1200));
        let last = (7, Time::ZERO);
        let found = lost.take(Time::from_millis(600), last, &packet_numbers, &sent_packets);
        assert_eq!(found.map(|entry| entry.number).collect::<Vec<_>>(), [0]);
    }
}
