//! A TCP connection of a capture, as the end near the capture recorded it.

use super::direction::{Acknowledged, Answer, Direction};
use super::opening::Opening;
use super::segment::Segment;
use super::vantage::{BETWEEN, vantage};
use crate::event::{CapturedConnection, Event, MAX_SPAN, Packet, Side, StreamPart, Transport};
use bentpipe_units::{Span, Time};
use std::net::SocketAddr;

/// Bytes that headers of IPv4 and UDP have, which [`Packet::bytes`] leaves out.
const UDP_HEADERS: u64 = 28;

/// Returns the connection that `client` opened as a trace, from its segments in the order of their
/// times in ns. They are read more than once, and not kept.
pub fn trace<'a, I: Iterator<Item = (u64, Segment<'a>)>>(
    segments: impl Fn() -> I,
    client: SocketAddr,
    unreadable: usize,
) -> CapturedConnection {
    let first = segments().next();
    let start = first.as_ref().map_or(0, |(at, _)| *at);
    let (side, is_near) = vantage(segments(), client);
    let mut directions = [Direction::default(), Direction::default()];
    let mut opening = Opening::Silent;
    let mut begin = Begin::default();
    let mut events = Vec::with_capacity(segments().size_hint().1.unwrap_or_default());
    for (at, segment) in segments() {
        let now = Time::ZERO + Span::from_nanos(at.saturating_sub(start)).min(MAX_SPAN);
        let by_client = segment.from == client;
        begin.add(&segment, by_client);
        let packet = packet(at, &segment, by_client, &mut directions, &mut opening);
        let own = by_client == (side == Side::Client);
        for number in packet.repeated {
            if own {
                events.push((now, Event::Lost(number)));
            }
        }
        let event = if own { Event::Sent } else { Event::Received };
        events.extend(packet.handshake.map(|packet| (now, event(packet))));
        events.push((now, event(packet.packet)));
    }
    let ports = first.map(|(_, one)| {
        let server = if one.from == client { one.to } else { one.from };
        format!("TCP from {client} to {server}")
    });
    let mut notes = Vec::new();
    if !begin.is_there {
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
        ids: begin.id().into_iter().collect(),
        side,
        is_encrypted: false,
        events,
        unreadable,
        notes,
    }
}

/// How a connection begins.
#[derive(Debug, Default)]
struct Begin {
    /// True if the capture has the SYN of a client.
    is_there: bool,
    /// The first initial sequence number of each end.
    client: Option<u32>,
    server: Option<u32>,
    /// Port of the server.
    port: u16,
}

impl Begin {
    fn add(&mut self, segment: &Segment<'_>, by_client: bool) {
        if !segment.syn {
            return;
        }
        self.is_there |= segment.ack.is_none();
        if by_client {
            self.client = self.client.or(Some(segment.seq));
        } else if self.server.is_none() {
            (self.server, self.port) = (Some(segment.seq), segment.from.port());
        }
    }

    /// Returns the initial sequence numbers of both ends as a name of the connection, with the
    /// server's port; `None` if the file does not have them.
    fn id(&self) -> Option<String> {
        let (client, server) = self.client.zip(self.server)?;
        Some(format!("{} {client} {server}", self.port))
    }
}

struct Converted {
    packet: Packet,
    /// The handshake's part of a packet that has data, too: the acknowledgement of a SYN.
    handshake: Option<Packet>,
    /// Numbers of the packets whose data it repeats.
    repeated: Vec<u64>,
}

fn packet(
    at: u64,
    segment: &Segment<'_>,
    by_client: bool,
    directions: &mut [Direction; 2],
    opening: &mut Opening,
) -> Converted {
    let mut result = Packet {
        bytes: segment.ip_bytes.saturating_sub(UDP_HEADERS),
        timestamps: segment.timestamps,
        ..Packet::default()
    };
    let (own, peer) = match directions {
        [client, server] if by_client => (client, server),
        [client, server] => (server, client),
    };
    let timestamp = segment.timestamps.map(|(own, _)| own);
    let mut first = segment.seq;
    if segment.syn {
        own.open(segment.seq, segment.window_shift, at, timestamp);
        first = first.wrapping_add(1);
    }
    let mut repeated = Vec::new();
    if let (Some(offset), 1..) = (own.offset(first), segment.length)
        && !own.is_probe(offset, segment.length, peer)
    {
        opening.advance(by_client, offset, segment);
        let length = u64::from(segment.length);
        (result.number, repeated) = own.send(offset, length, at, timestamp);
        result.is_eliciting = true;
        result.data.push(StreamPart { stream: 0, offset, length });
    }
    result.is_application = !segment.syn && matches!(opening, Opening::Over);
    let mut handshake = None;
    if let Some(acked) = segment.ack.and_then(|ack| peer.offset(ack)) {
        let echo = segment.timestamps.map(|(_, echo)| echo);
        let answer = Answer { at, echo };
        if let Some(acknowledged) = peer.acknowledge_syn(answer) {
            let mut packet = Packet::default();
            set(&mut packet, &acknowledged);
            if result.is_application {
                handshake = Some(packet);
            } else {
                result.acknowledged = packet.acknowledged;
                result.details = packet.details;
            }
        }
        let mut acknowledged = peer.acknowledge(acked, answer);
        for &(from, to) in segment.sack() {
            if let (Some(from), Some(to)) = (peer.offset(from), peer.offset(to)) {
                // It echoes the timestamp of the last segment in order.
                let answer = Answer { at, echo: None };
                acknowledged.extend(peer.acknowledge_range(from, to, answer));
            }
        }
        set(&mut result, &acknowledged);
        // The windows of SYN segments are not scaled.
        let window = if segment.syn { None } else { own.announce(segment.window, peer) };
        result.max_data = window.map(|window| acked.saturating_add(window));
    }
    Converted { packet: result, handshake, repeated }
}

/// Adds what a packet acknowledges.
fn set(packet: &mut Packet, acknowledged: &Acknowledged) {
    let range = |number: &u64| (*number, *number);
    packet.acknowledged.extend(acknowledged.numbers.iter().map(range));
    if !acknowledged.ambiguous.is_empty() {
        let ambiguous = &mut packet.details.ambiguous;
        ambiguous.extend(acknowledged.ambiguous.iter().map(range));
        ambiguous.sort_unstable();
    }
}
