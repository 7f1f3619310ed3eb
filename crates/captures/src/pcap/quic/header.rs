//! The packets in a datagram (RFC 9000 §12.2 and §17).

use super::version::{Kind, Version};

/// Longest connection ID of all versions.
pub const MAX_ID: usize = 20;
/// Bit of the first byte that says that a header is long.
const LONG: u8 = 0x80;
/// The QUIC bit, which every packet has unless the peer allows to grease it (RFC 9287).
const FIXED: u8 = 0x40;

/// A packet of a datagram.
#[derive(Debug, Clone, Copy)]
pub enum QuicPacket<'a> {
    /// With a long header.
    Long(LongPacket<'a>),
    /// Version Negotiation.
    Versions,
    /// What follows the packets with long headers: a packet with a short header, packets that a
    /// network card divides or has joined, or padding.
    Short(&'a [u8]),
}

/// A packet with a long header, of a version that is read.
#[derive(Debug, Clone, Copy)]
pub struct LongPacket<'a> {
    /// The packet.
    pub bytes: &'a [u8],
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

/// Returns true if the bytes begin with the long header of a version that is read, or of Version
/// Negotiation, and have the QUIC bit: few other protocols look so.
pub fn looks_like_handshake(datagram: &[u8]) -> bool {
    let has_bits = datagram.first().is_some_and(|first| first & FIXED != 0);
    has_bits && matches!(first_packet(datagram), Some((QuicPacket::Long(_), _)))
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

/// Returns the packet at the start of `datagram`, and what follows. `None` at a long header that is
/// cut off or of another version.
pub fn first_packet(datagram: &[u8]) -> Option<(QuicPacket<'_>, &[u8])> {
    let first = *datagram.first()?;
    if first & LONG == 0 {
        return Some((QuicPacket::Short(datagram), &[]));
    }
    let number = u32::from_be_bytes(*datagram.get(1..)?.first_chunk()?);
    let (target_id, rest) = id(datagram.get(5..)?)?;
    let (source_id, mut rest) = id(rest)?;
    if number == 0 {
        let is_list = !rest.is_empty() && rest.len().is_multiple_of(4);
        return is_list.then_some((QuicPacket::Versions, &[]));
    }
    let version = Version::of(number)?;
    let kind = version.kind(first);
    let long = LongPacket {
        bytes: datagram,
        version,
        kind,
        target_id,
        source_id,
        number_at: datagram.len(),
    };
    if kind == Kind::Retry {
        // It has no length: it is the last.
        return Some((QuicPacket::Long(long), &[]));
    }
    if kind == Kind::Initial {
        let (token, after) = integer(rest)?;
        rest = after.get(usize::try_from(token).ok()?..)?;
    }
    let (length, after) = integer(rest)?;
    let number_at = datagram.len() - after.len();
    let end = number_at.checked_add(usize::try_from(length).ok()?)?;
    let (bytes, rest) = datagram.split_at_checked(end)?;
    Some((QuicPacket::Long(LongPacket { bytes, number_at, ..long }), rest))
}

/// What follows the packets with long headers of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest<'a> {
    /// Nothing, or padding.
    Nothing,
    /// A packet with a short header, or several that a network card divides or has joined.
    Short(&'a [u8]),
    /// Version Negotiation.
    Versions,
    /// What cannot be read.
    Unknown,
}

/// Divides a datagram into the packets with long headers and what follows them.
pub fn divide(datagram: &[u8]) -> (Vec<LongPacket<'_>>, Rest<'_>) {
    let mut long: Vec<LongPacket<'_>> = Vec::new();
    let mut rest = datagram;
    while !rest.is_empty() {
        match first_packet(rest) {
            Some((QuicPacket::Long(packet), after)) => {
                long.push(packet);
                rest = after;
            }
            Some((QuicPacket::Versions, _)) => return (long, Rest::Versions),
            Some((QuicPacket::Short(bytes), _)) => {
                // All packets of a datagram go to the same connection ID (RFC 9000 §12.2).
                let is_short =
                    long.first().is_none_or(|first| bytes[1..].starts_with(first.target_id));
                let is_padding = !long.is_empty() && bytes.iter().all(|byte| *byte == 0);
                let short = if is_short { Rest::Short(bytes) } else { Rest::Unknown };
                return (long, if is_padding { Rest::Nothing } else { short });
            }
            None => return (long, Rest::Unknown),
        }
    }
    (long, Rest::Nothing)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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
            let (long, short) = divide(&datagram);
            let found: Vec<_> = long.iter().map(|one| (one.kind, one.bytes)).collect();
            assert_eq!(found, [(Kind::Initial, &initial[..]), (Kind::Handshake, &handshake[..])],);
            assert_eq!((long[0].target_id, long[0].source_id), (&[7, 7][..], &[9][..]));
            assert_eq!((long[0].number_at, long[1].number_at), (12, 11));
            // Not to the same connection ID; then to the same one, and greased.
            assert_eq!(short, Rest::Unknown);
            let datagram = [&initial[..], &[0, 7, 7, 3]].concat();
            assert_eq!(divide(&datagram).1, Rest::Short(&[0, 7, 7, 3]));
            assert_eq!(divide(&[&initial[..], &[0; 9]].concat()).1, Rest::Nothing);
            assert!((1..initial.len()).all(|length| first_packet(&initial[..length]).is_none()));
            assert!(looks_like_handshake(&initial) && !looks_like_handshake(&handshake));
        }
    }

    #[test]
    fn version_negotiation_and_unknown_versions_are_told_apart() {
        let negotiation = [0x80, 0, 0, 0, 0, 1, 7, 1, 9, 0, 0, 0, 1];
        assert!(matches!(first_packet(&negotiation), Some((QuicPacket::Versions, _))));
        assert!(first_packet(&negotiation[..9]).is_none());
        assert!(first_packet(&[0xc0, 9, 9, 9, 9, 1, 7, 1, 9, 0, 3, 1, 2, 3]).is_none());
        assert!(Version::of(0xff00_001a).is_none());
        assert!(Version::of(0xff00_001d).is_some() && Version::of(0xff00_001b).is_some());
    }
}
