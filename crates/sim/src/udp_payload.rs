//! Payloads of UDP datagrams in flight, without the zeros at their ends.

use bytes::BytesMut;

/// Bytes that are stored in the datagram itself: header and frames before the content of a packet.
const INLINE: usize = 64;
/// Zeros that are looked for at once, so that the compiler uses wide registers.
const BLOCK: usize = 64;
/// The same for the rest.
const PIECE: usize = 16;

/// The payload of a UDP datagram in flight.
///
/// Simulated content consists of zeros, and so do the tags of packets that are not encrypted. Tens
/// of megabytes are in flight on a fast satellite path, and writing and reading them would wait for
/// memory, so zeros at the end are only counted.
#[derive(Debug)]
pub struct UdpPayload {
    /// Length with the zeros.
    len: u32,
    head: Head,
}

/// Bytes before the zeros.
#[derive(Debug)]
enum Head {
    Short { len: u8, bytes: [u8; INLINE] },
    Long(BytesMut),
}

impl Default for UdpPayload {
    fn default() -> Self {
        Self { len: 0, head: Head::Short { len: 0, bytes: [0; INLINE] } }
    }
}

impl UdpPayload {
    /// Stores `payload`.
    #[inline]
    pub fn new(payload: &[u8]) -> Self {
        let kept = &payload[..end_before_zeros(payload)];
        let head = if kept.len() <= INLINE {
            let mut bytes = [0; INLINE];
            bytes[..kept.len()].copy_from_slice(kept);
            Head::Short { len: kept.len() as u8, bytes }
        } else {
            Head::Long(kept.into())
        };
        Self { len: payload.len() as u32, head }
    }

    /// Returns the payload with its zeros.
    pub fn bytes(&self) -> BytesMut {
        let head = match &self.head {
            Head::Short { len, bytes } => &bytes[..usize::from(*len)],
            Head::Long(bytes) => bytes,
        };
        let mut payload = BytesMut::with_capacity(self.len as usize);
        payload.extend_from_slice(head);
        payload.resize(self.len as usize, 0);
        payload
    }

    /// Takes the payload out, with its zeros.
    #[inline]
    pub fn take(&mut self) -> BytesMut {
        match &mut self.head {
            Head::Long(bytes) if bytes.len() == self.len as usize => std::mem::take(bytes),
            _ => self.bytes(),
        }
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
        let mut packet = vec![7; 40];
        packet.resize(1252, 0);
        let payload = UdpPayload::new(&packet);
        assert!(matches!(payload.head, Head::Short { len: 36..=56, .. }), "{payload:?}");
        assert_eq!(payload.bytes(), packet);
    }

    #[test]
    fn what_ends_in_something_else_is_kept_as_it_is() {
        let mut packet = vec![0; 1252];
        packet[1251] = 1;
        let mut payload = UdpPayload::new(&packet);
        assert!(matches!(&payload.head, Head::Long(bytes) if bytes.len() == 1252));
        assert_eq!(payload.take(), packet);
    }

    proptest! {
        #[test]
        fn the_payload_comes_out_as_it_went_in(
            head in proptest::collection::vec(any::<u8>(), 0..200),
            zeros in 0usize..1500,
        ) {
            let mut packet = head;
            packet.resize(packet.len() + zeros, 0);
            let mut payload = UdpPayload::new(&packet);
            prop_assert_eq!(&payload.bytes(), &packet);
            prop_assert_eq!(&payload.take(), &packet);
        }
    }
}
