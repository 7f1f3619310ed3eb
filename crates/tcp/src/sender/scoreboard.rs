//! Outstanding segments in order of sequence.
//!
//! Segments keep their boundaries: a retransmission carries exactly the bytes of the first
//! transmission. The cost of an acknowledgement depends on the segments that it newly covers, not
//! on the number outstanding.

use super::ranges::Ranges;
use bentpipe_congestion::SentPacket;
use bentpipe_units::{Bytes, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// State of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// In flight.
    InFlight,
    /// Selectively acknowledged.
    Sacked,
    /// Its last transmission is lost, and it waits for retransmission.
    Lost,
}

/// A segment that was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    /// Position of its first byte, or of the FIN.
    pub(crate) seq: u64,
    /// Number of its last transmission in [`SentPackets`](bentpipe_congestion::SentPackets).
    pub(crate) number: u64,
    /// Time of that transmission.
    pub(crate) sent_at: Time,
    /// Payload in bytes.
    pub(crate) len: u32,
    /// True if a FIN follows the payload.
    pub(crate) fin: bool,
    /// State of the segment.
    pub(crate) state: State,
    /// True if it was sent more than once.
    pub(crate) retransmitted: bool,
}

impl Sent {
    /// Returns the position after the segment.
    pub(crate) fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.fin)
    }

    /// Returns the bytes that it counts for: its payload, or one for a lone FIN.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::new(u64::from(self.len.max(1)))
    }
}

/// The segments from SND.UNA to SND.NXT.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Index of the first segment; indices count segments from the start of the connection.
    base: u64,
    sacked: Ranges,
    sacked_segments: u64,
    sacked_bytes: u64,
    /// Indices of segments that wait for a retransmission.
    lost: BTreeSet<u64>,
    /// Indices in order of transmission: those of the packet numbers from `first_number` on.
    order: VecDeque<u64>,
    first_number: u64,
    /// The first transmissions of segments that were retransmitted, or wait for it. They may still
    /// arrive.
    originals: BTreeMap<u64, SentPacket>,
    /// Ranges that a block newly covers. The vector is kept to reuse its memory.
    parts: Vec<(u64, u64)>,
}

impl Scoreboard {
    /// Adds a new segment at the end. `packet` is its transmission.
    pub(crate) fn push(&mut self, seq: u64, len: u32, fin: bool, packet: &SentPacket) {
        self.order.push_back(self.base + self.segments.len() as u64);
        let (number, sent_at) = (packet.number, packet.sent_at);
        self.segments.push_back(Sent {
            seq,
            number,
            sent_at,
            len,
            fin,
            state: State::InFlight,
            retransmitted: false,
        });
    }

    /// Records that a segment was retransmitted.
    pub(crate) fn sent_again(&mut self, index: u64, packet: &SentPacket) {
        self.order.push_back(index);
        self.lost.remove(&index);
        if let Some(segment) = self.get_mut(index) {
            segment.number = packet.number;
            segment.sent_at = packet.sent_at;
            segment.state = State::InFlight;
            segment.retransmitted = true;
        }
    }

    /// Records that a segment that waited for retransmission is in flight, under another number.
    pub(crate) fn restored(&mut self, index: u64, number: u64, sent_at: Time) {
        self.order.push_back(index);
        self.lost.remove(&index);
        if let Some(segment) = self.get_mut(index) {
            segment.number = number;
            segment.sent_at = sent_at;
            segment.state = State::InFlight;
        }
    }

    /// Returns true if everything is acknowledged.
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns the number of segments from SND.UNA to SND.NXT.
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Returns the index of the segment at SND.UNA.
    pub(crate) fn first(&self) -> u64 {
        self.base
    }

    /// Returns the index of the segment before SND.NXT.
    pub(crate) fn last(&self) -> Option<u64> {
        (self.base + self.segments.len() as u64).checked_sub(1).filter(|_| !self.is_empty())
    }

    /// Returns the segment with that index.
    pub(crate) fn get(&self, index: u64) -> Option<&Sent> {
        self.segments.get(usize::try_from(index.checked_sub(self.base)?).ok()?)
    }

    fn get_mut(&mut self, index: u64) -> Option<&mut Sent> {
        self.segments.get_mut(usize::try_from(index.checked_sub(self.base)?).ok()?)
    }

    /// Returns the number of segments that the peer has received beyond a gap.
    pub(crate) fn sacked_segments(&self) -> u64 {
        self.sacked_segments
    }

    /// Returns the bytes of those.
    pub(crate) fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }

    /// Removes the first segment, and returns it with its index, if `ack` covers all of it.
    pub(crate) fn pop(&mut self, ack: u64) -> Option<(u64, Sent)> {
        let segment = *self.segments.front().filter(|segment| segment.end() <= ack)?;
        self.segments.pop_front();
        let index = self.base;
        self.base += 1;
        match segment.state {
            State::InFlight => {}
            State::Lost => {
                self.lost.remove(&index);
            }
            State::Sacked => {
                self.sacked_segments -= 1;
                self.sacked_bytes -= segment.bytes().get();
            }
        }
        Some((index, segment))
    }

    /// Records that everything before `una` is acknowledged.
    pub(crate) fn forget_before(&mut self, una: u64) {
        self.sacked.forget_before(una);
    }

    /// Marks the range from `start` up to but excluding `end` as received by the peer. Adds the
    /// newly covered segments, in their previous state, to `newly`.
    pub(crate) fn sack(&mut self, start: u64, end: u64, newly: &mut Vec<(u64, Sent)>) {
        if self.sacked.is_known(start, end) {
            return;
        }
        let Self { segments, base, sacked, sacked_segments, sacked_bytes, lost, parts, .. } = self;
        let (from, until) = sacked.insert(start, end, |a, b| parts.push((a, b)));
        for (start, end) in parts.drain(..) {
            let mut place = segments.partition_point(|segment| segment.end() <= start);
            while let Some(segment) = segments.get_mut(place).filter(|segment| segment.seq < end) {
                let index = *base + place as u64;
                place += 1;
                if segment.state == State::Sacked || segment.seq < from || segment.end() > until {
                    continue;
                }
                newly.push((index, *segment));
                lost.remove(&index);
                segment.state = State::Sacked;
                *sacked_segments += 1;
                *sacked_bytes += segment.bytes().get();
            }
        }
    }

    /// Handles that the peer has dropped its data beyond the gap (RFC 2018 §8), which then waits
    /// for retransmission.
    pub(crate) fn renege(&mut self) {
        self.sacked.clear();
        for (place, segment) in self.segments.iter_mut().enumerate() {
            if segment.state == State::Sacked {
                segment.state = State::Lost;
                self.lost.insert(self.base + place as u64);
            }
        }
        self.sacked_segments = 0;
        self.sacked_bytes = 0;
    }

    /// Returns the first segment that waits for retransmission.
    pub(crate) fn first_lost(&self) -> Option<u64> {
        self.lost.first().copied()
    }

    /// Records that the segment's last transmission is lost.
    pub(crate) fn mark_lost(&mut self, index: u64) {
        if let Some(segment) = self.get_mut(index) {
            segment.state = State::Lost;
            self.lost.insert(index);
        }
    }

    /// Returns the number of segments that were sent once and not received, of those that are lost
    /// or were retransmitted, and of ranges received beyond a gap.
    pub(crate) fn buffers(&self) -> (u64, u64, u64) {
        let odd = self.originals.len() as u64;
        let received = self.sacked_segments + odd;
        let segments = (self.segments.len() as u64).saturating_sub(received);
        (segments, odd, self.sacked.len() as u64)
    }

    /// Returns true if a segment that was declared lost has not been received yet.
    pub(crate) fn has_losses(&self) -> bool {
        !self.originals.is_empty()
    }

    /// Keeps a transmission that may still arrive, unless an earlier one is kept.
    pub(crate) fn keep_original(&mut self, index: u64, packet: SentPacket) {
        self.originals.entry(index).or_insert(packet);
    }

    /// Keeps a transmission that is still in flight, in addition to its repetition. Returns the one
    /// kept before.
    pub(crate) fn keep_in_flight(&mut self, index: u64, packet: SentPacket) -> Option<SentPacket> {
        self.originals.insert(index, packet)
    }

    /// Returns the transmission that was kept.
    pub(crate) fn original(&self, index: u64) -> Option<&SentPacket> {
        self.originals.get(&index)
    }

    /// Removes and returns the transmission that was kept.
    pub(crate) fn take_original(&mut self, index: u64) -> Option<SentPacket> {
        if self.originals.is_empty() { None } else { self.originals.remove(&index) }
    }

    /// Returns the segment in flight with the oldest transmission.
    pub(crate) fn oldest(&mut self) -> Option<(u64, Sent)> {
        while let Some(&index) = self.order.front() {
            let number = self.first_number;
            let current = self
                .get(index)
                .filter(|segment| segment.number == number && segment.state == State::InFlight);
            if let Some(segment) = current {
                return Some((index, *segment));
            }
            self.order.pop_front();
            self.first_number += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_congestion::SentPackets;

    fn board(count: u64) -> Scoreboard {
        let (mut board, mut sent_packets) = (Scoreboard::default(), SentPackets::new());
        for at in 0..count {
            let packet = sent_packets.on_sent(Time::from_millis(at), Bytes::new(100));
            board.push(1 + 100 * at, 100, false, &packet);
        }
        board
    }

    #[test]
    fn a_block_covers_each_segment_once_and_only_whole_segments() {
        let mut board = board(6);
        let mut newly = Vec::new();
        // From the middle of the second to the middle of the fourth.
        board.sack(151, 351, &mut newly);
        assert_eq!(newly.drain(..).map(|(index, _)| index).collect::<Vec<_>>(), [2]);
        board.sack(351, 401, &mut newly);
        board.sack(101, 401, &mut newly);
        assert_eq!(newly.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [3, 1]);
        assert_eq!((board.sacked_segments(), board.sacked_bytes()), (3, 300));
    }

    #[test]
    fn the_oldest_segment_is_determined_by_the_last_transmission() {
        let (mut board, mut sent_packets) = (board(3), SentPackets::new());
        for _ in 0..3 {
            sent_packets.on_sent(Time::ZERO, Bytes::new(100));
        }
        board.mark_lost(0);
        assert_eq!(board.oldest().map(|(index, _)| index), Some(1));
        board.sent_again(0, &sent_packets.on_sent(Time::from_millis(9), Bytes::new(100)));
        board.pop(201);
        board.pop(201);
        assert_eq!(board.oldest().map(|(index, _)| index), Some(2));
        let mut newly = Vec::new();
        board.sack(201, 301, &mut newly);
        assert!(board.oldest().is_none() && board.len() == 1);
    }

    #[test]
    fn segments_dropped_by_the_peer_wait_for_retransmission() {
        let mut board = board(3);
        board.sack(101, 301, &mut Vec::new());
        board.renege();
        assert_eq!(
            (board.first_lost(), board.sacked_segments(), board.sacked_bytes()),
            (Some(1), 0, 0)
        );
    }
}
