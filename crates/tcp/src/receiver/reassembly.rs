//! Reassembles data, and reports out-of-order ranges (SACK, RFC 2018) and duplicates (D-SACK, RFC
//! 2883).

use crate::segment::Sack;
use std::collections::BTreeMap;

/// Number of newest blocks kept: as many as an option without timestamps holds (RFC 2018 §3).
const NEWEST: usize = 4;

/// Classification of a received segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// In order, with no gap.
    InOrder,
    /// The next expected bytes, while others are out of order.
    FilledGap,
    /// Bytes beyond a gap.
    BeyondGap,
    /// Nothing new.
    Duplicate,
    /// Outside the window, or too many ranges.
    Refused,
}

/// The bytes of one direction, as positions from `start` up to but excluding `end`.
#[derive(Debug)]
pub(super) struct Reassembly {
    /// RCV.NXT.
    next: u64,
    /// Ranges received beyond `next`, start to end, disjoint.
    waiting: BTreeMap<u64, u64>,
    /// Maximum number of out-of-order ranges. Normal segments in a window never need more. If a
    /// peer sends every second byte, the excess is refused as if lost.
    max_ranges: usize,
    /// The newest ranges of `waiting`, newest first; `(0, 0)` if unused.
    newest: [(u64, u64); NEWEST],
    /// Duplicate range not yet reported.
    duplicate: Option<(u64, u64)>,
    /// Number of segments of which some bytes had arrived before.
    repeated: u64,
    /// Position of the peer's FIN, once known.
    fin: Option<u64>,
}

impl Reassembly {
    /// Creates the state that expects the byte at `next` and keeps at most `max_ranges` ranges.
    pub(super) fn new(next: u64, max_ranges: usize) -> Self {
        Self {
            next,
            waiting: BTreeMap::new(),
            max_ranges: max_ranges.max(NEWEST),
            newest: [(0, 0); NEWEST],
            duplicate: None,
            repeated: 0,
            fin: None,
        }
    }

    /// Returns RCV.NXT.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the position after the last byte received, beyond gaps too.
    pub(super) fn last(&self) -> u64 {
        self.waiting.last_key_value().map_or(self.next, |(_, &end)| end)
    }

    /// Returns true if everything up to the FIN has arrived.
    pub(super) fn finished(&self) -> bool {
        self.fin.is_some_and(|fin| fin < self.next)
    }

    /// Returns true if there is a gap.
    pub(super) fn has_gap(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the number of segments of which some bytes had arrived before.
    pub(super) fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Accepts `len` bytes from `start`, and a FIN after them if `fin`, as far as they lie before
    /// `edge`. A FIN needs no buffer and may lie at the edge. Beyond a gap it waits and is reported
    /// like any position.
    pub(super) fn take(&mut self, start: u64, len: u64, fin: bool, edge: u64) -> Arrival {
        let mut end = start.saturating_add(len);
        if fin && self.fin.is_none() {
            // Only the first one counts, and only if no known byte lies beyond it.
            let beyond = self.waiting.last_key_value().is_some_and(|(_, &known)| known > end);
            self.fin = (end >= self.next && end <= edge && !beyond).then_some(end);
        }
        if fin && self.fin == Some(end) {
            end += 1;
        } else {
            end = end.min(edge).min(self.fin.unwrap_or(u64::MAX));
        }
        let below = (start, end.min(self.next));
        if end <= self.next {
            self.note_duplicate(below, (0, 0));
            return if below.0 < below.1 { Arrival::Duplicate } else { Arrival::Refused };
        }
        let start = start.max(self.next);
        if start >= end {
            return Arrival::Refused;
        }
        if start == self.next && self.waiting.is_empty() {
            self.note_duplicate(below, (0, 0));
            self.next = end;
            return Arrival::InOrder;
        }
        // Usually the segment beyond a gap continues the last range, which touches no other.
        if let Some(mut last) = self.waiting.last_entry()
            && *last.get() == start
        {
            *last.get_mut() = end;
            let low = *last.key();
            self.note_duplicate(below, (0, 0));
            self.note_newest(low, end);
            return Arrival::BeyondGap;
        }
        let (mut low, mut high) = (start, end);
        let (mut merged, mut again) = (false, (0, 0));
        // Starts with the last range that it may touch. Each range is passed over once, and is then
        // part of another.
        while let Some((&from, &to)) = self.waiting.range(..=end).next_back() {
            if to < start {
                break;
            }
            let common = (from.max(start), to.min(end));
            if common.0 < common.1 {
                again = common;
            }
            if from <= start && end <= to {
                self.note_duplicate(below, again);
                self.note_newest(from, to);
                return Arrival::Duplicate;
            }
            self.waiting.remove(&from);
            (low, high, merged) = (low.min(from), high.max(to), true);
        }
        self.note_duplicate(below, again);
        if low == self.next {
            self.advance(high);
            return Arrival::FilledGap;
        }
        if !merged && self.waiting.len() >= self.max_ranges {
            return Arrival::Refused;
        }
        self.waiting.insert(low, high);
        self.note_newest(low, high);
        Arrival::BeyondGap
    }

    /// Writes out-of-order ranges, and the duplicate, which is reported once.
    pub(super) fn tell(&mut self, sack: &mut Sack) {
        *sack = Sack::default();
        let duplicate = self.duplicate.take();
        if let Some((start, end)) = duplicate {
            sack.push(start, end);
        }
        if self.waiting.is_empty() {
            return;
        }
        let newest = self.newest.iter().filter(|block| block.1 != 0);
        for &(start, end) in newest {
            if !sack.push(start, end) {
                return;
            }
        }
        // If the newest ranges have been filled meanwhile, others take their places (RFC 2018 §4:
        // as many as fit).
        for (&start, &end) in &self.waiting {
            if !self.newest.contains(&(start, end)) && !sack.push(start, end) {
                return;
            }
        }
    }

    fn advance(&mut self, to: u64) {
        self.next = to;
        let mut kept = [(0, 0); NEWEST];
        let still = self.newest.iter().filter(|block| block.1 > to);
        for (place, block) in kept.iter_mut().zip(still) {
            *place = *block;
        }
        self.newest = kept;
    }

    fn note_newest(&mut self, start: u64, end: u64) {
        let mut kept = [(start, end), (0, 0), (0, 0), (0, 0)];
        let others =
            self.newest.iter().filter(|block| block.1 != 0 && (block.1 < start || block.0 > end));
        for (place, block) in kept.iter_mut().skip(1).zip(others) {
            *place = *block;
        }
        self.newest = kept;
    }

    /// Records the first duplicate part of a segment (RFC 2883 §4), unless an earlier one is
    /// unreported.
    fn note_duplicate(&mut self, below: (u64, u64), beyond: (u64, u64)) {
        let piece = if below.0 < below.1 { below } else { beyond };
        if piece.0 < piece.1 {
            self.repeated += 1;
            self.duplicate.get_or_insert(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn summary(reassembly: &mut Reassembly) -> Vec<(u64, u64)> {
        let mut sack = Sack::default();
        reassembly.tell(&mut sack);
        sack.blocks(reassembly.next()).collect()
    }

    fn take(reassembly: &mut Reassembly, start: u64, end: u64) -> Arrival {
        reassembly.take(start, end - start, false, u64::MAX)
    }

    #[test]
    fn blocks_beyond_a_gap_merge_and_are_reported_newest_first() {
        let mut data = Reassembly::new(1, 100);
        assert_eq!(take(&mut data, 1, 101), Arrival::InOrder);
        assert_eq!(take(&mut data, 201, 301), Arrival::BeyondGap);
        assert_eq!(take(&mut data, 401, 501), Arrival::BeyondGap);
        assert_eq!(summary(&mut data), [(401, 501), (201, 301)]);
        assert_eq!(take(&mut data, 301, 351), Arrival::BeyondGap);
        assert_eq!(summary(&mut data), [(201, 351), (401, 501)]);
        assert_eq!(take(&mut data, 351, 401), Arrival::BeyondGap);
        assert_eq!(summary(&mut data), [(201, 501)]);
        assert_eq!(take(&mut data, 101, 201), Arrival::FilledGap);
        assert_eq!((data.next(), data.has_gap()), (501, false));
        assert!(summary(&mut data).is_empty());
    }

    #[test]
    fn three_blocks_are_reported_even_if_the_newest_were_filled() {
        let mut data = Reassembly::new(1, 100);
        for start in [11, 31, 51, 71, 91, 111] {
            take(&mut data, start, start + 10);
        }
        assert_eq!(summary(&mut data), [(111, 121), (91, 101), (71, 81)]);
        // Four of the ranges become one, which includes the newest. Two of them arrive again, of
        // which the first is reported.
        take(&mut data, 61, 111);
        assert_eq!(summary(&mut data), [(71, 81), (51, 121), (11, 21)]);
        assert_eq!(summary(&mut data), [(51, 121), (11, 21), (31, 41)]);
    }

    #[test]
    fn a_duplicate_is_reported_once_and_first() {
        let mut data = Reassembly::new(1, 100);
        take(&mut data, 1, 101);
        take(&mut data, 201, 301);
        // RFC 2883 §4.1: below the acknowledgement.
        assert_eq!(take(&mut data, 51, 101), Arrival::Duplicate);
        assert_eq!(summary(&mut data), [(51, 101), (201, 301)]);
        assert_eq!(summary(&mut data), [(201, 301)]);
        // §4.2: within a block beyond it, which is listed second.
        take(&mut data, 401, 501);
        assert_eq!(take(&mut data, 211, 221), Arrival::Duplicate);
        assert_eq!(summary(&mut data), [(211, 221), (201, 301), (401, 501)]);
        // Part of the segment is new.
        assert_eq!(take(&mut data, 251, 351), Arrival::BeyondGap);
        assert_eq!(summary(&mut data), [(251, 301), (201, 351), (401, 501)]);
    }

    #[test]
    fn bytes_beyond_the_edge_are_refused_and_those_before_it_kept() {
        let mut data = Reassembly::new(1, 100);
        assert_eq!(data.take(51, 100, false, 101), Arrival::BeyondGap);
        assert_eq!(summary(&mut data), [(51, 101)]);
        assert_eq!(data.take(101, 50, false, 101), Arrival::Refused);
        assert_eq!(data.take(u64::MAX - 1, 10, false, 101), Arrival::Refused);
        assert_eq!(data.take(1, 100, false, 101), Arrival::FilledGap);
        assert_eq!(data.next(), 101);
    }

    #[test]
    fn a_gap_after_every_byte_is_refused_beyond_the_maximum_of_ranges() {
        let mut data = Reassembly::new(1, 10);
        let kept = (1..=1000u64)
            .filter(|n| take(&mut data, 2 * n + 1, 2 * n + 2) == Arrival::BeyondGap)
            .count();
        assert_eq!(kept, 10);
        // A segment that joins two ranges is accepted.
        assert_eq!(take(&mut data, 4, 5), Arrival::BeyondGap);
    }

    #[test]
    fn a_fin_counts_after_the_last_byte_and_only_once() {
        let mut data = Reassembly::new(1, 100);
        assert_eq!(data.take(151, 50, true, 1000), Arrival::BeyondGap);
        assert_eq!(summary(&mut data), [(151, 202)], "a FIN is reported as if it were a byte");
        assert_eq!(take(&mut data, 101, 301), Arrival::BeyondGap);
        assert_eq!(summary(&mut data), [(151, 201), (101, 202)], "no byte lies beyond a FIN");
        assert_eq!((take(&mut data, 1, 51), data.finished()), (Arrival::FilledGap, false));
        assert_eq!((take(&mut data, 51, 101), data.finished()), (Arrival::FilledGap, true));
        assert_eq!(data.next(), 202);
        assert_eq!(data.take(201, 0, true, 1000), Arrival::Duplicate);
        assert_eq!(take(&mut data, 202, 302), Arrival::Refused);
        assert_eq!(data.take(202, 0, true, 1000), Arrival::Refused);
    }

    #[test]
    fn a_fin_is_accepted_at_the_edge_and_not_beyond() {
        let mut data = Reassembly::new(1, 100);
        assert_eq!(data.take(102, 0, true, 101), Arrival::Refused);
        assert_eq!(data.take(1, 100, true, 101), Arrival::InOrder);
        assert_eq!((data.next(), data.finished()), (102, true));
    }

    #[test]
    fn a_fin_before_bytes_that_have_arrived_is_refused() {
        let mut data = Reassembly::new(1, 100);
        take(&mut data, 101, 201);
        assert_eq!(data.take(150, 0, true, 1000), Arrival::Refused);
        take(&mut data, 1, 51);
        assert_eq!(data.take(20, 0, true, 1000), Arrival::Refused);
        assert_eq!(data.take(201, 0, true, 1000), Arrival::BeyondGap);
    }

    proptest! {
        /// Compared with a map of single bytes, for any order, overlaps and repetitions.
        #[test]
        fn the_prefix_is_exactly_what_has_arrived(
            pieces in proptest::collection::vec((1u64..300, 1u64..60, 1u64..400), 1..120),
        ) {
            let mut data = Reassembly::new(1, 1000);
            let mut bytes = vec![false; 500];
            for (start, len, edge) in pieces {
                let end = start + len;
                let told_before = data.next();
                data.take(start, len, false, edge.max(told_before));
                for position in start..end.min(edge.max(told_before)) {
                    bytes[position as usize] = true;
                }
                let prefix = (1u64..500).find(|&position| !bytes[position as usize]).unwrap_or(500);
                prop_assert_eq!(data.next(), prefix);
                let mut sack = Sack::default();
                data.tell(&mut sack);
                for (from, to) in sack.blocks(data.next()) {
                    prop_assert!(from < to && (from..to).all(|position| bytes[position as usize]));
                }
                prop_assert_eq!(data.has_gap(), bytes[prefix as usize..].contains(&true));
                let ranges: Vec<_> = data.waiting.iter().collect();
                let disjoint = ranges.windows(2).all(|pair| pair[0].1 < pair[1].0);
                prop_assert!(disjoint, "{:?}", ranges);
            }
        }
    }
}
