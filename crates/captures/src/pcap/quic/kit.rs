//! QUIC connections for tests: packets of both ends, protected with this crate's own keys, as an
//! interface on the path sees them.

#![allow(clippy::unwrap_used)]

use super::hello::message_for_tests;
use super::protection::{Keys, SUITES};
use super::version::{Kind, Version};
use std::fmt::Write;

pub const RANDOM: [u8; 32] = [0x5a; 32];
/// One-way delay of the path, and the time of a packet at its bottleneck.
pub const DELAY_US: u64 = 100_000;
pub const PACKET_US: u64 = 1000;
/// Stream data of a packet.
pub const SEGMENT: usize = 1200;

/// What differs between connections.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Number of the version, and that of the client's first packets.
    pub version: u32,
    pub first_version: u32,
    /// Place of the capture: 0 at the client, 1 at the server.
    pub place: f64,
    /// Lengths of the connection IDs of client and server.
    pub ids: [usize; 2],
    /// Initial packets of the client's first flight.
    pub hellos: usize,
    pub greased: bool,
    pub retry: bool,
    pub negotiation: bool,
    /// Packets of the download.
    pub packets: u64,
    /// Packets that are joined into a datagram.
    pub joined: usize,
    /// Number of the packet of the server from which on the client has another port.
    pub rebinds_at: u64,
    /// True if the ends spin (RFC 9000 §17.4).
    pub spins: bool,
    /// The bytes of the connection ID that the client chooses for the server.
    pub first_id: u8,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            version: 1,
            first_version: 1,
            place: 1.0,
            ids: [8, 8],
            hellos: 1,
            greased: false,
            retry: false,
            negotiation: false,
            packets: 400,
            joined: 1,
            rebinds_at: u64::MAX,
            spins: false,
            first_id: 0x11,
        }
    }
}

/// A datagram on the path: when it passes the capture, whether it is the client's, the client's
/// port, and its content.
pub type Passing = (u64, bool, u16, Vec<u8>);

/// Both ends of a connection.
pub struct Kit {
    pub shape: Shape,
    initial_id: Vec<u8>,
    ids: [Vec<u8>; 2],
    numbers: [[u64; 3]; 2],
    port: u16,
    pub passing: Vec<Passing>,
}

pub fn varint(value: u64) -> Vec<u8> {
    match value {
        0..64 => vec![value as u8],
        64..16_384 => (value as u16 | 0x4000).to_be_bytes().to_vec(),
        _ => (value as u32 | 0x8000_0000).to_be_bytes().to_vec(),
    }
}

pub fn crypto(offset: usize, bytes: &[u8]) -> Vec<u8> {
    [&[6][..], &varint(offset as u64), &varint(bytes.len() as u64), bytes].concat()
}

pub fn ack(largest: u64) -> Vec<u8> {
    [&[2][..], &varint(largest), &[0, 0], &varint(largest)].concat()
}

pub fn stream(offset: u64, length: usize) -> Vec<u8> {
    // The same length for every offset: packets that are joined have the same size.
    let offset = (offset as u32 | 0x8000_0000).to_be_bytes();
    let header = [&[0x0e, 0][..], &offset, &varint(length as u64)].concat();
    [header, vec![0xa5; length]].concat()
}

fn secret(kind: &str, sender: usize) -> Vec<u8> {
    vec![kind.len() as u8 + 100 * sender as u8; 32]
}

/// The key log of every connection of a kit.
pub fn key_log() -> Vec<u8> {
    let mut log = String::new();
    for (label, sender) in [("CLIENT", 0), ("SERVER", 1)] {
        for (suffix, kind) in [("HANDSHAKE_TRAFFIC_SECRET", "hs"), ("TRAFFIC_SECRET_0", "app")] {
            let hex = |bytes: &[u8]| {
                bytes.iter().fold(String::new(), |mut text, byte| {
                    let _ = write!(text, "{byte:02x}");
                    text
                })
            };
            let _ =
                writeln!(log, "{label}_{suffix} {} {}", hex(&RANDOM), hex(&secret(kind, sender)));
        }
    }
    log.into_bytes()
}

impl Kit {
    pub fn new(shape: Shape) -> Self {
        let [client, server] = shape.ids;
        Self {
            initial_id: vec![shape.first_id; 8],
            shape,
            ids: [vec![0xc1; client], vec![0x5e; server]],
            numbers: [[0; 3]; 2],
            port: 50_000,
            passing: Vec::new(),
        }
    }

    fn number(&mut self, sender: usize, space: usize) -> u64 {
        self.numbers[sender][space] += 1;
        self.numbers[sender][space] - 1
    }

    /// Returns a packet with a long header.
    pub fn long(&mut self, version: u32, kind: Kind, sender: usize, frames: &[u8]) -> Vec<u8> {
        let version_of = Version::of(version).unwrap();
        let bits = (0..4).find(|bits| version_of.kind(bits << 4) == kind).unwrap();
        let target = if sender == 0 && kind == Kind::Initial {
            self.initial_id.clone()
        } else {
            self.ids[1 - sender].clone()
        };
        let source = self.ids[sender].clone();
        let is_greased = self.shape.greased && kind == Kind::Handshake;
        let mut header = vec![if is_greased { 0x81 } else { 0xc1 } | bits << 4];
        header.extend(version.to_be_bytes());
        header.push(target.len() as u8);
        header.extend(target);
        header.push(source.len() as u8);
        header.extend(source);
        let space = usize::from(kind == Kind::Handshake);
        let keys = if kind == Kind::Initial {
            header.push(0);
            let [client, server] = Keys::initial(version_of, &self.initial_id).unwrap();
            if sender == 0 { client } else { server }
        } else {
            Keys::new(version_of, &SUITES[0], &secret("hs", sender)).unwrap()
        };
        header.extend(varint(2 + frames.len() as u64 + 16));
        let number = self.number(sender, space);
        keys.seal(&header, number, frames)
    }

    /// Returns a packet with a short header.
    pub fn short(&mut self, sender: usize, spin: bool, frames: &[u8]) -> Vec<u8> {
        let number = self.number(sender, 2);
        let is_greased = self.shape.greased && number % 2 == 1;
        let first = if is_greased { 0x01 } else { 0x41 } | if spin { 0x20 } else { 0 };
        let header = [&[first][..], &self.ids[1 - sender]].concat();
        let version = Version::of(self.shape.version).unwrap();
        let keys = Keys::new(version, &SUITES[0], &secret("app", sender)).unwrap();
        keys.seal(&header, number, frames)
    }

    /// Adds a datagram that an end sends at `at`.
    pub fn send(&mut self, at: u64, sender: usize, content: Vec<u8>) {
        let share = if sender == 0 { self.shape.place } else { 1.0 - self.shape.place };
        let at = at + (DELAY_US as f64 * share) as u64;
        self.passing.push((at, sender == 0, self.port, content));
    }

    /// Plays a handshake from `at` on. Returns the time at which the client goes on.
    pub fn handshake(&mut self, mut at: u64) -> u64 {
        let hello = message_for_tests(RANDOM, b"example.org", 1200 * (self.shape.hellos - 1));
        let first = self.shape.first_version;
        let middle = hello.len() / self.shape.hellos;
        let flight = |kit: &mut Self, at: u64, version: u32| {
            for part in (0..kit.shape.hellos).rev() {
                // The last part first, and each overlaps with the next one.
                let (from, to) = (part * middle, hello.len().min((part + 1) * middle + 9));
                let to = if part + 1 == kit.shape.hellos { hello.len() } else { to };
                let mut frames = crypto(from, &hello[from..to]);
                frames.resize(1162.max(frames.len()), 0);
                let packet = kit.long(version, Kind::Initial, 0, &frames);
                kit.send(at + 200 * part as u64, 0, packet);
            }
        };
        if self.shape.negotiation {
            flight(self, at, 0xff00_001d);
            let ids = [&[8][..], &self.ids[0], &[8], &self.initial_id].concat();
            let list = [&[0x80, 0, 0, 0, 0][..], &ids, &first.to_be_bytes()].concat();
            self.send(at + DELAY_US + 100, 1, list);
            at += 2 * DELAY_US + 200;
        }
        flight(self, at, first);
        if self.shape.retry {
            let bits =
                (0..4).find(|bits| Version::of(first).unwrap().kind(bits << 4) == Kind::Retry);
            let mut packet = vec![0xc0 | bits.unwrap() << 4];
            packet.extend(first.to_be_bytes());
            packet.push(self.ids[0].len() as u8);
            packet.extend(&self.ids[0]);
            self.initial_id = vec![0x22; 8];
            packet.push(8);
            packet.extend(&self.initial_id);
            packet.extend([7; 40]);
            self.send(at + DELAY_US + 100, 1, packet);
            at += 2 * DELAY_US + 200;
            flight(self, at, first);
        }
        let version = self.shape.version;
        let largest = self.numbers[0][0] - 1;
        if self.shape.hellos > 1 {
            let early = self.long(version, Kind::Initial, 1, &ack(largest - 1));
            self.send(at + DELAY_US + 300, 1, early);
        }
        let answer = [ack(largest), crypto(0, &[2; 90])].concat();
        let initial = self.long(version, Kind::Initial, 1, &answer);
        // EncryptedExtensions with transport parameters, and a certificate.
        let extensions = [8, 0, 0, 9, 0, 7, 0, 0x39, 0, 3, 4, 1, 8];
        let messages = [&extensions[..], &[11; 900]].concat();
        let certificate = self.long(version, Kind::Handshake, 1, &crypto(0, &messages));
        self.send(at + DELAY_US + 1200, 1, [initial, certificate].concat());
        at += 2 * DELAY_US + 1400;
        let own = self.numbers[1][0] - 1;
        let initial = self.long(version, Kind::Initial, 0, &ack(own));
        let finished =
            self.long(version, Kind::Handshake, 0, &[ack(0), crypto(0, &[20; 36])].concat());
        self.send(at, 0, [initial, finished].concat());
        at
    }

    /// Plays a handshake and a download in slow start, of which each acknowledgement of two packets
    /// releases four.
    pub fn download(mut self) -> Self {
        let begin = self.handshake(0);
        let request = self.short(0, false, &stream(0, 100));
        self.send(begin + 50, 0, request);
        let count = self.shape.packets;
        // When the server sends, how many packets, and its spin bit: it repeats the client's.
        let mut releases = vec![(begin + DELAY_US + 2000, 20, false)];
        let (mut next, mut link_free, mut released) = (0, 0, 0);
        while next < count && released < releases.len() {
            let (at, packets, spin): (u64, u64, bool) = releases[released];
            released += 1;
            let last = (next + packets).min(count);
            let mut batch = Vec::new();
            while next < last {
                if next == self.shape.rebinds_at {
                    self.port = 50_001;
                }
                let frames = [ack(0), stream(next * SEGMENT as u64, SEGMENT)].concat();
                batch.push(self.short(1, spin, &frames));
                next += 1;
                link_free = at.max(link_free) + PACKET_US;
                if batch.len() == self.shape.joined || next == last {
                    // The bottleneck is behind the server's interface.
                    let left = if self.shape.place < 1.0 { link_free } else { at };
                    self.send(left, 1, batch.concat());
                    batch.clear();
                }
                if next % 2 == 0 {
                    let arrival = link_free + DELAY_US;
                    let inverted = !spin && self.shape.spins;
                    let packet = self.short(0, inverted, &ack(next - 1));
                    self.send(arrival, 0, packet);
                    releases.push((arrival + DELAY_US, 4, inverted));
                }
            }
        }
        self.passing.sort_by_key(|one| one.0);
        self
    }

    /// Returns a capture of what passed.
    pub fn pcap(&self) -> Vec<u8> {
        pcap(&self.passing)
    }
}

/// Returns a capture of datagrams.
pub fn pcap(passing: &[Passing]) -> Vec<u8> {
    let mut file = Vec::new();
    for field in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(field.to_le_bytes());
    }
    for (at, by_client, port, content) in passing {
        let mut ip = vec![0x45, 0];
        ip.extend((28 + content.len() as u16).to_be_bytes());
        ip.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
        let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let (from, to) = if *by_client { (client, server) } else { (server, client) };
        ip.extend(from.into_iter().chain(to));
        let (from, to) = if *by_client { (*port, 443) } else { (443, *port) };
        ip.extend(from.to_be_bytes().into_iter().chain(to.to_be_bytes()));
        ip.extend((8 + content.len() as u16).to_be_bytes());
        ip.extend([0, 0]);
        ip.extend(content);
        for field in
            [(at / 1_000_000) as u32, (at % 1_000_000) as u32, ip.len() as u32, ip.len() as u32]
        {
            file.extend(field.to_le_bytes());
        }
        file.extend(ip);
    }
    file
}
