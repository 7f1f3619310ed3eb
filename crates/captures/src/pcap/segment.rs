//! The TCP segment or UDP datagram in a captured packet.

use super::record::CapturedPacket;
use std::net::{IpAddr, SocketAddr};

/// Most SACK blocks of a segment (RFC 2018 §3).
const MAX_SACK: usize = 4;

/// What a packet carries.
#[derive(Debug)]
pub enum Carried<'a> {
    /// A TCP segment.
    Tcp(Box<Segment<'a>>),
    /// A UDP datagram.
    Udp(Datagram<'a>),
    /// Anything else.
    Other,
}

/// A UDP datagram (RFC 768).
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    /// Where it comes from.
    pub from: SocketAddr,
    /// Where it goes.
    pub to: SocketAddr,
    /// Bytes of its content on the wire.
    pub length: u32,
    /// Its content, as far as it was kept.
    pub data: &'a [u8],
    /// True if all of it was kept.
    pub is_whole: bool,
}

/// A TCP segment (RFC 9293 §3.1).
#[derive(Debug)]
pub struct Segment<'a> {
    /// Where it comes from.
    pub from: SocketAddr,
    /// Where it goes.
    pub to: SocketAddr,
    /// Size of the IP packet.
    pub ip_bytes: u64,
    /// Sequence number of its first byte.
    pub seq: u32,
    /// Next byte that its sender expects, if it has the ACK flag.
    pub ack: Option<u32>,
    /// SYN, FIN and RST flags.
    pub syn: bool,
    /// FIN flag.
    pub fin: bool,
    /// Window, not scaled.
    pub window: u16,
    /// Shift of the window (RFC 7323 §2.2), in SYN segments.
    pub window_shift: Option<u8>,
    /// Timestamps: its own, and the one that it echoes (RFC 7323 §3.2).
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks, as given.
    pub sack: Vec<(u32, u32)>,
    /// Bytes of data on the wire.
    pub length: u32,
    /// The first bytes of data, as far as they were kept.
    pub data: &'a [u8],
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Reads a packet. Fragments other than the first are [`Carried::Other`].
pub fn read<'a>(packet: &CapturedPacket<'a>) -> Carried<'a> {
    ip_packet(packet).and_then(transport).unwrap_or(Carried::Other)
}

/// Returns the IP packet in a frame.
fn ip_packet<'a>(packet: &CapturedPacket<'a>) -> Option<&'a [u8]> {
    let data = packet.data;
    let (mut ether_type, mut at) = match packet.link_type {
        // Raw IP, IPv4, IPv6.
        12 | 101 | 228 | 229 => return Some(data),
        // BSD loopback.
        0 | 108 => return data.get(4..),
        // Ethernet; Linux cooked captures, versions 1 and 2.
        1 => (u16_at(data, 12)?, 14),
        113 => (u16_at(data, 14)?, 16),
        276 => (u16_at(data, 0)?, 20),
        _ => return None,
    };
    // VLAN tags, two at most.
    for _ in 0..2 {
        if matches!(ether_type, 0x8100 | 0x88a8) {
            (ether_type, at) = (u16_at(data, at + 2)?, at + 4);
        }
    }
    matches!(ether_type, 0x0800 | 0x86dd).then(|| data.get(at..)).flatten()
}

fn transport(ip: &[u8]) -> Option<Carried<'_>> {
    let (ip_bytes, header, protocol, addresses): (u64, usize, u8, [IpAddr; 2]);
    match ip.first()? >> 4 {
        4 => {
            if u16_at(ip, 6)? & 0x1fff != 0 {
                return None;
            }
            header = usize::from(ip.first()? & 0xf) * 4;
            ip_bytes = u64::from(u16_at(ip, 2)?);
            protocol = *ip.get(9)?;
            let address = |at: usize| Some(IpAddr::from(*ip.get(at..)?.first_chunk::<4>()?));
            addresses = [address(12)?, address(16)?];
        }
        6 => {
            header = 40;
            ip_bytes = 40 + u64::from(u16_at(ip, 4)?);
            protocol = *ip.get(6)?;
            let address = |at: usize| Some(IpAddr::from(*ip.get(at..)?.first_chunk::<16>()?));
            addresses = [address(8)?, address(24)?];
        }
        _ => return None,
    }
    let payload = ip.get(header..)?;
    let ports = [u16_at(payload, 0)?, u16_at(payload, 2)?];
    let [from, to] = [0, 1].map(|end| SocketAddr::new(addresses[end], ports[end]));
    match protocol {
        17 => {
            // The rest of a frame may be padding.
            let length = usize::from(u16_at(payload, 4)?).checked_sub(8)?;
            let kept = payload.get(8..)?;
            let (data, is_whole) = kept.get(..length).map_or((kept, false), |data| (data, true));
            Some(Carried::Udp(Datagram { from, to, length: length as u32, data, is_whole }))
        }
        6 => {
            // Large sends that the card divides later have no length.
            let ip_bytes = if ip_bytes == 0 { ip.len() as u64 } else { ip_bytes };
            let of_tcp = ip_bytes.checked_sub(header as u64)?;
            segment(payload, of_tcp, Segment { ip_bytes, ..empty(from, to) })
        }
        _ => None,
    }
}

fn empty<'a>(from: SocketAddr, to: SocketAddr) -> Segment<'a> {
    Segment {
        from,
        to,
        ip_bytes: 0,
        seq: 0,
        ack: None,
        syn: false,
        fin: false,
        window: 0,
        window_shift: None,
        timestamps: None,
        sack: Vec::new(),
        length: 0,
        data: &[],
    }
}

/// Fills `segment` in from its bytes, of which there were `on_wire`.
fn segment<'a>(tcp: &'a [u8], on_wire: u64, mut segment: Segment<'a>) -> Option<Carried<'a>> {
    let header = usize::from(*tcp.get(12)? >> 4) * 4;
    let flags = *tcp.get(13)?;
    segment.seq = u32_at(tcp, 4)?;
    segment.ack = if flags & 0x10 == 0 { None } else { Some(u32_at(tcp, 8)?) };
    (segment.fin, segment.syn) = (flags & 1 != 0, flags & 2 != 0);
    segment.window = u16_at(tcp, 14)?;
    segment.length = u32::try_from(on_wire.checked_sub(header as u64)?).ok()?;
    segment.data = tcp.get(header..).unwrap_or_default();
    let mut options = tcp.get(20..header.min(tcp.len())).unwrap_or_default();
    while let Some(&kind) = options.first() {
        let length = match kind {
            0 => break,
            1 => 1,
            _ => usize::from(*options.get(1).unwrap_or(&0)),
        };
        let Some(option) = options.get(..length).filter(|_| length > 0) else { break };
        match kind {
            3 => segment.window_shift = option.get(2).map(|shift| (*shift).min(14)),
            8 => segment.timestamps = u32_at(option, 2).zip(u32_at(option, 6)),
            5 => {
                let edges = option.get(2..).unwrap_or_default().chunks_exact(8).take(MAX_SACK);
                segment
                    .sack
                    .extend(edges.filter_map(|edge| Some((u32_at(edge, 0)?, u32_at(edge, 4)?))));
            }
            _ => {}
        }
        options = options.get(length..).unwrap_or_default();
    }
    Some(Carried::Tcp(Box::new(segment)))
}
