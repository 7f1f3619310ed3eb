//! Packet numbers of several spaces, mapped to the order of sending.

use std::collections::VecDeque;

/// Maps packet numbers to positions in the order of sending.
///
/// Numbers increase within each sequence, so a search takes logarithmic time. There are as many
/// sequences as packet-number spaces in use at the same time; a packet joins the sequence whose
/// last number is the largest below its own.
#[derive(Debug, Clone, Default)]
pub(super) struct PacketNumberMap(Vec<VecDeque<(u64, u64)>>);

impl PacketNumberMap {
    pub fn push(&mut self, pn: u64, number: u64) {
        let last = |sequence: &VecDeque<(u64, u64)>| sequence.back().map(|&(pn, _)| pn);
        let fitting = self.0.iter_mut().filter(|sequence| last(sequence) < Some(pn));
        match fitting.max_by_key(|sequence| last(sequence)) {
            Some(sequence) => sequence.push_back((pn, number)),
            None => self.0.push(VecDeque::from([(pn, number)])),
        }
    }

    /// Returns the position of packet number `pn` for which `matches` is true.
    pub fn find(&self, pn: u64, matches: impl Fn(u64) -> bool) -> Option<u64> {
        self.0.iter().find_map(|sequence| {
            let index = sequence.binary_search_by_key(&pn, |&(pn, _)| pn).ok()?;
            Some(sequence[index].1).filter(|&number| matches(number))
        })
    }

    pub fn discard_before(&mut self, number: u64) {
        for sequence in &mut self.0 {
            while sequence.front().is_some_and(|&(_, first)| first < number) && sequence.len() > 1 {
                sequence.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_with_colliding_numbers_are_distinguished() {
        let mut packet_numbers = PacketNumberMap::default();
        // Initial 0, 0-RTT 0 to 2, Handshake 0, data 3.
        for (number, pn) in [0, 0, 1, 2, 0, 3].into_iter().enumerate() {
            packet_numbers.push(pn, number as u64);
        }
        assert_eq!(packet_numbers.find(3, |_| true), Some(5));
        assert_eq!(packet_numbers.find(0, |number| number == 4), Some(4));
        assert_eq!(packet_numbers.find(0, |number| number == 1), Some(1));
        assert_eq!(packet_numbers.find(9, |_| true), None);
    }

    #[test]
    fn discarded_packets_leave_the_map() {
        let mut packet_numbers = PacketNumberMap::default();
        (0..100).for_each(|pn| packet_numbers.push(pn, pn));
        packet_numbers.discard_before(98);
        assert_eq!(packet_numbers.0.iter().map(VecDeque::len).sum::<usize>(), 2);
    }
}
