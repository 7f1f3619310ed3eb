//! A QUIC connection of a capture, as the end near the capture recorded it.

use super::frames::add_frames;
use super::header::{QuicPacket, VERSION_1, VERSION_2, first_packet, version};
use super::key_log::{KeyLog, Secrets};
use super::protection::{Keys, SUITES, Suite};
use crate::error::CaptureError;
use crate::event::{CapturedConnection, Event, Packet, Side, Transport};
use crate::pcap::connection::{BETWEEN, Ends, MAX_CONNECTIONS, MAX_SPAN, in_order, near_end};
use crate::pcap::file::packets;
use crate::pcap::segment::{Carried, Datagram, read};
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Packets with which the secrets of a connection are looked for.
const TRIES: usize = 8;

/// A QUIC connection: its ends, and its number among those that they had one after the other.
pub type Connection = (Ends, usize);

/// Tells the connections of datagrams: an Initial packet of the client with another connection ID
/// begins another connection.
#[derive(Debug, Default)]
struct Connections {
    /// Client, its connection ID, and number of the connection.
    current: BTreeMap<Ends, (SocketAddr, Vec<u8>, usize)>,
}

impl Connections {
    /// Returns the connection of a datagram; `None` before its handshake.
    fn of(&mut self, datagram: &Datagram<'_>) -> Option<Connection> {
        let ends = in_order(datagram.from, datagram.to);
        if matches!(version(datagram.data), Some(VERSION_1 | VERSION_2)) {
            let initial = match first_packet(datagram.data) {
                Some((QuicPacket::Handshake { is_initial: true, source_id, .. }, _)) => source_id,
                _ => &[],
            };
            let has_room = self.current.len() < MAX_CONNECTIONS;
            match self.current.get_mut(&ends) {
                None if has_room => {
                    self.current.insert(ends, (datagram.from, initial.to_vec(), 0));
                }
                Some((client, id, number))
                    if *client == datagram.from && !initial.is_empty() && *id != initial =>
                {
                    (*id, *number) = (initial.to_vec(), *number + 1);
                }
                _ => {}
            }
        }
        self.current.get(&ends).map(|(_, _, number)| (ends, *number))
    }
}

/// Finds the QUIC connection with the most data: of those whose handshake begins in the capture.
#[derive(Debug, Default)]
pub struct Largest {
    connections: Connections,
    sizes: BTreeMap<Connection, u64>,
}

impl Largest {
    /// Adds a datagram.
    pub fn add(&mut self, datagram: &Datagram<'_>) {
        let Some(connection) = self.connections.of(datagram) else { return };
        if self.sizes.len() < MAX_CONNECTIONS || self.sizes.contains_key(&connection) {
            *self.sizes.entry(connection).or_default() += datagram.data.len() as u64;
        }
    }

    /// Returns that connection and its bytes.
    pub fn find(self) -> Option<(Connection, u64)> {
        self.sizes.into_iter().max_by_key(|(_, size)| *size)
    }
}

/// Returns a connection as a trace.
///
/// # Errors
/// It has too many packets, or `keys` do not open it.
pub fn trace(
    bytes: &[u8],
    chosen: Connection,
    keys: &KeyLog,
) -> Result<CapturedConnection, CaptureError> {
    let mut connections = Connections::default();
    let (datagrams, complete) = packets(bytes, |packet| match read(packet) {
        Carried::Udp(datagram) => (connections.of(&datagram) == Some(chosen)).then_some(datagram),
        _ => None,
    })?;
    let opening = Opening::find(&datagrams)?;
    let mut reader = Reader {
        sides: find_keys(&datagrams, &opening, keys)?,
        opening,
        early: early_keys(&datagrams, keys),
        events: Vec::new(),
        unreadable: usize::from(!complete),
        outstanding: BTreeMap::new(),
    };
    let start = datagrams.first().map_or(0, |(at, _)| *at);
    for (at, datagram) in &datagrams {
        let now = Time::ZERO + Span::from_nanos(at.saturating_sub(start)).min(MAX_SPAN);
        reader.datagram(now, datagram);
    }
    Ok(reader.trace())
}

/// What the packets of the handshake say.
#[derive(Debug)]
struct Opening {
    client: SocketAddr,
    server: SocketAddr,
    /// Lengths of the connection IDs that client and server chose for themselves.
    ids: [usize; 2],
    /// The end that is nearer to the capture, and whether it is near.
    vantage: (Side, bool),
}

impl Opening {
    fn find(datagrams: &[(u64, Datagram<'_>)]) -> Result<Self, CaptureError> {
        let is_version_2 = |(_, one): &(u64, Datagram<'_>)| version(one.data) == Some(VERSION_2);
        let mut long = datagrams.iter().filter_map(|(at, one)| match first_packet(one.data)?.0 {
            QuicPacket::Handshake { is_initial, source_id, .. } => {
                Some((*at, one, is_initial, source_id.len()))
            }
            _ => None,
        });
        let Some((first_at, first, true, id)) = long.next() else {
            let reason = if datagrams.iter().any(is_version_2) {
                "the connection is of QUIC version 2"
            } else {
                "the capture does not begin with the connection"
            };
            return Err(CaptureError::Encrypted(reason));
        };
        let mut opening = Self {
            client: first.from,
            server: first.to,
            ids: [id, 0],
            vantage: (Side::Client, false),
        };
        let (mut answer, mut third) = (None, None);
        for (at, one, _, id) in long {
            if one.from == opening.client {
                opening.ids[0] = id;
                third = third.or(answer.map(|_| at));
            } else {
                opening.ids[1] = id;
                answer = answer.or(Some(at));
            }
        }
        opening.vantage = near_end(Some(first_at), answer, third);
        Ok(opening)
    }

    /// Returns the index of the end that sent a datagram, 0 for the client.
    fn sender(&self, datagram: &Datagram<'_>) -> usize {
        usize::from(datagram.from != self.client)
    }

    /// Returns the offset of the packet number in short headers of an end.
    fn number_at(&self, sender: usize) -> usize {
        1 + self.ids[1 - sender]
    }
}

/// Finds the secrets that open the first packets with short headers: those of one connection, with
/// one suite, of both ends.
fn find_keys(
    datagrams: &[(u64, Datagram<'_>)],
    opening: &Opening,
    log: &KeyLog,
) -> Result<[Keys; 2], CaptureError> {
    if log.connections().next().is_none() {
        return Err(CaptureError::Encrypted("the capture has no keys of its QUIC connection"));
    }
    let mut is_cut = false;
    let short = datagrams.iter().filter(|(_, one)| {
        let is_short = one.data.first().is_some_and(|first| first & 0xc0 == 0x40);
        is_cut |= is_short && !one.is_whole;
        is_short && one.is_whole
    });
    let tries: Vec<_> = short.take(TRIES).collect();
    let opens = |secrets: &Secrets, suite: &'static Suite| -> Option<[Keys; 2]> {
        let fresh = || {
            Some([
                Keys::new(suite, secrets.client.as_ref()?)?,
                Keys::new(suite, secrets.server.as_ref()?)?,
            ])
        };
        let mut keys = fresh()?;
        let opened = tries.iter().any(|(_, one)| {
            let sender = opening.sender(one);
            keys[sender].open(one.data, opening.number_at(sender)).is_some()
        });
        if opened { fresh() } else { None }
    };
    log.connections()
        .find_map(|secrets| SUITES.iter().find_map(|suite| opens(secrets, suite)))
        .ok_or(CaptureError::Encrypted(if is_cut && tries.is_empty() {
            "the packets of the QUIC connection were cut off"
        } else {
            "no key opens the QUIC connection"
        }))
}

/// Finds the keys that open the first packet of early data.
fn early_keys(datagrams: &[(u64, Datagram<'_>)], log: &KeyLog) -> Option<Keys> {
    let (bytes, number_at) = datagrams.iter().find_map(|(_, one)| {
        let mut rest = one.data;
        while let Some((packet, after)) = first_packet(rest) {
            if let QuicPacket::ZeroRtt { bytes, number_at } = packet {
                return Some((bytes, number_at));
            }
            rest = after;
        }
        None
    })?;
    let secrets = log.connections().filter_map(|secrets| secrets.early.as_ref());
    secrets.into_iter().find_map(|secret| {
        SUITES.iter().find_map(|suite| {
            let opened = Keys::new(suite, secret)?.open(bytes, number_at);
            opened.and_then(|_| Keys::new(suite, secret))
        })
    })
}

/// Reads the datagrams of a connection.
struct Reader {
    opening: Opening,
    /// Keys of client and server.
    sides: [Keys; 2],
    early: Option<Keys>,
    events: Vec<(Time, Event)>,
    unreadable: usize,
    /// The stream data that the near end sent: end and packet, by stream and offset.
    outstanding: BTreeMap<(u64, u64), (u64, u64)>,
}

impl Reader {
    fn datagram(&mut self, now: Time, datagram: &Datagram<'_>) {
        let sender = self.opening.sender(datagram);
        let mut rest = datagram.data;
        while !rest.is_empty() {
            let Some((found, after)) = first_packet(rest) else {
                self.unreadable += 1;
                return;
            };
            rest = after;
            let (bytes, opened) = match found {
                QuicPacket::Handshake { bytes, .. } => {
                    let bytes = bytes.len() as u64;
                    self.event(now, sender, Packet { bytes, ..Packet::default() });
                    continue;
                }
                QuicPacket::ZeroRtt { bytes, number_at } => {
                    let opened = self.early.as_mut().and_then(|keys| keys.open(bytes, number_at));
                    if let Some(early) = &self.early {
                        self.sides[sender].continue_after(early);
                    }
                    (bytes, opened)
                }
                QuicPacket::OneRtt(bytes) => {
                    (bytes, self.sides[sender].open(bytes, self.opening.number_at(sender)))
                }
            };
            let Some((number, frames)) = opened else {
                self.unreadable += 1;
                continue;
            };
            let bytes = bytes.len() as u64;
            let mut packet = Packet { is_application: true, number, bytes, ..Packet::default() };
            if add_frames(&frames, &mut packet).is_none() {
                self.unreadable += 1;
            }
            self.event(now, sender, packet);
        }
    }

    fn event(&mut self, now: Time, sender: usize, packet: Packet) {
        if (sender == 0) != (self.opening.vantage.0 == Side::Client) {
            self.events.push((now, Event::Received(packet)));
            return;
        }
        for number in self.repeated(&packet) {
            self.events.push((now, Event::Lost(number)));
        }
        self.events.push((now, Event::Sent(packet)));
    }

    /// Returns the packets whose data `packet` sends again: their sender takes them for lost.
    fn repeated(&mut self, packet: &Packet) -> Vec<u64> {
        let mut repeated = Vec::new();
        for part in &packet.data {
            let (stream, end) = (part.stream, part.offset.saturating_add(part.length));
            let mut starts: Vec<(u64, u64)> = self
                .outstanding
                .range((stream, part.offset)..(stream, end))
                .map(|(start, _)| *start)
                .collect();
            let before = self.outstanding.range((stream, 0)..(stream, part.offset)).next_back();
            starts.extend(before.filter(|(_, (until, _))| *until > part.offset).map(|one| *one.0));
            let numbers = starts.iter().filter_map(|start| self.outstanding.remove(start));
            repeated.extend(numbers.map(|(_, number)| number));
            self.outstanding.insert((stream, part.offset), (end, packet.number));
        }
        repeated.dedup();
        repeated
    }

    fn trace(self) -> CapturedConnection {
        let Opening { client, server, vantage: (side, is_near), .. } = self.opening;
        let mut notes = Vec::new();
        if !is_near {
            notes.push(BETWEEN.to_owned());
        }
        CapturedConnection {
            transport: Transport::Quic,
            title: format!("QUIC from {client} to {server}"),
            side,
            events: self.events,
            unreadable: self.unreadable,
            notes,
        }
    }
}
