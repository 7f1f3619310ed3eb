//! Payloads of UDP datagrams in flight, without their zeros.

use bytes::BytesMut;

/// Bytes that are stored in the datagram itself: header and frames before the content of a packet.
const INLINE: usize = 48;
/// Bytes at the end that are always stored: the tag of a packet.
const TAIL: usize = 16;
/// Zeros that are looked for at once, so that the compiler uses wide registers.
const BLOCK: usize = 64;
/// The same for the rest.
const PIECE: usize = 16;
/// Memory for payloads that arrive, in bytes: about ten packets, which stay in the CPU's cache.
const BUFFER: usize = 16 * 1024;

/// The payload of a UDP datagram in flight.
///
/// Simulated content consists of zeros, and the tag of a packet that is not encrypted has its
/// number. Tens of megabytes are in flight on a fast satellite path, and writing and reading them
/// would wait for memory, so zeros before the tag are only counted.
#[derive(Debug, Clone)]
pub struct UdpPayload {
    /// Length with the zeros.
    len: u32,
    head: Head,
}

/// What is not zeros.
#[derive(Debug, Clone)]
enum Head {
    /// Bytes before and after the zeros.
    Short { len: u8, bytes: [u8; INLINE], tail: [u8; TAIL] },
    /// The same, too many for the datagram.
    Long { bytes: BytesMut, tail: [u8; TAIL] },
    /// A payload without zeros, or shorter than a tag.
    Whole(BytesMut),
}

impl Default for UdpPayload {
    fn default() -> Self {
        Self { len: 0, head: Head::Whole(BytesMut::new()) }
    }
}

impl UdpPayload {
    /// Stores `payload`.
    #[inline]
    pub fn new(payload: &[u8]) -> Self {
        let len = payload.len() as u32;
        let Some((rest, &tail)) = payload.split_last_chunk::<TAIL>() else {
            return Self { len, head: Head::Whole(payload.into()) };
        };
        let kept = &rest[..end_before_zeros(rest)];
        let head = if kept.len() <= INLINE {
            let mut bytes = [0; INLINE];
            bytes[..kept.len()].copy_from_slice(kept);
            Head::Short { len: kept.len() as u8, bytes, tail }
        } else if kept.len() < rest.len() {
            Head::Long { bytes: kept.into(), tail }
        } else {
            Head::Whole(payload.into())
        };
        Self { len, head }
    }

    /// Returns the payload with its zeros.
    pub fn bytes(&self) -> BytesMut {
        self.write(&mut BytesMut::with_capacity(self.len as usize))
    }

    /// Takes the payload out, with its zeros, for which `buffer` has the memory: once all payloads
    /// before are dropped, it is used again.
    #[inline]
    pub fn take(&mut self, buffer: &mut BytesMut) -> BytesMut {
        match &mut self.head {
            Head::Whole(bytes) => std::mem::take(bytes),
            _ => {
                // Also decides how much is allocated if the payloads before are still in use.
                if buffer.capacity() == 0 {
                    *buffer = BytesMut::with_capacity(BUFFER);
                }
                buffer.reserve(self.len as usize);
                self.write(buffer)
            }
        }
    }

    /// Writes the payload to the empty `buffer`, and splits it off.
    fn write(&self, buffer: &mut BytesMut) -> BytesMut {
        let (head, tail) = match &self.head {
            Head::Short { len, bytes, tail } => (&bytes[..usize::from(*len)], &tail[..]),
            Head::Long { bytes, tail } => (&bytes[..], &tail[..]),
            Head::Whole(bytes) => (&bytes[..], &[][..]),
        };
        buffer.extend_from_slice(head);
        buffer.resize(self.len as usize - tail.len(), 0);
        buffer.extend_from_slice(tail);
        buffer.split()
    }
}

/// Returns the end of `bytes` without zeros that follow, rounded up by less than [`PIECE`].
#[inline]
fn end_before_zeros(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    for size in [BLOCK, PIECE] {
        let blocks = bytes[..end].rchunks_exact(size);
        let is_zero = |block: &&[u8]| block.iter().fold(0, |all, byte| all | byte) == 0;
        end -= size * blocks.take_while(is_zero).count();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn content_of_zeros_takes_no_memory() {
        for tag in [[0; TAIL], [9; TAIL]] {
            let mut packet = vec![7; 30];
            packet.resize(1236, 0);
            packet.extend_from_slice(&tag);
            let payload = UdpPayload::new(&packet);
            assert!(matches!(payload.head, Head::Short { len: 30..=46, .. }), "{payload:?}");
            assert_eq!(payload.bytes(), packet);
        }
    }

    #[test]
    fn what_ends_in_something_else_is_kept_as_it_is() {
        let mut packet = vec![0; 1252];
        packet[1235] = 1;
        let mut payload = UdpPayload::new(&packet);
        assert!(matches!(&payload.head, Head::Whole(bytes) if bytes.len() == 1252));
        assert_eq!(payload.take(&mut BytesMut::new()), packet);
    }

    proptest! {
        #[test]
        fn the_payload_comes_out_as_it_went_in(
            head in proptest::collection::vec(any::<u8>(), 0..200),
            zeros in 0usize..1500,
            tag in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let mut packet = head;
            packet.resize(packet.len() + zeros, 0);
            packet.extend(tag);
            let mut payload = UdpPayload::new(&packet);
            prop_assert_eq!(&payload.bytes(), &packet);
            prop_assert_eq!(&payload.take(&mut BytesMut::new()), &packet);
        }
    }
}
