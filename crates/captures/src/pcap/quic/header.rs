//! The packets in a datagram (RFC 9000 §12.2 and §17).

use super::version::{Kind, Version};
use crate::pcap::segment::Datagram;

/// Longest connection ID of all versions.
pub const MAX_ID: usize = 20;
/// Bit of the first byte that says that a header is long.
const LONG: u8 = 0x80;
/// The QUIC bit, which every packet has unless the peer allows to grease it (RFC 9287).
const FIXED: u8 = 0x40;

/// A packet of a datagram.
#[derive(Debug, Clone, Copy)]
enum QuicPacket<'a> {
    Long(LongPacket<'a>),
    Versions,
    Short,
}

/// A packet with a long header, of a version that is read.
#[derive(Debug, Clone, Copy)]
pub struct LongPacket<'a> {
    /// The packet, as far as it was kept.
    pub bytes: &'a [u8],
    /// Bytes of the packet on the wire.
    pub length: usize,
    /// Its version.
    pub version: &'static Version,
    /// What it is.
    pub kind: Kind,
    /// Connection ID of the end that it goes to.
    pub target_id: &'a [u8],
    /// Connection ID of its sender.
    pub source_id: &'a [u8],
    /// Offset of the packet number; the end of a Retry packet, which has none.
    pub number_at: usize,
}

/// Returns true if a datagram begins with the long header of a version that is read, and the QUIC
/// bit: few other protocols look so.
pub fn looks_like_handshake(datagram: &Datagram<'_>) -> bool {
    let has_bit = datagram.data.first().is_some_and(|first| first & FIXED != 0);
    has_bit && !divide(datagram).0.is_empty()
}

/// Returns the variable-length integer at the start of `bytes` (RFC 9000 §16), and what follows.
pub fn integer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = 1_usize << (bytes.first()? >> 6);
    let (field, rest) = bytes.split_at_checked(length)?;
    let value = field.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    Some((value & (u64::MAX >> (66 - 8 * length)), rest))
}

/// Returns a connection ID after its length, and what follows.
fn id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let length = usize::from(*length);
    (length <= MAX_ID).then(|| rest.split_at_checked(length)).flatten()
}

/// Returns the packet at the start of `bytes`, which were `wire` bytes, and its own length there.
/// `None` at a long header that is cut off or of another version.
fn first_packet(bytes: &[u8], wire: usize) -> Option<(QuicPacket<'_>, usize)> {
    let first = *bytes.first()?;
    if first & LONG == 0 {
        return Some((QuicPacket::Short, wire));
    }
    let number = u32::from_be_bytes(*bytes.get(1..)?.first_chunk()?);
    let (target_id, rest) = id(bytes.get(5..)?)?;
    let (source_id, mut rest) = id(rest)?;
    if number == 0 {
        let is_list = !rest.is_empty() && rest.len().is_multiple_of(4);
        return is_list.then_some((QuicPacket::Versions, wire));
    }
    let version = Version::of(number)?;
    let kind = version.kind(first);
    let number_at = bytes.len();
    let long = LongPacket { bytes, length: wire, version, kind, target_id, source_id, number_at };
    if kind == Kind::Retry {
        // It has no length: it is the last.
        return Some((QuicPacket::Long(long), wire));
    }
    if kind == Kind::Initial {
        let (token, after) = integer(rest)?;
        rest = after.get(usize::try_from(token).ok()?..)?;
    }
    let (length, after) = integer(rest)?;
    let number_at = bytes.len() - after.len();
    let length = number_at.checked_add(usize::try_from(length).ok()?)?;
    let kept = &bytes[..length.min(bytes.len())];
    let long = LongPacket { bytes: kept, length, number_at, ..long };
    (length <= wire).then_some((QuicPacket::Long(long), length))
}

/// What follows the packets with long headers of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest<'a> {
    /// Nothing, or padding.
    Nothing,
    /// A packet with a short header, or several that a network card divides or has joined: as far
    /// as they were kept, and bytes on the wire.
    Short(&'a [u8], usize),
    /// Version Negotiation.
    Versions,
    /// A packet with a long header that was cut off, and its bytes on the wire.
    Cut(Kind, usize),
    /// What cannot be read.
    Unknown,
}

/// Divides a datagram into the packets with long headers and what follows them.
pub fn divide<'a>(datagram: &Datagram<'a>) -> (Vec<LongPacket<'a>>, Rest<'a>) {
    let mut long: Vec<LongPacket<'_>> = Vec::new();
    let (mut bytes, mut wire) = (datagram.data, datagram.length as usize);
    while wire > 0 {
        let target_id = long.first().map(|packet| packet.target_id);
        let length = match first_packet(bytes, wire) {
            Some((QuicPacket::Long(packet), length)) => {
                long.push(packet);
                length
            }
            Some((QuicPacket::Versions, _)) => return (long, Rest::Versions),
            Some((QuicPacket::Short, _)) => {
                // All packets of a datagram go to the same connection ID (RFC 9000 §12.2).
                let is_short = target_id.is_none_or(|id| bytes[1..].starts_with(id));
                let is_padding = target_id.is_some() && bytes.iter().all(|byte| *byte == 0);
                let short = if is_short { Rest::Short(bytes, wire) } else { Rest::Unknown };
                return (long, if is_padding { Rest::Nothing } else { short });
            }
            // Of a packet that was cut off, the first bytes say what it is, if they were kept.
            None if !datagram.is_whole && !long.is_empty() => {
                let number = bytes.get(1..).and_then(|rest| rest.first_chunk());
                let version = number.and_then(|number| Version::of(u32::from_be_bytes(*number)));
                let cut = version.map(|version| Rest::Cut(version.kind(bytes[0]), wire));
                return (long, cut.unwrap_or(Rest::Nothing));
            }
            None => return (long, Rest::Unknown),
        };
        bytes = bytes.get(length..).unwrap_or_default();
        wire -= length;
    }
    (long, Rest::Nothing)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn whole(data: &[u8]) -> Datagram<'_> {
        let [from, to] = [1, 2].map(|port| SocketAddr::from(([10, 0, 0, 1], port)));
        Datagram { from, to, ip_id: None, length: data.len() as u32, data, is_whole: true }
    }

    /// RFC 9000 §A.1.
    #[test]
    fn integers_have_four_lengths() {
        let eight = [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c];
        assert_eq!(integer(&eight), Some((151_288_809_941_952_652, &[][..])));
        assert_eq!(integer(&[0x9d, 0x7f, 0x3e, 0x7d, 1]), Some((494_878_333, &[1][..])));
        assert_eq!(integer(&[0x7b, 0xbd]), Some((15_293, &[][..])));
        assert_eq!(integer(&[0x25]), Some((37, &[][..])));
        assert_eq!(integer(&[0x7b]), None);
    }

    #[test]
    fn a_datagram_is_divided_into_its_packets() {
        // Initial with a connection ID of two bytes for the target and one for the source, no
        // token and three bytes; Handshake; short header. The types of version 2 are others.
        for (version, types) in
            [([0, 0, 0, 1], [0xc0, 0xe0]), ([0x6b, 0x33, 0x43, 0xcf], [0xd0, 0xf0])]
        {
            let ids = [2, 7, 7, 1, 9];
            let initial = [&[types[0]][..], &version, &ids, &[0, 3, 1, 2, 3]].concat();
            // With a greased QUIC bit.
            let handshake = [&[types[1] & !FIXED][..], &version, &ids, &[2, 1, 2]].concat();
            let datagram = [&initial[..], &handshake, &[0x40, 1, 2, 3]].concat();
            let (long, short) = divide(&whole(&datagram));
            let found: Vec<_> = long.iter().map(|one| (one.kind, one.bytes)).collect();
            let expected = [(Kind::Initial, &initial[..]), (Kind::Handshake, &handshake[..])];
            assert_eq!(found, expected);
            assert_eq!((long[0].target_id, long[0].source_id), (&[7, 7][..], &[9][..]));
            assert_eq!((long[0].number_at, long[1].number_at), (12, 11));
            // Not to the same connection ID; then to the same one, and greased.
            assert_eq!(short, Rest::Unknown);
            let datagram = [&initial[..], &[0, 7, 7, 3]].concat();
            assert_eq!(divide(&whole(&datagram)).1, Rest::Short(&[0, 7, 7, 3], 4));
            assert_eq!(divide(&whole(&[&initial[..], &[0; 9]].concat())).1, Rest::Nothing);
            let lacks = |length: usize| divide(&whole(&initial[..length])).0.is_empty();
            assert!((1..initial.len()).all(lacks));
            let looks = |bytes| looks_like_handshake(&whole(bytes));
            assert!(looks(&initial) && !looks(&handshake));
            // Of a datagram that was cut off, the header is known, and how long it was.
            let cut = Datagram { length: 15, is_whole: false, ..whole(&initial[..12]) };
            let (long, rest) = divide(&cut);
            assert_eq!((long[0].length, long[0].bytes.len(), rest), (15, 12, Rest::Nothing));
        }
    }

    #[test]
    fn version_negotiation_and_unknown_versions_are_told_apart() {
        let negotiation = [0x80, 0, 0, 0, 0, 1, 7, 1, 9, 0, 0, 0, 1];
        assert_eq!(divide(&whole(&negotiation)).1, Rest::Versions);
        assert_eq!(divide(&whole(&negotiation[..9])).1, Rest::Unknown);
        let unknown = divide(&whole(&[0xc0, 9, 9, 9, 9, 1, 7, 1, 9, 0, 3, 1, 2, 3])).1;
        assert_eq!(unknown, Rest::Unknown);
        assert!(Version::of(0xff00_001a).is_none());
        assert!(Version::of(0xff00_001d).is_some() && Version::of(0xff00_001b).is_some());
    }
}
