//! Packet numbers of several spaces, mapped to the order of sending.

use bentpipe_congestion::SentPackets;
use bentpipe_units::{Bytes, Time};
use std::collections::VecDeque;

/// A packet in the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// Packet number.
    pub pn: u64,
    /// Position in the order of sending.
    pub number: u64,
    /// Time of sending.
    pub sent_at: Time,
}

/// Maps packet numbers to positions in the order of sending.
///
/// Numbers increase within each sequence, so a search takes logarithmic time. There are as many
/// sequences as packet-number spaces in use at the same time; a packet joins the sequence whose
/// last number is the largest below its own.
#[derive(Debug, Clone, Default)]
pub(super) struct PacketNumberMap(Vec<VecDeque<Entry>>);

impl PacketNumberMap {
    pub fn push(&mut self, entry: Entry) {
        let last = |sequence: &VecDeque<Entry>| sequence.back().map(|entry| entry.pn);
        let fitting = self.0.iter_mut().filter(|sequence| last(sequence) < Some(entry.pn));
        match fitting.max_by_key(|sequence| last(sequence)) {
            Some(sequence) => sequence.push_back(entry),
            None => self.0.push(VecDeque::from([entry])),
        }
    }

    /// Returns the packets with number `pn`, one for each space that has one.
    pub fn all(&self, pn: u64) -> impl Iterator<Item = Entry> + '_ {
        self.0.iter().filter_map(move |sequence| {
            // Mostly no number is missing. A search would wait for memory at each of its steps.
            let distance = pn.checked_sub(sequence.front()?.pn)?;
            let expected = usize::try_from(distance).ok().and_then(|index| sequence.get(index));
            if let Some(entry) = expected.filter(|entry| entry.pn == pn) {
                return Some(*entry);
            }
            let index = sequence.binary_search_by_key(&pn, |entry| entry.pn).ok()?;
            sequence.get(index).copied()
        })
    }

    /// Returns the packet in flight with number `pn` and that size, which was sent at `sent_at`.
    /// Packets of several spaces may be sent at the same time.
    pub fn find(
        &self,
        (pn, bytes): (u64, Bytes),
        sent_at: Time,
        sent_packets: &SentPackets,
    ) -> Option<Entry> {
        self.all(pn).filter(|entry| entry.sent_at == sent_at).find(|entry| {
            sent_packets.get(entry.number).is_some_and(|packet| packet.bytes == bytes)
        })
    }

    pub fn discard_before(&mut self, number: u64) {
        for sequence in &mut self.0 {
            while sequence.front().is_some_and(|first| first.number < number) && sequence.len() > 1
            {
                sequence.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends packets `(pn, bytes)`, two at a time.
    fn sent(packets: &[(u64, u64)]) -> (PacketNumberMap, SentPackets) {
        let (mut packet_numbers, mut sent_packets) =
            (PacketNumberMap::default(), SentPackets::new());
        for (index, &(pn, bytes)) in (0..).zip(packets) {
            let sent_at = Time::from_millis(index / 2);
            let number = sent_packets.on_sent(sent_at, Bytes::new(bytes)).number;
            packet_numbers.push(Entry { pn, number, sent_at });
        }
        (packet_numbers, sent_packets)
    }

    #[test]
    fn packets_with_colliding_numbers_are_distinguished() {
        // Initial 0, 0-RTT 0 to 2, Handshake 0, data 3.
        let (packet_numbers, sent_packets) =
            sent(&[(0, 1200), (0, 900), (1, 900), (2, 900), (0, 700), (3, 900)]);
        let find = |pn, bytes, ms| {
            let found =
                packet_numbers.find((pn, Bytes::new(bytes)), Time::from_millis(ms), &sent_packets);
            found.map(|entry| entry.number)
        };
        assert_eq!(find(3, 900, 2), Some(5));
        assert_eq!(
            (find(0, 1200, 0), find(0, 900, 0), find(0, 700, 2)),
            (Some(0), Some(1), Some(4))
        );
        assert_eq!((find(1, 900, 0), find(9, 900, 0)), (None, None));
    }

    #[test]
    fn of_two_packets_alike_the_one_in_flight_is_found() {
        let (packet_numbers, mut sent_packets) = sent(&[(0, 1200), (0, 1200)]);
        for number in 0..2 {
            let sizes = (0, Bytes::new(1200));
            let found = packet_numbers.find(sizes, Time::ZERO, &sent_packets);
            assert_eq!(found.map(|entry| entry.number), Some(number));
            sent_packets.on_acked(Time::from_millis(5), number);
        }
    }

    #[test]
    fn discarded_packets_leave_the_map() {
        let packets: Vec<_> = (0..100).map(|pn| (pn, 1200)).collect();
        let (mut packet_numbers, _) = sent(&packets);
        packet_numbers.discard_before(98);
        assert_eq!(packet_numbers.0.iter().map(VecDeque::len).sum::<usize>(), 2);
    }
}
