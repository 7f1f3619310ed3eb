//! The connections of a capture, and where their packets are.

use super::ends::{Ends, in_order};
use super::fingerprint::Fingerprint;
use super::quic::{Connection, Connections, Unread};
use super::record::CapturedPacket;
use super::segment::{Datagram, Segment};
use crate::summary::{Protocol, Traffic};
use std::collections::HashMap;
use std::net::SocketAddr;

/// Most connections that are kept: those with the most data, and of equal ones the latest.
const MAX_CONNECTIONS: usize = 65_536;

/// Where the packet of a connection is in its file, and what tells it from others.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Number of the connection in [`Table::flows`].
    pub flow: u32,
    /// Time in nanoseconds since the epoch of the capture.
    pub at: u64,
    /// Offset of its first byte in the file.
    pub start: u32,
    /// Number of bytes kept, and on the wire.
    pub kept: u32,
    pub wire: u32,
    /// Bytes of data.
    pub data: u32,
    /// Link type.
    pub link_type: u16,
    /// True if the client sent it.
    pub by_client: bool,
    /// What tells it from others.
    pub fingerprint: Fingerprint,
}

/// A connection.
#[derive(Debug, Clone)]
pub struct Flow {
    pub protocol: Protocol,
    /// The connection of QUIC.
    pub quic: Option<Connection>,
    /// The version of QUIC that a datagram of it has, if that is not read.
    pub unread: Option<Unread>,
    pub ends: Ends,
    /// The end that opened it: if its handshake is missing, the one that is likelier.
    pub client: SocketAddr,
    /// Sequence numbers of SYN segments, of both ends.
    isn: [Option<u32>; 2],
    /// True if it has a segment without SYN.
    is_open: bool,
    /// False if the file has no times for some of its packets.
    pub has_times: bool,
    /// Number of copies of packets that were left out.
    pub copies: usize,
    /// Sum of both directions.
    total: u64,
    /// Number of packets of the file before its last one.
    last: u64,
}

/// Sorts packets into connections.
#[derive(Debug, Default)]
pub struct Table {
    pub flows: Vec<Flow>,
    pub entries: Vec<Entry>,
    /// Connections that were not kept.
    pub left_out: usize,
    /// Numbers of the current connections of ends.
    tcp: HashMap<Ends, u32>,
    /// The last connection of TCP: the next segment is likely to be of the same one.
    last_tcp: Option<(Ends, u32)>,
    udp: HashMap<Ends, u32>,
    quic: HashMap<Connection, u32>,
    quic_connections: Connections,
    packets: u64,
}

impl Table {
    /// Adds a segment.
    pub fn add_segment(&mut self, packet: &CapturedPacket<'_>, segment: &Segment<'_>) {
        let ends = in_order(segment.from, segment.to);
        let last = self.last_tcp.filter(|(last, _)| *last == ends).map(|(_, flow)| flow);
        let known = last.or_else(|| self.tcp.get(&ends).copied());
        let is_opening = segment.syn && segment.ack.is_none();
        let sender = usize::from(segment.from != ends[0]);
        let same = known.filter(|&flow| {
            // Another SYN of the same ends opens another connection, unless it is repeated or
            // both ends open the same connection.
            let flow = &self.flows[flow as usize];
            !is_opening || flow.isn[sender].map_or(!flow.is_open, |isn| isn == segment.seq)
        });
        let flow = same.unwrap_or_else(|| {
            let opener = match (segment.syn, segment.ack) {
                (true, None) => Some(segment.from),
                (true, Some(_)) => Some(segment.to),
                _ => None,
            };
            let client = opener.unwrap_or_else(|| likely_client(segment.from, segment.to));
            let flow = self.open(Protocol::Tcp, ends, client);
            self.tcp.insert(ends, flow);
            flow
        });
        self.last_tcp = Some((ends, flow));
        let state = &mut self.flows[flow as usize];
        if segment.syn {
            state.isn[sender] = Some(segment.seq);
        } else {
            state.is_open = true;
        }
        let fingerprint = Fingerprint::of_segment(segment);
        self.add(flow, packet, segment.from, segment.length, fingerprint);
    }

    /// Adds a datagram.
    pub fn add_datagram(&mut self, packet: &CapturedPacket<'_>, datagram: &Datagram<'_>) {
        let ends = in_order(datagram.from, datagram.to);
        let flow = match self.quic_connections.of(datagram) {
            Some(connection) => self.quic.get(&connection).copied().unwrap_or_else(|| {
                let ends = in_order(connection.client, connection.server);
                let flow = self.open(Protocol::Quic, ends, connection.client);
                self.flows[flow as usize].quic = Some(connection);
                self.quic.insert(connection, flow);
                flow
            }),
            None => self.udp.get(&ends).copied().unwrap_or_else(|| {
                let client = likely_client(datagram.from, datagram.to);
                let flow = self.open(Protocol::Udp, ends, client);
                self.udp.insert(ends, flow);
                flow
            }),
        };
        let state = &mut self.flows[flow as usize];
        if state.protocol == Protocol::Udp && state.unread.is_none() {
            state.unread = Unread::of(datagram.data);
        }
        let fingerprint = Fingerprint::of_datagram(datagram);
        self.add(flow, packet, datagram.from, datagram.length, fingerprint);
    }

    fn open(&mut self, protocol: Protocol, ends: Ends, client: SocketAddr) -> u32 {
        if self.flows.len() >= 2 * MAX_CONNECTIONS {
            self.shrink();
        }
        self.flows.push(Flow {
            protocol,
            quic: None,
            unread: None,
            ends,
            client,
            isn: [None; 2],
            is_open: false,
            has_times: true,
            copies: 0,
            total: 0,
            last: self.packets,
        });
        (self.flows.len() - 1) as u32
    }

    fn add(
        &mut self,
        flow: u32,
        packet: &CapturedPacket<'_>,
        from: SocketAddr,
        data: u32,
        fingerprint: Fingerprint,
    ) {
        // Files are shorter than 4 GiB.
        let Ok(start) = u32::try_from(packet.start) else { return };
        self.packets += 1;
        let state = &mut self.flows[flow as usize];
        state.has_times &= packet.at.is_some();
        state.total += u64::from(data);
        state.last = self.packets;
        // A client of QUIC may move to other addresses.
        let server = state.quic.map(|connection| connection.server);
        let by_client = server.map_or(from == state.client, |server| from != server);
        self.entries.push(Entry {
            flow,
            at: packet.at.unwrap_or_default(),
            start,
            kept: packet.data.len() as u32,
            wire: packet.wire,
            data,
            link_type: packet.link_type,
            by_client,
            fingerprint,
        });
    }

    /// Leaves out the connections with the least data until there are [`MAX_CONNECTIONS`].
    pub fn shrink(&mut self) {
        if self.flows.len() <= MAX_CONNECTIONS {
            return;
        }
        let mut order: Vec<usize> = (0..self.flows.len()).collect();
        let rank = |&index: &usize| {
            let flow = &self.flows[index];
            std::cmp::Reverse((flow.total, flow.last))
        };
        order.sort_unstable_by_key(rank);
        self.left_out += order.len() - MAX_CONNECTIONS;
        order.truncate(MAX_CONNECTIONS);
        order.sort_unstable();
        let mut numbers = vec![None; self.flows.len()];
        for (number, &index) in order.iter().enumerate() {
            numbers[index] = Some(number as u32);
        }
        let numbers = |old: u32| numbers.get(old as usize).copied().flatten();
        self.flows = order.iter().map(|&index| self.flows[index].clone()).collect();
        self.entries.retain_mut(|entry| match numbers(entry.flow) {
            Some(number) => {
                entry.flow = number;
                true
            }
            None => false,
        });
        fn renumber<K>(of: &mut HashMap<K, u32>, numbers: impl Fn(u32) -> Option<u32>) {
            of.retain(|_, number| match numbers(*number) {
                Some(new) => {
                    *number = new;
                    true
                }
                None => false,
            });
        }
        self.last_tcp = None;
        renumber(&mut self.tcp, numbers);
        renumber(&mut self.udp, numbers);
        renumber(&mut self.quic, numbers);
    }
}

/// Returns the likelier client of a connection whose handshake is missing: the end whose port is
/// the larger one.
fn likely_client(from: SocketAddr, to: SocketAddr) -> SocketAddr {
    if from.port() >= to.port() { from } else { to }
}

/// Adds up the packets of a connection: those of its client, and those of its server.
pub fn traffic(entries: &[Entry]) -> [Traffic; 2] {
    let mut directions = [Traffic::default(); 2];
    for entry in entries {
        let direction = &mut directions[usize::from(!entry.by_client)];
        direction.packets += 1;
        direction.bytes += u64::from(entry.data);
    }
    directions
}
