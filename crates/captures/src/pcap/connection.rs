//! A TCP connection of a capture, as the end near the capture recorded it.

use super::segment::Segment;
use crate::event::{CapturedConnection, Event, MAX_SPAN, Packet, Side, StreamPart, Transport};
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Bytes that headers of IPv4 and UDP have, which [`Packet::bytes`] leaves out.
const UDP_HEADERS: u64 = 28;
/// Note on a capture that was not made at an end.
pub const BETWEEN: &str = "the capture was made between the ends: RTTs are those of the part of \
    the path beyond it, seen from the nearer end";
/// Share of the RTT up to which the near end counts as the end that recorded.
const NEAR: f64 = 0.1;
/// Content type of a TLS record with application data (RFC 8446 §5.1), and of the handshake.
const TLS_APPLICATION: u8 = 0x17;
const TLS_HANDSHAKE: u8 = 0x16;

/// One direction of the connection.
#[derive(Debug, Default)]
struct Direction {
    /// Sequence number of the first byte of data, once known.
    first: Option<u32>,
    /// Number of bytes up to the highest sent.
    highest: u64,
    /// Shift of the windows that its sender announces.
    shift: u8,
    /// Number of the next packet with data. Zero is the SYN.
    next: u64,
    /// Data that is not acknowledged, by its first byte: its end and the packet's number.
    outstanding: BTreeMap<u64, (u64, u64)>,
}

impl Direction {
    /// Returns how many bytes are before the one numbered `seq`; `None` before the first.
    fn offset(&mut self, seq: u32) -> Option<u64> {
        let first = *self.first.get_or_insert(seq);
        let next = first.wrapping_add(self.highest as u32);
        let ahead = seq.wrapping_sub(next) as i32;
        self.highest.checked_add_signed(i64::from(ahead))
    }

    /// Sends bytes. Returns the number of the packet, and those of packets that it repeats.
    fn send(&mut self, offset: u64, length: u64) -> (u64, Vec<u64>) {
        let end = offset.saturating_add(length);
        self.next += 1;
        let mut repeated = Vec::new();
        if offset < self.highest {
            let covered: Vec<u64> =
                self.outstanding.range(offset..end).map(|(start, _)| *start).collect();
            let before = self.outstanding.range(..offset).next_back();
            let before = before.filter(|(_, (until, _))| *until > offset).map(|(start, _)| *start);
            for start in covered.into_iter().chain(before) {
                repeated.extend(self.outstanding.remove(&start).map(|(_, number)| number));
            }
        }
        self.highest = self.highest.max(end);
        self.outstanding.insert(offset, (end, self.next));
        (self.next, repeated)
    }

    /// Handles an acknowledgement of the bytes from `from` to `to`. Returns the numbers of the
    /// packets.
    fn acknowledge(&mut self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let within = self.outstanding.range(from..to.max(from));
        let starts: Vec<u64> =
            within.filter(|(_, (end, _))| *end <= to).map(|(start, _)| *start).collect();
        let removed = starts.into_iter().filter_map(|start| self.outstanding.remove(&start));
        removed.map(|(_, number)| (number, number)).collect()
    }
}

/// Finds out when the application begins: after the handshake of TLS, if there is one.
#[derive(Debug)]
enum Opening {
    /// No data has been seen.
    Silent,
    /// In TLS's handshake: the offset of the client's next record.
    Tls(u64),
    /// The application has begun.
    Over,
}

/// Returns the connection that `client` opened as a trace, from its segments in the order of their
/// times in ns.
pub fn trace(
    segments: &[(u64, Box<Segment<'_>>)],
    client: SocketAddr,
    unreadable: usize,
) -> CapturedConnection {
    let has_begin = segments.iter().any(|(_, one)| one.syn && one.ack.is_none());
    let start = segments.first().map_or(0, |(at, _)| *at);
    let (side, is_near) = vantage(segments, client);
    let mut directions = [Direction::default(), Direction::default()];
    let mut opening = Opening::Silent;
    let mut events = Vec::new();
    for (at, segment) in segments {
        let now = Time::ZERO + Span::from_nanos(at.saturating_sub(start)).min(MAX_SPAN);
        let by_client = segment.from == client;
        let packet = packet(segment, by_client, &mut directions, &mut opening);
        let own = by_client == (side == Side::Client);
        for number in packet.repeated {
            if own {
                events.push((now, Event::Lost(number)));
            }
        }
        let event = if own { Event::Sent } else { Event::Received };
        events.push((now, event(packet.packet)));
    }
    let ports = segments.first().map(|(_, one)| {
        let server = if one.from == client { one.to } else { one.from };
        format!("TCP from {client} to {server}")
    });
    let mut notes = Vec::new();
    if !has_begin {
        notes.push(
            "the capture does not begin with the connection: its handshake, and the scale of its \
             windows, are missing"
                .to_owned(),
        );
    } else if !is_near {
        notes.push(BETWEEN.to_owned());
    }
    CapturedConnection {
        transport: Transport::Tcp,
        title: ports.unwrap_or_default(),
        side,
        events,
        unreadable,
        notes,
    }
}

struct Converted {
    packet: Packet,
    /// Numbers of the packets whose data it repeats.
    repeated: Vec<u64>,
}

fn packet(
    segment: &Segment<'_>,
    by_client: bool,
    directions: &mut [Direction; 2],
    opening: &mut Opening,
) -> Converted {
    let mut result =
        Packet { bytes: segment.ip_bytes.saturating_sub(UDP_HEADERS), ..Packet::default() };
    let (own, peer) = match directions {
        [client, server] if by_client => (client, server),
        [client, server] => (server, client),
    };
    if segment.syn {
        own.first = Some(segment.seq.wrapping_add(1));
        own.shift = segment.window_shift.unwrap_or_default();
        result.acknowledged.extend(segment.ack.map(|_| (0, 0)));
        return Converted { packet: result, repeated: Vec::new() };
    }
    let offset = own.offset(segment.seq);
    let mut repeated = Vec::new();
    if let (Some(offset), 1..) = (offset, segment.length) {
        opening.advance(by_client, offset, segment);
        let length = u64::from(segment.length);
        (result.number, repeated) = own.send(offset, length);
        result.data.push(StreamPart { stream: 0, offset, length });
    }
    if let Some(acked) = segment.ack.and_then(|ack| peer.offset(ack)) {
        result.acknowledged = peer.acknowledge(0, acked);
        for &(from, to) in &segment.sack {
            if let (Some(from), Some(to)) = (peer.offset(from), peer.offset(to)) {
                result.acknowledged.extend(peer.acknowledge(from, to));
            }
        }
        let window = u64::from(segment.window) << own.shift;
        result.max_data = Some(acked.saturating_add(window));
    }
    result.is_application = matches!(opening, Opening::Over);
    Converted { packet: result, repeated }
}

impl Opening {
    fn advance(&mut self, by_client: bool, offset: u64, segment: &Segment<'_>) {
        let data = segment.data;
        if matches!(self, Self::Silent) {
            let is_tls = by_client && data.starts_with(&[TLS_HANDSHAKE, 3]);
            *self = if is_tls { Self::Tls(offset) } else { Self::Over };
        }
        let Self::Tls(next) = self else { return };
        if !by_client {
            return;
        }
        let end = offset.saturating_add(u64::from(segment.length));
        while *next < end {
            let header = next
                .checked_sub(offset)
                .and_then(|skip| data.get(usize::try_from(skip).ok()?..)?.first_chunk::<5>());
            match header {
                // Of a record whose begin was not kept, nothing is known.
                None | Some([TLS_APPLICATION, ..]) => {
                    *self = Self::Over;
                    return;
                }
                Some([_, _, _, high, low]) => {
                    *next += 5 + u64::from(u16::from_be_bytes([*high, *low]));
                }
            }
        }
    }
}

/// Returns the end that is nearer to the capture, and whether it is near.
fn vantage(segments: &[(u64, Box<Segment<'_>>)], client: SocketAddr) -> (Side, bool) {
    let time = |is: &dyn Fn(&Segment<'_>) -> bool| {
        segments.iter().find(|(_, one)| is(one)).map(|(at, _)| *at)
    };
    let syn = time(&|one| one.syn && one.ack.is_none());
    let answer = time(&|one| one.syn && one.ack.is_some());
    let third = segments.iter().find(|(at, one)| {
        answer.is_some_and(|answer| *at >= answer) && one.from == client && !one.syn
    });
    near_end(syn, answer, third.map(|(at, _)| *at))
}

/// Returns the end that is nearer to the capture, and whether it is near: the RTT of the handshake
/// has two parts, one on each side of the capture. The times are those of the client's first
/// packet, of the answer, and of the client's answer to that.
pub fn near_end(first: Option<u64>, answer: Option<u64>, third: Option<u64>) -> (Side, bool) {
    let (Some(first), Some(answer), Some(third)) = (first, answer, third) else {
        return (Side::Client, false);
    };
    let to_server = answer.saturating_sub(first) as f64;
    let to_client = third.saturating_sub(answer) as f64;
    let near = to_server.min(to_client) <= NEAR * (to_server + to_client);
    (if to_server < to_client { Side::Server } else { Side::Client }, near)
}
