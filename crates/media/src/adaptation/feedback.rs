//! What the receiver of a direction that adapts reports: which packets have arrived, when, and
//! which of them were marked.

use crate::packet::Packet;
use crate::settings::MediaKind;
use bentpipe_link::Ecn;
use bentpipe_units::{Span, Time};

/// Packets without report after which feedback is sent at once (the draft of SCReAM V2).
const MOST_UNREPORTED: u32 = 16;
/// Longest time from one report to the next while packets arrive (the same).
const INTERVAL: Span = Span::from_millis(40);
/// Packets that a report covers even if an earlier one has: reports may be lost (the same).
const OVERLAP: u32 = 32;
/// Most packets that a report covers.
pub const MOST_COVERED: u32 = u64::BITS;
/// Size of a report without what it says of packets: RFC 8888 §3.1 for one source, in an RTCP
/// packet of its own (RFC 5506), UDP and IP.
const FIXED_BYTES: u32 = 48;

/// A report. Over the wire it is a congestion control feedback packet of RFC 8888, with one order
/// of the packets of audio and video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    /// The last packet that has arrived.
    pub highest: u32,
    /// When it has arrived.
    pub arrived: Time,
    /// How long after it the report was sent.
    pub held: Span,
    /// Bit k is set if packet `highest` - k has arrived.
    pub received: u64,
    /// Bit k is set if packet `highest` - k was marked with CE.
    pub marked: u64,
    /// Number of packets that it covers.
    pub covered: u8,
}

impl Feedback {
    /// Returns the size of its IP packet: two bytes for each packet that it covers, padded to four.
    pub fn bytes(&self) -> u32 {
        FIXED_BYTES + 4 * u32::from(self.covered).div_ceil(2)
    }
}

/// The end that reports.
#[derive(Debug, Default)]
pub struct FeedbackRecorder {
    /// The last packet that has arrived, and when.
    highest: Option<(u32, Time)>,
    received: u64,
    marked: u64,
    unreported: u32,
    reported: Option<Time>,
    /// When the next report is sent.
    due: Option<Time>,
}

impl FeedbackRecorder {
    /// Records that a packet has arrived.
    pub fn received(&mut self, now: Time, packet: &Packet, ecn: Ecn) {
        let bit = match self.highest {
            Some((highest, _)) if packet.sequence <= highest => highest - packet.sequence,
            before => {
                let steps = before.map_or(0, |(highest, _)| packet.sequence - highest);
                self.received = self.received.checked_shl(steps).unwrap_or(0);
                self.marked = self.marked.checked_shl(steps).unwrap_or(0);
                self.highest = Some((packet.sequence, now));
                0
            }
        };
        let bit = 1u64.checked_shl(bit).unwrap_or(0);
        self.received |= bit;
        if ecn == Ecn::Ce {
            self.marked |= bit;
        }
        self.unreported += 1;
        let ends_frame = packet.kind == MediaKind::Video && packet.index + 1 == packet.packets;
        let at_once = ends_frame || self.unreported >= MOST_UNREPORTED;
        let regular = self.reported.map_or(now, |reported| now.max(reported + INTERVAL));
        let due = if at_once { now } else { regular };
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }

    /// Returns when the next report is to be sent; `None` if there is nothing to report.
    pub fn due(&self) -> Option<Time> {
        self.due
    }

    /// Returns the report that is due now.
    pub fn poll(&mut self, now: Time) -> Option<Feedback> {
        self.due.take_if(|due| *due <= now)?;
        let (highest, arrived) = self.highest?;
        let covered = self.unreported.max(OVERLAP).min(highest + 1).min(MOST_COVERED);
        self.unreported = 0;
        self.reported = Some(now);
        let (received, marked) = (self.received, self.marked);
        let held = now.since(arrived);
        Some(Feedback { highest, arrived, held, received, marked, covered: covered as u8 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u32, kind: MediaKind, index: u16) -> Packet {
        let captured = Time::ZERO;
        Packet {
            kind,
            frame: 0,
            keyframe: false,
            index,
            packets: 2,
            payload: 1,
            captured,
            sequence,
            skipped: 0,
        }
    }

    #[test]
    fn a_report_comes_with_the_end_of_a_frame_and_after_40_ms() {
        let mut recorder = FeedbackRecorder::default();
        let ms = Time::from_millis;
        recorder.received(ms(5), &packet(0, MediaKind::Audio, 0), Ecn::Ect1);
        let first = recorder.poll(ms(5)).unwrap();
        assert_eq!((first.highest, first.received, first.covered, first.bytes()), (0, 1, 1, 52));
        recorder.received(ms(20), &packet(1, MediaKind::Video, 0), Ecn::Ect1);
        assert_eq!((recorder.poll(ms(20)), recorder.due()), (None, Some(ms(45))));
        recorder.received(ms(21), &packet(3, MediaKind::Video, 1), Ecn::Ce);
        let second = recorder.poll(ms(21)).unwrap();
        // Packet 2 is missing, and packet 3 is marked.
        assert_eq!((second.highest, second.received, second.marked), (3, 0b1101, 1));
        assert_eq!((second.covered, second.bytes(), second.held), (4, 56, Span::ZERO));
        recorder.received(ms(30), &packet(2, MediaKind::Audio, 0), Ecn::Ect1);
        let third = recorder.poll(ms(61)).unwrap();
        assert_eq!((third.received, third.marked, third.held), (0b1111, 1, Span::from_millis(40)));
        assert_eq!(recorder.due(), None);
    }

    #[test]
    fn sixteen_packets_are_reported_at_once_and_old_ones_are_forgotten() {
        let mut recorder = FeedbackRecorder::default();
        let ms = Time::from_millis;
        for sequence in 0..16 {
            recorder.received(ms(1), &packet(sequence, MediaKind::Video, 0), Ecn::NotEct);
        }
        assert!(recorder.poll(ms(1)).is_some());
        recorder.received(ms(2), &packet(1_000, MediaKind::Video, 1), Ecn::NotEct);
        let report = recorder.poll(ms(2)).unwrap();
        assert_eq!((report.received, report.covered, report.bytes()), (1, 32, 48 + 64));
    }
}
