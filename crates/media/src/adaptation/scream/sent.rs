//! The packets that a sender has sent, and what feedback says of them.

use crate::adaptation::feedback::{Feedback, MOST_COVERED};
use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// A packet whose fate may change.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Time,
    bytes: u32,
    arrived: bool,
    /// When feedback first showed a later packet without this one.
    missing_since: Option<Time>,
    lost: bool,
}

/// What a report has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Acked {
    /// Bytes up to the last packet that has arrived, lost ones included, which no report had shown.
    pub bytes: u64,
    /// Bytes of packets that were marked.
    pub marked_bytes: u64,
    /// Packets that have arrived.
    pub packets: u32,
    /// Packets that were marked.
    pub marked: u32,
    /// Packets that are lost.
    pub lost: u32,
    /// When the last packet was sent, if no earlier report was of it or of a later one.
    pub newest: Option<Time>,
}

/// Packets in order.
#[derive(Debug, Default)]
pub struct SentPackets {
    packets: VecDeque<Sent>,
    /// Number of the first of `packets`.
    first: u32,
    /// Number of packets, from the first of all, that were sent up to the last one reported.
    reported: u32,
    /// Bytes sent after the last packet that was reported.
    in_flight: u64,
    /// How long a packet may be missing before it is lost.
    reordering: Span,
}

impl SentPackets {
    /// Adds the next packet.
    pub fn push(&mut self, at: Time, bytes: u32) {
        self.in_flight += u64::from(bytes);
        self.packets.push_back(Sent {
            at,
            bytes,
            arrived: false,
            missing_since: None,
            lost: false,
        });
    }

    /// Returns the bytes in flight.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Forgets all packets, which nobody has reported.
    pub fn forget(&mut self) {
        self.first = self.end();
        self.reported = self.first;
        self.packets.clear();
        self.in_flight = 0;
    }

    fn end(&self) -> u32 {
        self.first.wrapping_add(self.packets.len() as u32)
    }

    /// Handles a report. One of packets that were never sent changes nothing.
    pub fn on_feedback(&mut self, now: Time, feedback: &Feedback) -> Acked {
        let mut acked = Acked::default();
        if feedback.highest >= self.end() {
            return acked;
        }
        for back in 0..MOST_COVERED.min(feedback.highest + 1) {
            let bit = 1u64 << back;
            if feedback.received & bit != 0 {
                self.arrived(now, feedback.highest - back, feedback.marked & bit != 0, &mut acked);
            }
        }
        self.advance(feedback.highest, &mut acked);
        self.notice_losses(now, &mut acked);
        acked
    }

    fn arrived(&mut self, now: Time, number: u32, marked: bool, acked: &mut Acked) {
        let Some(place) = number.checked_sub(self.first) else { return };
        let Some(packet) = self.packets.get_mut(place as usize) else { return };
        if std::mem::replace(&mut packet.arrived, true) {
            return;
        }
        acked.packets += 1;
        if marked {
            acked.marked += 1;
            acked.marked_bytes += u64::from(packet.bytes);
        }
        if let Some(since) = packet.missing_since {
            self.reordering = self.reordering.max(now.since(since));
        }
    }

    /// Counts the packets up to `highest` that were in flight.
    fn advance(&mut self, highest: u32, acked: &mut Acked) {
        while self.reported <= highest {
            let place = self.reported.wrapping_sub(self.first) as usize;
            let Some(packet) = self.packets.get(place) else { return };
            acked.bytes += u64::from(packet.bytes);
            acked.newest = Some(packet.at);
            self.in_flight -= u64::from(packet.bytes);
            self.reported += 1;
        }
    }

    /// Finds the packets that are lost, and forgets those whose fate is known and those that no
    /// report covers any more.
    fn notice_losses(&mut self, now: Time, acked: &mut Acked) {
        let known = self.reported.saturating_sub(self.first) as usize;
        for packet in self.packets.iter_mut().take(known).filter(|packet| !packet.arrived) {
            let since = *packet.missing_since.get_or_insert(now);
            if !packet.lost && now.since(since) >= self.reordering {
                packet.lost = true;
                acked.lost += 1;
            }
        }
        while self.first + MOST_COVERED < self.reported {
            let gone = self.packets.pop_front().is_some_and(|old| !old.arrived && !old.lost);
            acked.lost += u32::from(gone);
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(highest: u32, received: u64, marked: u64) -> Feedback {
        let (arrived, held, covered) = (Time::ZERO, Span::ZERO, 64);
        Feedback { highest, arrived, held, received, marked, covered }
    }

    fn sent(packets: u32) -> SentPackets {
        let mut sent = SentPackets::default();
        (0..packets).for_each(|at| sent.push(Time::from_millis(at.into()), 1_000));
        sent
    }

    #[test]
    fn what_is_behind_the_last_packet_is_in_flight() {
        let mut sent = sent(6);
        let acked = sent.on_feedback(Time::from_millis(50), &report(3, 0b1011, 0b1));
        // Packet 1 is lost, and no longer in flight.
        let expected = Acked {
            bytes: 4_000,
            marked_bytes: 1_000,
            packets: 3,
            marked: 1,
            lost: 1,
            newest: Some(Time::from_millis(3)),
        };
        assert_eq!((acked, sent.in_flight()), (expected, 2_000));
        let again = sent.on_feedback(Time::from_millis(60), &report(3, 0b1011, 0b1));
        assert_eq!(again, Acked::default());
    }

    #[test]
    fn a_packet_that_comes_later_widens_the_window_of_reordering() {
        let mut sent = sent(9);
        assert_eq!(sent.on_feedback(Time::from_millis(50), &report(2, 0b101, 0)).lost, 1);
        let late = sent.on_feedback(Time::from_millis(70), &report(3, 0b1111, 0));
        assert_eq!((late.lost, late.packets), (0, 2));
        // The next one is lost after 20 ms.
        assert_eq!(sent.on_feedback(Time::from_millis(80), &report(5, 0b101, 0)).lost, 0);
        assert_eq!(sent.on_feedback(Time::from_millis(99), &report(6, 0b1011, 0)).lost, 0);
        assert_eq!(sent.on_feedback(Time::from_millis(100), &report(7, 0b10111, 0)).lost, 1);
    }

    #[test]
    fn packets_that_no_report_covers_are_lost_and_garbage_changes_nothing() {
        let mut sent = sent(100);
        assert_eq!(sent.on_feedback(Time::ZERO, &report(100, u64::MAX, 0)), Acked::default());
        let acked = sent.on_feedback(Time::from_millis(200), &report(99, u64::MAX, 0));
        assert_eq!((acked.packets, acked.lost, sent.in_flight()), (64, 36, 0));
        sent.push(Time::from_millis(300), 500);
        sent.forget();
        assert_eq!(sent.on_feedback(Time::from_millis(400), &report(100, 1, 0)), Acked::default());
    }
}
