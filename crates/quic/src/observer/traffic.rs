//! Counters of the packets of one end of a connection: see [`TrafficStats`].

use super::packet_info::{PacketInfo, Space};
use super::per_ack::PerAck;
use super::sizes::Sizes;
use bentpipe_timeseries::{BoundedSeries, SeriesLimit};
use bentpipe_units::Time;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the packets of one end of a connection by content, with series if asked to. Clones share
/// the counters.
///
/// The [`Endpoint`](crate::Endpoint) reports every packet that leaves and every packet that
/// arrives. The stack's own `FrameStats` count frames, not bytes, and include the ACKs that a
/// policy held back and never sent.
#[derive(Clone, Default)]
pub struct TrafficStats(Arc<Mutex<TrafficCounts>>);

/// The series to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficSeries {
    /// None, only totals.
    Totals,
    /// For a receiver of data: ACK frames, and data packets per ACK; up to so many points.
    Acknowledgements(SeriesLimit),
    /// For a sender of data: packet numbers, sent and acknowledged; up to so many points.
    Numbers(SeriesLimit),
}

/// The counters.
#[derive(Debug, Default)]
pub struct TrafficCounts {
    /// Bytes of all packets that left.
    pub sent: Layers,
    /// Packets that left with an ACK frame, in all packet-number spaces.
    pub acks: u64,
    /// Of those, packets that only acknowledge.
    pub acks_only: u64,
    /// Ack-eliciting packets that arrived (RFC 9000 §13.2), duplicates included.
    pub data_received: u64,
    /// Sizes of the ACK frames that left.
    pub ack_frames: Sizes,
    /// Data packets per ACK over time, if recorded.
    pub per_ack: Option<PerAck>,
    /// Time and size of each ACK frame that left, if recorded.
    pub ack_frame_bytes: Option<BoundedSeries>,
    /// Packet numbers of 0-RTT and 1-RTT packets, if recorded. Initial and Handshake packets have
    /// number spaces of their own (RFC 9000 §12.3) and are left out.
    pub numbers: Option<Numbers>,
}

/// Packet numbers over time.
#[derive(Debug)]
pub struct Numbers {
    /// Of each packet that left.
    pub sent: BoundedSeries,
    /// Largest number that each ACK frame acknowledged, at its arrival.
    pub acknowledged: BoundedSeries,
}

/// Bytes of QUIC packets by purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layers {
    /// Headers with packet numbers (RFC 9000 §17).
    pub header: u64,
    /// ACK frames.
    pub ack: u64,
    /// Flow control: MAX_DATA and MAX_STREAM_DATA.
    pub flow_control: u64,
    /// All other frames but PADDING.
    pub other: u64,
    /// PADDING.
    pub padding: u64,
    /// Authentication tags (RFC 9001 §5.3).
    pub tag: u64,
}

impl Layers {
    /// Returns the sum.
    pub fn total(&self) -> u64 {
        self.header + self.ack + self.flow_control + self.other + self.padding + self.tag
    }

    fn add(&mut self, packet: &PacketInfo) {
        let frames = &packet.frames;
        self.header += u64::from(packet.header);
        self.ack += u64::from(frames.ack);
        self.flow_control += u64::from(frames.flow_control);
        self.other += u64::from(frames.stream) + u64::from(frames.other);
        self.padding += u64::from(frames.padding);
        self.tag += u64::from(packet.tag);
    }
}

impl std::fmt::Debug for TrafficStats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TrafficStats").finish_non_exhaustive()
    }
}

impl TrafficStats {
    /// Empty counters that record `series`.
    pub fn new(series: TrafficSeries) -> Self {
        let mut counts = TrafficCounts::default();
        match series {
            TrafficSeries::Totals => {}
            TrafficSeries::Acknowledgements(limit) => {
                counts.per_ack = Some(PerAck::new(limit));
                counts.ack_frame_bytes = Some(BoundedSeries::new(limit));
            }
            TrafficSeries::Numbers(limit) => {
                let empty = || BoundedSeries::new(limit);
                counts.numbers = Some(Numbers { sent: empty(), acknowledged: empty() });
            }
        }
        Self(Arc::new(Mutex::new(counts)))
    }

    fn lock(&self) -> MutexGuard<'_, TrafficCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of packets with an acknowledgement that have left so far.
    pub fn acks(&self) -> u64 {
        self.lock().acks
    }

    /// Takes the counters so far. Counting restarts from zero, without series.
    pub fn take(&self) -> TrafficCounts {
        std::mem::take(&mut self.lock())
    }

    /// Counts a packet that left at `now`.
    pub fn on_sent(&self, now: Time, packet: &PacketInfo) {
        let mut guard = self.lock();
        let counts = &mut *guard;
        counts.sent.add(packet);
        if packet.space == Space::Data
            && let Some(numbers) = &mut counts.numbers
        {
            numbers.sent.push(now, packet.number as f64);
        }
        if packet.frames.ack == 0 {
            return;
        }
        counts.acks += 1;
        counts.acks_only += u64::from(packet.is_ack_only());
        counts.ack_frames.add(packet.frames.ack);
        if let Some(per_ack) = &mut counts.per_ack {
            per_ack.on_ack(now);
        }
        if let Some(points) = &mut counts.ack_frame_bytes {
            points.push(now, f64::from(packet.frames.ack));
        }
    }

    /// Counts a packet that arrived at `now`.
    pub fn on_received(&self, now: Time, packet: &PacketInfo) {
        let mut guard = self.lock();
        let counts = &mut *guard;
        if packet.frames.eliciting {
            counts.data_received += 1;
            if let Some(per_ack) = &mut counts.per_ack {
                per_ack.on_data(now);
            }
        }
        if packet.space == Space::Data
            && let (Some(numbers), Some(largest)) =
                (&mut counts.numbers, packet.frames.acknowledges)
        {
            numbers.acknowledged.push(now, largest as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::frames::Frames;

    fn packet(space: Space, frames: Frames) -> PacketInfo {
        PacketInfo { space, number: 7, header: 11, tag: 16, frames }
    }

    #[test]
    fn packets_are_counted_by_content() {
        let traffic = TrafficStats::new(TrafficSeries::Acknowledgements(SeriesLimit::DEFAULT));
        let ack = Frames { ack: 5, acknowledges: Some(3), ..Frames::default() };
        let more = Frames {
            ack: 300,
            flow_control: 4,
            stream: 20,
            other: 1,
            padding: 2,
            eliciting: true,
            ..ack
        };
        let data = Frames { stream: 1000, eliciting: true, ..Frames::default() };
        let at = Time::from_millis;
        for (ms, frames) in [(1, data), (2, data), (300, data)] {
            traffic.on_received(at(ms), &packet(Space::Data, frames));
        }
        traffic.on_received(at(3), &packet(Space::Initial, ack));
        let sent = [packet(Space::Initial, ack), packet(Space::Data, more)];
        sent.iter().for_each(|packet| traffic.on_sent(at(400), packet));
        let counts = traffic.take();
        assert_eq!(
            counts.sent,
            Layers { header: 22, ack: 305, flow_control: 4, other: 21, padding: 2, tag: 32 },
            "stream frames are other frames"
        );
        assert_eq!(
            counts.sent.total(),
            sent.iter().map(|packet| u64::from(packet.bytes())).sum::<u64>()
        );
        assert_eq!((counts.acks, counts.acks_only, counts.data_received), (2, 1, 3));
        let frames: Vec<_> = counts.ack_frame_bytes.unwrap().iter().collect();
        assert_eq!(frames, [(at(400), 5.0), (at(400), 300.0)]);
        assert!(counts.numbers.is_none());
        assert_eq!(traffic.take().acks, 0);
    }

    #[test]
    fn only_numbers_of_one_space_are_recorded() {
        let traffic = TrafficStats::new(TrafficSeries::Numbers(SeriesLimit::DEFAULT));
        let ack = Frames { ack: 5, acknowledges: Some(3), ..Frames::default() };
        for space in [Space::Initial, Space::Handshake, Space::Data] {
            traffic.on_sent(Time::from_millis(1), &packet(space, ack));
            traffic.on_received(Time::from_millis(2), &packet(space, ack));
        }
        let numbers = traffic.take().numbers.unwrap();
        assert_eq!(numbers.sent.into_points().points, [(Time::from_millis(1), 7.0)]);
        assert_eq!(numbers.acknowledged.into_points().points, [(Time::from_millis(2), 3.0)]);
    }
}
