//! The transfer as its sender recorded it.

use super::answers::answers;
use crate::error::CaptureError;
use crate::event::{CapturedConnection, Event, Packet, Side, Transport};
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Share of the data below which a stream does not belong to the transfer: control streams.
const SMALL_STREAM: f64 = 0.01;

/// Bytes below which a stream of one direction has no data of the transfer beside a stream of a
/// request: what controls HTTP/3 and QPACK, of which a short answer is not much larger.
const CONTROL: u64 = 1024;

/// A packet with data of the transfer.
#[derive(Debug, Clone)]
pub struct DataPacket {
    pub at: Time,
    /// Bytes on the wire, and of stream data.
    pub wire: u64,
    pub data: u64,
    /// Stream of its first data, and whether that is the first of the stream.
    pub stream: u64,
    pub begins: bool,
    /// True if all of its data had been sent before.
    pub repeats: bool,
    /// True if the acknowledgement does not say which copy of its data arrived.
    pub is_ambiguous: bool,
    pub acknowledged: Option<Time>,
    /// Time for which the receiver held that back: as it says, and with the time for which it
    /// waited for the last packet that it acknowledged with this one.
    pub ack_delay: Span,
    pub held_back: Span,
    pub declared_lost: bool,
}

impl DataPacket {
    /// True if it was declared lost and no acknowledgement came later.
    pub fn is_lost(&self) -> bool {
        self.declared_lost && self.acknowledged.is_none()
    }

    /// Returns the time from its sending to its acknowledgement, without that for which this was
    /// held back; `None` if that may be another copy's (Karn's rule, RFC 6298 §3).
    pub fn rtt(&self) -> Option<Span> {
        let at = self.acknowledged.filter(|at| !self.is_ambiguous && *at > self.at)?;
        let took = at.since(self.at);
        Some(if self.held_back < took { took.saturating_sub(self.held_back) } else { took })
    }
}

/// A transfer at its sender.
#[derive(Debug)]
pub struct Sent {
    /// Bytes of its data.
    pub bytes: u64,
    /// Its packets in the order of sending, with their numbers.
    pub packets: Vec<DataPacket>,
    pub numbers: BTreeMap<u64, usize>,
    /// First event, end of the handshake, arrival of the request.
    pub start: Time,
    pub handshake: Time,
    pub request: Time,
    /// Arrival of the last acknowledgement of data.
    pub end: Time,
    /// Smallest time from sending a packet to its acknowledgement.
    pub rtt: Span,
}

/// Returns the streams of the transfer in packets of one direction, with their sizes.
pub fn main_streams<'a>(packets: impl Iterator<Item = &'a Packet>) -> BTreeMap<u64, u64> {
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    for part in packets.flat_map(|packet| &packet.data) {
        let size = sizes.entry(part.stream).or_default();
        *size = (*size).max(part.offset.saturating_add(part.length));
    }
    let total: u128 = sizes.values().map(|size| u128::from(*size)).sum();
    let least = (total as f64 * SMALL_STREAM) as u64;
    // The lowest bits say who opened a stream, and whether it has one direction (RFC 9000 §2.1).
    let has_request = sizes.keys().any(|stream| stream % 4 == 0);
    let is_control = |stream: u64, size: u64| has_request && stream & 2 != 0 && size < CONTROL;
    sizes.retain(|stream, size| *size > 0 && *size >= least && !is_control(*stream, *size));
    sizes
}

/// The RTT of a path on which every acknowledgement has the time of its packet: the clock of the
/// file is too coarse for it.
const TOO_SHORT: Span = Span::from_micros(1);

/// Returns the smallest time from sending a packet to the first acknowledgement of it; `None` if
/// nothing was acknowledged.
pub fn smallest_rtt(trace: &CapturedConnection) -> Option<Span> {
    let smallest = answers(trace, |_| true).map(|(_, took)| took).min();
    let by_order = || if trace.is_encrypted { first_answer(trace) } else { None };
    smallest.or_else(by_order).or_else(|| {
        let any = trace.events.iter().any(|(_, event)| match event {
            Event::Received(packet) => !packet.acknowledged.is_empty(),
            _ => false,
        });
        any.then_some(TOO_SHORT)
    })
}

/// Returns the time from the last packet of this end before the first of the other one until that:
/// of packets that cannot be opened, nothing may say which answers which.
fn first_answer(trace: &CapturedConnection) -> Option<Span> {
    let is_answer = |(_, event): &&(Time, Event)| matches!(event, Event::Received(_));
    let (answered, _) = trace.events.iter().find(is_answer)?;
    let before = trace.events.iter().take_while(|(at, _)| at < answered);
    let (asked, _) = before.filter(|(_, event)| matches!(event, Event::Sent(_))).last()?;
    Some(answered.since(*asked))
}

/// Notes that `acknowledged` packets, some of which are ambiguous, are acknowledged at `at`. The
/// receiver held back the acknowledgement of the last one by `delay`, as it says, and for those
/// before it waited for that one.
fn acknowledge(packets: &mut [DataPacket], acknowledged: &[(usize, bool)], at: Time, delay: Span) {
    let last = acknowledged.iter().map(|(index, _)| *index).max();
    let last = last.and_then(|index| packets.get(index)).map(|last| last.at);
    for &(index, is_ambiguous) in acknowledged {
        if let Some(packet) = packets.get_mut(index) {
            packet.acknowledged = Some(at);
            packet.ack_delay = delay;
            packet.held_back = delay + last.map_or(Span::ZERO, |last| last.since(packet.at));
            packet.is_ambiguous = is_ambiguous;
        }
    }
}

impl Sent {
    /// Finds the packets of the transfer, and what became of each.
    pub fn find(trace: &CapturedConnection) -> Result<Self, CaptureError> {
        let sizes = main_streams(trace.sent());
        let bytes = sizes.values().fold(0_u64, |sum, size| sum.saturating_add(*size));
        let streams: BTreeSet<u64> = sizes.into_keys().collect();
        let mut packets: Vec<DataPacket> = Vec::new();
        let mut numbers = BTreeMap::new();
        let mut outstanding = BTreeMap::new();
        let mut highest: BTreeMap<u64, u64> = BTreeMap::new();
        let mut request = None;
        let is_tcp = trace.transport == Transport::Tcp;
        for (at, event) in &trace.events {
            match event {
                Event::Sent(packet) if packet.is_application => {
                    let mut data = 0_u64;
                    let (mut repeats, mut stream) = (true, None);
                    for part in packet.data.iter().filter(|part| streams.contains(&part.stream)) {
                        data = data.saturating_add(part.length);
                        let end = part.offset.saturating_add(part.length);
                        let known = highest.entry(part.stream).or_default();
                        stream = stream.or(Some((part.stream, *known == 0 && !is_tcp)));
                        repeats &= end <= *known;
                        *known = (*known).max(end);
                    }
                    if let Some((stream, begins)) = stream.filter(|_| data > 0) {
                        numbers.insert(packet.number, packets.len());
                        outstanding.insert(packet.number, packets.len());
                        packets.push(DataPacket {
                            at: *at,
                            wire: packet.wire_bytes(),
                            data,
                            stream,
                            begins,
                            repeats,
                            is_ambiguous: false,
                            acknowledged: None,
                            ack_delay: Span::ZERO,
                            held_back: Span::ZERO,
                            declared_lost: false,
                        });
                    }
                }
                Event::Received(packet) if packet.is_application => {
                    if packet.data.iter().any(|part| streams.contains(&part.stream)) {
                        request = request.or(Some(*at));
                    }
                    let mut now = Vec::new();
                    for range @ (first, last) in &packet.acknowledged {
                        let is_ambiguous = packet.is_ambiguous(range);
                        let found = outstanding.extract_if(first..=last, |_, _| true);
                        now.extend(found.map(|(_, index)| (index, is_ambiguous)));
                    }
                    let delay = packet.details.ack_delay.unwrap_or_default();
                    acknowledge(&mut packets, &now, *at, delay);
                }
                Event::Lost(number) => {
                    let index = numbers.get(number).copied();
                    if let Some(packet) = index.and_then(|index| packets.get_mut(index)) {
                        packet.declared_lost = true;
                    }
                }
                _ => {}
            }
        }
        let rtts = packets.iter().filter_map(DataPacket::rtt).min();
        let rtt = [rtts, smallest_rtt(trace)].into_iter().flatten().min();
        let (Some(first), Some(rtt)) = (packets.first().map(|packet| packet.at), rtt) else {
            return Err(CaptureError::Empty("it has no data that was sent and acknowledged"));
        };
        // An offset says how much was sent before it, which the file need not have.
        let bytes = packets.iter().map(|packet| packet.data).sum::<u64>().min(bytes);
        let end = packets.iter().filter_map(|packet| packet.acknowledged).max().unwrap_or(first);
        let (start, handshake) = trace.opening(request, first);
        let request = request.unwrap_or(handshake).clamp(handshake, first);
        Ok(Self { bytes, packets, numbers, start, handshake, request, end, rtt })
    }
}

impl Sent {
    /// Returns the number of packets at the end of which the file does not say what became.
    pub fn unacknowledged(&self) -> usize {
        let last = self.packets.iter().rev().take_while(|packet| packet.acknowledged.is_none());
        last.filter(|packet| !packet.declared_lost).count()
    }

    /// Returns the rate at which the data was sent: unless its acknowledgements show a slower link,
    /// no link that it went over was slower for long.
    pub fn rate(&self) -> Rate {
        let (Some(first), Some(last)) = (self.packets.first(), self.packets.last()) else {
            return Rate::from_bps(0);
        };
        let bytes = self.packets.iter().fold(0_u64, |sum, packet| sum.saturating_add(packet.wire));
        let took = (last.at + self.rtt).since(first.at);
        Rate::over(Bytes::new(bytes), took)
    }
}

impl CapturedConnection {
    /// Returns the packets that were sent.
    pub(crate) fn sent(&self) -> impl Iterator<Item = &Packet> {
        self.events.iter().filter_map(|(_, event)| match event {
            Event::Sent(packet) if packet.is_application => Some(packet),
            _ => None,
        })
    }

    /// Returns the packets that were received.
    pub(crate) fn received(&self) -> impl Iterator<Item = &Packet> {
        self.events.iter().filter_map(|(_, event)| match event {
            Event::Received(packet) if packet.is_application => Some(packet),
            _ => None,
        })
    }

    /// Returns the time from which on the application can send: at a client, its first packet after
    /// the handshake or with early data, at a server, the arrival of that.
    pub(crate) fn first_application(&self) -> Option<Time> {
        self.events.iter().find_map(|(at, event)| match (event, self.side) {
            (Event::Sent(packet), Side::Client) | (Event::Received(packet), Side::Server) => {
                packet.is_application.then_some(*at)
            }
            _ => None,
        })
    }

    /// Returns when the transfer begins whose first `request` and first data are those, and when
    /// its handshake ends. A connection that was there before its file has none: it may have been
    /// idle, and the transfer begins with its request.
    pub(crate) fn opening(&self, request: Option<Time>, first: Time) -> (Time, Time) {
        let handshake = self.first_application().unwrap_or(first).min(first);
        let mut before = self.events.iter().take_while(|(at, _)| *at <= handshake);
        let has_handshake = before.any(|(_, event)| match event {
            Event::Sent(packet) | Event::Received(packet) => !packet.is_application,
            Event::Parameters(_) | Event::PeerLimits { .. } => true,
            _ => false,
        });
        if has_handshake {
            let start = self.events.first().map_or(Time::ZERO, |(at, _)| *at);
            return (start, handshake);
        }
        let begin = request.unwrap_or(handshake).min(first);
        (begin, begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::StreamPart;

    fn handshake(transport: Transport, events: Vec<(u64, bool, Packet)>) -> CapturedConnection {
        let event = |(ms, is_own, packet)| {
            let event = if is_own { Event::Sent(packet) } else { Event::Received(packet) };
            (Time::from_millis(ms), event)
        };
        CapturedConnection {
            events: events.into_iter().map(event).collect(),
            ..CapturedConnection::empty(transport, Side::Client)
        }
    }

    #[test]
    fn what_controls_http3_is_no_data_beside_a_short_answer() {
        let sizes = |streams: &[(u64, u64)]| {
            let part = |(stream, length): &(u64, u64)| StreamPart {
                stream: *stream,
                offset: 0,
                length: *length,
            };
            let packet = Packet { data: streams.iter().map(part).collect(), ..Packet::default() };
            main_streams([&packet].into_iter()).into_keys().collect::<Vec<u64>>()
        };
        assert_eq!(sizes(&[(0, 166), (3, 18), (7, 38), (11, 2)]), [0]);
        assert_eq!(sizes(&[(0, 166), (3, 50_000)]), [3], "a stream that is pushed");
        assert_eq!(sizes(&[(3, 18), (7, 38)]), [3, 7], "nothing else");
        assert_eq!(sizes(&[(5, 300), (7, 300)]), [5, 7], "requests of Google QUIC");
    }

    #[test]
    fn without_keys_the_first_answer_shows_the_round_trip_if_nothing_else_does() {
        let packet = |number| Packet { number, ..Packet::default() };
        let events = vec![(0, true, packet(0)), (200, true, packet(1)), (460, false, packet(0))];
        let opened = handshake(Transport::Quic, events);
        assert_eq!(smallest_rtt(&opened), None);
        let covered = CapturedConnection { is_encrypted: true, ..opened };
        assert_eq!(smallest_rtt(&covered), Some(Span::from_millis(260)));
    }

    #[test]
    fn a_connection_that_was_idle_before_its_first_request_had_its_handshake_before() {
        let packet = |number| Packet { number, is_application: true, ..Packet::default() };
        let at = Time::from_millis;
        // Something that is no data arrives, and the request leaves five seconds later.
        let events = vec![(100, false, packet(0)), (5100, true, packet(1))];
        let idle = handshake(Transport::Quic, events.clone());
        assert_eq!(idle.opening(Some(at(5100)), at(5400)), (at(5100), at(5100)));
        let whole = [vec![(0, true, Packet::default())], events].concat();
        let whole = handshake(Transport::Quic, whole);
        assert_eq!(whole.opening(Some(at(5100)), at(5400)), (at(0), at(5100)));
    }

    #[test]
    fn without_keys_data_of_which_little_seems_acknowledged_does_not_take_longer_than_it_did() {
        let at = Time::from_millis;
        let packet = |number, bytes| Packet {
            number,
            bytes,
            is_application: true,
            data: vec![StreamPart { stream: 0, offset: number * bytes, length: bytes }].into(),
            ..Packet::default()
        };
        // 200 packets in two seconds, of which an estimate has three acknowledged.
        let mut events: Vec<_> =
            (0..200).map(|index| (at(index * 10), Event::Sent(packet(index, 1200)))).collect();
        for (time, number) in [(900, 0), (901, 1), (1990, 2)] {
            let acknowledged = vec![(number, number)];
            let ack = Packet {
                acknowledged: acknowledged.into(),
                is_application: true,
                ..Packet::default()
            };
            events.push((at(time), Event::Received(ack)));
        }
        events.sort_by_key(|(at, _)| *at);
        let trace = CapturedConnection {
            events,
            is_encrypted: true,
            ..CapturedConnection::empty(Transport::Quic, Side::Server)
        };
        let took = crate::account::account(&trace, None).expect("a transfer").completion;
        assert!(took <= Span::from_secs(4), "{took}");
    }

    #[test]
    fn data_of_a_file_that_ends_before_it_is_acknowledged_took_no_longer_than_its_sending() {
        let at = Time::from_millis;
        // Of ten packets in 90 ms nothing, or the first, is acknowledged in the file.
        for acknowledged in [0, 1] {
            let answer = Packet { acknowledged: vec![(0, 0)].into(), ..Packet::default() };
            let own = [(at(0), Event::Sent(Packet::default())), (at(50), Event::Received(answer))];
            let mut events = own.to_vec();
            events.extend((0..10).map(|index| {
                let part = StreamPart { stream: 0, offset: index * 1200, length: 1200 };
                let packet = Packet {
                    number: index,
                    bytes: 1240,
                    is_application: true,
                    data: vec![part].into(),
                    ..Packet::default()
                };
                (at(60 + index * 10), Event::Sent(packet))
            }));
            events.extend((0..acknowledged).map(|index| {
                let acknowledged = vec![(index, index)];
                let ack = Packet {
                    acknowledged: acknowledged.into(),
                    is_application: true,
                    ..Packet::default()
                };
                (at(110), Event::Received(ack))
            }));
            events.sort_by_key(|(at, _)| *at);
            let empty = CapturedConnection::empty(Transport::Quic, Side::Server);
            let trace = CapturedConnection { events, ..empty };
            let recorded = crate::account::account(&trace, None).expect("a transfer");
            let took = recorded.completion;
            assert!(took <= Span::from_millis(200), "{acknowledged} acknowledged: {took}");
            assert!(!recorded.path.is_filled, "{:?}", recorded.path);
            let note = &recorded.notes[1];
            assert!(note.starts_with("the last data in the file was sent after 0.150 s"), "{note}");
        }
    }
}
