//! A QUIC connection of a capture, as the end near the capture recorded it.

use super::connections::Connection;
use super::frames::add_frames;
use super::header::{LongPacket, MAX_ID, Rest, divide};
use super::hello::Parts;
use super::initial::InitialKeys;
use super::joined::{LEAST_ID, MTU, size_from_id, size_from_keys, sizes};
use super::key_log::{KeyLog, Secrets};
use super::protection::{Keys, SUITES};
use super::vantage::HalfTrips;
use super::version::{Kind, Version};
use crate::error::CaptureError;
use crate::event::{CapturedConnection, Event, MAX_SPAN, Packet, Side, Transport};
use crate::pcap::segment::Datagram;
use crate::pcap::vantage::BETWEEN;
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;

/// Packets of a direction with which its secrets are looked for.
const TRIES: usize = 8;
/// Most connections whose secrets are tried if the client's random number is known.
const MAX_STRANGERS: usize = 256;
/// Numbers of Handshake packets begin here, and those of packets that cannot be opened: the spaces
/// of packet numbers (RFC 9000 §12.3), which end below, become one.
const HANDSHAKE_NUMBERS: u64 = 1 << 62;
const HIDDEN_NUMBERS: u64 = 1 << 63;

/// Returns why no connection can be read with these keys; `None` if one may be.
pub fn problem(log: &KeyLog) -> Option<&'static str> {
    let is_empty = log.connections(None).next().is_none();
    is_empty.then_some("the capture has no keys of its QUIC connection")
}

/// Returns a connection, of which `datagrams` are all that the capture has, in the order of their
/// times in nanoseconds. `unreadable` records of the file could not be read.
///
/// # Errors
/// `log` does not open it.
pub fn trace(
    datagrams: &[(u64, Datagram<'_>)],
    unreadable: usize,
    connection: Connection,
    log: &KeyLog,
) -> Result<CapturedConnection, CaptureError> {
    let opening = Opening::find(datagrams, connection);
    let sides = find_keys(datagrams, &opening, log)?;
    let mut reader = Reader {
        early: early_keys(datagrams, &opening, log),
        handshake: [0, 1].map(|sender| handshake_keys(datagrams, &opening, log, sender)),
        opening,
        initial: InitialKeys::default(),
        sides,
        sizes: [None; 2],
        seen: Vec::new(),
        trips: HalfTrips::default(),
        hidden: 0,
        unreadable,
    };
    for (at, datagram) in datagrams {
        reader.datagram(*at, datagram);
    }
    Ok(reader.trace())
}

/// What the packets of the handshake say.
#[derive(Debug)]
struct Opening {
    connection: Connection,
    /// That on which the ends agreed.
    version: &'static Version,
    /// Lengths of the connection IDs that client and server chose for themselves.
    ids: [usize; 2],
    /// The client's random number.
    random: Option<[u8; 32]>,
    /// Name of the server.
    name: Option<String>,
}

impl Opening {
    fn find(datagrams: &[(u64, Datagram<'_>)], connection: Connection) -> Self {
        let mut version = [None; 2];
        let mut ids = [0; 2];
        let mut initial = InitialKeys::default();
        let mut hello = Parts::default();
        for (_, datagram) in datagrams {
            let sender = sender(&connection, datagram);
            for packet in divide(datagram.data).0 {
                version[sender] = Some(packet.version);
                if packet.kind != Kind::Retry {
                    ids[sender] = packet.source_id.len();
                }
                if sender == 0
                    && let Some((_, frames)) = initial.open(&packet, sender)
                {
                    let mut crypto = Vec::new();
                    add_frames(&frames, &mut Packet::default(), &mut crypto);
                    crypto.iter().for_each(|(offset, bytes)| hello.add(*offset, bytes));
                }
            }
        }
        let hello = hello.message();
        let [client, server] = version;
        Self {
            connection,
            // The server has the last word (RFC 9368 §2.3).
            version: server.or(client).unwrap_or(&super::version::VERSIONS[0]),
            ids,
            random: hello.as_ref().map(|hello| hello.random),
            name: hello.and_then(|hello| hello.name),
        }
    }

    /// Returns the offset of the packet number in short headers of an end.
    fn number_at(&self, sender: usize) -> usize {
        1 + self.ids[1 - sender].min(MAX_ID)
    }

    /// Returns the secrets of a kind that may be the connection's, its own first.
    fn secrets<'a>(
        &self,
        log: &'a KeyLog,
        of: impl Fn(&'a Secrets) -> &'a Vec<Vec<u8>>,
    ) -> impl Iterator<Item = &'a Vec<u8>> {
        let random = self.random.as_ref().map(|random| &random[..]);
        // Those of others: the log has another random number if names are encrypted (RFC 9850).
        let most = if random.is_some() { MAX_STRANGERS } else { usize::MAX };
        log.connections(random).take(most).flat_map(of)
    }

    /// Returns the first keys of `secrets` that open one of the packets, given with the offsets of
    /// their numbers.
    fn keys_that_open<'a>(
        &self,
        mut secrets: impl Iterator<Item = &'a Vec<u8>>,
        packets: &[(&[u8], usize)],
    ) -> Option<Keys> {
        secrets.find_map(|secret| {
            SUITES.iter().find_map(|suite| {
                let mut keys = Keys::new(self.version, suite, secret)?;
                let opens = packets.iter().any(|(one, at)| keys.open(one, *at).is_some());
                if opens { Keys::new(self.version, suite, secret) } else { None }
            })
        })
    }
}

/// Returns the index of the end that sent a datagram, 0 for the client.
fn sender(connection: &Connection, datagram: &Datagram<'_>) -> usize {
    let is_server = datagram.from == connection.server
        || datagram.to == connection.client && datagram.to != connection.server;
    usize::from(is_server)
}

/// Finds the secrets that open the first packets with short headers of both ends; those of an end
/// may be missing.
fn find_keys(
    datagrams: &[(u64, Datagram<'_>)],
    opening: &Opening,
    log: &KeyLog,
) -> Result<[Option<Keys>; 2], CaptureError> {
    if let Some(reason) = problem(log) {
        return Err(CaptureError::Encrypted(reason));
    }
    let mut is_cut = false;
    let mut joined: [Option<&[u8]>; 2] = [None; 2];
    let mut tries: [Vec<(&[u8], usize)>; 2] = [Vec::new(), Vec::new()];
    for (_, datagram) in datagrams {
        let sender = sender(&opening.connection, datagram);
        let (_, Rest::Short(bytes)) = divide(datagram.data) else { continue };
        is_cut |= !datagram.is_whole;
        // Alone, or the first of several that are joined, which a connection ID tells apart.
        let id = opening.ids[1 - sender];
        let size = size_from_id(bytes, id).unwrap_or(bytes.len());
        let is_single = id >= LEAST_ID || size <= MTU;
        if datagram.is_whole && is_single && tries[sender].len() < TRIES {
            tries[sender].push((&bytes[..size], opening.number_at(sender)));
        } else if datagram.is_whole && !is_single {
            joined[sender].get_or_insert(bytes);
        }
    }
    for sender in [0, 1] {
        if let (true, Some(bytes)) = (tries[sender].is_empty(), joined[sender]) {
            let at = opening.number_at(sender);
            tries[sender] = sizes(bytes).map(|size| (&bytes[..size], at)).collect();
        }
    }
    let keys = [0, 1].map(|sender| {
        let secrets = opening.secrets(log, |secrets| &secrets.application[sender]);
        opening.keys_that_open(secrets, &tries[sender])
    });
    if keys.iter().all(Option::is_none) {
        let has_any = tries.iter().any(|one| !one.is_empty());
        return Err(CaptureError::Encrypted(if is_cut && !has_any {
            "the packets of the QUIC connection were cut off"
        } else {
            "no key opens the QUIC connection"
        }));
    }
    Ok(keys)
}

/// Returns the first packets of a kind of an end, with the offsets of their numbers.
fn packets_of<'a>(
    datagrams: &[(u64, Datagram<'a>)],
    opening: &Opening,
    kind: Kind,
    sender: usize,
) -> Vec<(&'a [u8], usize)> {
    let connection = opening.connection;
    datagrams
        .iter()
        .filter(|(_, datagram)| self::sender(&connection, datagram) == sender)
        .flat_map(|(_, datagram)| divide(datagram.data).0)
        .filter(|packet| packet.kind == kind)
        .map(|packet| (packet.bytes, packet.number_at))
        .take(TRIES)
        .collect()
}

/// Finds the keys that open the first packet of early data.
fn early_keys(datagrams: &[(u64, Datagram<'_>)], opening: &Opening, log: &KeyLog) -> Option<Keys> {
    let packets = packets_of(datagrams, opening, Kind::ZeroRtt, 0);
    opening.keys_that_open(opening.secrets(log, |secrets| &secrets.early), &packets)
}

/// Finds the keys that open the Handshake packets of an end.
fn handshake_keys(
    datagrams: &[(u64, Datagram<'_>)],
    opening: &Opening,
    log: &KeyLog,
    sender: usize,
) -> Option<Keys> {
    let packets = packets_of(datagrams, opening, Kind::Handshake, sender);
    let secrets = opening.secrets(log, |secrets| &secrets.handshake[sender]);
    opening.keys_that_open(secrets, &packets)
}

/// A packet that passed the capture: when, in nanoseconds, the index of its sender, and the packet.
type Seen = (u64, usize, Packet);

/// Reads the datagrams of a connection.
struct Reader {
    opening: Opening,
    initial: InitialKeys,
    early: Option<Keys>,
    /// Keys of the client's and the server's Handshake packets, and of those with short headers.
    handshake: [Option<Keys>; 2],
    sides: [Option<Keys>; 2],
    /// Size of the packets that were joined last.
    sizes: [Option<usize>; 2],
    seen: Vec<Seen>,
    trips: HalfTrips,
    /// Number of packets that cannot be opened and count.
    hidden: u64,
    unreadable: usize,
}

impl Reader {
    fn datagram(&mut self, at: u64, datagram: &Datagram<'_>) {
        let sender = sender(&self.opening.connection, datagram);
        let (long, rest) = divide(datagram.data);
        for packet in &long {
            self.long(at, sender, packet);
        }
        match rest {
            Rest::Short(bytes) => self.short(at, sender, bytes),
            Rest::Versions => self.hidden(at, sender, Kind::Retry, datagram.data.len()),
            Rest::Unknown => self.unreadable += 1,
            Rest::Nothing => {}
        }
    }

    fn long(&mut self, at: u64, sender: usize, packet: &LongPacket<'_>) {
        let LongPacket { bytes, number_at, kind, .. } = *packet;
        let (opened, first_number) = match kind {
            Kind::Initial => (self.initial.open(packet, sender), 0),
            Kind::Handshake => {
                let keys = self.handshake[sender].as_mut();
                (keys.and_then(|keys| keys.open(bytes, number_at)), HANDSHAKE_NUMBERS)
            }
            Kind::ZeroRtt => {
                let opened = self.early.as_mut().and_then(|keys| keys.open(bytes, number_at));
                if let (Some(early), Some(keys)) = (&self.early, &mut self.sides[sender]) {
                    keys.continue_after(early);
                }
                match opened {
                    Some((number, frames)) => self.application(at, sender, bytes, number, &frames),
                    None => self.unreadable += 1,
                }
                return;
            }
            Kind::Retry => (None, 0),
        };
        let Some((number, frames)) = opened else {
            self.hidden(at, sender, kind, bytes.len());
            return;
        };
        let mut packet = Packet {
            number: number | first_number,
            bytes: bytes.len() as u64,
            ..Packet::default()
        };
        add_frames(&frames, &mut packet, &mut Vec::new());
        for (first, last) in &mut packet.acknowledged {
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

    /// Adds what has short headers.
    fn short(&mut self, at: u64, sender: usize, bytes: &[u8]) {
        let number_at = self.opening.number_at(sender);
        let Some(keys) = &mut self.sides[sender] else {
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
            let keys = self.sides[sender].as_mut();
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

    fn trace(self) -> CapturedConnection {
        let (side, is_near) = self.trips.vantage();
        let mut notes = Vec::new();
        if !is_near {
            notes.push(BETWEEN.to_owned());
        }
        let Connection { client, server, .. } = self.opening.connection;
        let name = self.opening.name.map_or(String::new(), |name| format!(", {name}"));
        CapturedConnection {
            transport: Transport::Quic,
            title: format!("QUIC from {client} to {server}{name}"),
            side,
            events: events(self.seen, side),
            unreadable: self.unreadable,
            notes,
        }
    }
}

/// Returns what passed as the events of one end.
fn events(seen: Vec<Seen>, side: Side) -> Vec<(Time, Event)> {
    let start = seen.first().map_or(0, |(at, ..)| *at);
    let mut events = Vec::new();
    let mut outstanding = Outstanding::default();
    for (at, sender, packet) in seen {
        let now = Time::ZERO + Span::from_nanos(at.saturating_sub(start)).min(MAX_SPAN);
        if (sender == 0) != (side == Side::Client) {
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
