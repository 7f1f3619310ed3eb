//! Generic receive offload (GRO): merges packets of one flow that are due together into a
//! super-packet, like a network driver.
//!
//! Delivering a packet to the kernel costs 3 to 4 us, nearly independent of its size, which limits
//! the emulator at high rates. A super-packet pays that cost once, and the kernel splits datagrams
//! again unless the socket asks for more (`UDP_GRO`). The merging rules are those of the kernel
//! (`tcp_gro_receive`, `inet_gro_receive`), so receivers cannot tell the difference.

use crate::gso::{
    GSO_NONE, GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4, HEADER, NEEDS_CSUM, TCP, UDP, complete_ipv4, ends,
    pseudo_header,
};
use bentpipe_units::{Span, Time};
use std::io::IoSlice;

/// Maximum number of packets in a super-packet: 64 kB at the usual size, and below the kernel's 128
/// for UDP (`UDP_MAX_SEGMENTS`).
pub const MAX_PACKETS: usize = 64;
/// Size of the largest IP packet.
const LARGEST: usize = 65_535;

const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
const ECE: u8 = 0x40;

/// The properties of a packet that decide whether it can be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MergeKey {
    v4: bool,
    protocol: u8,
    /// Length of the IP header.
    transport: usize,
    /// Length of all headers.
    headers: usize,
    /// Length of the payload.
    payload: usize,
}

impl MergeKey {
    /// Returns the key of a packet with its `virtio_net_hdr`; `None` if it cannot be merged.
    fn of(whole: &[u8]) -> Option<Self> {
        let (offload, packet) = whole.split_first_chunk::<HEADER>()?;
        if offload[0] != NEEDS_CSUM || offload[1] != GSO_NONE {
            return None;
        }
        let (v4, transport, protocol) = match packet.first()? >> 4 {
            // Without options, and not a fragment.
            4 if packet[0] == 0x45
                && u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x3fff == 0 =>
            {
                (true, 20, *packet.get(9)?)
            }
            6 => (false, 40, *packet.get(6)?),
            _ => return None,
        };
        let length = match protocol {
            TCP if packet.get(transport + 13)? & !(PSH | ECE) == ACK => {
                usize::from(packet[transport + 12] >> 4) * 4
            }
            UDP => 8,
            _ => return None,
        };
        let headers = transport + length;
        let payload = packet.len().checked_sub(headers).filter(|payload| *payload > 0)?;
        let fits = length >= if protocol == TCP { 20 } else { 8 };
        let sums_here = usize::from(u16::from_ne_bytes([offload[6], offload[7]])) == transport;
        (fits && sums_here).then_some(Self { v4, protocol, transport, headers, payload })
    }

    /// True if `next` continues `first` at `sequence` with the same headers otherwise.
    fn can_follow(&self, first: &[u8], next: &[u8], sequence: u32) -> bool {
        let (first, next) = (&first[HEADER..], &next[HEADER..]);
        let same = |from: usize, to: usize| first.get(from..to) == next.get(from..to);
        let network = if self.v4 {
            same(0, 2) && same(6, 10) && same(12, 20)
        } else {
            same(0, 4) && same(6, 40)
        };
        let at = self.transport;
        let transport = match self.protocol {
            TCP => {
                same(at + 8, at + 13)
                    && (first[at + 13] ^ next[at + 13]) & !PSH == 0
                    && same(at + 14, at + 16)
                    && same(at + 20, self.headers)
                    && number(next, at + 4) == sequence
            }
            _ => true,
        };
        network && transport && same(at, at + 4)
    }
}

fn number(packet: &[u8], at: usize) -> u32 {
    packet.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// Deadline of a packet, and the time at which it entered the path.
#[derive(Debug, Clone, Copy)]
pub struct PacketTimes {
    pub due: Time,
    pub entered: Time,
}

/// Packets for one terminal that are delivered together.
#[derive(Debug)]
pub struct SuperPacket {
    /// Maximum distance between their deadlines.
    window: Span,
    /// Whether the kernel accepts UDP super-packets.
    udp: bool,
    packets: Vec<Box<[u8]>>,
    times: Vec<PacketTimes>,
    terminal: usize,
    /// Key of the first packet, while more packets may follow.
    open: Option<MergeKey>,
    /// Total payload.
    payload: usize,
}

impl SuperPacket {
    /// Creates an empty super-packet for packets whose deadlines are at most `window` apart.
    pub fn new(window: Span, udp: bool) -> Self {
        let (packets, times) = (Vec::with_capacity(MAX_PACKETS), Vec::with_capacity(MAX_PACKETS));
        Self { window, udp, packets, times, terminal: 0, open: None, payload: 0 }
    }

    /// Terminal that it is for.
    pub fn terminal(&self) -> usize {
        self.terminal
    }

    /// The packets with their times.
    pub fn packets(&self) -> impl Iterator<Item = (PacketTimes, &[u8])> {
        self.times.iter().copied().zip(self.packets.iter().map(|packet| &**packet))
    }

    /// Number of packets, and of bytes.
    pub fn size(&self) -> (u64, u64) {
        let bytes = self.packets.iter().map(|packet| (packet.len() - HEADER) as u64).sum();
        (self.packets.len() as u64, bytes)
    }

    /// Adds a packet. Returns it if it cannot be merged; call [`Self::clear`] then.
    pub fn push(
        &mut self,
        times: PacketTimes,
        terminal: usize,
        packet: Box<[u8]>,
    ) -> Result<(), Box<[u8]>> {
        let Some(first) = self.packets.first() else {
            self.terminal = terminal;
            self.open = if self.window.is_zero() { None } else { MergeKey::of(&packet) };
            self.open = self.open.filter(|key| {
                (key.protocol == TCP || self.udp) && !ends_super_packet(&packet, key)
            });
            self.payload = self.open.map_or(0, |key| key.payload);
            self.take(times, packet);
            return Ok(());
        };
        let Some(key) = self.open.filter(|_| terminal == self.terminal) else { return Err(packet) };
        let Some(next) = MergeKey::of(&packet) else { return Err(packet) };
        let begin = self.times.first().map_or(times.due, |first| first.due);
        let sequence = number(first, HEADER + key.transport + 4).wrapping_add(self.payload as u32);
        let goes = next == MergeKey { payload: next.payload, ..key }
            && next.payload <= key.payload
            && times.due.since(begin) <= self.window
            && self.packets.len() < MAX_PACKETS
            && key.headers + self.payload + next.payload <= LARGEST
            && key.can_follow(first, &packet, sequence);
        if !goes {
            return Err(packet);
        }
        self.payload += next.payload;
        if next.payload < key.payload || ends_super_packet(&packet, &key) {
            self.open = None;
        }
        self.take(times, packet);
        Ok(())
    }

    fn take(&mut self, times: PacketTimes, packet: Box<[u8]>) {
        self.times.push(times);
        self.packets.push(packet);
    }

    /// Merges the packets and passes the parts to `write` in order. Writes nothing if there are
    /// none.
    pub fn write<E>(
        &mut self,
        write: impl FnOnce(&[IoSlice<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let [first, others @ ..] = &mut self.packets[..] else { return Ok(()) };
        let key = if others.is_empty() { None } else { MergeKey::of(first) };
        let Some(key) = key else { return write(&[IoSlice::new(first)]) };
        let pushed =
            if others.last().is_some_and(|last| ends_super_packet(last, &key)) { PSH } else { 0 };
        rewrite_headers(first, &key, self.payload, pushed);
        let mut parts = [IoSlice::new(&[]); MAX_PACKETS];
        parts[0] = IoSlice::new(first);
        for (part, packet) in parts[1..].iter_mut().zip(others.iter()) {
            *part = IoSlice::new(&packet[HEADER + key.headers..]);
        }
        write(&parts[..=others.len().min(MAX_PACKETS - 1)])
    }

    /// Removes all packets.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.times.clear();
    }
}

/// True if no packet may follow this one.
fn ends_super_packet(packet: &[u8], key: &MergeKey) -> bool {
    key.protocol == TCP && packet[HEADER + key.transport + 13] & PSH != 0
}

/// Rewrites the headers of the first packet for a super-packet with this much payload.
fn rewrite_headers(first: &mut [u8], key: &MergeKey, payload: usize, pushed: u8) {
    let (offload, packet) = first.split_at_mut(HEADER);
    let kind = match (key.protocol, key.v4) {
        (TCP, true) => GSO_TCPV4,
        (TCP, false) => GSO_TCPV6,
        _ => GSO_UDP_L4,
    };
    offload[1] = kind;
    offload[2..4].copy_from_slice(&(key.headers as u16).to_ne_bytes());
    offload[4..6].copy_from_slice(&(key.payload as u16).to_ne_bytes());
    let addresses = ends(packet);
    let (at, length) = (key.transport, key.headers - key.transport + payload);
    if key.v4 {
        packet[2..4].copy_from_slice(&((at + length) as u16).to_be_bytes());
        complete_ipv4(packet, at);
    } else {
        packet[4..6].copy_from_slice(&(length as u16).to_be_bytes());
    }
    let checksum = at + if key.protocol == TCP { 16 } else { 6 };
    if key.protocol == TCP {
        packet[at + 13] |= pushed;
    } else {
        packet[at + 4..at + 6].copy_from_slice(&(length as u16).to_be_bytes());
    }
    if let Some((source, destination)) = addresses {
        let sum = pseudo_header(source, destination, key.protocol, length);
        packet[checksum..checksum + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gso::{self, tests::super_packet};
    use proptest::prelude::*;

    const WINDOW: Span = Span::from_micros(50);

    fn at(due: Time) -> PacketTimes {
        PacketTimes { due, entered: Time::ZERO }
    }

    fn cut(read: &[u8]) -> Vec<Box<[u8]>> {
        let mut all = Vec::new();
        gso::packets(read, |packet| all.push(packet)).expect("packet is carried");
        all
    }

    /// Super-packets written for packets that are due at once, one for each burst.
    fn written(packets: Vec<Box<[u8]>>, udp: bool) -> Vec<Vec<u8>> {
        let mut super_packet = SuperPacket::new(WINDOW, udp);
        let mut all = Vec::new();
        let mut flush = |super_packet: &mut SuperPacket| {
            let mut whole = Vec::new();
            let took = super_packet.write(|parts| {
                parts.iter().for_each(|part| whole.extend_from_slice(part));
                Ok::<(), ()>(())
            });
            assert_eq!(took, Ok(()));
            super_packet.clear();
            if !whole.is_empty() {
                all.push(whole);
            }
        };
        for packet in packets {
            if let Err(packet) = super_packet.push(at(Time::ZERO), 0, packet) {
                flush(&mut super_packet);
                super_packet
                    .push(at(Time::ZERO), 0, packet)
                    .expect("an empty super-packet accepts any packet");
            }
        }
        flush(&mut super_packet);
        all
    }

    /// Segments of a super-packet without CWR.
    fn segments(v6: bool, tcp: bool, payload: &[u8], size: u16) -> Vec<Box<[u8]>> {
        let mut packets = cut(&super_packet(v6, tcp, payload, size));
        let transport = HEADER + if v6 { 40 } else { 20 };
        for packet in packets.iter_mut().filter(|_| tcp) {
            packet[transport + 13] &= ACK | PSH;
        }
        packets
    }

    proptest! {
        #[test]
        fn splitting_a_super_packet_restores_the_packets(
            v6: bool,
            tcp: bool,
            payload in prop::collection::vec(any::<u8>(), 1..20_000),
            size in 1u16..1500,
        ) {
            prop_assume!(payload.len() / usize::from(size) < 500);
            let packets = segments(v6, tcp, &payload, size);
            let written = written(packets.clone(), true);
            prop_assert_eq!(written.len(), packets.len().div_ceil(MAX_PACKETS));
            let again: Vec<Box<[u8]>> = written.iter().flat_map(|whole| cut(whole)).collect();
            prop_assert_eq!(again.len(), packets.len());
            for (again, packet) in again.iter().zip(&packets) {
                prop_assert_eq!(&again[HEADER..], &packet[HEADER..]);
            }
        }

        #[test]
        fn arbitrary_packets_neither_get_lost_nor_panic(
            all in prop::collection::vec(
                (prop::collection::vec(any::<u8>(), HEADER..120), any::<bool>(), any::<bool>()),
                1..10,
            ),
        ) {
            let packets: Vec<Box<[u8]>> = all
                .into_iter()
                .map(|(mut packet, v6, tcp)| {
                    packet[..2].copy_from_slice(&[NEEDS_CSUM, GSO_NONE]);
                    let (at, transport) = if v6 { (6, 40u16) } else { (9, 20) };
                    packet[6..8].copy_from_slice(&transport.to_ne_bytes());
                    if let Some(header) = packet.get_mut(HEADER..HEADER + 10) {
                        header[0] = if v6 { 0x60 } else { 0x45 };
                        (header[6], header[7]) = (0, 0);
                        header[at] = if tcp { TCP } else { UDP };
                    }
                    packet.into_boxed_slice()
                })
                .collect();
            let before: usize = packets.iter().map(|packet| packet.len() - HEADER).sum();
            let count = packets.len();
            let mut super_packet = SuperPacket::new(WINDOW, true);
            let mut after = (0, 0);
            let add = |(packets, bytes): (u64, u64), super_packet: &SuperPacket| {
                let (more_packets, more_bytes) = super_packet.size();
                (packets + more_packets, bytes + more_bytes)
            };
            for packet in packets {
                if let Err(packet) = super_packet.push(at(Time::ZERO), 0, packet) {
                    after = add(after, &super_packet);
                    let _ = super_packet.write(|_| Ok::<(), ()>(()));
                    super_packet.clear();
                    let _ = super_packet.push(at(Time::ZERO), 0, packet);
                }
            }
            prop_assert_eq!(add(after, &super_packet), (count as u64, before as u64));
        }
    }

    #[test]
    fn packets_merge_only_if_due_together_for_one_terminal() {
        let packets = segments(false, false, &[7; 300], 100);
        let joined = |second: Time, terminal: usize, window: Span, udp: bool| {
            let mut super_packet = SuperPacket::new(window, udp);
            super_packet
                .push(at(Time::ZERO), 0, packets[0].clone())
                .expect("an empty super-packet accepts any packet");
            super_packet.push(at(second), terminal, packets[1].clone()).is_ok()
        };
        assert!(joined(Time::ZERO + WINDOW, 0, WINDOW, true));
        assert!(!joined(Time::ZERO + WINDOW + Span::from_nanos(1), 0, WINDOW, true));
        assert!(!joined(Time::ZERO, 1, WINDOW, true));
        assert!(!joined(Time::ZERO, 0, Span::ZERO, true));
        assert!(!joined(Time::ZERO, 0, WINDOW, false), "kernel without UDP super-packets");
    }

    #[test]
    fn packets_with_different_headers_are_not_merged() {
        // The differing field, as a byte of the IP packet: class of service, hop limit, source,
        // port, sequence, acknowledgement, ECE, window, option.
        for at in [1, 8, 15, 21, 24, 28, 35, 45] {
            let mut packets = segments(false, true, &[7; 200], 100);
            packets[1][HEADER + at] ^= 1;
            assert_eq!(written(packets, true).len(), 2, "byte {at}");
        }
        // FIN, SYN, RST, URG, CWR.
        for flag in [0x01, 0x02, 0x04, 0x20, 0x80] {
            let mut packets = segments(false, true, &[7; 200], 100);
            packets[1][HEADER + 33] |= flag;
            assert_eq!(written(packets, true).len(), 2, "flag {flag:#x}");
        }
        let mut ecn = segments(true, false, &[7; 200], 100);
        gso::mark_ce(&mut ecn[1][HEADER..]);
        assert_eq!(written(ecn, true).len(), 2, "CE mark");
        // A longer packet cannot follow, and nothing follows a shorter one.
        let mut mixed = segments(false, false, &[7; 250], 100);
        mixed.rotate_right(1);
        assert_eq!(written(mixed, true).len(), 2);
    }
}
