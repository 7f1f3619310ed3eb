//! Which QUIC connection a datagram belongs to.

use super::header::{LongPacket, Rest, divide, looks_like_handshake};
use super::initial::begins_connection;
use super::version::Kind;
use crate::pcap::ends::{Ends, in_order};
use crate::pcap::segment::Datagram;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// Most connections of a file.
const MAX_CONNECTIONS: usize = 65_536;
/// Most connection IDs of a connection that are kept.
const MAX_IDS: usize = 16;
/// Shortest connection ID by which a connection is found at other addresses.
const LEAST_ID: usize = 4;

/// A connection that a capture has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Connection {
    /// Its number in the file, from zero.
    pub number: usize,
    /// The end that opened it, at its first address.
    pub client: SocketAddr,
    /// The other end.
    pub server: SocketAddr,
}

#[derive(Debug)]
struct State {
    connection: Connection,
    /// Connection IDs of the client's first flights, which follow no choice of the server.
    first_ids: Vec<Vec<u8>>,
    /// Connection ID that the client chose for itself.
    client_id: Vec<u8>,
    /// True if the server continued the handshake: not by Retry or Version Negotiation.
    is_answered: bool,
    /// Number of connection IDs by which it is found.
    ids: usize,
}

/// Tells the connections of datagrams.
///
/// A connection begins with an Initial packet that opens with the keys of its own connection ID;
/// where packets were cut off, or its begin is missing, with a packet that has the long header of a
/// version that is read. Other datagrams between its addresses belong to it, and those at another
/// address of one end that carry one of its connection IDs.
#[derive(Debug, Default)]
pub struct Connections {
    states: Vec<State>,
    current: BTreeMap<Ends, usize>,
    ids: BTreeMap<Vec<u8>, usize>,
    /// Lengths of these IDs.
    lengths: BTreeSet<usize>,
}

impl Connections {
    /// Returns the connection of a datagram; `None` before its handshake, and if it is not QUIC.
    pub fn of(&mut self, datagram: &Datagram<'_>) -> Option<Connection> {
        let ends = in_order(datagram.from, datagram.to);
        let (long, rest) = divide(datagram);
        let mut found = self.current.get(&ends).copied();
        if let Some(first) = long.first() {
            if found.is_none_or(|index| self.begins_another(index, datagram, first)) {
                found =
                    self.moved(datagram, first.target_id).or_else(|| self.begin(datagram, first));
                found.map(|index| self.current.insert(ends, index));
            }
            for packet in &long {
                self.learn(found?, datagram, packet);
            }
        } else if found.is_none()
            && let Rest::Short(bytes, _) = rest
        {
            found = self.lengths.iter().rev().find_map(|length| {
                let id = bytes.get(1..=*length)?;
                self.moved(datagram, id)
            });
            if self.current.len() < MAX_CONNECTIONS {
                found.map(|index| self.current.insert(ends, index));
            }
        }
        found.map(|index| self.states[index].connection)
    }

    /// Returns true if a packet between the ends of a connection begins another one.
    fn begins_another(
        &self,
        index: usize,
        datagram: &Datagram<'_>,
        first: &LongPacket<'_>,
    ) -> bool {
        let Some(state) = self.states.get(index) else { return true };
        let is_first = first.kind == Kind::Initial
            && datagram.from == state.connection.client
            && state.is_answered
            && self.ids.get(first.target_id) != Some(&index)
            && !state.first_ids.iter().any(|id| id == first.target_id);
        // Retry and Version Negotiation change the ID, too, but nothing was answered before them.
        is_first
            && if datagram.is_whole {
                begins_connection(first)
            } else {
                state.client_id != first.source_id
            }
    }

    /// Returns the connection of an ID, if an end of the datagram is one of its.
    fn moved(&self, datagram: &Datagram<'_>, id: &[u8]) -> Option<usize> {
        let index = *self.ids.get(id)?;
        let Connection { client, server, .. } = self.states.get(index)?.connection;
        let has_end = [client, server].iter().any(|end| [datagram.from, datagram.to].contains(end));
        has_end.then_some(index)
    }

    /// Begins a connection.
    fn begin(&mut self, datagram: &Datagram<'_>, first: &LongPacket<'_>) -> Option<usize> {
        let begins = datagram.is_whole && begins_connection(first);
        if self.states.len() >= MAX_CONNECTIONS || !begins && !looks_like_handshake(datagram) {
            return None;
        }
        // Without its begin: the end whose port is the larger one.
        let is_client = begins || datagram.from.port() >= datagram.to.port();
        let (client, server) =
            if is_client { (datagram.from, datagram.to) } else { (datagram.to, datagram.from) };
        let number = self.states.len();
        self.states.push(State {
            connection: Connection { number, client, server },
            first_ids: Vec::new(),
            client_id: if is_client { first.source_id.to_vec() } else { Vec::new() },
            is_answered: !begins,
            ids: 0,
        });
        Some(number)
    }

    /// Learns the connection IDs of a packet.
    fn learn(&mut self, index: usize, datagram: &Datagram<'_>, packet: &LongPacket<'_>) {
        let Some(state) = self.states.get_mut(index) else { return };
        let is_server = datagram.from == state.connection.server;
        state.is_answered |= is_server && packet.kind != Kind::Retry;
        if !is_server
            && !state.is_answered
            && packet.kind == Kind::Initial
            && state.first_ids.len() < MAX_IDS
            && !state.first_ids.iter().any(|id| id == packet.target_id)
        {
            state.first_ids.push(packet.target_id.to_vec());
        }
        let id = packet.source_id;
        if id.len() >= LEAST_ID && state.ids < MAX_IDS && !self.ids.contains_key(id) {
            state.ids += 1;
            self.ids.insert(id.to_vec(), index);
            self.lengths.insert(id.len());
        }
    }
}
