//! Retry packets that arrive at a server.
//!
//! Only servers send them (RFC 9000 §17.2.5), and nothing authenticates one that arrives here: a
//! flipped bit makes any packet with a long header a Retry, and anybody who sees a connection ID
//! can forge one. noq-proto closes a connection over it (PROTOCOL_VIOLATION), so it must not get
//! any.

/// Version whose long headers are parsed: the stack has no other (RFC 9000 §15).
const VERSION_1: u32 = 1;
/// Types of packets with long headers (RFC 9000 §17.2).
const INITIAL: u8 = 0;
const RETRY: u8 = 3;

/// Returns where the first Retry packet of a datagram begins, if it has one.
pub(super) fn position(datagram: &[u8]) -> Option<usize> {
    let mut begin = 0;
    loop {
        let packet = datagram.get(begin..)?;
        let first = *packet.first()?;
        let version = packet.get(1..5)?.try_into().map(u32::from_be_bytes).ok()?;
        // The fixed bit may be greased (RFC 9287).
        if first & 0x80 == 0 || version != VERSION_1 {
            return None;
        }
        let kind = (first >> 4) & 3;
        if kind == RETRY {
            return Some(begin);
        }
        let mut at = 5;
        for _ in 0..2 {
            // A connection ID.
            at += 1 + usize::from(*packet.get(at)?);
        }
        if kind == INITIAL {
            let (token, size) = integer(packet.get(at..)?)?;
            at = at.checked_add(size)?.checked_add(token)?;
        }
        let (length, size) = integer(packet.get(at..)?)?;
        begin = begin.checked_add(at)?.checked_add(size)?.checked_add(length)?;
    }
}

/// Returns a variable-length integer (RFC 9000 §16) and the number of its bytes.
fn integer(bytes: &[u8]) -> Option<(usize, usize)> {
    let size = 1 << (bytes.first()? >> 6);
    let value = bytes.get(..size)?.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    let mask = u64::MAX >> (64 - 8 * size + 2);
    Some((usize::try_from(value & mask).ok()?, size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a packet with a long header, connection IDs of 3 and 2 bytes and 4 bytes of content.
    fn packet(kind: u8, token: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x80 | kind << 4, 0, 0, 0, 1, 3, 7, 7, 7, 2, 7, 7];
        if kind == INITIAL {
            packet.extend([0x40, token.len() as u8]);
            packet.extend(token);
        }
        packet.extend([4, 9, 9, 9, 9]);
        packet
    }

    #[test]
    fn a_retry_is_found_wherever_it_is() {
        let (initial, handshake, retry) = (packet(0, &[1; 80]), packet(2, &[]), packet(3, &[]));
        assert_eq!(position(&retry), Some(0));
        assert_eq!(
            position(&[&initial[..], &handshake, &retry].concat()),
            Some(initial.len() + 17)
        );
        assert_eq!(position(&[&initial[..], &handshake].concat()), None);
        assert_eq!(position(&[&initial[..], &[0x70, 0, 0, 0, 1]].concat()), None, "a short header");
        let mut other = retry;
        other[4] = 2;
        assert_eq!(position(&other), None, "another version");
        assert_eq!(position(&[]), None);
    }

    proptest! {
        #[test]
        fn any_datagram_is_parsed(datagram in proptest::collection::vec(any::<u8>(), 0..64)) {
            let found = position(&datagram);
            prop_assert!(found.is_none_or(|begin| datagram[begin] & 0xb0 == 0xb0));
        }
    }
}
