//! What one end of a connection sent and received: see [`TrafficStats`].

mod per_ack;
mod sizes;

pub use per_ack::PerAck;
pub use sizes::Sizes;

use crate::packets::{PacketInfo, Space};
use bentpipe_units::Time;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the packets of one end of a connection by what they hold, and keeps series where it is
/// asked to. Clones share it.
///
/// The [`Endpoint`](crate::Endpoint) tells it of every packet that leaves (not of those that a
/// policy held back for good) and of every packet that arrives.
#[derive(Clone, Default)]
pub struct TrafficStats(Arc<Mutex<TrafficCounts>>);

/// Which series an account keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// None.
    Totals,
    /// Of a receiver of data: ACK frames, and packets to each of them.
    Acknowledgements,
    /// Of a sender of data: packet numbers, sent and acknowledged.
    Numbers,
}

/// What was counted.
#[derive(Debug, Default)]
pub struct TrafficCounts {
    /// Bytes of all packets that left.
    pub sent: Layers,
    /// Packets that left with an ACK frame, in all packet-number spaces.
    pub acks: u64,
    /// Of those, packets that do nothing else.
    pub acks_only: u64,
    /// Packets that arrived and have to be acknowledged (RFC 9000 §13.2), those that came twice
    /// included.
    pub data_received: u64,
    /// Sizes of the ACK frames that left.
    pub ack_frames: Sizes,
    /// Data packets to an ACK over time, where kept.
    pub per_ack: Option<PerAck>,
    /// When each ACK frame left, and its bytes, where kept.
    pub ack_frame_bytes: Option<Points>,
    /// Packet numbers of 0-RTT and 1-RTT packets, where kept. Those of Initial and Handshake
    /// packets count for themselves (RFC 9000 §12.3), and are left out.
    pub numbers: Option<Numbers>,
}

/// Times and values.
pub type Points = Vec<(Time, f64)>;

/// Packet numbers against time.
#[derive(Debug, Default)]
pub struct Numbers {
    /// Of each packet that left.
    pub sent: Points,
    /// The largest that each ACK frame acknowledged when it arrived.
    pub acknowledged: Points,
}

/// Bytes of QUIC packets by what they are for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layers {
    /// Headers with packet numbers (RFC 9000 §17).
    pub header: u64,
    /// ACK frames.
    pub ack: u64,
    /// Flow-control credit: MAX_DATA and MAX_STREAM_DATA.
    pub credit: u64,
    /// All other frames but PADDING.
    pub other: u64,
    /// PADDING.
    pub padding: u64,
    /// Authentication tags (RFC 9001 §5.3).
    pub tag: u64,
}

impl Layers {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.header + self.ack + self.credit + self.other + self.padding + self.tag
    }

    fn add(&mut self, packet: &PacketInfo) {
        let frames = &packet.frames;
        self.header += u64::from(packet.header);
        self.ack += u64::from(frames.ack);
        self.credit += u64::from(frames.credit);
        self.other += u64::from(frames.stream) + u64::from(frames.other);
        self.padding += u64::from(frames.padding);
        self.tag += u64::from(packet.tag);
    }
}

impl std::fmt::Debug for TrafficStats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Account")
    }
}

impl TrafficStats {
    /// Books that are empty.
    pub fn new(keep: Keep) -> Self {
        let acknowledgements = keep == Keep::Acknowledgements;
        Self(Arc::new(Mutex::new(TrafficCounts {
            per_ack: acknowledgements.then(PerAck::default),
            ack_frame_bytes: acknowledgements.then(Vec::new),
            numbers: (keep == Keep::Numbers).then(Numbers::default),
            ..TrafficCounts::default()
        })))
    }

    fn books(&self) -> MutexGuard<'_, TrafficCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was counted so far. Counting begins anew, without series.
    pub fn take(&self) -> TrafficCounts {
        std::mem::take(&mut self.books())
    }

    /// `packet` left at `now`.
    pub fn sent(&self, now: Time, packet: &PacketInfo) {
        let mut guard = self.books();
        let books = &mut *guard;
        books.sent.add(packet);
        if packet.space == Space::Data
            && let Some(numbers) = &mut books.numbers
        {
            numbers.sent.push((now, packet.number as f64));
        }
        if packet.frames.ack == 0 {
            return;
        }
        books.acks += 1;
        books.acks_only += u64::from(packet.is_ack_only());
        books.ack_frames.add(packet.frames.ack);
        if let Some(per_ack) = &mut books.per_ack {
            per_ack.acknowledgement(now);
        }
        if let Some(points) = &mut books.ack_frame_bytes {
            points.push((now, f64::from(packet.frames.ack)));
        }
    }

    /// `packet` arrived at `now`.
    pub fn received(&self, now: Time, packet: &PacketInfo) {
        let mut guard = self.books();
        let books = &mut *guard;
        if packet.frames.eliciting {
            books.data_received += 1;
            if let Some(per_ack) = &mut books.per_ack {
                per_ack.data(now);
            }
        }
        if packet.space == Space::Data
            && let (Some(numbers), Some(largest)) = (&mut books.numbers, packet.frames.acknowledges)
        {
            numbers.acknowledged.push((now, largest as f64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::Frames;

    fn packet(space: Space, frames: Frames) -> PacketInfo {
        PacketInfo { space, number: 7, header: 11, tag: 16, frames }
    }

    #[test]
    fn packets_are_counted_by_what_they_hold() {
        let account = TrafficStats::new(Keep::Acknowledgements);
        let ack = Frames { ack: 5, acknowledges: Some(3), ..Frames::default() };
        let more = Frames {
            ack: 300,
            credit: 4,
            stream: 20,
            other: 1,
            padding: 2,
            eliciting: true,
            ..ack
        };
        let data = Frames { stream: 1000, eliciting: true, ..Frames::default() };
        let at = Time::from_millis;
        for (ms, frames) in [(1, data), (2, data), (300, data)] {
            account.received(at(ms), &packet(Space::Data, frames));
        }
        account.received(at(3), &packet(Space::Initial, ack));
        let sent = [packet(Space::Initial, ack), packet(Space::Data, more)];
        sent.iter().for_each(|packet| account.sent(at(400), packet));
        let books = account.take();
        assert_eq!(
            books.sent,
            Layers { header: 22, ack: 305, credit: 4, other: 21, padding: 2, tag: 32 },
            "stream frames are other frames"
        );
        assert_eq!(
            books.sent.total(),
            sent.iter().map(|packet| u64::from(packet.bytes())).sum::<u64>()
        );
        assert_eq!((books.acks, books.acks_only, books.data_received), (2, 1, 3));
        assert_eq!(books.ack_frame_bytes, Some(vec![(at(400), 5.0), (at(400), 300.0)]));
        assert!(books.numbers.is_none());
        assert_eq!(account.take().acks, 0);
    }

    #[test]
    fn only_numbers_of_one_space_are_drawn() {
        let account = TrafficStats::new(Keep::Numbers);
        let ack = Frames { ack: 5, acknowledges: Some(3), ..Frames::default() };
        for space in [Space::Initial, Space::Handshake, Space::Data] {
            account.sent(Time::from_millis(1), &packet(space, ack));
            account.received(Time::from_millis(2), &packet(space, ack));
        }
        let numbers = account.take().numbers.unwrap();
        assert_eq!(numbers.sent, [(Time::from_millis(1), 7.0)]);
        assert_eq!(numbers.acknowledged, [(Time::from_millis(2), 3.0)]);
    }
}
