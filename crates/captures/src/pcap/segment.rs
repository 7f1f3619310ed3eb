//! The TCP segment or UDP datagram in a captured packet.

use super::layers::{Found, Kind, Part, find};
use super::record::CapturedPacket;
use std::net::SocketAddr;

/// Most SACK blocks of a segment (RFC 2018 §3).
const MAX_SACK: usize = 4;

/// Most bytes in a datagram: what its length field can say (RFC 768), less its header.
const LARGEST_DATAGRAM: u64 = u16::MAX as u64 - 8;

/// What a packet carries.
#[derive(Debug)]
pub enum Carried<'a> {
    /// A TCP segment.
    Tcp(Segment<'a>),
    /// A UDP datagram.
    Udp(Datagram<'a>),
    /// Anything else.
    Other(Kind),
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
    /// Identification of its IPv4 packet.
    pub ip_id: Option<u16>,
}

/// A TCP segment (RFC 9293 §3.1).
#[derive(Debug)]
pub struct Segment<'a> {
    /// Where it comes from.
    pub from: SocketAddr,
    /// Where it goes.
    pub to: SocketAddr,
    /// Size of the IP packet, and its identification in IPv4.
    pub ip_bytes: u64,
    /// See `ip_bytes`.
    pub ip_id: Option<u16>,
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
    sacks: [(u32, u32); MAX_SACK],
    sack_count: u8,
    /// Bytes of data on the wire.
    pub length: u32,
    /// The first bytes of data, as far as they were kept.
    pub data: &'a [u8],
}

impl Segment<'_> {
    /// Returns the SACK blocks, as given.
    pub fn sack(&self) -> &[(u32, u32)] {
        self.sacks.get(..usize::from(self.sack_count)).unwrap_or_default()
    }

    /// Adds a SACK block; more than [`MAX_SACK`] are left out.
    fn add_sack(&mut self, block: Option<(u32, u32)>) {
        if let (Some(block), Some(place)) =
            (block, self.sacks.get_mut(usize::from(self.sack_count)))
        {
            *place = block;
            self.sack_count += 1;
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Reads a packet.
pub fn read<'a>(packet: &CapturedPacket<'a>) -> Carried<'a> {
    let frame = Part::new(packet.data, u64::from(packet.wire));
    match find(packet.link_type, frame).and_then(transport) {
        Ok(carried) => carried,
        Err(kind) => Carried::Other(kind),
    }
}

fn transport(found: Found<'_>) -> Result<Carried<'_>, Kind> {
    let Found { ip, is_tcp, part } = found;
    let ports = [part.u16(0)?, part.u16(2)?];
    let [from, to] = [0, 1].map(|end| SocketAddr::new(ip.addresses[end], ports[end]));
    if is_tcp {
        return segment(part, Segment { ip_bytes: ip.bytes, ip_id: ip.id, ..empty(from, to) });
    }
    // Of large sends, which have no length, the rest of the packet: hosts join what fits into the
    // length field of UDP.
    let length = match u64::from(part.u16(4)?) {
        0 => part.wire(),
        length => length,
    };
    let length = length.checked_sub(8).filter(|length| *length <= LARGEST_DATAGRAM);
    let length = length.ok_or(Kind::Malformed)?;
    let kept = part.skip(8)?.kept();
    let whole = usize::try_from(length).ok().and_then(|length| kept.get(..length));
    let (data, is_whole) = whole.map_or((kept, false), |data| (data, true));
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    Ok(Carried::Udp(Datagram { from, to, length, data, is_whole, ip_id: ip.id }))
}

fn empty<'a>(from: SocketAddr, to: SocketAddr) -> Segment<'a> {
    Segment {
        from,
        to,
        ip_bytes: 0,
        ip_id: None,
        seq: 0,
        ack: None,
        syn: false,
        fin: false,
        window: 0,
        window_shift: None,
        timestamps: None,
        sacks: [(0, 0); MAX_SACK],
        sack_count: 0,
        length: 0,
        data: &[],
    }
}

/// Fills `segment` in from its header.
fn segment<'a>(part: Part<'a>, mut segment: Segment<'a>) -> Result<Carried<'a>, Kind> {
    let header = usize::from(part.u8(12)? >> 4) * 4;
    let flags = part.u8(13)?;
    if header < 20 {
        return Err(Kind::Malformed);
    }
    segment.seq = part.u32(4)?;
    segment.ack = if flags & 0x10 == 0 { None } else { Some(part.u32(8)?) };
    (segment.fin, segment.syn) = (flags & 1 != 0, flags & 2 != 0);
    segment.window = part.u16(14)?;
    let length = part.wire().checked_sub(header as u64).ok_or(Kind::Malformed)?;
    segment.length = u32::try_from(length).unwrap_or(u32::MAX);
    let tcp = part.kept();
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
                let edges = option.get(2..).unwrap_or_default().chunks_exact(8);
                for edge in edges {
                    segment.add_sack(u32_at(edge, 0).zip(u32_at(edge, 4)));
                }
            }
            _ => {}
        }
        options = options.get(length..).unwrap_or_default();
    }
    Ok(Carried::Tcp(segment))
}
