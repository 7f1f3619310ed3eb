//! The packets in a datagram (RFC 9000 §12.2 and §17).

/// Versions of QUIC: 1 (RFC 9000) and 2 (RFC 9369).
pub const VERSION_1: u32 = 1;
/// See [`VERSION_1`].
pub const VERSION_2: u32 = 0x6b33_43cf;
/// Longest connection ID of both versions.
const MAX_ID: usize = 20;

/// A packet of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuicPacket<'a> {
    /// Of the handshake: Initial, Handshake, Retry.
    Handshake {
        /// The packet.
        bytes: &'a [u8],
        /// True if it is an Initial packet.
        is_initial: bool,
        /// The sender's connection ID.
        source_id: &'a [u8],
    },
    /// Of version 1 with early data.
    ZeroRtt {
        /// The packet.
        bytes: &'a [u8],
        /// Offset of the packet number.
        number_at: usize,
    },
    /// With a short header.
    OneRtt(&'a [u8]),
}

/// Returns the version of a long header with fixed bit.
pub fn version(datagram: &[u8]) -> Option<u32> {
    let first = datagram.first()?;
    let version = u32::from_be_bytes(*datagram.get(1..)?.first_chunk()?);
    (first & 0xc0 == 0xc0).then_some(version)
}

/// Returns the variable-length integer at the start of `bytes` (RFC 9000 §16), and what follows.
pub fn integer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = 1_usize << (bytes.first()? >> 6);
    let (field, rest) = bytes.split_at_checked(length)?;
    let value = field.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    Some((value & (u64::MAX >> (66 - 8 * length)), rest))
}

/// Returns the packet at the start of `datagram`, and what follows.
pub fn first_packet(datagram: &[u8]) -> Option<(QuicPacket<'_>, &[u8])> {
    let first = *datagram.first()?;
    if first & 0x80 == 0 {
        return (first & 0x40 != 0).then_some((QuicPacket::OneRtt(datagram), &[]));
    }
    if version(datagram)? != VERSION_1 {
        return None;
    }
    let id = |bytes: &'_ [u8]| {
        let length = usize::from(*bytes.first()?);
        (length <= MAX_ID && bytes.len() > length).then_some(length)
    };
    let after_version = datagram.get(5..)?;
    let after_target = after_version.get(1 + id(after_version)?..)?;
    let (source_id, mut rest) = after_target.get(1..)?.split_at_checked(id(after_target)?)?;
    let kind = first >> 4 & 3;
    if kind == 3 {
        // Retry has no length: it is the last.
        let packet = QuicPacket::Handshake { bytes: datagram, is_initial: false, source_id };
        return Some((packet, &[]));
    }
    if kind == 0 {
        let (token, after) = integer(rest)?;
        rest = after.get(usize::try_from(token).ok()?..)?;
    }
    let (length, after) = integer(rest)?;
    let number_at = datagram.len() - after.len();
    let end = number_at.checked_add(usize::try_from(length).ok()?)?;
    let (bytes, rest) = datagram.split_at_checked(end)?;
    let packet = match kind {
        1 => QuicPacket::ZeroRtt { bytes, number_at },
        kind => QuicPacket::Handshake { bytes, is_initial: kind == 0, source_id },
    };
    Some((packet, rest))
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
        // token and three bytes; Handshake; short header.
        let initial = [0xc0, 0, 0, 0, 1, 2, 7, 7, 1, 9, 0, 3, 1, 2, 3];
        let handshake = [0xe0, 0, 0, 0, 1, 2, 7, 7, 1, 9, 2, 1, 2];
        let datagram = [&initial[..], &handshake, &[0x40, 1, 2, 3]].concat();
        let (first, rest) = first_packet(&datagram).unwrap();
        let expected = QuicPacket::Handshake { bytes: &initial, is_initial: true, source_id: &[9] };
        assert_eq!(first, expected);
        let (second, rest) = first_packet(rest).unwrap();
        let expected =
            QuicPacket::Handshake { bytes: &handshake, is_initial: false, source_id: &[9] };
        assert_eq!(second, expected);
        assert_eq!(first_packet(rest).unwrap(), (QuicPacket::OneRtt(&[0x40, 1, 2, 3]), &[][..]));
        assert!((1..initial.len()).all(|length| first_packet(&initial[..length]).is_none()));
    }
}
