//! A QUIC connection of a capture, as the end near the capture recorded it.

use super::connections::Connection;
use super::covered::{Covered, Seen};
use super::estimate::estimate;
use super::frames::{DELAY_EXPONENT, add_frames};
use super::header::{LongPacket, Rest, divide};
use super::hello::Parts;
use super::initial::InitialKeys;
use super::joined::{MTU, size_from_id, size_from_keys};
use super::key_log::KeyLog;
use super::opening::{ConnectionKeys, Opening, sender};
use super::parameters::Parameters;
use super::vantage::HalfTrips;
use super::version::Kind;
use crate::event::{CapturedConnection, Event, MAX_SPAN, Packet, Side, Transport};
use crate::pcap::segment::Datagram;
use crate::pcap::vantage::BETWEEN;
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Numbers of Handshake packets begin here, and those of packets that cannot be opened: the spaces
/// of packet numbers (RFC 9000 §12.3), which end below, become one.
const HANDSHAKE_NUMBERS: u64 = 1 << 62;
const HIDDEN_NUMBERS: u64 = 1 << 63;
/// The latency spin bit, which header protection leaves open (RFC 9000 §17.4).
const SPIN: u8 = 0x20;
/// Size of the packets of a joined datagram if no other says it: what every path carries (RFC 9000
/// §14).
const SMALL_MTU: usize = 1200;

/// Most packets that a host joins to one (Linux: `UDP_MAX_SEGMENTS`). Without a bound, a small file
/// that names large packets makes many of them.
const MOST_JOINED: usize = 128;

/// Returns a connection, of which `datagrams` are all that the capture has, in the order of their
/// times in nanoseconds. Without its keys, what its packets carry is estimated. `unreadable`
/// records of the file could not be read.
pub fn trace(
    datagrams: &[(u64, Datagram<'_>)],
    unreadable: usize,
    connection: Connection,
    log: &KeyLog,
) -> CapturedConnection {
    let opening = Opening::find(datagrams, connection);
    let (keys, problem) = match ConnectionKeys::find(datagrams, &opening, log) {
        Ok(keys) => (Some(keys), None),
        Err(problem) => (None, Some(problem)),
    };
    let mut reader = Reader {
        opening,
        initial: InitialKeys::default(),
        keys,
        sizes: [None; 2],
        seen: Vec::new(),
        covered: Vec::new(),
        numbers: [0; 2],
        trips: HalfTrips::default(),
        extensions: Parts::default(),
        hidden: 0,
        unreadable,
    };
    for (at, datagram) in datagrams {
        reader.datagram(*at, datagram);
    }
    reader.trace(problem)
}

/// Reads the datagrams of a connection.
struct Reader {
    opening: Opening,
    initial: InitialKeys,
    /// `None` if they are missing.
    keys: Option<ConnectionKeys>,
    /// Size of the packets that were joined last; without keys, of the largest that was alone.
    sizes: [Option<usize>; 2],
    seen: Vec<Seen>,
    /// Packets of the application that are not opened, and their number in each direction.
    covered: Vec<Covered>,
    numbers: [u64; 2],
    trips: HalfTrips,
    /// The server's messages of TLS after its first one.
    extensions: Parts,
    /// Number of packets of the handshake that cannot be opened.
    hidden: u64,
    unreadable: usize,
}

/// First bytes of an encrypted packet that no other has: fewer than a capture of 128 keeps.
const MARK: usize = 32;

/// Returns what tells an encrypted packet from others, at either end.
fn mark(bytes: &[u8]) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    bytes.get(..MARK)?.hash(&mut hasher);
    Some(hasher.finish())
}

impl Reader {
    fn datagram(&mut self, at: u64, datagram: &Datagram<'_>) {
        let sender = sender(&self.opening.connection, datagram);
        let (long, rest) = divide(datagram);
        for packet in &long {
            self.long(at, sender, packet);
        }
        match rest {
            Rest::Short(bytes, wire) if self.keys.is_none() => {
                self.short_covered(at, sender, bytes, wire);
            }
            Rest::Short(bytes, _) => self.short(at, sender, bytes),
            Rest::Versions => self.hidden(at, sender, Kind::Retry, datagram.length as usize),
            Rest::Cut(kind, wire) => self.hidden(at, sender, kind, wire),
            Rest::Unknown => self.unreadable += 1,
            Rest::Nothing => {}
        }
    }

    fn long(&mut self, at: u64, sender: usize, packet: &LongPacket<'_>) {
        let LongPacket { bytes, number_at, kind, .. } = *packet;
        let (opened, first_number) = match kind {
            Kind::Initial => (self.initial.open(packet, sender), 0),
            Kind::Handshake => {
                let keys = self.keys.as_mut().and_then(|keys| keys.handshake[sender].as_mut());
                (keys.and_then(|keys| keys.open(bytes, number_at)), HANDSHAKE_NUMBERS)
            }
            Kind::ZeroRtt => {
                self.early(at, sender, packet);
                return;
            }
            Kind::Retry => (None, 0),
        };
        let Some((number, frames)) = opened else {
            self.hidden(at, sender, kind, packet.length);
            return;
        };
        let mut packet = Packet {
            number: number | first_number,
            bytes: bytes.len() as u64,
            ..Packet::default()
        };
        let mut crypto = Vec::new();
        add_frames(&frames, &mut packet, &mut crypto);
        if (kind, sender) == (Kind::Handshake, 1) {
            crypto.iter().for_each(|(offset, bytes)| self.extensions.add(*offset, bytes));
        }
        for (first, last) in packet.acknowledged.iter_mut() {
            (*first, *last) = (*first | first_number, *last | first_number);
        }
        self.trips.handshake(at, sender, kind);
        self.see(at, sender, packet);
    }

    /// Adds a packet of the handshake of which nothing but its kind and size is known.
    fn hidden(&mut self, at: u64, sender: usize, kind: Kind, bytes: usize) {
        self.hidden += 1;
        self.trips.handshake(at, sender, kind);
        let number = HIDDEN_NUMBERS + self.hidden;
        self.see(at, sender, Packet { bytes: bytes as u64, number, ..Packet::default() });
    }

    /// Adds a 0-RTT packet.
    fn early(&mut self, at: u64, sender: usize, packet: &LongPacket<'_>) {
        let LongPacket { bytes, number_at, length, .. } = *packet;
        let Some(keys) = &mut self.keys else {
            self.cover(at, sender, (length, mark(bytes)), number_at, None);
            return;
        };
        let opened = keys.early.as_mut().and_then(|keys| keys.open(bytes, number_at));
        if let (Some(early), Some(keys)) = (&keys.early, &mut keys.application[sender]) {
            keys.continue_after(early);
        }
        match opened {
            Some((number, frames)) => self.application(at, sender, bytes, number, &frames),
            None => self.unreadable += 1,
        }
    }

    /// Adds what has short headers and is not opened.
    fn short_covered(&mut self, at: u64, sender: usize, bytes: &[u8], wire: usize) {
        let number_at = self.opening.number_at(sender);
        let largest = self.sizes[sender];
        let spin = bytes.first().map(|first| first & SPIN != 0);
        let size = if wire <= MTU {
            self.sizes[sender] = largest.max(Some(wire));
            wire
        } else {
            // Joined, unless the path carries such packets.
            let size = size_from_id(bytes, number_at - 1).or(largest).unwrap_or(SMALL_MTU);
            size.max(wire.div_ceil(MOST_JOINED))
        };
        let mut left = wire;
        while left > 0 {
            let one = left.min(size.max(1));
            let mark = bytes.get(wire - left..).and_then(mark);
            self.cover(at, sender, (one, mark), number_at, spin);
            left -= one;
        }
    }

    /// Adds a packet of the application that is not opened.
    fn cover(
        &mut self,
        at: u64,
        sender: usize,
        (size, mark): (usize, Option<u64>),
        number_at: usize,
        spin: Option<bool>,
    ) {
        let number = self.numbers[sender];
        self.numbers[sender] += 1;
        self.covered.push(Covered { index: self.seen.len(), overhead: number_at, spin });
        let bytes = size as u64;
        let mut packet = Packet { is_application: true, number, bytes, ..Packet::default() };
        if mark.is_some() {
            packet.details.mark = mark;
        }
        self.see(at, sender, packet);
    }

    /// Adds what has short headers.
    fn short(&mut self, at: u64, sender: usize, bytes: &[u8]) {
        let number_at = self.opening.number_at(sender);
        let keys = self.keys.as_mut().and_then(|keys| keys.application[sender].as_mut());
        let Some(keys) = keys else {
            self.unreadable += 1;
            return;
        };
        if let Some((number, frames)) = keys.open(bytes, number_at) {
            self.application(at, sender, bytes, number, &frames);
            return;
        }
        let mut size = size_from_id(bytes, number_at - 1);
        if size.is_none() && number_at == 1 {
            let known = self.sizes[sender]
                .and_then(|size| keys.open(bytes.get(..size)?, number_at).map(|_| size));
            size = known.or_else(|| size_from_keys(bytes, number_at, keys));
            self.sizes[sender] = size.or(self.sizes[sender]);
        }
        let Some(size) = size else {
            self.unreadable += 1;
            return;
        };
        for packet in bytes.chunks(size) {
            let keys = self.keys.as_mut().and_then(|keys| keys.application[sender].as_mut());
            match keys.and_then(|keys| keys.open(packet, number_at)) {
                Some((number, frames)) => self.application(at, sender, packet, number, &frames),
                None => self.unreadable += 1,
            }
        }
    }

    fn application(&mut self, at: u64, sender: usize, bytes: &[u8], number: u64, frames: &[u8]) {
        let bytes = bytes.len() as u64;
        let mut packet = Packet { is_application: true, number, bytes, ..Packet::default() };
        if add_frames(frames, &mut packet, &mut Vec::new()).is_none() {
            self.unreadable += 1;
        }
        self.see(at, sender, packet);
    }

    fn see(&mut self, at: u64, sender: usize, packet: Packet) {
        self.trips.add(at, sender, &packet);
        self.seen.push((at, sender, packet));
    }

    fn trace(mut self, problem: Option<&str>) -> CapturedConnection {
        let estimated = problem.map(|_| estimate(&mut self.seen, &self.covered, &mut self.trips));
        let (side, is_near) = self.trips.vantage();
        let mut notes = Vec::new();
        if !is_near {
            notes.push(BETWEEN.to_owned());
        }
        if let (Some(problem), Some(estimated)) = (problem, estimated) {
            notes.extend(estimated.notes(problem));
        }
        let announced = [self.opening.parameters.take(), self.extensions.server_parameters()];
        let exponents = announced
            .each_ref()
            .map(|one| one.as_ref().map_or(DELAY_EXPONENT, Parameters::ack_delay_exponent));
        if problem.is_none() {
            scale_delays(&mut self.seen, exponents);
        }
        let events = events(self.seen, side, announced);
        let Connection { client, server, .. } = self.opening.connection;
        let name = self.opening.name.map_or(String::new(), |name| format!(", {name}"));
        CapturedConnection {
            transport: Transport::Quic,
            title: format!("QUIC from {client} to {server}{name}"),
            ids: self.opening.first_id.iter().cloned().collect(),
            side,
            is_encrypted: problem.is_some(),
            events,
            unreadable: self.unreadable,
            notes,
        }
    }
}

/// Gives the ACK delays of packets with short headers the units that their ends announced.
fn scale_delays(seen: &mut [Seen], exponents: [u32; 2]) {
    for (_, sender, packet) in seen.iter_mut().filter(|(.., packet)| packet.is_application) {
        let Some(delay) = packet.details.ack_delay else { continue };
        let exponent = exponents.get(*sender).copied().unwrap_or(DELAY_EXPONENT);
        let delay = (delay.as_nanos() >> DELAY_EXPONENT) << exponent;
        packet.details.ack_delay = Some(Span::from_nanos(delay));
    }
}

/// Returns what passed as the events of one end. `announced` are the parameters of client and
/// server, with the first packet of each.
fn events(
    seen: Vec<Seen>,
    side: Side,
    mut announced: [Option<Parameters>; 2],
) -> Vec<(Time, Event)> {
    let start = seen.first().map_or(0, |(at, ..)| *at);
    let mut events = Vec::new();
    let mut outstanding = Outstanding::default();
    for (at, sender, packet) in seen {
        let now = Time::ZERO + Span::from_nanos(at.saturating_sub(start)).min(MAX_SPAN);
        let is_own = (sender == 0) == (side == Side::Client);
        if let Some(parameters) = announced[sender].take() {
            events.extend(parameters.events(is_own).into_iter().map(|event| (now, event)));
        }
        if !is_own {
            events.push((now, Event::Received(packet)));
            continue;
        }
        let repeated = outstanding.repeated(&packet);
        events.extend(repeated.into_iter().map(|number| (now, Event::Lost(number))));
        events.push((now, Event::Sent(packet)));
    }
    events
}

/// The stream data that an end sent: end and packet, by stream and offset.
#[derive(Debug, Default)]
struct Outstanding(BTreeMap<(u64, u64), (u64, u64)>);

impl Outstanding {
    /// Returns the packets whose data `packet` sends again: their sender takes them for lost.
    fn repeated(&mut self, packet: &Packet) -> Vec<u64> {
        let mut repeated = Vec::new();
        for part in &packet.data {
            let (stream, end) = (part.stream, part.offset.saturating_add(part.length));
            let within = self.0.range((stream, part.offset)..(stream, end));
            let mut starts: Vec<(u64, u64)> = within.map(|(start, _)| *start).collect();
            let before = self.0.range((stream, 0)..(stream, part.offset)).next_back();
            starts.extend(before.filter(|(_, (until, _))| *until > part.offset).map(|one| *one.0));
            let numbers = starts.iter().filter_map(|start| self.0.remove(start));
            repeated.extend(numbers.map(|(_, number)| number));
            self.0.insert((stream, part.offset), (end, packet.number));
        }
        repeated.dedup();
        repeated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Details, PacketDetails};

    #[test]
    fn ack_delays_have_the_units_that_their_end_announced() {
        let packet = |is_application| Packet {
            is_application,
            details: Details::from(PacketDetails {
                ack_delay: Some(Span::from_micros(1000 << DELAY_EXPONENT)),
                ..PacketDetails::default()
            }),
            ..Packet::default()
        };
        let mut seen = [(0, 0, packet(true)), (1, 1, packet(true)), (2, 1, packet(false))];
        scale_delays(&mut seen, [3, 6]);
        let delays = seen.map(|(.., packet)| packet.details.ack_delay.unwrap_or_default());
        assert_eq!(delays, [8, 64, 8].map(Span::from_millis));
    }
}
